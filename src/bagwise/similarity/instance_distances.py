"""Squared distances of all pairs of rows, to what a Gaussian kernel needs of them wherever the rows lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms, safe_sparse_dot

# Errors of gamma |x - y|^2 below these leave ten digits of the kernel, or four of single precision.
_SMALL, _SMALL_OF_SINGLE = 1e-11, 1e-4
_ZERO = 750.0  # beyond this the kernel is zero
_PAIRS_AT_ONCE = 2**22  # numbers in the differences that are in memory at any one time
_MIDDLE_OF = 101  # rows whose median is the centre


def scaled_distances(X: Any, Y: Any, gamma: float) -> np.ndarray:
    """Compute ``gamma |x - y|^2`` of all pairs: float64, shape (len(X), len(Y)); infinite where too large.

    From a matrix product, |x|^2 + |y|^2 - 2 x'y, which far from the origin cancels: there rows are moved to a
    centre first, and pairs that lie far from that too (another cluster, an outlier beside) are computed from
    their differences. So what a row gives does not depend on the rows beside it.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        D, left, right = _by_product(X, Y, gamma)
        is_single = np.float32 in (X.dtype, Y.dtype)
        if left.max(initial=0.0) + right.max(initial=0.0) <= (_SMALL_OF_SINGLE if is_single else _SMALL):
            return D
        if not (sp.issparse(X) or sp.issparse(Y)):
            centre, _ = middle(Y)
            D, left, right = _by_product(X - centre, Y - centre, gamma)
        error = left + right
        # Written so that NaN, where norms overflow, is a pair to be looked at.
        rows, columns = np.nonzero((error > _SMALL) & ~(D - error > _ZERO))
        size = max(1, _PAIRS_AT_ONCE // max(1, X.shape[1]))
        for start in range(0, len(rows), size):
            i, j = rows[start : start + size], columns[start : start + size]
            difference = _dense(X[i]) - _dense(Y[j])
            D[i, j] = gamma * np.einsum("ij,ij->i", difference, difference)
        return D


def middle(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give a place amid the rows of an array, and the rows that it was found from."""
    few = X[np.linspace(0, len(X) - 1, min(len(X), _MIDDLE_OF)).astype(np.int64)].astype(np.float64)
    # A median, because one outlier would move a mean away from all other rows.
    return np.median(few, axis=0), few


def _by_product(X: Any, Y: Any, gamma: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give the scaled distances by a product, and what rows and columns add to their rounding errors."""
    left = row_norms(X, squared=True).astype(np.float64)[:, None]
    right = row_norms(Y, squared=True).astype(np.float64)[:, None]
    D = np.asarray(safe_sparse_dot(X, Y.T, dense_output=True), dtype=np.float64)
    D *= -2.0
    D += left
    D += right.T
    np.maximum(D, 0.0, out=D)  # a distance is never negative, whatever rounding says
    D *= gamma
    precision = 4.0 * gamma * max(np.finfo(Z.dtype).eps if Z.dtype.kind == "f" else 0.0 for Z in (X, Y, left))
    return D, precision * left, precision * right.T


def _dense(rows: Any) -> np.ndarray:
    return rows.toarray() if sp.issparse(rows) else rows.astype(np.float64, copy=False)
