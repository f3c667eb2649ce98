"""Scores of held-out predictions, each with its interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bagwise.evaluation.held_out.intervals import auc_interval, mean_interval, share_interval
from bagwise.evaluation.held_out.predictions import HeldOut

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
    right = held.predicted == held.codes

    def share(name: str, title: str, hits: np.ndarray, rows: np.ndarray) -> Score:
        some = None if groups is None else groups[rows]
        return Score(name, title, float(hits[rows].mean()), *share_interval(hits[rows], some))

    everyone = np.ones(len(right), dtype=bool)
    scores = [share("accuracy", "accuracy", right, everyone)]
    for place in reversed(range(len(held.classes))):
        called = word(place)
        rows = held.codes == place
        scores.append(share(f"recall_{called}", f"of '{called}', recognised", right, rows))
    positive = held.codes == 1
    if held.score is not None:
        found = auc_interval(positive, held.score, held.fold, groups)
        scores.append(Score("auc", "AUC", *found))
    if held.probability is not None:
        error = (held.probability - positive) ** 2
        low, high = mean_interval(error, groups)
        scores.append(Score("brier", "Brier score", float(error.mean()), max(0.0, low), min(1.0, high)))
    return scores
