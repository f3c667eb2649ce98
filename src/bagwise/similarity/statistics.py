"""Statistics of the instances of bags, feature by feature."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import safe_sparse_dot

from bagwise._core.compiled.arrays import readonly
from bagwise._core.precision import to_compute
from bagwise.data.blocks import block_rows, cut

STATISTICS = ("min", "max", "mean", "std", "median", "size")
_MOMENTS = STATISTICS[:4]  # in the order of `bag_moments`


def describe(
    X: Any, offsets: np.ndarray, statistics: Sequence[str], quantiles: Sequence[float] = ()
) -> np.ndarray:
    """Compute one row per bag: each statistic of all features in turn, followed by the quantiles.

    CSR instances are converted to dense arrays, a few bags at a time.

    Parameters
    ----------
    X : array of shape (n_instances, n_features) or CSR matrix
        The instances; bags must not be empty.
    offsets : array of shape (n_bags + 1,)
        Offsets of the bags.
    statistics : sequence of {"min", "max", "mean", "std", "median", "size"}
        "size" adds a single value per bag.
    quantiles : sequence of float
        Quantiles in [0, 1], computed with linear interpolation.
    """
    parts = dense_runs(X, offsets)
    return np.concatenate([_describe_dense(part, inside, statistics, quantiles) for part, inside in parts])


def dense_runs(X: Any, offsets: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield dense instances and the offsets of their bags: in one part, or a few bags at a time for CSR."""
    if not sp.issparse(X):
        yield X, offsets
        return
    for run in cut(offsets, block_rows(X.shape[1])):
        inside = offsets[run.start : run.stop + 1]
        yield X[inside[0] : inside[-1]].toarray(), inside - inside[0]


def weighted_median(values: np.ndarray, weight: np.ndarray) -> float:
    """Return the weighted median of the positive values among values >= 0; 0 if all values are 0.

    The median is the smallest value for which the values up to it have at least half of the weight. Values
    below 1e-12 of the maximum count as 0, because they are rounding errors.
    """
    counted = values > 1e-12 * values.max(initial=0.0)
    if not counted.any():
        return 0.0
    first = weight.flat[0]
    if (weight == first).all():  # no need to sort
        selected = values[counted]
        return float(np.partition(selected, (len(selected) + 1) // 2 - 1)[(len(selected) + 1) // 2 - 1])
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
    from bagwise._core.compiled.aggregates import bag_moments

    X = to_compute(X)
    kinds = list(dict.fromkeys(name for name in statistics if name in _MOMENTS))
    by_name: dict[str, np.ndarray] = {}
    if kinds:
        columns = [kinds.index(name) * X.shape[1] if name in kinds else -1 for name in _MOMENTS]
        # Sum in double precision, because sums and squares of large float32 values overflow.
        moments = bag_moments(*readonly(X, offsets, np.array(columns)))
        if kinds == list(statistics) and not len(quantiles):
            return moments
        by_name = dict(zip(kinds, np.split(moments, len(kinds), axis=1), strict=True))
    if "size" in statistics:
        by_name["size"] = np.diff(offsets)[:, None].astype(X.dtype)
    if "median" in statistics:
        (by_name["median"],) = _quantiles(X, offsets, [0.5])
    parts = [by_name[name] for name in statistics]
    return np.hstack([*parts, *(_quantiles(X, offsets, quantiles) if len(quantiles) else ())])


def _quantiles(X: np.ndarray, offsets: np.ndarray, quantiles: Sequence[float]) -> list[np.ndarray]:
    """Compute quantiles of every feature, one (n_bags, n_features) array per quantile.

    Bags of the same size are processed together.
    """
    sizes = np.diff(offsets)
    out = np.empty((len(quantiles), len(sizes), X.shape[1]), dtype=X.dtype)
    for size in np.unique(sizes):
        members = np.flatnonzero(sizes == size)
        rows = offsets[members][:, None] + np.arange(size)
        # Compute in double precision, because differences of float32 values can overflow.
        out[:, members] = np.quantile(X[rows].astype(np.float64, copy=False), quantiles, axis=1)
    return list(out)
