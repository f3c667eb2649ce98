"""Scores of held-out predictions with confidence intervals, for fits, report pages and comparisons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bagwise.evaluation.held_out.intervals import auc_interval, mean_interval, share_interval
from bagwise.models.base.held_out import HeldOut
from bagwise.models.base.log_loss import log_probability

# Notes for tables that show the intervals.
MEANING = (
    "95 % intervals reflect the number of held-out bags, not the choice of training set "
    "(accuracy and recall: Wilson; AUC within folds: Newcombe; Brier score: standard error)."
)
IN_GROUPS = " Intervals allow for correlation within groups."


@dataclass(frozen=True)
class Score:
    """Score and its confidence interval.

    Attributes
    ----------
    name : str
        Name in JSON output.
    title : str
        Title in tables.
    value, low, high : float
        Score and the limits of its interval.
    """

    name: str
    title: str
    value: float
    low: float
    high: float


def score_by_bag(scoring: str, held: HeldOut) -> np.ndarray | None:
    """Return the score of every bag if the score is a mean over bags, otherwise None.

    Parameters
    ----------
    scoring : str
        Scorer name in scikit-learn: "accuracy", "neg_log_loss" or, for two classes, "neg_brier_score".
    held : HeldOut
        Predictions. The result is also None if they lack the output that the score needs.
    """
    if scoring == "accuracy":
        return held.is_right
    if scoring == "neg_log_loss" and "predict_proba" in held.outputs:
        return log_probability(held.outputs["predict_proba"], held.codes)
    if scoring == "neg_brier_score" and held.probability is not None:
        return -((held.probability - held.codes) ** 2)
    return None


def score_with_interval(
    scoring: str, held: HeldOut, groups: np.ndarray | None = None
) -> tuple[float, float, float] | None:
    """Return a score and its 95 % interval (value, low, high), or None if no interval is available.

    Intervals are available for means over bags (`score_by_bag`) and for the AUC of two classes ("roc_auc").
    """
    if scoring == "roc_auc" and held.score is not None:
        return auc_interval(held.codes == 1, held.score, held.fold, groups)
    by_bag = score_by_bag(scoring, held)
    if by_bag is None:
        return None
    interval = share_interval if scoring == "accuracy" else mean_interval
    return float(by_bag.mean()), *interval(by_bag, groups)


def score_held_out(
    held: HeldOut, groups: np.ndarray | None = None, word: Callable[[int], str] | None = None
) -> list[Score]:
    """Return accuracy, the recall of every class and, for two classes, AUC and Brier score.

    Parameters
    ----------
    held : HeldOut
        From `predict_held_out`.
    groups : array of shape (n_bags,), optional
        Groups of bags that may be correlated.
    word : callable, optional
        Function that returns the displayed name of a class from its index in ``held.classes``.

    Notes
    -----
    Given the fitted models, the errors of held-out bags are nearly independent. Intervals based on their
    variance therefore cover the mean error of the folds' models (Bayle, Bayle, Janson and Mackey, 2020,
    Cross-validation confidence intervals for test error). They do not cover how another training set would
    change the model.
    """
    word = word or (lambda index: str(held.classes[index]))
    scores = []

    def add(name: str, title: str, result: tuple[float, float, float] | None) -> None:
        if result is not None:
            scores.append(Score(name, title, *result))

    add("accuracy", "accuracy", score_with_interval("accuracy", held, groups))
    for index in reversed(range(len(held.classes))):
        called, rows = word(index), held.codes == index
        hits, class_groups = held.is_right[rows], None if groups is None else groups[rows]
        result = float(hits.mean()), *share_interval(hits, class_groups)
        add(f"recall_{called}", f"recall of '{called}'", result)
    add("auc", "AUC", score_with_interval("roc_auc", held, groups))
    brier = score_with_interval("neg_brier_score", held, groups)
    if brier is not None:
        value, low, high = brier
        add("brier", "Brier score", (-value, max(0.0, -high), min(1.0, -low)))
    return scores
