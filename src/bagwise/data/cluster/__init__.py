"""Passes over bags that are shared out to the workers of a Dask cluster.

Only `ScannedBags.on` comes here, and only then is `distributed` imported.
"""

from bagwise.data.cluster.blocks import ClusterBlocks
from bagwise.data.cluster.place import Cluster

__all__ = ["Cluster", "ClusterBlocks"]
