"""Blocks on a Dask cluster: passes as tasks, sums added by the same tree.

Only `ScannedBags.on` imports this package, so `distributed` is imported only if it is needed. Tasks contain
instructions for reading a block, such as a row group, and no data. Therefore the blocks of a lost worker can
be computed again.

- `group`: reading, caching and computing on a worker. `cluster`: block placement, and errors when workers
  or the scheduler fail. `blocks`: `ClusterBlocks`.
"""

from bagwise.data.cluster.blocks import ClusterBlocks
from bagwise.data.cluster.cluster import Cluster

__all__ = ["Cluster", "ClusterBlocks"]
