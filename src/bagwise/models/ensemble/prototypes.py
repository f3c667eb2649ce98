"""Bag kernels based on similarities between bags and instances of the training bags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bagwise.data.bags import Bags
from bagwise.models.base.folds import Split
from bagwise.models.ensemble.training import OpenTraining
from bagwise.models.ensemble.views import FACTORS, SCALING_NAMES, Instances, TrainingGram, View
from bagwise.models.prototypes import PrototypeEmbedding
from bagwise.models.prototypes.points import Prototypes

_MOST = 2000  # prototypes


@dataclass(frozen=True)
class PrototypeView(View):
    """Linear kernels on the similarities of a bag to all prototypes t: max_j exp(-d(x_j, t)^2 / s^2).

    The prototypes are the distinct instances of the training bags, or a random sample of 2,000 of them, drawn
    by `PrototypeEmbedding`. This is the embedding of MILES, followed by an SVM that shrinks the coefficients
    instead of selecting prototypes. A fold only uses prototypes from its training bags, because a held-out
    bag would exactly match prototypes taken from this bag.

    Attributes
    ----------
    scale : {"standard", "rank", "minmax"}
        Scaling of the instances.
    instances, prototypes, least, holds, rows
        Set by `fit`: the fitted scaling, the prototypes with the width s (the median distance between a bag
        and a prototype), the squared distances of the training bags divided by s^2, a mask of the
        prototypes in each training bag, and the index of a training instance that equals each prototype.
    """

    scale: str
    instances: Instances | None = None
    prototypes: Prototypes | None = None
    least: np.ndarray | None = None
    holds: np.ndarray | None = None
    rows: np.ndarray | None = None

    @property
    def names(self) -> list[str]:
        """Names of the matrices."""
        return self.of_widths(f"similarity to instances, {SCALING_NAMES[self.scale]}")

    def fit(self, bags: Bags, weight: np.ndarray, seed: int, splits: Sequence[Split]) -> PrototypeView:
        """Choose the prototypes, and fit scaling and width."""
        instances = Instances.fit(self.scale, bags, weight, splits)
        scaled = instances.scaled(bags)
        embedding = PrototypeEmbedding("sample", n_prototypes=_MOST, width=1.0, scale=None, random_state=seed)
        prototypes = embedding.fit(scaled).prototypes_
        squares = prototypes.least(scaled)
        prototypes = prototypes.with_width(None, squares, weight)
        point = _equal_points(prototypes.points, scaled)
        holds = np.zeros((len(bags), len(prototypes)), dtype=bool)
        holds[bags.bag_index[point >= 0], point[point >= 0]] = True
        rows = np.zeros(len(prototypes), dtype=np.int64)
        rows[point[point >= 0]] = np.flatnonzero(point >= 0)
        least = prototypes.gamma * squares
        return replace(self, instances=instances, prototypes=prototypes, least=least, holds=holds, rows=rows)

    def train_grams(self, weight: np.ndarray, splits: Sequence[Split]) -> Iterator[TrainingGram]:
        """Yield the matrices of the training bags; `weight` contains the bag weights."""
        assert self.least is not None and self.holds is not None
        unknown = [~self.holds[train].any(axis=0) for train, _ in splits]
        for factor in FACTORS:
            V = np.exp(-factor * self.least)
            K = V @ V.T
            K = 0.5 * (K + K.T) / V.shape[1]

            def cut(fold: int, V: np.ndarray = V, K: np.ndarray = K) -> tuple[np.ndarray, np.ndarray]:
                train, test = splits[fold]
                rows = np.concatenate([train, test])
                # Subtract the contribution of the prototypes that no training bag of the fold contains,
                # because they are few.
                other = V[:, unknown[fold]]
                both = K[np.ix_(train, rows)] - other[train] @ other[rows].T / V.shape[1]
                square, cross = both[:, : len(train)], both[:, len(train) :]
                return 0.5 * (square + square.T), cross

            yield TrainingGram(K, cut)

    def cross_grams(self, bags: Bags, widths: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the kernel matrices between new bags and the training bags.

        After `with_coef`, yield the similarities of new bags to the prototypes instead.
        """
        assert self.instances is not None and self.prototypes is not None
        new = self.prototypes.least(self.instances.scaled(bags))
        for factor in FACTORS:
            similarities = np.exp(-factor * new)
            if self.least is not None:
                yield similarities @ np.exp(-factor * self.least).T / new.shape[1]
            else:
                yield similarities

    def compact(self) -> PrototypeView:
        """Return the view without the scaler and the prototypes, of which only the row indices are kept."""
        assert self.instances is not None and self.prototypes is not None
        prototypes = replace(self.prototypes, points=self.prototypes.points[:0])
        return replace(self, instances=self.instances.compact(), prototypes=prototypes, holds=None)

    def restored(self, training: OpenTraining) -> PrototypeView:
        """Scale the training bags again, and select the prototypes."""
        assert self.instances is not None and self.prototypes is not None
        instances, bags = training.scaled(self.instances.features, self.scale)
        prototypes = replace(self.prototypes, points=bags.instances[self.rows])
        return replace(self, instances=instances, prototypes=prototypes)

    def with_coef(self, coef: np.ndarray) -> tuple[PrototypeView, np.ndarray]:
        """Return the view without the similarities of the training bags, and coefficients of the prototypes.

        The kernels are linear in the similarities, so that the sum over training bags can be computed now.
        """
        assert self.least is not None
        sums = [c @ np.exp(-factor * self.least) for factor, c in zip(FACTORS, coef, strict=True)]
        return replace(self, least=None), np.stack(sums) / self.least.shape[1]


def _equal_points(points: np.ndarray, bags: Bags) -> np.ndarray:
    """Return the index of the point that equals each instance, or -1: shape (n_instances,)."""
    index_of = {row.tobytes(): index for index, row in enumerate(points + 0.0)}  # -0 is 0
    return np.array([index_of.get(row.tobytes(), -1) for row in bags.instances + 0.0])
