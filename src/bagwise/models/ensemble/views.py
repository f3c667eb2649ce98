"""Views: groups of bag kernels that share computations, with matrices for all bags and for every fold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bagwise.data.bags import Bags
from bagwise.data.blocks import in_doubles
from bagwise.models.base import fit_scaler
from bagwise.models.base.folds import Split
from bagwise.similarity.statistics import describe

if TYPE_CHECKING:
    from bagwise.models.ensemble.training import OpenTraining

# Gamma of the Gaussian kernels, times the median squared distance between the vectors.
FACTORS = (0.25, 1.0, 4.0)
# Description of each scaling.
SCALING_NAMES = {"standard": "standardised", "rank": "ranked", "minmax": "scaled to [0, 1]"}


class TrainingGram(NamedTuple):
    """Kernel matrix of the training bags, with the matrices of the folds.

    Attributes
    ----------
    K : array of shape (n_bags, n_bags)
        Kernel matrix of all training bags.
    cut : callable
        Function that takes the index of a fold and returns two kernel matrices: that of its training
        bags, and that between its training bags (rows) and held-out bags (columns).
    width : float
        Width of the kernel, needed to compute the matrix of new bags; NaN if there is none.
    """

    K: np.ndarray
    cut: Callable[[int], tuple[np.ndarray, np.ndarray]]
    width: float = np.nan

    @classmethod
    def of_all(cls, K: np.ndarray, splits: Sequence[Split], width: float = np.nan) -> TrainingGram:
        """Create an instance whose folds are submatrices of one matrix of all bags."""

        def cut(fold: int) -> tuple[np.ndarray, np.ndarray]:
            train, test = splits[fold]
            return K[np.ix_(train, train)], K[np.ix_(train, test)]

        return cls(K, cut, width)


class View:
    """Base class of views: several bag kernels that share most of their computations.

    A view is created with its settings and fitted to training bags; `fit` returns a fitted copy. The fitted
    view yields one matrix for each of its `names`, always in the same order.
    """

    @property
    def names(self) -> list[str]:
        """Names of the matrices."""
        raise NotImplementedError

    @property
    def of_instances(self) -> list[bool]:
        """Mask of the matrices for which a bag's score is the mean of its instance scores."""
        return [False] * len(self.names)

    @staticmethod
    def of_widths(description: str) -> list[str]:
        """Return the names of the matrices of one kernel at all widths."""
        return [f"{description}, gamma {factor:g} / median" for factor in FACTORS]

    def fit(self, bags: Bags, weight: np.ndarray, seed: int, splits: Sequence[Split]) -> View:
        """Fit scaling and widths to training bags and their weights; labels are not used."""
        raise NotImplementedError

    def train_grams(self, weight: np.ndarray, splits: Sequence[Split]) -> Iterator[TrainingGram]:
        """Yield the matrices of the training bags; `weight` contains the bag weights."""
        raise NotImplementedError

    def cross_grams(self, bags: Bags, widths: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the matrices between new bags and the training bags, at the widths from `train_grams`."""
        raise NotImplementedError

    def compact(self) -> View:
        """Return the view without the values that `restored` computes again from the training bags."""
        return self

    def restored(self, training: OpenTraining) -> View:
        """Return the view with the values that `cross_grams` needs; the inverse of `compact`."""
        return self

    def with_coef(self, coef: np.ndarray) -> tuple[View, np.ndarray]:
        """Return the compact view, and the coefficients by which the columns of `cross_grams` are multiplied.

        `coef` has one row per matrix, and one column per training bag.
        """
        return self, coef


class Instances(NamedTuple):
    """Scaling of instances: the indices of the features that are used, and their scaler (None if compact)."""

    features: np.ndarray
    scaler: Any

    @classmethod
    def fit(cls, scale: str, bags: Bags, weight: np.ndarray, splits: Sequence[Split]) -> Instances:
        """Fit the scaling to training bags with the weights `weight`.

        A feature that is constant on the training bags of some fold is left out: its scale would depend on
        the held-out bags only.
        """
        low, high = np.split(describe(in_doubles(bags.instances), bags.offsets, ("min", "max")), 2, axis=1)
        varies = [high[train].max(axis=0) > low[train].min(axis=0) for train, _ in splits]
        features = np.flatnonzero(np.all(varies, axis=0))
        if not len(features):
            features = np.arange(bags.n_features)
        return cls.of_features(features, scale, bags, weight)

    @classmethod
    def of_features(cls, features: np.ndarray, scale: str, bags: Bags, weight: np.ndarray) -> Instances:
        """Fit the scaling of these features."""
        chosen = Bags(in_doubles(bags.instances)[:, features], bags.offsets)
        return cls(features, fit_scaler(scale, chosen.blocks(weight=weight)))

    def compact(self) -> Instances:
        """Return the features without the scaler, which has the size of the instances if it ranks them."""
        return self._replace(scaler=None)

    def scaled(self, bags: Bags) -> Bags:
        """Return bags of scaled instances in float64, without names and side columns."""
        X = in_doubles(bags.instances)[:, self.features]
        return Bags(in_doubles(self.scaler.transform(X)), bags.offsets)
