"""Scores from positive and unlabeled bags over the interval of plausible class priors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise.data.bags import aligned
from bagwise.data.types import BagsLike
from bagwise.evaluation.metrics import bag_scores, pu_auc, pu_f1, pu_precision, pu_recall, pu_risk
from bagwise.exceptions import ClassPriorWarning, warn_user
from bagwise.models.pu import ClassPriorEstimator
from bagwise.models.wrappers.instance_level import positive_column

# An interval may end at 0 or 1, where scores are undefined; they are replaced by their limits.
_NEAR = 1e-9


@dataclass(frozen=True)
class PUReport:
    """Scores of a model at three class priors: both ends of an interval and a value in between.

    Every attribute except `overlap` is an array of three values: at the lower end, at the prior and at the
    upper end. ``print(report)`` shows them as a table.

    Attributes
    ----------
    class_prior : array
        Class priors.
    precision, recall, f1, auc, risk : array
        Scores, as defined by `pu_precision`, `pu_recall` and the other functions. AUC at a prior of 1 is
        NaN, because there are no negative bags.
    overlap : bool
        Whether negative bags look like positive bags, so that the lower end of the prior is 0.

    See Also
    --------
    pu_report : Compute the report for a fitted model.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import PUReport
    >>> at = np.array([0.2, 0.3, 0.4])  # both ends of the interval, and the prior in between
    >>> scores = {"recall": np.full(3, 0.8), "precision": 2 * at, "f1": at, "auc": 0.5 + at, "risk": 0.5 * at}
    >>> report = PUReport(class_prior=at, overlap=False, **scores)
    >>> report.impossible
    array([False, False, False])
    >>> print(str(report).splitlines()[1])
    class prior      0.200     0.300     0.400
    """

    class_prior: np.ndarray
    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray
    auc: np.ndarray
    risk: np.ndarray
    overlap: bool

    @property
    def impossible(self) -> np.ndarray:
        """Whether AUC exceeds 1 or the risk is negative at each of the three priors.

        If so, the prior is too large.
        """
        return (self.auc > 1.0) | (self.risk < 0.0)

    def __str__(self) -> str:
        names = ("class_prior", "precision", "recall", "f1", "auc", "risk")
        lines = [f"{'':12}{'lower end':>10}{'prior':>10}{'upper end':>10}"]
        for name in names:
            title = name.replace("_", " ")
            lines.append(f"{title:12}" + "".join(f"{value:10.3f}" for value in getattr(self, name)))
        return "\n".join([*lines, *remarks_of(self)])


def remarks_of(report: PUReport) -> list[str]:
    """Return sentences that explain the interval of the class prior and scores outside their range."""
    remarks = []
    if report.overlap:
        remarks.append("Negative bags look like positive bags: the data only bound the prior from above.")
    if report.impossible[2]:
        remarks.append("At the upper end, a score is outside its range: the true prior must be smaller.")
    return remarks


def pu_report(
    model: Any,
    X: BagsLike,
    y: ArrayLike,
    *,
    class_prior: float | None = None,
    interval: tuple[float, float] | None = None,
    sample_weight: ArrayLike | None = None,
) -> PUReport:
    """Evaluate a model on positive and unlabeled bags, at both ends of the class prior's interval.

    All scores except recall depend on the class prior, which is rarely known; precision is proportional to
    it. With an estimated prior, a single score is therefore not informative, and too large a prior makes a
    poor model look perfect. An AUC above 1 or a risk below 0 at the prior shows that the prior is too large
    for these bags, or that there are too few bags. In this case, a `ClassPriorWarning` is issued.

    Parameters
    ----------
    model : classifier
        Fitted classifier with `decision_function` or `predict_proba`.
    X, y
        Positive (1 or True) and unlabeled (0, -1 or False) bags that were not used to fit the model.
    class_prior : float, optional
        Share of positive bags among the unlabeled bags. By default the prior of the model (`class_prior_`),
        which it received as a parameter or estimated; for a model without one, the estimate of
        `ClassPriorEstimator` on these bags.
    interval : (low, high), optional
        Interval of the class prior. By default the 90 % interval of the model's estimate. If the model did
        not estimate the prior, it is the interval of `ClassPriorEstimator` on these bags.
    sample_weight : array of shape (n_bags,), optional
        Weights of the bags.

    Returns
    -------
    PUReport

    Examples
    --------
    >>> from bagwise import PUSetKernelClassifier, make_noisy_or_bags, make_positive_unlabeled, pu_report
    >>> full = make_noisy_or_bags(1200, coef=[6.0, -6.0], intercept=-10.0, random_state=0)
    >>> data = make_positive_unlabeled(
    ...     full.bags, full.y, n_positive=120, n_unlabeled=300, class_prior=0.3, random_state=0
    ... )
    >>> learn, judge = slice(None, None, 2), slice(1, None, 2)
    >>> model = PUSetKernelClassifier(degree=2, class_prior=0.3).fit(data.bags[learn], data.y[learn])
    >>> report = pu_report(model, data.bags[judge], data.y[judge], interval=(0.2, 0.4))
    >>> print(report)  # doctest: +ELLIPSIS
                 lower end     prior upper end
    class prior      0.200     0.300     0.400
    precision...
    """
    score, y = bag_scores(model, X), np.asarray(aligned("y", y, X))
    if y.dtype.kind not in "biuf" and hasattr(model, "classes_"):
        y = y == model.classes_[positive_column(model)]
    prior = getattr(model, "class_prior_", None) if class_prior is None else class_prior
    estimate: Any = getattr(model, "prior_estimate_", None) if class_prior is None else None
    if estimate is None and (interval is None or prior is None):
        estimate = ClassPriorEstimator().fit(X, y, sample_weight).estimate_
    prior = estimate.class_prior if prior is None else prior
    low, high = estimate.interval() if interval is None else interval
    if not 0.0 <= low <= high <= 1.0:
        raise ValueError(f"interval must be (low, high) with 0 <= low <= high <= 1; got ({low!r}, {high!r}).")
    priors = np.array([low, prior, high], dtype=np.float64)
    overlap = interval is None and estimate.overlap
    report = _judge(y, score, priors, sample_weight, overlap)
    _warn_if_too_large(report)
    return report


def _judge(y: Any, score: Any, priors: np.ndarray, sample_weight: Any, overlap: bool) -> PUReport:
    inner = np.clip(priors, _NEAR, 1.0 - _NEAR)
    scores = {
        metric: np.array([metric(y, score, class_prior=p, sample_weight=sample_weight) for p in inner])
        for metric in (pu_precision, pu_f1, pu_auc, pu_risk)
    }
    return PUReport(
        class_prior=priors,
        precision=scores[pu_precision],
        recall=np.full(3, pu_recall(y, score, sample_weight=sample_weight)),
        f1=scores[pu_f1],
        auc=np.where(priors < 1.0 - _NEAR, scores[pu_auc], np.nan),
        risk=scores[pu_risk],
        overlap=overlap,
    )


def _warn_if_too_large(report: PUReport) -> None:
    low, prior, high = report.class_prior
    if report.impossible[1]:
        out = f"AUC is {report.auc[1]:.3f}" if report.auc[1] > 1.0 else f"the risk is {report.risk[1]:.3f}"
        warn_user(
            f"{out} at a class prior of {prior:.3f}, outside its range: the prior is too large for these "
            "bags, or there are too few bags. Scores at this prior are too optimistic; use the scores at the "
            "lower end.",
            ClassPriorWarning,
        )
    elif prior > high:
        warn_user(
            f"the class prior {prior:.3f} is above the interval estimated from the bags, {low:.3f} to "
            f"{high:.3f}: it is too large, and scores at this prior are too optimistic.",
            ClassPriorWarning,
        )
