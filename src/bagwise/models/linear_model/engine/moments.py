"""Conversion of curvature in log-odds to curvature in coefficients: weighted products of columns."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

# Number of positive and negative terms that are added at once, so that the gathered values fit in the cache.
_PAIRS = 1024
# Bounds for the largest value of a column whose squares do not overflow or underflow in single precision.
_SMALLEST, _LARGEST = 1e-12, 1e12

_of_this_thread = threading.local()


def moments_of(
    X: Any,
    columns: np.ndarray,
    diagonal: np.ndarray,
    factor: np.ndarray,
    offsets: np.ndarray,
    *,
    rough: bool = False,
) -> np.ndarray:
    """Convert curvature in the log-odds of instances to curvature in coefficients and an intercept.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_instances, n_features)
        Instances of whole bags.
    columns : array of int, shape (k,)
        The indices of the features.
    diagonal, factor : array of shape (n_instances,)
        The curvature in the log-odds of a bag is diag(diagonal) + factor factor' (`Rule.curvature`).
    offsets : array
        Index of the first instance of every bag.
    rough : bool
        Whether two digits are enough, as for a step of Newton's method. Products are then computed in single
        precision, and instances with a negligible weight are left out.

    Returns
    -------
    array of shape (k + 1, k + 1)
        The curvature. The last row and column belong to the intercept.

    Notes
    -----
    The cost is one pass over the instances, and k^2 operations for each instance (diagonal) and for each bag
    (factor).
    """
    if sp.issparse(X):
        return _sparse_moments(X, columns, diagonal, factor, offsets)
    is_single = False
    if rough:
        # This avoids an array of absolute values.
        largest = np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0))
        is_single = bool(are_moderate(largest).all())
    if not hasattr(_of_this_thread, "moments"):
        _of_this_thread.moments = CurvatureMoments()
    return _of_this_thread.moments.sum(
        X,
        columns,
        diagonal,
        factor,
        offsets,
        dtype=np.float32 if is_single else np.float64,
        rough=rough,
    )


def are_moderate(largest: np.ndarray) -> np.ndarray:
    """Return whether single precision can represent the squares of columns with these largest values."""
    return (largest == 0) | ((largest > _SMALLEST) & (largest < _LARGEST))


def _sparse_moments(
    X: Any, columns: np.ndarray, diagonal: np.ndarray, factor: np.ndarray, offsets: np.ndarray
) -> np.ndarray:
    """Compute the moments of (x, 1) for both parts of the curvature; only the result is dense."""
    diagonal, factor = _diagonal_where_alone(diagonal, factor, offsets)
    chosen = sp.hstack([X[:, columns], sp.csc_array(np.ones((X.shape[0], 1)))], format="csr")
    moments = (chosen.T @ chosen.multiply(diagonal[:, None]).tocsr()).toarray()
    # A matrix with a row per bag, whose entries are the weights of its instances.
    gather = sp.csr_array((factor, np.arange(len(factor)), offsets))
    sums = gather @ chosen
    return moments + (sums.T @ sums).toarray()


class CurvatureMoments:
    """Sums of ``x_j x_j'`` over instances j with curvature weights, where x are selected columns and a 1.

    The curvature in the log-odds of a bag is ``diag(diagonal) + factor factor'`` (`Rule.curvature`). The
    curvature in coefficients is therefore the sum of ``diagonal_j x_j x_j'`` over instances plus the sum of
    ``v v'`` over bags, where ``v = sum_j factor_j x_j``.

    Memory is kept between calls, because allocating it would cost as much as the computation.
    """

    def __init__(self) -> None:
        self._kept = np.empty(0)

    def _space(self, dtype: DTypeLike, *shape: int) -> np.ndarray:
        """Return an uninitialized array."""
        size = int(np.prod(shape))
        if self._kept.dtype != dtype or len(self._kept) < size:
            self._kept = np.empty(max(size, 2 * _PAIRS * shape[-2]), dtype=dtype)
        return self._kept[:size].reshape(shape)

    def sum(
        self,
        X: np.ndarray,
        columns: np.ndarray,
        diagonal: np.ndarray,
        factor: np.ndarray,
        offsets: np.ndarray,
        *,
        dtype: DTypeLike = np.float64,
        rough: bool = False,
    ) -> np.ndarray:
        """Return the sums for k columns of `X`, shape (k + 1, k + 1).

        The last row and column belong to the constant 1. Products are computed in `dtype`. With `rough`,
        terms whose diagonal is small compared with the mean are left out. The cost is one pass over the
        columns, and k^2 operations for each instance and for each bag.
        """
        diagonal, factor = _diagonal_where_alone(diagonal, factor, offsets)
        negligible = 0.1 * float(np.abs(diagonal).sum()) / len(diagonal) if rough else 0.0
        total = np.zeros((len(columns) + 1, len(columns) + 1))
        self._add_diagonal(total, X, columns, diagonal, negligible, dtype)
        self._add_outer(total, X, columns, factor, offsets, dtype)
        return total

    def _add_diagonal(
        self,
        total: np.ndarray,
        X: Any,
        columns: np.ndarray,
        weight: np.ndarray,
        negligible: float,
        dtype: DTypeLike,
    ) -> None:
        """Add sum_j weight_j x_j x_j'.

        With square roots u of the positive terms and v of the negative terms, this is u u' - v v', which is
        the symmetric part of (u + v) (u - v)'. This needs one matrix product instead of two.
        """
        from bagwise._core.compiled.moments import gather_pairs

        above, below = np.flatnonzero(weight > negligible), np.flatnonzero(weight < -negligible)
        products = np.zeros_like(total)
        for begin in range(0, max(len(above), len(below)), _PAIRS):
            u, v = above[begin : begin + _PAIRS], below[begin : begin + _PAIRS]
            # Without negative terms, both factors are the same array, and the product takes half the time.
            both = self._space(dtype, 2 if len(v) else 1, len(columns) + 1, max(len(u), len(v)))
            sums, differences = both[0], both[-1]
            root, root_below = np.sqrt(weight[u]).astype(dtype), np.sqrt(-weight[v]).astype(dtype)
            gather_pairs(X, columns, u, v, root, root_below, sums, differences)
            products += sums @ differences.T
        total += 0.5 * (products + products.T)

    def _add_outer(
        self,
        total: np.ndarray,
        X: Any,
        columns: np.ndarray,
        weight: np.ndarray,
        offsets: np.ndarray,
        dtype: DTypeLike,
    ) -> None:
        """Add sum_i v_i v_i' over bags, where v_i = sum_j weight_j x_j over the bag's instances."""
        from bagwise._core.compiled.moments import sum_over_bags

        bags = np.flatnonzero(np.logical_or.reduceat(weight != 0, offsets[:-1]))
        if len(bags):
            sums = self._space(dtype, len(columns) + 1, len(bags))
            sum_over_bags(X, columns, weight.astype(dtype), offsets, bags, sums)
            total += sums @ sums.T


def _diagonal_where_alone(
    diagonal: np.ndarray, factor: np.ndarray, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Move ``factor factor'`` of bags with one instance to the diagonal, which saves a matrix product."""
    is_alone = np.diff(offsets) == 1
    if not is_alone.any():
        return diagonal, factor
    alone = np.repeat(is_alone, np.diff(offsets))
    return np.where(alone, diagonal + np.square(factor), diagonal), np.where(alone, 0.0, factor)
