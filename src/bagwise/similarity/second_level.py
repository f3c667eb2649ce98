"""Gaussian kernels of bags by their distances in the space of another kernel of bags."""

from __future__ import annotations

import numpy as np

from bagwise.similarity.statistics import weighted_median


def squared_distances(K: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Give k(X, X) + k(Z, Z) - 2 k(X, Z), never negative, from a kernel matrix and the bags with themselves.

    Of mean embeddings that is the squared maximum mean discrepancy.
    """
    D = np.add.outer(rows, columns)  # first, so that a symmetric matrix stays exactly so
    D -= 2.0 * K
    return np.maximum(D, 0.0, out=D)


def median_width(D: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Give the median distance of different bags, each counted by its weight; 1 if all are equal."""
    weight = np.ones(len(D)) if weight is None else weight
    return float(np.sqrt(weighted_median(D.ravel(), np.outer(weight, weight).ravel()))) or 1.0
