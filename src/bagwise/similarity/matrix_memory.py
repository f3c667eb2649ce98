"""The memory of a matrix of all pairs, computed before it is made."""

from __future__ import annotations

import os

import numpy as np


def available_memory() -> float:
    """Bytes of memory in this machine, infinite where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return np.inf


_REMEDIES = {
    "kernel": "approximate the kernel by features (OnInstances(Nystroem()) before MILogisticRegression), "
    "keep rows in a bounded cache (MissSVC(cache_size=...)), or compare bags instead of instances "
    "(SetKernelSVC, BagStatistics)",
    "distance": "compare with some of the bags (DissimilarityEmbedding(prototypes=...)), or describe bags by "
    "vectors (BagStatistics, ClusterEmbedding)",
}


def require_memory(
    n_rows: int, n_columns: int, what: str, limit: float | None = None, *, kind: str = "kernel"
) -> float:
    """Compute the bytes of a matrix of kernels or distances before it is made; refuse what does not fit.

    Examples
    --------
    >>> from bagwise.similarity import require_memory
    >>> require_memory(1000, 1000, "bags") / 1e6
    8.0
    """
    needed = 8.0 * n_rows * n_columns
    limit = available_memory() if limit is None else limit
    if needed > limit:
        raise MemoryError(
            f"the {kind} matrix of {n_rows:,} x {n_columns:,} {what} takes {needed / 1e9:,.1f} GB, but the "
            f"limit is {limit / 1e9:,.1f} GB. Instead, {_REMEDIES[kind]}."
        )
    return needed
