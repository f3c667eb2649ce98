"""Local clusters, and files for them."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from bagwise import Bags, save_parquet

distributed = pytest.importorskip("distributed")


def make_cluster(n_workers=2, *, processes=True, threads_per_worker=1, **options):
    """Start local workers without a dashboard."""
    return distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=threads_per_worker,
        processes=processes,
        dashboard_address=None,
        scheduler_kwargs={"dashboard_address": ":0"},  # any free port, as several clusters may run
        **options,
    )


def make_bags(n_bags=150, n_features=4, seed=0, largest=7, dtype=np.float32):
    """Return noisy-or bags and labels; one bag is larger than a block."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, largest, n_bags)
    sizes[n_bags // 2] = 90
    X = rng.normal(size=(sizes.sum(), n_features)).astype(dtype)
    offsets = np.append(0, np.cumsum(sizes))
    log_odds = X @ np.linspace(2, -1, n_features) - 2
    y = (np.maximum.reduceat(log_odds, offsets[:-1]) + rng.logistic(size=n_bags) > 0).astype(int)
    return Bags(X, offsets, ids=[f"bag {i}" for i in range(n_bags)]), y


def write(path, bags, y, rows=64):
    """Write a file whose row groups end inside bags, with empty row groups between them."""
    save_parquet(path, bags, y, layout="long")
    table, about = pq.read_table(path), pq.read_metadata(path).metadata[b"bagwise"]
    with pq.ParquetWriter(path, table.schema) as writer:
        for begin in range(0, len(table), rows):
            writer.write_table(table.slice(begin, rows))
            writer.write_table(table.slice(0, 0))
        writer.add_key_value_metadata({"bagwise": about})
    return path
