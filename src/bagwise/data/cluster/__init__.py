"""Blocks on a Dask cluster: passes as tasks, sums added by the same tree.

Only `ScannedBags.on` imports this package, and only then is `distributed` imported. A block is a recipe
(read this row group), never data sent around, so a lost worker is recomputed.

- `group`: what a worker reads, keeps and computes. `cluster`: which worker has which blocks, and errors
  when workers or the scheduler fail. `blocks`: `ClusterBlocks`.
"""

from bagwise.data.cluster.blocks import ClusterBlocks
from bagwise.data.cluster.cluster import Cluster

__all__ = ["Cluster", "ClusterBlocks"]
