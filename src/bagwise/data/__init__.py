"""Bags in memory, in files or on a cluster, and passes over them in blocks.

- `bags`: `Bags`, the in-memory container: one instance matrix, and offsets that delimit the bags.
- `sequences`: `Sequences`, symbol sequences that `Bags` can store instead of a matrix.
- `scanned`: `ScannedBags`, whose instances stay in their files.
- `blocks`: blocks of whole bags. Models access the data only through sums over blocks.
- `cluster`: the same blocks on a Dask cluster.
- `frames`, `description`: pandas and polars data frames, and the metadata stored with bags in files.
- `types`: the types that estimators accept as ``X``.
"""
