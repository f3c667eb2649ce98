"""Scores for predictions judged by positive and unlabeled bags.

Two assumptions stand behind all of them. The unlabeled bags are a sample of the whole population, positive
bags included, of which `class_prior` is the share (not "all bags that were not labelled"). And the labelled
positive bags are a sample of all positive ones: were they the obvious ones, recall would be judged too high.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_consistent_length, column_or_1d

from bagwise.models.base import BagsLike, is_positive
from bagwise.models.pu.losses import ALL_LOSSES, check_pu_labels, risk_of_scores, split_scores


def pu_risk(
    y: ArrayLike,
    score: ArrayLike,
    *,
    class_prior: float,
    loss: str = "zero_one",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Risk of telling positive from negative bags, estimated from positive and unlabeled ones.

    With g the score and pi the class prior it is (eq. 10 of the paper) ::

        pi mean_P[l(g) - l(-g)] + mean_U[l(-g)]

    For the zero-one loss, 2 pi mean_P[g < 0] + mean_U[g >= 0] - pi: an unbiased estimate of the share of
    wrong decisions. It may be negative: it is a difference of two means over different bags.

    Parameters
    ----------
    y : array of shape (n_bags,)
        1 or True marks positive bags; 0, -1 or False unlabeled ones.
    score : array of shape (n_bags,)
        Scores, zero or more for the positive class, such as `decision_function` gives.
    class_prior : float in (0, 1)
        The share of positive bags among the unlabeled ones.
    loss : {"zero_one", "double_hinge", "squared", "logistic"}, default="zero_one"
        The loss of a margin.
    sample_weight : array of shape (n_bags,), optional
        Weights of the bags.

    Returns
    -------
    float

    Notes
    -----
    The paper says (section 5.2) that its eq. 12 with the zero-one loss chooses parameters. That equation
    holds for losses with l(z) - l(-z) = -z, of which the zero-one loss is none; eq. 10 holds for all.

    Examples
    --------
    >>> from bagwise.evaluation.metrics import pu_risk
    >>> y = [1, 1, 0, 0, 0, 0]
    >>> round(pu_risk(y, [1.0, 2.0, 1.5, -1.0, -2.0, -1.0], class_prior=0.25), 3)  # a faultless score
    0.0
    >>> pu_risk(y, [-1.0] * 6, class_prior=0.25)  # all negative: wrong of the positive quarter
    0.25
    """
    _check_loss(loss)
    labels, scores, weight = _read(y, score, class_prior, sample_weight)
    return risk_of_scores(labels, scores, weight, class_prior, loss)


def bag_scores(estimator: Any, X: BagsLike) -> np.ndarray:
    """Scores of bags by a fitted classifier, positive for the positive class."""
    if hasattr(estimator, "decision_function"):
        return estimator.decision_function(X)
    return estimator.predict_proba(X)[:, 1] - 0.5


class PUScorer:
    """A scorer for scikit-learn's searches: minus the PU risk; see `make_pu_scorer`."""

    def __init__(self, class_prior: float, loss: str):
        self.class_prior = class_prior
        self.loss = loss

    def __call__(
        self, estimator: Any, X: BagsLike, y: np.ndarray, sample_weight: ArrayLike | None = None
    ) -> float:
        """Score a fitted estimator on held-out positive and unlabeled bags: higher is better."""
        score = bag_scores(estimator, X)
        positive = np.asarray(y) == estimator.classes_[1]
        return -pu_risk(
            positive, score, class_prior=self.class_prior, loss=self.loss, sample_weight=sample_weight
        )

    def __repr__(self) -> str:
        return f"make_pu_scorer({self.class_prior!r}, loss={self.loss!r})"


def make_pu_scorer(class_prior: float, *, loss: str = "zero_one") -> PUScorer:
    """Make what ``GridSearchCV(scoring=...)`` needs where labels mark positive and unlabeled bags.

    Without it a search takes accuracy against those labels. That is highest for a model that calls every
    unlabeled bag negative, which is wrong of all the positive bags among them: docs/pu.md shows it happen.

    Parameters
    ----------
    class_prior : float in (0, 1)
        The share of positive bags among the unlabeled ones: one number for all models compared, given or
        estimated once (`ClassPriorEstimator`).
    loss : {"zero_one", "double_hinge", "squared", "logistic"}, default="zero_one"
        The loss of a margin.

    Returns
    -------
    callable
        ``scorer(estimator, X, y)``, minus the PU risk.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from bagwise import PUSetKernelClassifier, make_pu_scorer
    >>> from bagwise import make_noisy_or_bags, make_positive_unlabeled
    >>> full = make_noisy_or_bags(1200, coef=[6.0, -6.0], intercept=-10.0, random_state=0)
    >>> data = make_positive_unlabeled(
    ...     full.bags, full.y, n_positive=40, n_unlabeled=120, class_prior=0.3, random_state=0
    ... )
    >>> search = GridSearchCV(
    ...     PUSetKernelClassifier(class_prior=0.3), {"degree": [1, 2]}, scoring=make_pu_scorer(0.3), cv=3
    ... ).fit(data.bags, data.y)
    >>> bool(-search.best_score_ < 0.3)  # calling all bags negative would have that risk
    True
    """
    _check_prior(class_prior)
    _check_loss(loss)
    return PUScorer(class_prior, loss)


def pu_recall(y: ArrayLike, score: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Share of the positive bags that are found: of the labelled ones, those with a score of zero or more.

    Parameters
    ----------
    y, score, sample_weight
        As in `pu_risk`. No class prior is needed, but the labelled positive bags must be a sample of all of
        them.

    Returns
    -------
    float

    Examples
    --------
    >>> from bagwise.evaluation.metrics import pu_recall
    >>> pu_recall([1, 1, 0, 0], [0.5, -0.5, 0.5, -0.5])
    0.5
    """
    positive, _, share, _ = _parts(y, score, None, sample_weight)
    return float(share @ is_positive(positive))


def pu_precision(
    y: ArrayLike, score: ArrayLike, *, class_prior: float, sample_weight: ArrayLike | None = None
) -> float:
    """Share of true positives among bags called positive: ``pi recall / mean_U[g >= 0]``, at most 1.

    A ratio above 1 means that `class_prior` is too large, or that there are too few bags. NaN if no unlabeled
    bag is called positive.

    Parameters
    ----------
    y, score, class_prior, sample_weight
        As in `pu_risk`.

    Returns
    -------
    float

    Examples
    --------
    >>> from bagwise.evaluation.metrics import pu_precision
    >>> pu_precision([1, 1, 0, 0, 0, 0], [1.0, 1.0, 1.0, 1.0, -1.0, -1.0], class_prior=0.25)
    0.5
    """
    found, called = _found_and_called(y, score, class_prior, sample_weight)
    return min(1.0, found / called) if called > 0 else float("nan")


def pu_f1(
    y: ArrayLike, score: ArrayLike, *, class_prior: float, sample_weight: ArrayLike | None = None
) -> float:
    """Harmonic mean of precision and recall: ``2 pi recall / (pi + mean_U[g >= 0])``, at most 1.

    Parameters
    ----------
    y, score, class_prior, sample_weight
        As in `pu_risk`.

    Returns
    -------
    float

    Examples
    --------
    >>> from bagwise.evaluation.metrics import pu_f1
    >>> round(pu_f1([1, 1, 0, 0, 0, 0], [1.0, 1.0, 1.0, 1.0, -1.0, -1.0], class_prior=0.25), 3)
    0.667
    """
    found, called = _found_and_called(y, score, class_prior, sample_weight)
    return min(1.0, 2.0 * found / (class_prior + called))


def pu_auc(
    y: ArrayLike, score: ArrayLike, *, class_prior: float, sample_weight: ArrayLike | None = None
) -> float:
    """Area under the ROC curve of positive against negative bags, from positive and unlabeled ones.

    The area A of positive against *unlabeled* bags falls short of it, because a positive bag among the
    unlabeled ones wins half of its duels: A = pi / 2 + (1 - pi) AUC. Solved for AUC, which may leave [0, 1]
    by chance.

    Parameters
    ----------
    y, score, class_prior, sample_weight
        As in `pu_risk`.

    Returns
    -------
    float

    Examples
    --------
    >>> from bagwise.evaluation.metrics import pu_auc
    >>> round(pu_auc([1, 0, 0, 0, 0], [2.0, 2.0, 1.0, 0.5, 0.0], class_prior=0.25), 3)
    1.0
    """
    y, score, weight = _read(y, score, class_prior, sample_weight)
    area = roc_auc_score(y, score, sample_weight=weight)
    return float((area - 0.5 * class_prior) / (1.0 - class_prior))


def _found_and_called(y: Any, score: Any, class_prior: Any, sample_weight: Any) -> tuple[float, float]:
    """Shares of all bags that are positive and called so, and that are called positive."""
    positive, unlabeled, share_p, share_u = _parts(y, score, class_prior, sample_weight)
    return class_prior * float(share_p @ is_positive(positive)), float(share_u @ is_positive(unlabeled))


def _parts(y: Any, score: Any, class_prior: Any, sample_weight: Any) -> Any:
    """Scores of the positive and of the unlabeled bags, and weights that add up to one in each."""
    return split_scores(*_read(y, score, class_prior, sample_weight))


def _read(y: Any, score: Any, class_prior: Any, sample_weight: Any) -> Any:
    y, score = column_or_1d(y), column_or_1d(score).astype(np.float64)
    check_consistent_length(y, score, sample_weight)
    check_pu_labels(y, "a score of positive and unlabeled bags")
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"y must have two labels, positive and unlabeled; it has {len(classes)}.")
    if class_prior is not None:
        _check_prior(class_prior)
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return codes, score, weight


def _check_prior(class_prior: Any) -> None:
    if not 0.0 < class_prior < 1.0:
        raise ValueError(
            f"class_prior must be a number between 0 and 1, the share of positive bags among unlabeled ones; "
            f"got {class_prior!r}."
        )


def _check_loss(loss: Any) -> None:
    if loss not in ALL_LOSSES:
        raise ValueError(f"loss must be one of {', '.join(map(repr, ALL_LOSSES))}; got {loss!r}.")
