"""Set kernels over all pairs of instances, at several widths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from bagwise.data.bags import AnyBags, Bags
from bagwise.data.blocks import Block, Blocks, block_rows, cut_rows, fill_pairs, in_doubles
from bagwise.models.base.folds import Split
from bagwise.models.ensemble.training import OpenTraining
from bagwise.models.ensemble.views import SCALING_NAMES, Instances, TrainingGram, View
from bagwise.similarity import InstanceKernel, resolve_gamma, set_kernel
from bagwise.similarity.bag_kernels import (
    blocks_of,
    graph_kernel,
    graph_side,
    median_width,
    squared_distances,
)
from bagwise.similarity.instance_distances import scaled_distances

# Gamma of the widest kernel times the median squared distance between instances, and the number of widths.
_WIDEST, _N_WIDTHS = 0.5, 3
_MIDDLE = 1  # index of the width that the miGraph kernel uses
# Ratio of gamma between successive widths: the fourth power of a kernel value is the value at 4 gamma.
STEP = 4


@dataclass(frozen=True)
class SetView(View):
    """Means of a Gaussian kernel over all pairs of instances, and kernels derived from them.

    There are three widths, with gamma, 4 gamma and 16 gamma. Each width has two matrices: the mean itself,
    for which a bag's score is the mean of its instance scores, and a Gaussian kernel of the bag
    distance in the feature space of the mean. The middle width also has the miGraph kernel, which counts a
    group of close instances as one (`set_kernel`).

    Attributes
    ----------
    scale : {"standard", "rank", "minmax"}
        Scaling of the instances.
    instances, bags, gamma, lengths
        Set by `fit`: the fitted scaling, the scaled training bags, gamma of the widest kernel, and the kernel
        of each training bag with itself, with one row per width.
    """

    scale: str
    instances: Instances | None = None
    bags: Bags | None = None
    gamma: float = 1.0
    lengths: np.ndarray | None = None

    @property
    def _factors(self) -> list[float]:
        return [float(STEP**k) for k in range(_N_WIDTHS)]

    @property
    def names(self) -> list[str]:
        """Names of the matrices."""
        widths = [
            f"{SCALING_NAMES[self.scale]}, gamma {_WIDEST * factor:g} / median" for factor in self._factors
        ]
        return [
            *(f"mean over pairs, {width}" for width in widths),
            *(f"Gaussian of the bag distance, {width}" for width in widths),
            f"miGraph, {widths[_MIDDLE]}",
        ]

    @property
    def of_instances(self) -> list[bool]:
        """Mask of the matrices for which a bag's score is the mean of its instance scores."""
        return [True] * _N_WIDTHS + [False] * (_N_WIDTHS + 1)

    def fit(self, bags: Bags, weight: np.ndarray, seed: int, splits: Sequence[Split]) -> SetView:
        """Fit scaling and width."""
        instances = Instances.fit(self.scale, bags, weight, splits)
        scaled = instances.scaled(bags)
        gamma = _WIDEST * resolve_gamma("median", blocks_of(scaled, weight))
        lengths = self_kernels_of_widths(scaled, gamma, _N_WIDTHS)
        return replace(self, instances=instances, bags=scaled, gamma=gamma, lengths=lengths)

    def train_grams(self, weight: np.ndarray, splits: Sequence[Split]) -> Iterator[TrainingGram]:
        """Yield the matrices of the training bags; `weight` contains the bag weights."""
        training, _ = self._fitted
        means = set_kernels_of_widths(training, None, self.gamma, _N_WIDTHS)
        for K in means:
            yield TrainingGram.of_all(K, splits)
        for K in means:
            D = squared_distances(K, K.diagonal(), K.diagonal())
            width = median_width(D, weight)
            yield TrainingGram.of_all(np.exp(-D / width**2), splits, width)
        graph = set_kernel(training, kernel=self._graph_kernel, normalize="feature", weights="graph")
        yield TrainingGram.of_all(graph, splits)

    def cross_grams(self, bags: Bags, widths: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the matrices between new bags and the training bags, at the widths from `train_grams`."""
        training, instances = self._fitted
        new = instances.scaled(bags)
        means = set_kernels_of_widths(new, training, self.gamma, _N_WIDTHS)
        yield from means
        assert self.lengths is not None
        lengths = self_kernels_of_widths(new, self.gamma, _N_WIDTHS)
        sides = zip(means, lengths, self.lengths, widths[_N_WIDTHS : 2 * _N_WIDTHS], strict=True)
        for K, rows, columns, width in sides:
            yield np.exp(-squared_distances(K, rows, columns) / width**2)
        yield self._graph(new, training)

    def cross_grams_of_instances(self, bags: Bags) -> list[np.ndarray]:
        """Return the `of_instances` matrices between single instances (as bags) and the training bags."""
        training, instances = self._fitted
        alone = Bags(bags.instances, np.arange(bags.n_instances + 1))
        return set_kernels_of_widths(instances.scaled(alone), training, self.gamma, _N_WIDTHS)

    def compact(self) -> SetView:
        """Return the view without the scaled bags."""
        assert self.instances is not None
        return replace(self, instances=self.instances.compact(), bags=None)

    def restored(self, training: OpenTraining) -> OpenSetView:
        """Scale the training bags again, and compute their weights for the miGraph kernel."""
        assert self.instances is not None
        instances, bags = training.scaled(self.instances.features, self.scale)
        stored = {field.name: getattr(self, field.name) for field in fields(SetView)}
        return OpenSetView(
            **stored | {"instances": instances, "bags": bags}, graph=graph_side(bags, self._graph_kernel)
        )

    @property
    def _graph_kernel(self) -> InstanceKernel:
        return InstanceKernel("rbf", self.gamma * self._factors[_MIDDLE])

    def _graph(self, bags: Bags, other: Bags) -> np.ndarray:
        """Return the miGraph kernel between new bags and the training bags."""
        k = self._graph_kernel
        return graph_kernel(k, graph_side(bags, k), graph_side(other, k))

    @property
    def _fitted(self) -> tuple[Bags, Instances]:
        assert self.bags is not None and self.instances is not None
        return self.bags, self.instances


@dataclass(frozen=True)
class OpenSetView(SetView):
    """A view during predictions, which is never stored.

    Attributes
    ----------
    graph : tuple
        The training bags with graph weights, and their norms (`graph_side`).
    """

    graph: tuple[Blocks, np.ndarray] = None  # type: ignore[assignment]

    def _graph(self, bags: Bags, other: Bags) -> np.ndarray:
        return graph_kernel(self._graph_kernel, graph_side(bags, self._graph_kernel), self.graph)


def set_kernels_of_widths(
    bags: AnyBags, other: AnyBags | None, gamma: float, n_widths: int
) -> list[np.ndarray]:
    """Return the mean of a Gaussian kernel over all pairs of instances of two bags, at several widths.

    The result equals ``set_kernel(bags, other, gamma=...)`` at gamma, 4 gamma, 16 gamma, and so on, up to
    rounding. It costs little more than a single kernel, because distances and exponentials are computed once.

    Parameters
    ----------
    bags, other : Bags or ScannedBags
        Bags for the rows and the columns of the matrices; by default, the same bags for both.
    gamma : float
        Parameter of the widest kernel, exp(-gamma |x - z|^2).
    n_widths : int
        Number of widths.

    Returns
    -------
    list of n_widths arrays of shape (n_bags, n_other)

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import load_digit_bags, set_kernel
    >>> from bagwise.models.ensemble.sets import set_kernels_of_widths
    >>> bags = load_digit_bags(20, random_state=0).bags
    >>> _, narrow = set_kernels_of_widths(bags, None, 0.01, 2)
    >>> bool(np.allclose(narrow, set_kernel(bags, gamma=0.04)))
    True
    """
    rows = blocks_of(bags)
    columns = None if other is None else blocks_of(other)
    n_columns = rows.n_bags if columns is None else columns.n_bags
    sums = np.empty((rows.n_bags, n_columns, n_widths))
    fill_pairs(sums, partial(_sums_of_powers, gamma, n_widths), rows, columns)
    right = rows if columns is None else columns
    pairs = np.outer(np.diff(rows.offsets), np.diff(right.offsets))
    return [np.ascontiguousarray(sums[..., k]) / pairs for k in range(n_widths)]


def self_kernels_of_widths(bags: AnyBags, gamma: float, n_widths: int) -> np.ndarray:
    """Return the kernel of every bag with itself at several widths: shape (n_widths, n_bags)."""
    return blocks_of(bags).joined(_self_means, gamma, n_widths).T


def _self_means(block: Block, gamma: float, n_widths: int) -> np.ndarray:
    X, means = in_doubles(block.X), []
    for begin, end in pairwise(block.offsets):
        bag, offsets = X[begin:end], np.array([0, end - begin])
        means.append(_sums_of_powers(gamma, n_widths, bag, offsets, bag, offsets)[0, 0] / (end - begin) ** 2)
    return np.array(means)


def _sums_of_powers(
    gamma: float, n_widths: int, X: Any, offsets: np.ndarray, Z: Any, other_offsets: np.ndarray
) -> np.ndarray:
    """Sum the kernel and its powers over all pairs of instances: shape (n_bags, n_others, n_widths)."""
    if len(offsets) > 2:
        return _of_bags(gamma, n_widths, X, offsets, Z, other_offsets)
    # A single bag may be large, so it is processed in blocks of rows.
    total = np.zeros((1, len(other_offsets) - 1, n_widths))
    for rows in cut_rows(X.shape[0], block_rows(Z.shape[0])):
        inside = np.array([0, rows.stop - rows.start])
        total += _of_bags(gamma, n_widths, X[rows], inside, Z, other_offsets)
    return total


def _of_bags(
    gamma: float, n_widths: int, X: Any, offsets: np.ndarray, Z: Any, other_offsets: np.ndarray
) -> np.ndarray:
    K = scaled_distances(X, Z, gamma)
    np.exp(np.negative(K, out=K), out=K)
    sums = []
    for k in range(n_widths):
        if k:
            np.square(np.square(K, out=K), out=K)
        by_column = np.add.reduceat(K, other_offsets[:-1], axis=1)
        sums.append(np.add.reduceat(by_column, offsets[:-1], axis=0))
    return np.stack(sums, axis=-1)
