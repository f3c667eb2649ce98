"""Bags in memory, in files or on a cluster, and passes over them in blocks.

- `bags`: `Bags`, the container in memory: flat instances and offsets.
- `sequences`: `Sequences`, symbols and offsets, where `Bags` otherwise hold a matrix.
- `scanned`: `ScannedBags`, whose instances stay in their files.
- `blocks`: blocks of whole bags, the interface between data and models: sums over blocks.
- `cluster`: the same blocks on a Dask cluster.
- `frames`, `description`: data frames of any library, and tables that describe bags.
- `types`: what estimators accept as ``X``.
"""
