"""Instance kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from bagwise.data.blocks import Block, Blocks, ColumnRanges, MemoryBlocks, block_rows, cut_rows, in_doubles
from bagwise.similarity.instance_distances import scaled_distances
from bagwise.similarity.statistics import weighted_median

_MEDIAN_OF = 2000  # maximum number of rows for the median distance


@dataclass(frozen=True)
class InstanceKernel:
    """Instance kernel with its parameters: ``kernel(X, Y)`` returns the matrix of all pairs.

    ==========  =======================================
    "linear"    x'y
    "poly"      (gamma x'y + coef0) ** degree
    "rbf"       exp(-gamma |x - y|^2)
    callable    the return value of ``name(X, Y)``
    ==========  =======================================

    "precomputed" looks up values: the rows of X contain kernels, and the single column of Y contains the
    indices of the columns to select.

    Parameters
    ----------
    name : {"linear", "poly", "rbf", "precomputed"} or callable
        Name of the kernel, or a function.
    gamma, degree, coef0 : float
        Parameters of the kernel, as in scikit-learn's `SVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.similarity import InstanceKernel
    >>> InstanceKernel("poly", gamma=1.0, degree=2)(np.eye(2), np.eye(2))
    array([[1., 0.],
           [0., 1.]])
    """

    name: str | Callable[..., Any] = "rbf"
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 0.0

    def __call__(self, X: Any, Y: Any) -> np.ndarray:
        """Compute the kernel matrix of the rows of `X` and `Y`: float64, shape (len(X), len(Y))."""
        if callable(self.name):
            return _checked(self.name(X, Y), X.shape[0], Y.shape[0])
        if self.name == "precomputed":
            return X[:, Y[:, 0].astype(np.int64)]
        if self.name == "rbf":
            D = scaled_distances(X, Y, self.gamma)
            np.negative(D, out=D)
            return np.exp(D, out=D)
        with np.errstate(over="ignore", invalid="ignore"):
            K = np.asarray(safe_sparse_dot(X, Y.T, dense_output=True), dtype=np.float64)
            if self.name == "poly":
                K *= self.gamma
                K += self.coef0
                self._raise_to_degree(K)
        return refuse_overflow(K)

    def _raise_to_degree(self, K: np.ndarray) -> None:
        if self.degree != round(self.degree) and K.min(initial=0.0) < 0:
            raise ValueError(
                f"degree={self.degree:g} is not an integer, but gamma x'y + coef0 is negative for two of the "
                f"rows ({K.min():g}); use an integer degree or a larger coef0."
            )
        K **= self.degree

    def diagonal(self, X: Any) -> np.ndarray:
        """Compute the values k(x, x) of the rows of `X`."""
        if callable(self.name):
            return np.array([self(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(X.shape[0])])
        if self.name == "rbf":
            return np.ones(X.shape[0])
        with np.errstate(over="ignore", invalid="ignore"):
            squares = row_norms(X, squared=True).astype(np.float64)
            if self.name == "poly":
                squares = self.gamma * squares + self.coef0
                self._raise_to_degree(squares)
        return refuse_overflow(squares)

    def fill(self, X: Any, out: np.ndarray) -> None:
        """Write the exactly symmetric matrix of `X` with itself to ``out[:n, :n]``, block by block."""
        from bagwise._core.compiled.dual import mirror_upper

        n = X.shape[0]
        for rows in cut_rows(n, block_rows(n)):
            # Only the upper triangle is computed, and then mirrored.
            out[rows, rows.start : n] = self(X[rows], X[rows.start :])
        mirror_upper(out, n)


def _checked(K: Any, n_rows: int, n_columns: int) -> np.ndarray:
    K = np.ascontiguousarray(K, dtype=np.float64)
    if K.shape != (n_rows, n_columns):
        raise ValueError(
            f"kernel(X, Y) must return an array of shape {(n_rows, n_columns)}, with one value per pair of "
            f"rows; it returned shape {K.shape}."
        )
    if not np.isfinite(K).all():
        raise ValueError("kernel(X, Y) must return finite values; it returned infinity or NaN.")
    return K


def refuse_overflow(K: np.ndarray) -> np.ndarray:
    """Return kernels if they are finite; otherwise raise an error."""
    if not np.isfinite(K).all():
        raise ValueError(
            "the kernel values overflow on these features; scale the features down, or use kernel='rbf'."
        )
    return K


def resolve_gamma(gamma: float | str, X: Any, weight: np.ndarray | None = None) -> float:
    """Convert `gamma` to a float, computed from the data if it is a name.

    "scale" is 1 / (n_features * variance of all entries), and "auto" is 1 / n_features. Both ignore constant
    features. "median" is 1 divided by the median squared distance between different rows, estimated from at
    most 2,000 rows. `X` is a matrix with optional row weights `weight`, or `Blocks`, which have their own
    weights.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma not in ("scale", "auto", "median"):
        raise ValueError(f"gamma must be 'scale', 'auto', 'median' or a number; got {gamma!r}.")
    if not isinstance(X, Blocks):
        n = X.shape[0]
        X = MemoryBlocks(X, np.arange(n + 1), np.zeros(n), np.ones(n) if weight is None else weight)
    if gamma == "median":
        return _median_gamma(X)
    ranges = X.total(ColumnRanges.of)
    columns: Any = np.flatnonzero(ranges.least < ranges.largest)
    n_features = len(columns)
    if n_features in (0, X.n_features):
        n_features, columns = X.n_features, slice(None)
    if gamma == "auto":
        return 1.0 / n_features
    total = float(X.weight @ np.diff(X.offsets)) * n_features
    mean = X.total(_sum_of_entries, columns) / total
    variance = X.total(_squares_about, mean, columns) / total
    if not np.isfinite(variance):
        raise ValueError(
            'gamma="scale" needs the variance of the instances, which overflows; scale the features '
            '(scale="standard") or pass a number as gamma.'
        )
    # If all entries are equal, the width has no effect.
    return 1.0 / (n_features * variance) if np.sqrt(variance) > 1e-14 * abs(mean) else 1.0


def _median_gamma(blocks: Blocks) -> float:
    rows = np.arange(blocks.n_instances)
    if len(rows) > _MEDIAN_OF:
        rows = np.sort(np.random.RandomState(0).permutation(len(rows))[:_MEDIAN_OF])
    X, weight = blocks.take(rows, np.float64), np.repeat(blocks.weight, np.diff(blocks.offsets))[rows]
    square = weighted_median(scaled_distances(X, X, 1.0).ravel(), np.outer(weight, weight).ravel())
    if not np.isfinite(square):
        raise ValueError(
            'gamma="median" needs squared distances of the instances, which overflow; scale the features '
            '(scale="standard") or pass a number as gamma.'
        )
    return 1.0 / square if square > 0 else 1.0


def _sum_of_entries(block: Block, columns: Any) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float((block.weight_of_each @ block.X[:, columns]).sum())


def _squares_about(block: Block, mean: float, columns: Any) -> float:
    """Compute squares from differences: the mean of squares minus the squared mean would cancel."""
    X, weight = in_doubles(block.X[:, columns]), block.weight_of_each
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(X):
            of_stored = np.repeat(weight, np.diff(X.indptr))
            n_zeros = weight.sum() * X.shape[1] - of_stored.sum()
            return float(of_stored @ (X.data - mean) ** 2 + n_zeros * np.square(mean))
        return float((weight @ (X - mean) ** 2).sum())
