"""Scores of held-out predictions, each with its interval: for a fit, its page, and comparisons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bagwise.evaluation.held_out.intervals import auc_interval, mean_interval, share_interval
from bagwise.models.base.held_out import HeldOut
from bagwise.models.base.log_loss import log_probability

# What intervals speak of, for whoever shows them.
MEANING = (
    "Intervals (95 %) say how well models that were fitted to the other folds do on more bags like these: "
    "Wilson's for shares, Newcombe's for AUC inside folds, by the standard error for the Brier score."
)
IN_GROUPS = " Bags of one group count for as many as the spread between groups says."


@dataclass(frozen=True)
class Score:
    """A score, and where it may lie.

    Attributes
    ----------
    name : str
        As scripts call it.
    title : str
        In words.
    value, low, high : float
        The score and the ends of its interval.
    """

    name: str
    title: str
    value: float
    low: float
    high: float


def score_by_bag(scoring: str, held: HeldOut) -> np.ndarray | None:
    """Return the score of every bag, for scores that are a mean over bags; None for others.

    Parameters
    ----------
    scoring : str
        Its name in scikit-learn: "accuracy", "neg_log_loss", and for two classes "neg_brier_score".
    held : HeldOut
        Predictions; where they lack what the score needs, the result is None, too.
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
    """Return a score of all bags and its 95 % interval: value, low, high; None where no interval is known.

    There are intervals for means over bags (`score_by_bag`), and for the AUC of two classes ("roc_auc").
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
    """Score predictions: accuracy, the share found of every class, and for two classes AUC and Brier score.

    Parameters
    ----------
    held : HeldOut
        From `predict_held_out`.
    groups : array of shape (n_bags,), optional
        Groups of bags that depend on each other.
    word : callable, optional
        Names a class by its place in ``held.classes``.

    Notes
    -----
    Errors of held-out bags are nearly independent, given what was learned: intervals by their spread cover
    the mean error of the folds' models (Bayle, Bayle, Janson and Mackey, 2020, Cross-validation confidence
    intervals for test error). They leave out how another training set would change the model.
    """
    word = word or (lambda place: str(held.classes[place]))
    scores = []

    def add(name: str, title: str, found: tuple[float, float, float] | None) -> None:
        if found is not None:
            scores.append(Score(name, title, *found))

    add("accuracy", "accuracy", score_with_interval("accuracy", held, groups))
    for place in reversed(range(len(held.classes))):
        called, rows = word(place), held.codes == place
        hits, some = held.is_right[rows], None if groups is None else groups[rows]
        found = float(hits.mean()), *share_interval(hits, some)
        add(f"recall_{called}", f"of '{called}', recognised", found)
    add("auc", "AUC", score_with_interval("roc_auc", held, groups))
    brier = score_with_interval("neg_brier_score", held, groups)
    if brier is not None:
        value, low, high = brier
        add("brier", "Brier score", (-value, max(0.0, -high), min(1.0, -low)))
    return scores
