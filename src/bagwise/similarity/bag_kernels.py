"""Bag kernels: set kernels and kernels of bag statistics, computed block by block from any backend."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.types import Kernel, Transformer
from bagwise.data.bags import AnyBags, as_bags, is_scan
from bagwise.data.blocks import Block, Blocks, block_rows, cut_rows, fill_pairs, in_doubles, sparse_in_parts
from bagwise.data.types import BagsLike
from bagwise.similarity.instance_kernels import InstanceKernel, refuse_overflow, resolve_gamma
from bagwise.similarity.instance_weights import (
    WeightedBlocks,
    WeightedKernel,
    graph_weights,
    read_weights,
    weight_sums,
    weighted,
)
from bagwise.similarity.matrix_memory import require_memory
from bagwise.similarity.statistics import bag_sums, describe, weighted_median

PairKernel = InstanceKernel | WeightedKernel


def set_kernel(
    bags: BagsLike,
    other: BagsLike | None = None,
    *,
    kernel: Kernel = "rbf",
    gamma: float | str = "scale",
    degree: float = 3,
    coef0: float = 0.0,
    normalize: str | None = "average",
    weights: ArrayLike | str | None = None,
    other_weights: ArrayLike | None = None,
    level2: str | None = None,
    width: float | None = None,
) -> np.ndarray:
    """Compute the set kernel of bags: the normalized sum of an instance kernel over all pairs of instances.

    For bags X and Z and instance weights w, which are 1 by default, the set kernel is ::

        k(X, Z) = sum_{x in X, z in Z} w(x) w(z) k(x, z) / (norm(X) norm(Z))

    The norm depends on `normalize`:

    - "average": norm(X) is the sum of the weights. The kernel is then the inner product of the mean
      embeddings of the bags.
    - "feature": norm(X) is the square root of the sum over all pairs of X with itself. The diagonal is then
      1, except for bags whose kernels are all zero.
    - None: norm(X) is 1.

    With ``level2="rbf"``, the kernel is ``exp(-|X - Z|^2 / width^2)``. Here ``|X - Z|^2``, which equals
    k(X, X) + k(Z, Z) - 2 k(X, Z), is the squared distance of the bags in the feature space of k. For
    "average", this distance is their maximum mean discrepancy.

    Parameters
    ----------
    bags, other : Bags, ScannedBags, list of arrays, 3-D or 2-D array
        Rows and columns of the matrix; without `other`, both are `bags`.
    kernel, gamma, degree, coef0
        The instance kernel and its parameters, or an `InstanceKernel` with all of them. For "scale", gamma
        is computed from `other` if it is passed, otherwise from `bags`. If the rows are new bags, pass the
        training bags as `other`.
    normalize : {"average", "feature", None}
        Normalization that prevents large bags from dominating.
    weights : array of shape (n_instances,), "graph" or None
        Weights of the instances of `bags`, such as the count of each instance. "graph" (miGraph) computes
        the weights of the instances of both `bags` and `other`. The weight of an instance is 1 divided by
        the number of close instances in its bag, including itself. Two instances are close if their squared
        distance in the feature space of the kernel is below its mean over all pairs of the bag. A clique of
        instances then counts as one instance.
    other_weights : array of shape (n_other_instances,), optional
        Weights of the instances of `other`.
    level2 : {"rbf"} or None
        Gaussian kernel on top of the set kernel, see above.
    width : float, optional
        Width of the Gaussian kernel. The default is the median distance between different bags of `other` if
        it is passed, otherwise of `bags`. With `other`, the default requires an additional kernel matrix.

    Returns
    -------
    array of shape (n_bags, n_other)

    Notes
    -----
    The kernel is computed for all pairs of instances, block by block. The result and a few blocks must fit in
    memory. Files are read once for every block (8 MB of doubles) of the rows. The linear kernel is a product
    of bag sums and needs only two reads.

    References
    ----------
    T. Gärtner, P. A. Flach, A. Kowalczyk and A. J. Smola (2002), Multi-instance kernels, ICML.

    Z.-H. Zhou, Y.-Y. Sun and Y.-F. Li (2009), Multi-instance learning by treating instances as non-i.i.d.
    samples, ICML, doi:10.1145/1553374.1553534: miGraph.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from bagwise import load_digit_bags
    >>> from bagwise.similarity import set_kernel
    >>> data = load_digit_bags(60, random_state=0)
    >>> train, test = data.bags[:40], data.bags[40:]
    >>> svc = SVC(kernel="precomputed").fit(set_kernel(train), data.y[:40])
    >>> svc.predict(set_kernel(test, train)).shape
    (20,)
    """
    from bagwise._core.compiled.dual import mirror_upper

    if normalize not in ("average", "feature", None):
        raise ValueError(f"normalize must be 'average', 'feature' or None; got {normalize!r}.")
    if level2 not in ("rbf", None):
        raise ValueError(f"level2 must be 'rbf' or None; got {level2!r}.")
    rows, columns = rows_and_columns(bags, other)
    left = blocks_of(rows)
    right = left if other is None else blocks_of(columns)
    of_instances = kernel_of(kernel, gamma, degree, coef0, lambda: right)
    k: PairKernel = of_instances
    require_memory(len(rows), len(columns), "bags")
    if weights is not None or other_weights is not None:
        left = _with_weights(left, of_instances, weights, "weights")
        more = weights if isinstance(weights, str) else other_weights
        right = left if other is None else _with_weights(right, of_instances, more, "other_weights")
        k = WeightedKernel(of_instances)
    others = None if other is None else right
    K = _sums(k, left, others)
    of_rows, of_columns = (_norms(K, blocks, k, normalize, others) for blocks in (left, right))
    K /= of_rows[:, None]
    K /= of_columns
    if other is None:
        mirror_upper(K, len(K))  # the order of the two divisions changes the rounding
    if level2 is None:
        return K
    if other is None:
        D = squared_distances(K, K.diagonal(), K.diagonal())
    else:
        sides = ((left, of_rows), (right, of_columns))
        D = squared_distances(K, *(blocks.joined(_own_sums, k) / norms**2 for blocks, norms in sides))
    if width is None:
        width = median_width(D) if other is None else _own_width(k, right, of_columns)
    return np.exp(-D / width**2)


def graph_side(bags: AnyBags, kernel: InstanceKernel) -> tuple[Blocks, np.ndarray]:
    """Return bags with their graph weights, and the norms of the bags: an argument of `graph_kernel`."""
    blocks = _with_weights(blocks_of(bags), kernel, "graph", "weights")
    return blocks, _lengths(blocks.joined(_own_sums, WeightedKernel(kernel)))


def graph_kernel(
    kernel: InstanceKernel, rows: tuple[Blocks, np.ndarray], columns: tuple[Blocks, np.ndarray]
) -> np.ndarray:
    """Return ``set_kernel(..., normalize="feature", weights="graph")`` of two results of `graph_side`."""
    K = _sums(WeightedKernel(kernel), rows[0], columns[0])
    K /= rows[1][:, None]
    K /= columns[1]
    return K


def _with_weights(blocks: Blocks, k: InstanceKernel, weights: Any, name: str) -> Blocks:
    """Return blocks whose instances have their weight as the last feature; the default weights are 1."""
    if weights is None:
        return WeightedBlocks(blocks, np.ones(blocks.n_instances))
    if isinstance(weights, str):
        if weights != "graph":
            raise ValueError(f"{name} must be an array, 'graph' or None; got {weights!r}.")
        return WeightedBlocks(blocks, blocks.joined(graph_weights, k))
    return WeightedBlocks(blocks, read_weights(weights, blocks.n_instances, name))


def _norms(
    K: np.ndarray, blocks: Blocks, k: PairKernel, normalize: str | None, columns: Blocks | None
) -> np.ndarray:
    """Return the norm of every bag; without `columns`, use the diagonal of `K`."""
    if normalize is None:
        return np.ones(blocks.n_bags)
    if normalize == "feature":
        return _lengths(K.diagonal() if columns is None else blocks.joined(_own_sums, k))
    if isinstance(k, WeightedKernel):
        sums = blocks.joined(weight_sums)
        return np.where(sums > 0, sums, 1.0)
    return np.diff(blocks.offsets)


def _own_width(k: PairKernel, blocks: Blocks, norms: np.ndarray) -> float:
    """Return the median distance between different bags, computed from their kernel matrix."""
    K = _sums(k, blocks, None) / np.outer(norms, norms)
    return median_width(squared_distances(K, K.diagonal(), K.diagonal()))


def statistic_kernel(
    bags: BagsLike,
    other: BagsLike | None = None,
    *,
    statistic: str | Transformer = "minimax",
    kernel: Kernel = "poly",
    gamma: float | str = "scale",
    degree: float = 3,
    coef0: float = 1.0,
) -> np.ndarray:
    """Compute a kernel of bag statistics: ``k(s(X), s(Z))`` with a vector of statistics s for each bag.

    Parameters
    ----------
    bags, other : Bags, ScannedBags, list of arrays, 3-D or 2-D array
        Rows and columns of the matrix; without `other`, both are `bags`.
    statistic : {"minimax", "mean"} or transformer
        Vector of a bag: the minimum and maximum of every feature, the mean of every feature, or the output
        of a transformer that converts bags to vectors, such as a fitted `BagStatistics`.
    kernel, gamma, degree, coef0
        Kernel of the vectors, see `InstanceKernel`.

    Returns
    -------
    array of shape (n_bags, n_other)

    Examples
    --------
    >>> from bagwise import load_digit_bags
    >>> from bagwise.similarity import statistic_kernel
    >>> statistic_kernel(load_digit_bags(30, random_state=0).bags, kernel="rbf").shape
    (30, 30)
    """
    rows, columns = rows_and_columns(bags, other)
    require_memory(len(rows), len(columns), "bags")
    left = bag_statistics(rows, statistic)
    right = left if other is None else bag_statistics(columns, statistic)
    k = kernel_of(kernel, gamma, degree, coef0, lambda: right)
    K = np.empty((len(rows), len(columns)))
    if other is None:
        k.fill(left, K)
        return K
    for part in cut_rows(len(K), block_rows(K.shape[1])):
        K[part] = k(left[part], right)
    return K


def minimax_kernel(
    bags: BagsLike,
    other: BagsLike | None = None,
    *,
    degree: float = 1,
    gamma: float = 1.0,
    coef0: float = 1.0,
) -> np.ndarray:
    """Compute the minimax kernel of bags: ``(gamma s(X)'s(Z) + coef0)^degree``.

    The vector s(X) contains the minimum and maximum of every feature in the bag X. Scale the features first:
    the values grow with the (2 * degree)-th power of the features. For features in [0, 1],
    ``gamma = 1 / (2 * n_features)`` keeps all values in [1, 2 ** degree].

    Parameters
    ----------
    bags, other : Bags, ScannedBags, list of arrays, 3-D or 2-D array
        Rows and columns of the matrix; without `other`, both are `bags`.
    degree, gamma, coef0 : float
        Parameters in the formula above.

    Returns
    -------
    array of shape (n_bags, n_other)

    Examples
    --------
    >>> from bagwise.similarity import minimax_kernel
    >>> minimax_kernel([[[0.0], [1.0]], [[2.0], [3.0]]])  # statistics (0, 1) and (2, 3)
    array([[ 2.,  4.],
           [ 4., 14.]])
    """
    return statistic_kernel(
        bags, other, statistic="minimax", kernel="poly", gamma=gamma, degree=degree, coef0=coef0
    )


def bag_statistics(bags: AnyBags, statistic: Any) -> np.ndarray:
    """Compute the vector of every bag; see `statistic_kernel`."""
    if hasattr(statistic, "transform"):
        return np.asarray(statistic.transform(bags), dtype=np.float64)
    if statistic not in ("minimax", "mean"):
        raise ValueError(f"statistic must be 'minimax', 'mean' or a transformer of bags; got {statistic!r}.")
    return blocks_of(bags).joined(_means if statistic == "mean" else _extremes)


def _means(block: Block) -> np.ndarray:
    return bag_sums(block.X, block.offsets) / np.diff(block.offsets)[:, None]


def _extremes(block: Block) -> np.ndarray:
    return describe(block.X, block.offsets, ("min", "max")).astype(np.float64, copy=False)


def blocks_of(bags: AnyBags, weight: np.ndarray | None = None) -> Blocks:
    """Return bags as blocks for passes that convert the data as they read them."""
    return sparse_in_parts(bags.blocks(weight=weight))


def rows_and_columns(
    bags: Any, other: Any, names: tuple[str, str] = ("bags", "other")
) -> tuple[AnyBags, AnyBags]:
    """Validate the bags of the rows and columns of a matrix; the data of scans are not read."""
    rows = _read(bags)
    columns = rows if other is None else _read(other)
    for part in (rows, columns):
        part._refuse_empty_bags()
    if rows.n_features != columns.n_features:
        raise ValueError(
            f"{names[0]} has {rows.n_features} features but {names[1]} has {columns.n_features}; both must "
            "have the same number of features."
        )
    return rows, columns


def _read(bags: Any) -> AnyBags:
    if is_scan(bags):
        return bags
    bags = as_bags(bags)
    # Columns of some data frames contain Python objects.
    return bags.with_instances(in_doubles(bags.instances)) if bags.instances.dtype == object else bags


def kernel_of(
    kernel: Kernel, gamma: float | str, degree: float, coef0: float, vectors: Callable[[], Any]
) -> InstanceKernel:
    """Make an instance kernel; `vectors` returns the data for ``gamma="scale"``."""
    if isinstance(kernel, InstanceKernel):
        return kernel
    if callable(kernel) or kernel in ("linear", "poly", "rbf"):
        value = resolve_gamma(gamma, vectors()) if isinstance(gamma, str) else gamma
        return InstanceKernel(kernel, value, degree, coef0)
    raise ValueError(f"kernel must be 'linear', 'poly', 'rbf' or a callable; got {kernel!r}.")


def _sums(k: PairKernel, rows: Blocks, columns: Blocks | None) -> np.ndarray:
    """Compute the sum of the instance kernel over all pairs of instances, for every pair of bags."""
    if k.name == "linear":
        of_bags = _weighted_sums_of_instances if isinstance(k, WeightedKernel) else _sums_of_instances
        left = rows.joined(of_bags)
        right = left if columns is None else columns.joined(of_bags)
        with np.errstate(over="ignore", invalid="ignore"):
            return refuse_overflow(left @ right.T)
    K = np.empty((rows.n_bags, rows.n_bags if columns is None else columns.n_bags))
    fill_pairs(K, partial(_sums_over_pairs, k), rows, columns)
    return K


def _sums_of_instances(block: Block) -> np.ndarray:
    return bag_sums(block.X, block.offsets)


def _weighted_sums_of_instances(block: Block) -> np.ndarray:
    return bag_sums(weighted(block.X), block.offsets)


def _sums_over_pairs(
    k: PairKernel, X: Any, offsets: np.ndarray, Z: Any, other_offsets: np.ndarray
) -> np.ndarray:
    starts = other_offsets[:-1]
    if len(offsets) > 2:
        return np.add.reduceat(np.add.reduceat(k(X, Z), starts, axis=1), offsets[:-1], axis=0)
    # A single bag can be large, so it is split.
    parts = (k(X[rows], Z) for rows in cut_rows(X.shape[0], block_rows(Z.shape[0])))
    return sum(np.add.reduceat(part, starts, axis=1).sum(axis=0) for part in parts)[None]


def _lengths(squares: np.ndarray) -> np.ndarray:
    """Compute the length of every bag; use 1 for bags of length zero, whose kernels are all zero."""
    return np.sqrt(np.where(squares > 0, squares, 1.0))


def own_kernels(k: PairKernel, blocks: Blocks) -> np.ndarray:
    """Compute the mean of the instance kernel over all pairs within each bag."""
    return blocks.joined(_own_sums, k) / np.square(np.diff(blocks.offsets).astype(np.float64))


def _own_sums(block: Block, k: PairKernel) -> np.ndarray:
    """Compute the sum of the instance kernel over all pairs within each bag."""
    X = in_doubles(block.X)
    sums = []
    for begin, end in pairwise(block.offsets):
        bag, offsets = X[begin:end], np.array([0, end - begin])
        sums.append(_sums_over_pairs(k, bag, offsets, bag, offsets)[0, 0])
    return np.array(sums)


def squared_distances(K: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return k(X, X) + k(Z, Z) - 2 k(X, Z), clipped at zero, from a kernel matrix and both k(X, X).

    For mean embeddings, this is the squared maximum mean discrepancy.
    """
    D = np.add.outer(rows, columns)  # first, so that the result is exactly symmetric
    D -= 2.0 * K
    return np.maximum(D, 0.0, out=D)


def median_width(D: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return the weighted median distance between different bags; 1 if all bags are equal."""
    weight = np.ones(len(D)) if weight is None else weight
    return float(np.sqrt(weighted_median(D.ravel(), np.outer(weight, weight).ravel()))) or 1.0
