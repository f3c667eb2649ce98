"""The training bags of a vote, which a fitted ensemble stores once for all of its parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bagwise.data.bags import Bags
from bagwise.data.blocks import in_doubles
from bagwise.models.ensemble.views import Instances


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

    Everything that predictions need from the training bags is computed from them when it is needed. It is
    many times larger: scaled copies of the instances, their ranks, and vectors.

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
        """Return the bags for the computations of one prediction."""
        return OpenTraining(filled(self.bags, self.fill)[self.kept], self.weight)


class OpenTraining:
    """Training bags during a prediction, with the scaled bags that several parts share.

    Parameters
    ----------
    bags : Bags
        The bags in float64, without missing values.
    weight : array of shape (n_bags,)
        Their weights.
    """

    def __init__(self, bags: Bags, weight: np.ndarray):
        self.bags = bags
        self.weight = weight
        self._scaled: dict[tuple[str, bytes], tuple[Instances, Bags]] = {}

    def scaled(self, features: np.ndarray, scale: str) -> tuple[Instances, Bags]:
        """Fit the scaling of instances again; return it with the scaled bags."""
        key = scale, features.tobytes()
        if key not in self._scaled:
            instances = Instances.of_features(features, scale, self.bags, self.weight)
            self._scaled[key] = instances, instances.scaled(self.bags)
        return self._scaled[key]
