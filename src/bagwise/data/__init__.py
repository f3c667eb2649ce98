"""Bags in memory, in files or on a cluster, and passes over them in blocks.

- `bags`: `Bags`, the container in memory: flat instances and offsets.
- `sequences`: `Sequences`, symbol sequences that `Bags` can hold instead of a matrix.
- `scanned`: `ScannedBags`, whose instances stay in their files.
- `blocks`: blocks of whole bags, the interface between data and models: sums over blocks.
- `cluster`: the same blocks on a Dask cluster.
- `frames`, `description`: pandas and polars data frames, and the metadata stored with bags in files.
- `types`: the type of the ``X`` that estimators accept.
"""
