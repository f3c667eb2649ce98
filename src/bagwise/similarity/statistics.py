"""Statistics of the instances of bags, feature by feature."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import safe_sparse_dot

from bagwise.data.blocks import block_rows, cut

STATISTICS = ("min", "max", "mean", "std", "median", "size")


def describe(
    X: Any, offsets: np.ndarray, statistics: Sequence[str], quantiles: Sequence[float] = ()
) -> np.ndarray:
    """Describe every bag by a row: statistics of every feature, one after the other, and then quantiles.

    CSR instances are made dense a few bags at a time.

    Parameters
    ----------
    X : array of shape (n_instances, n_features) or CSR matrix
        The instances; no bag is empty.
    offsets : array of shape (n_bags + 1,)
        Where bags begin.
    statistics : sequence of {"min", "max", "mean", "std", "median", "size"}
        "size" is one number for the bag.
    quantiles : sequence of float
        In [0, 1], interpolated linearly.
    """
    parts = dense_runs(X, offsets)
    return np.concatenate([_describe_dense(part, inside, statistics, quantiles) for part, inside in parts])


def dense_runs(X: Any, offsets: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Give dense instances and the offsets of their bags: all at once, or CSR ones a few bags at a time."""
    if not sp.issparse(X):
        yield X, offsets
        return
    for run in cut(offsets, block_rows(X.shape[1])):
        inside = offsets[run.start : run.stop + 1]
        yield X[inside[0] : inside[-1]].toarray(), inside - inside[0]


def weighted_median(values: np.ndarray, weight: np.ndarray) -> float:
    """Give the median of the positive ones among values that are not negative, 0 if there are none.

    That is the least value that half of the weight does not exceed. What rounding left of a zero is none.
    """
    counted = values > 1e-12 * values.max(initial=0.0)
    if not counted.any():
        return 0.0
    first = weight.flat[0]
    if (weight == first).all():  # no need to sort
        found = values[counted]
        return float(np.partition(found, (len(found) + 1) // 2 - 1)[(len(found) + 1) // 2 - 1])
    order = np.argsort(values[counted], kind="stable")
    reached = np.cumsum(weight[counted][order])
    return float(values[counted][order][np.searchsorted(reached, 0.5 * reached[-1] * (1 - 1e-12))])


def bag_sums(X: Any, offsets: np.ndarray) -> np.ndarray:
    """Sum the instances of every bag, in double precision: shape (n_bags, n_features)."""
    membership = sp.csr_matrix((np.ones(X.shape[0]), np.arange(X.shape[0]), offsets))
    return np.asarray(safe_sparse_dot(membership, X, dense_output=True))


def _describe_dense(
    X: np.ndarray, offsets: np.ndarray, statistics: Sequence[str], quantiles: Sequence[float]
) -> np.ndarray:
    starts, counts = offsets[:-1], np.diff(offsets)
    sizes = counts[:, None]
    columns = []
    for name in statistics:
        if name in ("min", "max"):
            extreme = np.minimum if name == "min" else np.maximum
            columns.append(extreme.reduceat(X, starts, axis=0))
        elif name == "median":
            columns.extend(_quantiles(X, offsets, [0.5]))
        elif name == "size":
            columns.append(sizes.astype(X.dtype))
        else:
            # In double precision: sums and squares of large single numbers are none.
            mean = np.add.reduceat(X, starts, axis=0, dtype=np.float64) / sizes
            if name == "std":
                squares = np.square(X - np.repeat(mean, counts, axis=0))
                mean = np.sqrt(np.add.reduceat(squares, starts, axis=0) / sizes)
            columns.append(mean.astype(X.dtype, copy=False) if X.dtype.kind == "f" else mean)
    if len(quantiles):
        columns.extend(_quantiles(X, offsets, quantiles))
    return np.hstack(columns)


def _quantiles(X: np.ndarray, offsets: np.ndarray, quantiles: Sequence[float]) -> list[np.ndarray]:
    """Quantiles of every feature, a (n_bags, n_features) array each; bags of one size go together."""
    sizes = np.diff(offsets)
    out = np.empty((len(quantiles), len(sizes), X.shape[1]), dtype=X.dtype)
    for size in np.unique(sizes):
        members = np.flatnonzero(sizes == size)
        rows = offsets[members][:, None] + np.arange(size)
        # In double precision, where the difference of any two single numbers is one.
        out[:, members] = np.quantile(X[rows].astype(np.float64, copy=False), quantiles, axis=1)
    return list(out)
