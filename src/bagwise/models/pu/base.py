"""What models of positive and unlabeled bags share: basis functions, the meaning of labels, predictions."""

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
    """`bag_folds` for positive and unlabeled bags; `plain` is the class that needs no folds."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    kinds = ("unlabeled", "positive")
    remedy = f"Use {plain}, which needs no folds."
    folds = bag_folds(cv, training, sample_weight, seed=seed, kinds=kinds, remedy=remedy, groups=groups)
    for number, (_, test) in enumerate(folds):
        for label, kind in enumerate(kinds):
            if not (training.y[test] == label).any():
                raise ValueError(
                    f"fold {number} of cv holds out no {kind} bag of non-zero weight; scores of positive and "
                    "unlabeled bags need both."
                )
    return folds


class SetKernelEstimator(Scaled, BagEstimator):
    """An estimator with basis functions of bags: `kernel`, `centers`, `n_centers`, `random_state`."""

    def _choose_centers(self, training: Training, random_state: Seed = None) -> np.ndarray | None:
        """Numbers of the training bags, scaled, that are centers; None if the user gave centers.

        They are drawn from a `random_state` in place of the estimator's own, if there is one.
        """
        if not isinstance(self.centers, str):
            return None
        rng = check_random_state(self.random_state if random_state is None else random_state)
        return choose_centers(self.centers, self.n_centers, training.bags, self.kernel, rng)

    def _make_basis(self, training: Training, chosen: np.ndarray | None, degree: int) -> BagBasis:
        if chosen is None:
            given = self._scaled(self.centers)
            return BagBasis(self.kernel, degree, given, np.ones(len(given)))
        return BagBasis(self.kernel, degree, training.bags[chosen], training.weight[chosen])


class PUClassifier(Scaled, ScoreClassifier):
    """A classifier that learns from positive (``classes_[1]``) and unlabeled (``classes_[0]``) bags.

    What is learnt is to tell positive from *negative*: a prediction of ``classes_[0]`` means negative.
    """

    def _learn(self, training: Training, sample_weight: ArrayLike | None) -> None:
        """Fit to bags that are read, not scaled; `sample_weight` is what the user gave."""
        raise NotImplementedError

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from positive and unlabeled bags.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            Positive and unlabeled bags.
        y : array of shape (n_bags,)
            1 or True marks positive bags; 0, -1 or False unlabeled ones.
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
        """Predict whether a bag is positive (``classes_[1]``) or *negative* (``classes_[0]``).

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
        """Accuracy against *true* labels, positive or negative, of bags that were labelled for a test.

        Labels that mark positive and unlabeled bags are not true labels: accuracy against them rewards
        calling every unlabeled bag negative. Judge by such labels with `bagwise.pu_risk`, and search
        with `bagwise.make_pu_scorer`.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.
        y : array of shape (n_bags,)
            Their true labels.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.

        Returns
        -------
        float
        """
        return super().score(X, y, sample_weight)
