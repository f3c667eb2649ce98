"""Evaluation of a fit: scores of held-out bags as a table, for the terminal, report pages and model files."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from bagwise._display.parts import Table
from bagwise.evaluation.held_out.scores import IN_GROUPS, MEANING, score_held_out
from bagwise.models.base.held_out import HeldOut

# With fewer groups, intervals of means were clearly too narrow in simulations (docs/compare.md).
_FEW_GROUPS = 30


@dataclass(frozen=True)
class Evaluation:
    """Scores of held-out bags, with intervals.

    Attributes
    ----------
    held : HeldOut
        Predictions of bags by models that were not fitted to them.
    groups : array of shape (n_bags,) or None
        Group of each bag. Bags of one group were held out together.
    scores : dict
        For each score name, a dict with value, low and high.
    titles : dict
        For each score name, the title that tables show.
    from_unlabeled : bool
        Whether low and high are scores at the ends of the class prior's interval instead of confidence
        limits.
    remarks : tuple of str
        Further sentences about the scores.
    """

    held: HeldOut
    groups: np.ndarray | None
    scores: dict[str, dict[str, float]]
    titles: dict[str, str]
    from_unlabeled: bool
    remarks: tuple[str, ...] = ()

    def table(self) -> Table:
        """Return the scores as a table with a note that explains them."""
        heads = ["score", "lower end", "class prior", "upper end"]
        order = ("low", "value", "high")
        if not self.from_unlabeled:
            heads = [f"{self.held.n_folds}-fold cross-validation", "score", "from", "to"]
            order = ("value", "low", "high")
        rows = [
            [self.titles[name], *(_format_value(score[key]) for key in order)]
            for name, score in self.scores.items()
        ]
        return Table.of(heads, rows, note=self.meaning)

    @property
    def base_rate(self) -> float:
        """Accuracy of always predicting the most frequent label."""
        counts = np.bincount(self.held.codes)
        return float(counts.max() / counts.sum())

    @property
    def meaning(self) -> str:
        """Explanation of the scores, in sentences."""
        if self.from_unlabeled:
            text = (
                f"Scores of held-out bags ({self.held.n_folds} folds) at the class prior and at both ends of "
                "its interval. With unlabeled bags, all scores except recall depend on the prior."
            )
            return " ".join([text, *self.remarks])
        text = f"Baseline (always the most frequent label): accuracy {self.base_rate:.3f}. {MEANING}"
        if self.groups is not None:
            text += IN_GROUPS
            n_groups = len(np.unique(self.groups))
            missing = [self.titles[name] for name, score in self.scores.items() if np.isnan(score["low"])]
            if missing:
                text += f" No interval for {', '.join(missing)}: too few groups."
            if "brier" in self.scores and n_groups < _FEW_GROUPS:
                text += f" With only {n_groups} groups, the interval of the Brier score is too narrow."
        return text


def evaluate(
    held: HeldOut, groups: np.ndarray | None = None, names: tuple[str, str] | None = None
) -> Evaluation:
    """Score predictions of labeled bags; `names` are the displayed names of the two classes."""
    results = score_held_out(held, groups, None if names is None else names.__getitem__)
    scores = {score.name: {"value": score.value, "low": score.low, "high": score.high} for score in results}
    return Evaluation(held, groups, scores, {score.name: score.title for score in results}, False)


def evaluate_unlabeled(
    model: Any, bags: Any, y: np.ndarray, held: HeldOut, groups: np.ndarray | None = None
) -> Evaluation:
    """Score predictions of positive and unlabeled bags, over the interval of plausible class priors.

    `model` is fitted to all bags; its fitted attributes contain the class prior that it used.
    """
    from bagwise.evaluation.pu_reports import pu_report, remarks_of

    prior_attributes = {
        name: getattr(model, name) for name in ("class_prior_", "prior_estimate_") if hasattr(model, name)
    }
    report = pu_report(SimpleNamespace(decision_function=lambda X: held.score, **prior_attributes), bags, y)
    names = ("class_prior", "precision", "recall", "f1", "auc", "risk")
    scores = {
        name: dict(zip(("low", "value", "high"), map(float, getattr(report, name)), strict=True))
        for name in names
    }
    return Evaluation(
        held,
        groups,
        scores,
        {name: name.replace("_", " ") for name in names},
        True,
        tuple(remarks_of(report)),
    )


def _format_value(value: float) -> str:
    return "-" if value != value else f"{value:.3f}"
