"""Memory checks for matrices of all pairs, before they are allocated."""

from __future__ import annotations

import os

import numpy as np


def available_memory() -> float:
    """Return the physical memory of the computer in bytes; inf if the system does not report it."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return np.inf


_REMEDIES = {
    "kernel": "approximate the kernel with features (OnInstances(Nystroem()) before MILogisticRegression), "
    "limit the cache of kernel rows (MissSVC(cache_size=...)), or compare bags instead of instances "
    "(SetKernelSVC, BagStatistics)",
    "distance": "compare with a subset of the bags (DissimilarityEmbedding(prototypes=...)), or represent "
    "bags by vectors (BagStatistics, ClusterEmbedding)",
}


def require_memory(
    n_rows: int, n_columns: int, unit: str, limit: float | None = None, *, kind: str = "kernel"
) -> float:
    """Return the bytes of a kernel or distance matrix; raise MemoryError if it exceeds the memory limit.

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
            f"the {kind} matrix of {n_rows:,} x {n_columns:,} {unit} needs {needed / 1e9:,.1f} GB, but the "
            f"limit is {limit / 1e9:,.1f} GB; {_REMEDIES[kind]}."
        )
    return needed
