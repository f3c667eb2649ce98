"""Shared code of nearest-neighbor classifiers: distances, their order, votes, and the nearest instances."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from bagwise._core.interrupt import interruptible
from bagwise._core.sklearn_private import Interval, StrOptions, available_if
from bagwise._display.bunch import ShownBunch
from bagwise.data.bags import Bags
from bagwise.data.blocks import in_doubles
from bagwise.models.base import (
    SCALE_CONSTRAINT,
    BagClassifier,
    BagsLike,
    Scaled,
)
from bagwise.similarity.distances import METRICS, bag_distances, metric_arguments, nearest_instances

COUNT_CONSTRAINT: list[Any] = [Interval(Integral, 1, None, closed="left")]
NEIGHBORS_CONSTRAINTS: dict[str, Any] = {
    "metric": [StrOptions({*METRICS, "precomputed"}), callable],
    "metric_params": [dict, None],
    "scale": SCALE_CONSTRAINT,
    "positive": "no_validation",
}

# Distances are treated as equal if their ratio differs from one by less than this.
EQUAL = 1e-12


def nearest_first(distances: np.ndarray, labels: np.ndarray, n: int | None = None) -> np.ndarray:
    """Order the columns of every row by distance, and return the first `n`, or all.

    For ties, the largest class index comes first.

    The labels of the nearest bags therefore do not depend on the order of the columns. Within a class, tied
    columns keep their order. Distances with a relative difference below 1e-12 are tied, so that rounding
    errors do not determine the order.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.models.neighbors.base import nearest_first
    >>> nearest_first(np.array([[1.0 + 1e-15, 1.0, 0.5]]), np.array([0, 1, 1]))
    array([[2, 1, 0]])
    """
    width = distances.shape[1]
    n = width if n is None else min(n, width)
    n_sorted = 2 * n + 8
    if n_sorted < width:
        # It suffices to sort the nearest columns if they contain all that are tied with the last result.
        columns = np.argpartition(distances, n_sorted, axis=1)[:, :n_sorted]
        order, rank = _ranks(np.take_along_axis(distances, columns, axis=1))
        order = np.take_along_axis(columns, order, axis=1)
    if n_sorted >= width or not (rank[:, n - 1] < rank[:, -1]).all():
        order, rank = _ranks(distances)
    by_class = np.empty(len(labels), dtype=np.int64)
    by_class[np.argsort(-labels, kind="stable")] = np.arange(len(labels))
    within = by_class[order]
    return np.take_along_axis(order, np.argsort(rank * width + within, axis=1)[:, :n], axis=1)


def _ranks(distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of the columns of every row by distance, and their ranks in this order."""
    order = np.argsort(distances, axis=1, kind="stable")
    rising = np.take_along_axis(distances, order, axis=1)
    is_further = rising[:, 1:] > rising[:, :-1] * (1.0 + EQUAL)
    return order, np.concatenate([np.zeros((len(order), 1), np.int64), np.cumsum(is_further, axis=1)], axis=1)


def _compares_instances(model: Any) -> bool:
    return isinstance(model.metric, str) and model.metric != "precomputed"


class NeighborsClassifier(Scaled, BagClassifier):
    """Base class of classifiers based on distances to training bags; subclasses implement fit and votes."""

    labels_: np.ndarray
    scaler_: Any
    bags_: Bags | None

    _takes_many_classes = True
    # Votes count both classes alike.
    _text_labels = "last"

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    @property
    def _accepts_sparse(self) -> bool:
        return not self._is_precomputed

    @interruptible(at_once=True)
    def _fit_distances(self, X: BagsLike, y: ArrayLike) -> np.ndarray:
        """Store the training bags and labels, and return the distances, with infinity on the diagonal."""
        training = self._read_training(X, y, binary=None)
        bags = training.bags
        self.labels_ = training.y.astype(np.int64)
        if self._is_precomputed:
            if bags.n_features != len(bags):
                raise ValueError(
                    f"X has the shape {bags.shape}, but with metric='precomputed' fit expects the distances "
                    "between all training bags, a square matrix."
                )
            self.bags_ = self.scaler_ = None
            distances = np.array(bags.instances, dtype=np.float64)
        else:
            self.bags_ = self._fit_scaler(training).bags
            distances = bag_distances(self.bags_, metric=self.metric, **metric_arguments(self.metric_params))
        np.fill_diagonal(distances, np.inf)
        return distances

    @property
    def _largest_value(self) -> float:
        return np.inf if self._is_precomputed else super()._largest_value

    def _read(self, X: BagsLike, *, reset: bool = False, whole: bool = True) -> Bags:
        bags = super()._read(X, reset=reset, whole=whole)
        if self._is_precomputed and bags.n_instances > len(bags):
            raise ValueError(
                f"X has {len(bags)} bags with {bags.n_instances} rows, but metric='precomputed' needs one "
                "row of distances per bag: a matrix of shape (n_bags, n_training_bags)."
            )
        return bags

    @interruptible(at_once=True)
    def _distances(self, bags: Bags) -> np.ndarray:
        """Return the distances of bags to the training bags."""
        if self._is_precomputed:
            return np.asarray(bags.instances, dtype=np.float64)
        return bag_distances(
            self._scaled(bags), self.bags_, metric=self.metric, **metric_arguments(self.metric_params)
        )

    def _votes(self, bags_of: np.ndarray) -> np.ndarray:
        """Count the classes of the training bags in every row, shape (n_rows, n_classes)."""
        return np.stack([(self.labels_[bags_of] == c).sum(axis=1) for c in range(len(self.classes_))], axis=1)

    @property
    def _n_nearest(self) -> int:
        """Return the number of neighbors that `nearest_pairs` returns."""
        raise NotImplementedError

    @available_if(_compares_instances)
    def nearest_pairs(self, X: BagsLike) -> Bunch:
        """Return the nearest training bags of every bag, and the nearest pair of instances for each.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.

        Returns
        -------
        Bunch
            Arrays of shape (n_bags, n_nearest), nearest first. `bags`: indices of the training bags.
            `distances`: distances to these bags. `instances`: index, within the bag, of the instance that is
            nearest to any instance of the training bag. `training_instances`: index, within the training bag,
            of the other instance of this pair.
        """
        pairs = self._by_blocks(X, self._nearest_pairs)
        bags, instances, training_instances = (pairs[:, :, k].astype(np.int64) for k in range(3))
        return ShownBunch(
            bags=bags,
            distances=pairs[:, :, 3],
            instances=instances,
            training_instances=training_instances,
        )

    def _nearest_pairs(self, bags: Bags) -> np.ndarray:
        distances, scaled, training = self._distances(bags), self._scaled(bags), self.bags_
        assert training is not None  # precomputed distances have no instances
        nearest = nearest_first(distances, self.labels_, self._n_nearest)
        pairs = np.empty((*nearest.shape, 4))
        for i, row in enumerate(nearest):
            for j, other in enumerate(row):
                pair = _nearest_pair(scaled[i], training[int(other)])
                pairs[i, j] = (other, *pair, distances[i, other])
        return pairs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        return tags


def _nearest_pair(bag: Any, other: Any) -> tuple[int, int]:
    """Return the indices of the nearest pair of instances; for ties, the first pair."""
    bag, other = in_doubles(bag), in_doubles(other)
    every = np.array([0, other.shape[0]])
    near, _ = nearest_instances(bag, np.array([0, bag.shape[0]]), other, every)
    mine = int(np.argmin(near[:, 0]))
    _, back = nearest_instances(bag[mine : mine + 1], np.array([0, 1]), other, every)
    return mine, int(np.argmin(back[:, 0]))
