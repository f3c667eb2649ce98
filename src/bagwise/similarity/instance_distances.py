"""Squared distances of all pairs of rows, accurate enough for a Gaussian kernel far from the origin."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms, safe_sparse_dot

# With errors of gamma |x - y|^2 below these, the kernel has ten correct digits, or four in single precision.
_SMALL, _SMALL_OF_SINGLE = 1e-11, 1e-4
_ZERO = 750.0  # the kernel underflows to zero above this
_PAIRS_AT_ONCE = 2**22  # maximum number of values in the differences in memory
_MIDDLE_OF = 101  # number of rows whose median is the center


def scaled_distances(X: Any, Y: Any, gamma: float) -> np.ndarray:
    """Compute ``gamma |x - y|^2`` of all pairs: float64, shape (len(X), len(Y)); inf on overflow.

    Most distances are computed with a matrix product, as |x|^2 + |y|^2 - 2 x'y. This formula cancels far from
    the origin. Therefore, the rows are first shifted to a center if necessary. Pairs that are still far from
    this center, such as another cluster or outliers, are computed from their differences. Thus, the values of
    a row do not depend on the other rows.
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
        # This form of the comparison also catches NaN, which results from norms that overflow.
        rows, columns = np.nonzero((error > _SMALL) & ~(D - error > _ZERO))
        size = max(1, _PAIRS_AT_ONCE // max(1, X.shape[1]))
        for start in range(0, len(rows), size):
            i, j = rows[start : start + size], columns[start : start + size]
            difference = _dense(X[i]) - _dense(Y[j])
            D[i, j] = gamma * np.einsum("ij,ij->i", difference, difference)
        return D


def middle(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a central point of the rows of an array, and the rows from which it was computed."""
    few = X[np.linspace(0, len(X) - 1, min(len(X), _MIDDLE_OF)).astype(np.int64)].astype(np.float64)
    # The median is robust: a single outlier could move the mean away from all other rows.
    return np.median(few, axis=0), few


def _by_product(X: Any, Y: Any, gamma: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scaled distances from a matrix product, and the rounding errors due to rows and to columns."""
    left = row_norms(X, squared=True).astype(np.float64)[:, None]
    right = row_norms(Y, squared=True).astype(np.float64)[:, None]
    D = np.asarray(safe_sparse_dot(X, Y.T, dense_output=True), dtype=np.float64)
    D *= -2.0
    D += left
    D += right.T
    np.maximum(D, 0.0, out=D)  # rounding can make values negative
    D *= gamma
    precision = 4.0 * gamma * max(np.finfo(Z.dtype).eps if Z.dtype.kind == "f" else 0.0 for Z in (X, Y, left))
    return D, precision * left, precision * right.T


def _dense(rows: Any) -> np.ndarray:
    return rows.toarray() if sp.issparse(rows) else rows.astype(np.float64, copy=False)
