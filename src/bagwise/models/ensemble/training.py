"""The training bags of a vote, which a fitted ensemble stores once for all of its parts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bagwise.data.bags import Bags
from bagwise.data.blocks import in_doubles
from bagwise.models.ensemble.views import Instances, View

# Values that predictions compute from the training bags are kept in memory if the training instances, and the
# pairs of training bags, have at most this many values.
_KEPT_VALUES = 2**22


def filled(bags: Bags, fill: np.ndarray) -> Bags:
    """Return bags in float64, with missing values replaced by one value per feature."""
    X = in_doubles(bags.instances)
    missing = np.isnan(X)
    if missing.any():
        X = np.where(missing, fill, X)
    return Bags(X, bags.offsets)


@dataclass(frozen=True)
class TrainingBags:
    """Training bags of two classes.

    The first prediction computes all values that predictions need from the training bags, and keeps them in
    memory if they are small. These values can be many times larger than the bags: scaled copies of the
    instances, their ranks, and vectors. They are not part of pickles and model files.

    Attributes
    ----------
    bags : Bags
        The training bags of all classes as they were passed, in one object that all votes share.
    fill : array of shape (n_features,)
        Values that replace missing values.
    kept : array of shape (n_kept,)
        Indices of the bags of the two classes.
    weight : array of shape (n_kept,)
        Weights of these bags.
    """

    bags: Bags
    fill: np.ndarray
    kept: np.ndarray
    weight: np.ndarray

    def open(self) -> OpenTraining:
        """Return the bags for the computations of a prediction."""
        is_small = self.bags.instances.size + len(self.kept) ** 2 <= _KEPT_VALUES
        return self._opened if is_small else self._open()

    @cached_property
    def _opened(self) -> OpenTraining:
        return self._open()

    def _open(self) -> OpenTraining:
        return OpenTraining(filled(self.bags, self.fill)[self.kept], self.weight)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_opened"}


class OpenTraining:
    """Data for predictions: the training bags, their scaled copies (shared by several parts), and the views.

    Parameters
    ----------
    bags : Bags
        The bags in float64, without missing values.
    weight : array of shape (n_bags,)
        Weights of the bags.
    """

    def __init__(self, bags: Bags, weight: np.ndarray):
        self.bags = bags
        self.weight = weight
        self._scaled: dict[tuple[str, bytes], tuple[Instances, Bags]] = {}
        self._views: dict[int, tuple[View, View]] = {}

    def restored(self, view: View) -> View:
        """Return a view with the values that predictions need; they are computed once."""
        if id(view) not in self._views:
            self._views[id(view)] = view, view.restored(self)  # with `view`, so that its id stays unique
        return self._views[id(view)][1]

    def scaled(self, features: np.ndarray, scale: str) -> tuple[Instances, Bags]:
        """Fit the scaling of instances again; return it with the scaled bags."""
        key = scale, features.tobytes()
        if key not in self._scaled:
            instances = Instances.of_features(features, scale, self.bags, self.weight)
            self._scaled[key] = instances, instances.scaled(self.bags)
        return self._scaled[key]
