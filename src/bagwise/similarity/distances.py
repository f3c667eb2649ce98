"""Distances between bags, of bags anywhere, and block by block."""

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
# What else `bag_distances` takes, by name.
_PARAMETERS = ("rank", "kernel", "gamma")

# A squared discrepancy below this part of its terms is what rounding leaves of zero.
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
    """Distances of all bags to each other, or to other bags.

    With d(a, B) the Euclidean distance of an instance a to the nearest instance of a bag B, the distance of
    bags A and B is

    ===========  =====================================================================================
    "minimal"    the least d(a, B) of all a in A: that of the two nearest instances
    "maximal"    the largest d(a, B) of all a in A, or d(b, A) of all b in B: Hausdorff's
    "ranked"     the same with the `rank`-th least d(a, B), and d(b, A), in place of the largest; a smaller
                 bag has its largest. 1 is "minimal".
    "mean_min"   the mean of d(a, B) over A, and of d(b, A) over B, halfway between the two
    "mmd"        the maximum mean discrepancy sqrt(k(A, A) + k(B, B) - 2 k(A, B)), where k is the mean of a
                 kernel over all pairs of instances (`set_kernel`)
    callable     whatever ``metric(A, B)`` says of two matrices of instances
    ===========  =====================================================================================

    For ``KNeighborsClassifier(metric="precomputed")`` and anything else that takes distances.

    Parameters
    ----------
    X, Y : Bags, ScannedBags, list of arrays, 3-D or 2-D array
        Rows and columns of the matrix; without `Y`, both are `X`.
    metric : {"minimal", "maximal", "ranked", "mean_min", "mmd"} or callable, default="minimal"
        Which distance.
    rank : int, default=1
        For "ranked".
    kernel, gamma
        For "mmd": the kernel of instances, as in `set_kernel`.

    Returns
    -------
    array of shape (n_bags, n_other)
        Without `Y` exactly symmetric, with zeros on the diagonal, unless a callable gives anything else.

    Notes
    -----
    All pairs of instances are visited, O(n_instances * n_other_instances * n_features), every two bags once;
    memory is that of the result and a few blocks, and files are read once for every block of the rows.
    Distances come from differences of instances, sparse or dense, so that nothing cancels far from the
    origin, and the distance of two bags does not depend on the bags beside them ("mmd": but for rounding).

    References
    ----------
    J. Wang and J.-D. Zucker (2000), Solving the multiple-instance problem: a lazy learning approach, ICML.

    V. Cheplygina, D. M. J. Tax and M. Loog (2015), Multiple instance learning with bag dissimilarities,
    Pattern Recognition 48: "mean_min", there of squared distances and in one direction.

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
        raise ValueError(f"rank must be a whole number of at least 1; got {rank!r}.")
    rows, columns = rows_and_columns(X, Y, ("X", "Y"))
    require_memory(len(rows), len(columns), "bags", kind="distance")
    left = blocks_of(rows)
    right = None if Y is None else blocks_of(columns)
    if metric == "mmd":
        k = kernel_of(kernel, gamma, 3, 0.0, lambda: left if right is None else right)
        K = set_kernel(rows, None if Y is None else columns, kernel=k)
        own = own_kernels(k, left)
        return _discrepancies(K, own, own if right is None else own_kernels(k, right))
    D = np.empty((len(rows), len(columns)))
    if callable(metric):
        # It need not be symmetric.
        fill_pairs(D, partial(_by_callable, metric), left, blocks_of(columns))
    else:
        fill_pairs(D, partial(_by_nearest, metric, rank), left, right)
    if not np.isfinite(D).all():
        what = "the metric gave" if callable(metric) else "features are so large that squares give"
        raise ValueError(f"distances of bags must be finite; {what} infinity or NaN.")
    return D


def metric_arguments(metric_params: dict[str, Any] | None) -> dict[str, Any]:
    """Give an estimator's `metric_params` as arguments of `bag_distances`, if all of them are known."""
    given = metric_params or {}
    for name in given:
        if name not in _PARAMETERS:
            raise ValueError(
                f"metric_params has {name!r}, which no distance of bags takes; leave it out, or give "
                f"{', '.join(_PARAMETERS[:-1])} or {_PARAMETERS[-1]}."
            )
    return given


def nearest_instances(
    X: Any, offsets: np.ndarray, Z: Any, others: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances of every row of `X` to every bag of `Z`, and of every row of `Z` to every bag of `X`.

    Rows are double, arrays or CSR, and have as many features; none of the bags is empty.
    """
    from bagwise._core.compiled.distances import nearest_of_dense, nearest_of_sparse

    if X.shape[1] != Z.shape[1]:
        raise ValueError(f"instances have {X.shape[1]} features but others have {Z.shape[1]}.")
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
        there, back = _of_large_bag(metric, rank, X, parts, Z, others)
    else:
        near, back = nearest_instances(X, offsets, Z, others)
        there = _over_bags(metric, rank, near, offsets)
    if metric == "minimal":
        return there
    again = _over_bags(metric, rank, back, others).T
    return 0.5 * (there + again) if metric == "mean_min" else np.maximum(there, again)


def _over_bags(metric: str, rank: int, squares: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Give the least, largest, mean or `rank`-th distance in every bag, of every column of squared ones."""
    if metric == "mean_min":
        return np.add.reduceat(np.sqrt(squares), offsets[:-1], axis=0) / np.diff(offsets)[:, None]
    if metric == "ranked":
        bags = (squares[begin:end] for begin, end in pairwise(offsets))
        return np.sqrt(np.stack([_least(bag, rank)[-1] for bag in bags]))
    extreme = np.minimum if metric == "minimal" else np.maximum
    return np.sqrt(extreme.reduceat(squares, offsets[:-1], axis=0))


def _least(squares: np.ndarray, rank: int) -> np.ndarray:
    """The `rank` least of every column, or all, the largest of them last."""
    rank = min(rank, len(squares))
    return np.partition(squares, rank - 1, axis=0)[:rank]


def _of_large_bag(
    metric: str, rank: int, X: Any, parts: list[slice], Z: Any, others: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The same for one bag, part by part: squared distances to it need not be in memory all at once."""
    kept = back = None
    for rows in parts:
        near, some = nearest_instances(X[rows], np.array([0, rows.stop - rows.start]), Z, others)
        if metric == "mean_min":
            near = np.sqrt(near).sum(axis=0, keepdims=True)
            kept = near if kept is None else kept + near
        else:
            kept = near if kept is None else np.concatenate([kept, near])
            kept = -_least(-kept, 1) if metric == "maximal" else _least(kept, rank)
        back = some if back is None else np.minimum(back, some)
    assert kept is not None and back is not None  # there is a part
    return (kept / X.shape[0] if metric == "mean_min" else np.sqrt(kept[-1:])), back


def _by_callable(
    metric: Callable[..., Any], X: Any, offsets: np.ndarray, Z: Any, others: np.ndarray
) -> np.ndarray:
    mine, theirs = ([rows[a:b] for a, b in pairwise(ends)] for rows, ends in ((X, offsets), (Z, others)))
    return np.array([[float(metric(bag, other)) for other in theirs] for bag in mine])


def _discrepancies(K: np.ndarray, own: np.ndarray, other: np.ndarray) -> np.ndarray:
    squares = squared_distances(K, own, other)
    squares[squares < _ROUNDING * (own[:, None] + other)] = 0.0
    return np.sqrt(squares)
