"""What the classifiers of positive and unlabeled bags share: the meaning of labels, and predictions."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import check_random_state

from bagwise._sklearn import Interval
from bagwise.base import Scaled, ScoreClassifier, Training

PRIOR_CONSTRAINT = [Interval(Real, 0, 1, closed="neither"), None]


def pu_splits(cv, training: Training, random_state, remedy: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and held-out bags of every fold, each with its share of positive and of unlabeled bags.

    `cv` is a number of folds, a scikit-learn splitter, or a list of splits.
    """
    if isinstance(cv, Integral):
        rarest = int(np.bincount(training.y, minlength=2).min())
        if rarest < 2:
            raise ValueError(
                "cross-validation needs at least two positive and two unlabeled bags; one class has a single "
                f"bag. {remedy}"
            )
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        cv = StratifiedKFold(min(int(cv), rarest), shuffle=True, random_state=seed)
    return list(check_cv(cv, training.y, classifier=True).split(training.bags, training.y))


class PUClassifier(Scaled, ScoreClassifier):
    """A classifier that learns from positive (``classes_[1]``) and unlabeled (``classes_[0]``) bags.

    What is learnt is to tell positive from *negative*: a prediction of ``classes_[0]`` means negative.
    """

    def predict(self, X) -> np.ndarray:
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

    def score(self, X, y, sample_weight=None) -> float:
        """Accuracy against *true* labels, positive or negative, of bags that were labelled for a test.

        Labels that mark positive and unlabeled bags are not true labels: accuracy against them rewards
        calling every unlabeled bag negative. Judge by such labels with `bagwise.metrics.pu_risk`, and search
        with `bagwise.metrics.make_pu_scorer`.

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
