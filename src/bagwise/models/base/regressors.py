"""Regressors of bags: a number for every bag."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from bagwise.data.bags import Bags
from bagwise.data.types import BagsLike
from bagwise.models.base.estimators import BagEstimator
from bagwise.models.base.labels import Training, read_numbers


class BagRegressor(RegressorMixin, BagEstimator):
    """A regressor of bags: what is known and predicted of a bag is a number.

    A subclass fits what `_read_training` gives it, and gives `_bag_values`.
    """

    def _read_training(self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Training:
        """Read the arguments of `fit`: numbers are float64, bags of weight zero are left out."""
        bags = self._read(X, reset=True)
        return self._training(bags, read_numbers(self, y, X, bags), sample_weight).that_count()

    def _bag_values(self, bags: Bags) -> np.ndarray:
        """Predict the number of every bag: shape (n_bags,)."""
        raise NotImplementedError

    def predict(self, X: BagsLike) -> np.ndarray:
        """Predict the number of every bag.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.

        Returns
        -------
        array of shape (n_bags,)
        """
        return self._by_blocks(X, self._bag_values)
