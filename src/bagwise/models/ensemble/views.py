"""What a view of bags is: ways to compare them, each a matrix of kernels of all bags."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from bagwise.data.bags import Bags
from bagwise.data.blocks import in_doubles
from bagwise.models.base import fit_scaler
from bagwise.models.base.folds import Split
from bagwise.similarity.statistics import describe

# Gamma of Gaussian kernels, beside one by the median squared distance of what they compare.
FACTORS = (0.25, 1.0, 4.0)
# What a scale does to values, in words.
HOW = {"standard": "standardised", "rank": "ranked", "minmax": "from 0 to 1"}


class Gram(NamedTuple):
    """A matrix of the training bags with themselves, and those of folds.

    Attributes
    ----------
    K : array of shape (n_bags, n_bags)
        Kernels of all training bags.
    cut : callable
        Of the number of a fold: the kernels of its training bags, and those of its training bags (rows) with
        the bags that it holds out.
    width : float
        What has to be known to make such a matrix of new bags.
    """

    K: np.ndarray
    cut: Callable[[int], tuple[np.ndarray, np.ndarray]]
    width: float = np.nan

    @classmethod
    def of_all(cls, K: np.ndarray, splits: Sequence[Split], width: float = np.nan) -> Gram:
        """Make folds by cutting one matrix of all bags."""

        def cut(number: int) -> tuple[np.ndarray, np.ndarray]:
            train, test = splits[number]
            return K[np.ix_(train, train)], K[np.ix_(train, test)]

        return cls(K, cut, width)


class View:
    """Several kernels of bags that share most of their work.

    A view is made with its settings, fitted to training bags (`fit`, which returns a fitted copy), and then
    gives a matrix for each of its `names`, always in the same order.
    """

    @property
    def names(self) -> list[str]:
        """Name the matrices."""
        raise NotImplementedError

    @property
    def of_instances(self) -> list[bool]:
        """Which matrices make scores of bags that are means of scores of instances."""
        return [False] * len(self.names)

    @staticmethod
    def of_widths(what: str) -> list[str]:
        """Name the matrices of one kernel at all widths."""
        return [f"{what}, gamma {factor:g} x median" for factor in FACTORS]

    def fit(self, bags: Bags, weight: np.ndarray, seed: int, splits: Sequence[Split]) -> View:
        """Learn scaling and widths from training bags, which count by their weight, without their labels."""
        raise NotImplementedError

    def train_grams(self, weight: np.ndarray, splits: Sequence[Split]) -> Iterator[Gram]:
        """Yield the matrices of the training bags, which count by their weight."""
        raise NotImplementedError

    def cross_grams(self, bags: Bags, widths: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the matrices of new bags with the training bags, by the widths that `train_grams` found."""
        raise NotImplementedError

    def without_folds(self) -> View:
        """Return the view without what only its folds needed."""
        return self


class Instances(NamedTuple):
    """How instances are scaled: the features that count, and a scaler of these."""

    features: np.ndarray
    scaler: Any

    @classmethod
    def fit(cls, scale: str, bags: Bags, weight: np.ndarray, splits: Sequence[Split]) -> Instances:
        """Learn from training bags, which count by their weight.

        A feature that does not vary among the training bags of some fold is left out: what the bags held out
        have of it would be scaled by themselves.
        """
        low, high = np.split(describe(in_doubles(bags.instances), bags.offsets, ("min", "max")), 2, axis=1)
        varies = [high[train].max(axis=0) > low[train].min(axis=0) for train, _ in splits]
        features = np.flatnonzero(np.all(varies, axis=0))
        if not len(features):
            features = np.arange(bags.n_features)
        chosen = Bags(in_doubles(bags.instances)[:, features], bags.offsets)
        return cls(features, fit_scaler(scale, chosen.blocks(weight=weight)))

    def scaled(self, bags: Bags) -> Bags:
        """Scale instances, in doubles; names and side columns are left behind."""
        X = in_doubles(bags.instances)[:, self.features]
        return Bags(in_doubles(self.scaler.transform(X)), bags.offsets)
