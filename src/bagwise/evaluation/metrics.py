"""Estimates of prediction scores from positive and unlabeled bags.

All scores rely on two assumptions. First, the unlabeled bags are a random sample of the whole population,
which includes positive bags; `class_prior` is their share. The bags that remain after labeling some positive
bags are not such a sample. Second, the labeled positive bags are a random sample of all positive bags. If
easy bags were more likely to be labeled, recall would be overestimated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_consistent_length, column_or_1d

from bagwise.models.base import BagsLike, is_positive
from bagwise.models.pu.losses import ALL_LOSSES, check_pu_labels, risk_of_scores, split_scores
from bagwise.models.wrappers.instance_level import positive_column


def pu_risk(
    y: ArrayLike,
    score: ArrayLike,
    *,
    class_prior: float,
    loss: str = "zero_one",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Estimate the risk of a positive-versus-negative classifier from positive and unlabeled bags.

    With the score g and the class prior pi, the risk is (eq. 10 of the paper) ::

        pi mean_P[l(g) - l(-g)] + mean_U[l(-g)]

    For the zero-one loss this is 2 pi mean_P[g < 0] + mean_U[g >= 0] - pi, an unbiased estimate of the error
    rate. It can be negative, because it is a difference of means over different bags.

    Parameters
    ----------
    y : array of shape (n_bags,)
        1 or True marks positive bags; 0, -1 or False unlabeled ones.
    score : array of shape (n_bags,)
        Scores, such as those of `decision_function`; 0 or more means that the bag is predicted positive.
    class_prior : float in (0, 1)
        Share of positive bags among the unlabeled bags.
    loss : {"zero_one", "double_hinge", "squared", "logistic"}, default="zero_one"
        Loss as a function of the margin.
    sample_weight : array of shape (n_bags,), optional
        Weights of the bags.

    Returns
    -------
    float

    Notes
    -----
    The paper (section 5.2) selects parameters by its eq. 12 with the zero-one loss. That equation only holds
    for losses with l(z) - l(-z) = -z, so not for the zero-one loss; eq. 10 holds for all losses.

    Examples
    --------
    >>> from bagwise.evaluation.metrics import pu_risk
    >>> y = [1, 1, 0, 0, 0, 0]
    >>> round(pu_risk(y, [1.0, 2.0, 1.5, -1.0, -2.0, -1.0], class_prior=0.25), 3)  # a perfect score
    0.0
    >>> pu_risk(y, [-1.0] * 6, class_prior=0.25)  # all negative: wrong for the positive quarter
    0.25
    """
    _check_loss(loss)
    labels, scores, weight = _read(y, score, class_prior, sample_weight)
    return risk_of_scores(labels, scores, weight, class_prior, loss)


def bag_scores(estimator: Any, X: BagsLike) -> np.ndarray:
    """Return the bag scores of a fitted classifier; scores > 0 mean the positive class."""
    if hasattr(estimator, "decision_function"):
        scores = estimator.decision_function(X)
        return -scores if positive_column(estimator) == 0 else scores
    return estimator.predict_proba(X)[:, positive_column(estimator)] - 0.5


class PUScorer:
    """Scorer for scikit-learn's searches that returns minus the PU risk; see `make_pu_scorer`."""

    def __init__(self, class_prior: float, loss: str):
        self.class_prior = class_prior
        self.loss = loss

    def __call__(
        self, estimator: Any, X: BagsLike, y: np.ndarray, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the score of a fitted estimator on positive and unlabeled bags; higher is better."""
        score = bag_scores(estimator, X)
        positive = np.asarray(y) == estimator.classes_[positive_column(estimator)]
        return -pu_risk(
            positive, score, class_prior=self.class_prior, loss=self.loss, sample_weight=sample_weight
        )

    def __repr__(self) -> str:
        return f"make_pu_scorer({self.class_prior!r}, loss={self.loss!r})"


def make_pu_scorer(class_prior: float, *, loss: str = "zero_one") -> PUScorer:
    """Make a scorer for ``GridSearchCV(scoring=...)`` for labels that mark positive and unlabeled bags.

    By default, a search maximizes the accuracy with respect to these labels. That accuracy is highest for a
    model that predicts every unlabeled bag as negative, although some of them are positive; docs/pu.md has an
    example.

    Parameters
    ----------
    class_prior : float in (0, 1)
        Share of positive bags among the unlabeled bags. Use the same value for all models that are compared,
        either a known value or one estimate (`ClassPriorEstimator`).
    loss : {"zero_one", "double_hinge", "squared", "logistic"}, default="zero_one"
        Loss as a function of the margin.

    Returns
    -------
    callable
        ``scorer(estimator, X, y)``, which returns minus the PU risk.

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
    >>> bool(-search.best_score_ < 0.3)  # the risk of predicting all bags as negative
    True
    """
    _check_prior(class_prior)
    _check_loss(loss)
    return PUScorer(class_prior, loss)


def pu_recall(y: ArrayLike, score: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Estimate the recall: the share of labeled positive bags with a score of 0 or more.

    Parameters
    ----------
    y, score, sample_weight
        See `pu_risk`. No class prior is needed, but the labeled positive bags must be a random sample of
        all positive bags.

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
    """Estimate the precision: ``pi recall / mean_U[g >= 0]``, clipped at 1.

    A ratio above 1 means that `class_prior` is too large or that there are too few bags. The result is NaN if
    no unlabeled bag is predicted positive.

    Parameters
    ----------
    y, score, class_prior, sample_weight
        See `pu_risk`.

    Returns
    -------
    float

    Examples
    --------
    >>> from bagwise.evaluation.metrics import pu_precision
    >>> pu_precision([1, 1, 0, 0, 0, 0], [1.0, 1.0, 1.0, 1.0, -1.0, -1.0], class_prior=0.25)
    0.5
    """
    true_positives, predicted_positives = _true_and_predicted_positives(y, score, class_prior, sample_weight)
    return min(1.0, true_positives / predicted_positives) if predicted_positives > 0 else float("nan")


def pu_f1(
    y: ArrayLike, score: ArrayLike, *, class_prior: float, sample_weight: ArrayLike | None = None
) -> float:
    """Estimate the F1 score: ``2 pi recall / (pi + mean_U[g >= 0])``, clipped at 1.

    Parameters
    ----------
    y, score, class_prior, sample_weight
        See `pu_risk`.

    Returns
    -------
    float

    Examples
    --------
    >>> from bagwise.evaluation.metrics import pu_f1
    >>> round(pu_f1([1, 1, 0, 0, 0, 0], [1.0, 1.0, 1.0, 1.0, -1.0, -1.0], class_prior=0.25), 3)
    0.667
    """
    true_positives, predicted_positives = _true_and_predicted_positives(y, score, class_prior, sample_weight)
    return min(1.0, 2.0 * true_positives / (class_prior + predicted_positives))


def pu_auc(
    y: ArrayLike, score: ArrayLike, *, class_prior: float, sample_weight: ArrayLike | None = None
) -> float:
    """Estimate the ROC AUC of positive versus negative bags from positive and unlabeled bags.

    The area A of positive versus *unlabeled* bags is smaller than the AUC, because a positive unlabeled bag
    is ranked above a labeled one half of the time: A = pi / 2 + (1 - pi) AUC. The equation is solved for
    AUC; by chance, the result can be outside [0, 1].

    Parameters
    ----------
    y, score, class_prior, sample_weight
        See `pu_risk`.

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


def _true_and_predicted_positives(
    y: Any, score: Any, class_prior: Any, sample_weight: Any
) -> tuple[float, float]:
    """Return the share of true positives and the share of predicted positives among all bags."""
    positive, unlabeled, share_p, share_u = _parts(y, score, class_prior, sample_weight)
    return class_prior * float(share_p @ is_positive(positive)), float(share_u @ is_positive(unlabeled))


def _parts(y: Any, score: Any, class_prior: Any, sample_weight: Any) -> Any:
    """Return the scores of positive and unlabeled bags, and weights that sum to 1 in each."""
    return split_scores(*_read(y, score, class_prior, sample_weight))


def _read(y: Any, score: Any, class_prior: Any, sample_weight: Any) -> Any:
    y, score = column_or_1d(y), column_or_1d(score).astype(np.float64)
    check_consistent_length(y, score, sample_weight)
    check_pu_labels(y, "a score for positive and unlabeled bags")
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"y must have two distinct labels, positive and unlabeled; got {len(classes)}.")
    if class_prior is not None:
        _check_prior(class_prior)
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return codes, score, weight


def _check_prior(class_prior: Any) -> None:
    if not 0.0 < class_prior < 1.0:
        raise ValueError(
            "class_prior must be between 0 and 1 (exclusive), because it is the share of positive bags "
            f"among the unlabeled bags; got {class_prior!r}."
        )


def _check_loss(loss: Any) -> None:
    if loss not in ALL_LOSSES:
        raise ValueError(f"loss must be one of {', '.join(map(repr, ALL_LOSSES))}; got {loss!r}.")
