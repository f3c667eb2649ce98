"""Distances between bags, computed block by block from any backend."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._core.compiled.arrays import readonly
from bagwise._core.types import Kernel
from bagwise.data.blocks import block_rows, cut_rows, fill_pairs
from bagwise.data.types import BagsLike
from bagwise.similarity.bag_kernels import (
    blocks_of,
    kernel_of,
    own_kernels,
    rows_and_columns,
    set_kernel,
    squared_distances,
)
from bagwise.similarity.matrix_memory import require_memory

METRICS = ("minimal", "maximal", "ranked", "mean_min", "mmd")
# Other parameters of `bag_distances` that `metric_params` can contain.
_PARAMETERS = ("rank", "kernel", "gamma")

# Squared discrepancies below this fraction of their terms are rounding errors and are set to zero.
_ROUNDING = 1e-14


def bag_distances(
    X: BagsLike,
    Y: BagsLike | None = None,
    *,
    metric: str | Callable[..., Any] = "minimal",
    rank: int = 1,
    kernel: Kernel = "rbf",
    gamma: float | str = "scale",
) -> np.ndarray:
    """Compute the distances of all bags to each other, or to other bags.

    Let d(a, B) be the Euclidean distance from an instance a to the nearest instance of a bag B. The distance
    of bags A and B depends on the metric:

    ===========  =====================================================================================
    "minimal"    the smallest d(a, B) over all a in A: the distance between the two nearest instances
    "maximal"    the Hausdorff distance: the largest d(a, B) over all a in A or d(b, A) over all b in B
    "ranked"     like "maximal", with the `rank`-th smallest d(a, B) and d(b, A) instead of the largest. For
                 bags with fewer instances, the largest is used. Rank 1 is "minimal".
    "mean_min"   the average of two means: of d(a, B) over A and of d(b, A) over B
    "mmd"        the maximum mean discrepancy sqrt(k(A, A) + k(B, B) - 2 k(A, B)), where k is the mean of a
                 kernel over all pairs of instances (`set_kernel`)
    callable     the return value of ``metric(A, B)`` for two matrices of instances
    ===========  =====================================================================================

    The result can be used with ``KNeighborsClassifier(metric="precomputed")`` and other estimators that
    accept distances.

    Parameters
    ----------
    X, Y : Bags, ScannedBags, list of arrays, 3-D or 2-D array
        Rows and columns of the matrix; without `Y`, both are `X`.
    metric : {"minimal", "maximal", "ranked", "mean_min", "mmd"} or callable, default="minimal"
        Distance between two bags.
    rank : int, default=1
        Rank for the metric "ranked".
    kernel, gamma
        Instance kernel for the metric "mmd", as in `set_kernel`.

    Returns
    -------
    array of shape (n_bags, n_other)
        Without `Y`, the matrix is exactly symmetric with a zero diagonal, unless `metric` is a callable.

    Notes
    -----
    The cost is O(n_instances * n_other_instances * n_features): all pairs of instances are compared, once for
    every pair of bags. The result and a few blocks must fit in memory. Files are read once for every block of
    the rows. Distances are computed from differences of sparse or dense instances. This avoids cancellation
    far from the origin. The distance between two bags does not depend on other bags, except for rounding
    errors in "mmd".

    References
    ----------
    J. Wang and J.-D. Zucker (2000), Solving the multiple-instance problem: a lazy learning approach, ICML.

    V. Cheplygina, D. M. J. Tax and M. Loog (2015), Multiple instance learning with bag dissimilarities,
    Pattern Recognition 48: "mean_min", but with squared distances and in one direction.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from bagwise import bag_distances, load_digit_bags
    >>> bag_distances([[[0.0], [1.0]], [[3.0], [7.0]]])
    array([[0., 2.],
           [2., 0.]])
    >>> data = load_digit_bags(60, random_state=0)
    >>> train, test = data.bags[:40], data.bags[40:]
    >>> nearest = KNeighborsClassifier(metric="precomputed").fit(bag_distances(train), data.y[:40])
    >>> nearest.predict(bag_distances(test, train)).shape
    (20,)
    """
    if not (callable(metric) or metric in METRICS):
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, or a callable; got {metric!r}.")
    if not (isinstance(rank, Integral) and rank >= 1):
        raise ValueError(f"rank must be an integer >= 1; got {rank!r}.")
    rows, columns = rows_and_columns(X, Y, ("X", "Y"))
    require_memory(len(rows), len(columns), "bags", kind="distance")
    left = blocks_of(rows)
    right = None if Y is None else blocks_of(columns)
    if metric == "mmd":
        k = kernel_of(kernel, gamma, 3, 0.0, lambda: left if right is None else right)
        K = set_kernel(rows, None if Y is None else columns, kernel=k)
        self_kernels = own_kernels(k, left)
        return _discrepancies(K, self_kernels, self_kernels if right is None else own_kernels(k, right))
    D = np.empty((len(rows), len(columns)))
    if callable(metric):
        # A callable is not necessarily symmetric.
        fill_pairs(D, partial(_by_callable, metric), left, blocks_of(columns))
    else:
        fill_pairs(D, partial(_by_nearest, metric, rank), left, right)
    if not np.isfinite(D).all():
        subject = "the metric returned" if callable(metric) else "scale the features down: their squares are"
        raise ValueError(f"distances between bags must be finite; {subject} infinity or NaN.")
    return D


def metric_arguments(metric_params: dict[str, Any] | None) -> dict[str, Any]:
    """Return the `metric_params` of an estimator as arguments of `bag_distances`, after validation."""
    arguments = metric_params or {}
    for name in arguments:
        if name not in _PARAMETERS:
            raise ValueError(
                f"metric_params contains the unknown parameter {name!r}; expected "
                f"{', '.join(_PARAMETERS[:-1])} or {_PARAMETERS[-1]}."
            )
    return arguments


def nearest_instances(
    X: Any, offsets: np.ndarray, Z: Any, others: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the squared distances from every row to every bag of the other side, in both directions.

    The first result contains the distances from rows of `X` to bags of `Z`, and the second those from rows of
    `Z` to bags of `X`. Both sides are float64 arrays or CSR matrices with the same features. Bags must not be
    empty.
    """
    from bagwise._core.compiled.distances import nearest_of_dense, nearest_of_sparse

    if X.shape[1] != Z.shape[1]:
        raise ValueError(
            f"X and Z must have the same number of features; got {X.shape[1]} and {Z.shape[1]} features."
        )
    near = np.empty((X.shape[0], len(others) - 1))
    back = np.empty((Z.shape[0], len(offsets) - 1))
    bags, other_bags = readonly(offsets, others, dtype=np.int64)
    if sp.issparse(X) or sp.issparse(Z):
        left, right = (sp.csr_array(side) for side in (X, Z))
        parts = [readonly(side.data, side.indices, side.indptr) for side in (left, right)]
        nearest_of_sparse(*parts[0], bags, *parts[1], other_bags, near, back)
    else:
        X, Z = readonly(X, Z)
        nearest_of_dense(X, bags, Z, other_bags, near, back)
    return near, back


def _by_nearest(
    metric: str, rank: int, X: Any, offsets: np.ndarray, Z: Any, others: np.ndarray
) -> np.ndarray:
    parts = cut_rows(X.shape[0], block_rows(len(others) - 1)) if len(offsets) == 2 else []
    if len(parts) > 1:
        forward, back = _of_large_bag(metric, rank, X, parts, Z, others)
    else:
        near, back = nearest_instances(X, offsets, Z, others)
        forward = _over_bags(metric, rank, near, offsets)
    if metric == "minimal":
        return forward
    backward = _over_bags(metric, rank, back, others).T
    return 0.5 * (forward + backward) if metric == "mean_min" else np.maximum(forward, backward)


def _over_bags(metric: str, rank: int, squares: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the minimum, maximum, mean or `rank`-th distance per bag and column, from squared distances."""
    if metric == "mean_min":
        return np.add.reduceat(np.sqrt(squares), offsets[:-1], axis=0) / np.diff(offsets)[:, None]
    if metric == "ranked":
        bags = (squares[begin:end] for begin, end in pairwise(offsets))
        return np.sqrt(np.stack([_least(bag, rank)[-1] for bag in bags]))
    extreme = np.minimum if metric == "minimal" else np.maximum
    return np.sqrt(extreme.reduceat(squares, offsets[:-1], axis=0))


def _least(squares: np.ndarray, rank: int) -> np.ndarray:
    """Return the `rank` smallest values of every column (or all values), with the largest in the last row."""
    rank = min(rank, len(squares))
    return np.partition(squares, rank - 1, axis=0)[:rank]


def _of_large_bag(
    metric: str, rank: int, X: Any, parts: list[slice], Z: Any, others: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Process one large bag in parts, so that its squared distances do not have to fit in memory at once."""
    kept = back = None
    for rows in parts:
        near, back_part = nearest_instances(X[rows], np.array([0, rows.stop - rows.start]), Z, others)
        if metric == "mean_min":
            near = np.sqrt(near).sum(axis=0, keepdims=True)
            kept = near if kept is None else kept + near
        else:
            kept = near if kept is None else np.concatenate([kept, near])
            kept = -_least(-kept, 1) if metric == "maximal" else _least(kept, rank)
        back = back_part if back is None else np.minimum(back, back_part)
    assert kept is not None and back is not None  # `parts` is not empty
    return (kept / X.shape[0] if metric == "mean_min" else np.sqrt(kept[-1:])), back


def _by_callable(
    metric: Callable[..., Any], X: Any, offsets: np.ndarray, Z: Any, others: np.ndarray
) -> np.ndarray:
    mine, theirs = ([rows[a:b] for a, b in pairwise(ends)] for rows, ends in ((X, offsets), (Z, others)))
    return np.array([[float(metric(bag, other)) for other in theirs] for bag in mine])


def _discrepancies(K: np.ndarray, self_kernels: np.ndarray, other_self_kernels: np.ndarray) -> np.ndarray:
    squares = squared_distances(K, self_kernels, other_self_kernels)
    squares[squares < _ROUNDING * (self_kernels[:, None] + other_self_kernels)] = 0.0
    return np.sqrt(squares)
