"""Shared code of the models of positive and unlabeled bags: basis functions, folds, labels, predictions."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from bagwise._core.sklearn_private import Interval, StrOptions
from bagwise._core.types import Seed
from bagwise.data.bags import Bags
from bagwise.models.base import (
    SCALE_CONSTRAINT,
    BagEstimator,
    BagsLike,
    Scaled,
    ScoreClassifier,
    Training,
    validated_fit,
)
from bagwise.models.base.folds import Split, bag_folds
from bagwise.models.pu.features import BagBasis, choose_centers
from bagwise.models.pu.losses import check_pu_labels

BASIS_CONSTRAINTS: dict[str, Any] = {
    "kernel": [StrOptions({"minimax", "mean", "set"}), callable],
    "centers": [StrOptions({"all", "random", "kmeans"}), Bags],
    "n_centers": [Interval(Integral, 1, None, closed="left")],
    "scale": SCALE_CONSTRAINT,
    "random_state": ["random_state"],
}
PRIOR_CONSTRAINT: list[Any] = [Interval(Real, 0, 1, closed="neither"), None]


def pu_folds(
    cv: Any,
    training: Training,
    sample_weight: Any,
    random_state: Seed,
    plain: str,
    groups: ArrayLike | None = None,
) -> list[Split]:
    """Return the folds of `bag_folds` for positive and unlabeled bags.

    `plain` is the name of the class without cross-validation, which the error message recommends.
    """
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    kinds = ("unlabeled", "positive")
    remedy = f"Use {plain}, which needs no folds."
    folds = bag_folds(cv, training, sample_weight, seed=seed, kinds=kinds, remedy=remedy, groups=groups)
    for fold, (_, test) in enumerate(folds):
        for label, kind in enumerate(kinds):
            if not (training.y[test] == label).any():
                raise ValueError(
                    f"fold {fold} of cv holds out no {kind} bag with non-zero weight; every fold needs at "
                    "least one positive and one unlabeled bag."
                )
    return folds


class SetKernelEstimator(Scaled, BagEstimator):
    """Base class for estimators with `kernel`, `centers`, `n_centers` and `random_state`."""

    def _choose_centers(self, training: Training, random_state: Seed = None) -> np.ndarray | None:
        """Return the indices of the training bags that are centers; None if the user passed centers.

        If `random_state` is not None, it replaces the estimator's `random_state`.
        """
        if not isinstance(self.centers, str):
            return None
        rng = check_random_state(self.random_state if random_state is None else random_state)
        return choose_centers(self.centers, self.n_centers, training.bags, self.kernel, rng)

    def _make_basis(self, training: Training, chosen: np.ndarray | None, degree: int) -> BagBasis:
        if chosen is None:
            centers = self._scaled(self.centers)
            weight = np.ones(len(centers))
        else:
            centers, weight = training.bags[chosen], training.weight[chosen]
        return BagBasis(self.kernel, degree, centers, weight, self._n_varying(training.bags))


class PUClassifier(Scaled, ScoreClassifier):
    """A classifier that learns from positive bags (``positive_label_``) and unlabeled bags (the other label).

    The model separates positive from *negative* bags: a prediction of the other label means negative.
    """

    # A fit cannot determine which bags are unlabeled.
    _text_labels = "refuse"
    _expected_failed_checks = {"check_classifiers_classes": "text labels need the parameter positive"}

    def _learn(self, training: Training, sample_weight: ArrayLike | None) -> None:
        """Fit to unscaled `training` bags; `sample_weight` are the weights as the user passed them."""
        raise NotImplementedError

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to positive and unlabeled bags.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            Positive and unlabeled bags.
        y : array of shape (n_bags,)
            Labels: 1 or True for positive bags; 0, -1 or False for unlabeled ones. For other labels, set
            `positive`.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.

        Returns
        -------
        self
        """
        check_pu_labels(y, type(self).__name__)
        self._learn(self._read_training(X, y, sample_weight), sample_weight)
        return self

    def predict(self, X: BagsLike) -> np.ndarray:
        """Predict whether a bag is positive (``positive_label_``) or *negative* (the other label).

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.

        Returns
        -------
        array of shape (n_bags,)
        """
        return super().predict(X)

    def score(self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy against *true* labels, that is, positive or negative.

        Labels that mark positive and unlabeled bags are not true labels: accuracy against them rewards
        models that classify every unlabeled bag as negative. With such labels, evaluate models with
        `bagwise.pu_risk` and search parameters with `bagwise.make_pu_scorer`.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.
        y : array of shape (n_bags,)
            True labels of the bags.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.

        Returns
        -------
        float
        """
        return super().score(X, y, sample_weight)
