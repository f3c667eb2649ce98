"""What a fit is worth: scores of held-out bags as a table, for screens, pages and files of models."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from bagwise._display.parts import Table
from bagwise.evaluation.held_out.scores import IN_GROUPS, MEANING, score_held_out
from bagwise.models.base.held_out import HeldOut

# With fewer groups intervals were seen to be too narrow in simulations.
_FEW_GROUPS = 30


@dataclass(frozen=True)
class Evaluation:
    """Scores of held-out bags.

    Attributes
    ----------
    held : HeldOut
        What models said of the bags that they were not fitted on.
    groups : array of shape (n_bags,) or None
        Bags of one group were held out together.
    scores : dict
        By name: value, low and high.
    titles : dict
        The names in words.
    from_unlabeled : bool
        Whether low and high are scores at the ends of the class prior's interval, and no intervals.
    """

    held: HeldOut
    groups: np.ndarray | None
    scores: dict[str, dict[str, float]]
    titles: dict[str, str]
    from_unlabeled: bool

    def table(self) -> Table:
        """Lay the scores out, and say what they mean."""
        heads = ["score", "lower end", "class prior", "upper end"]
        order = ("low", "value", "high")
        if not self.from_unlabeled:
            heads = [f"{self.held.n_folds}-fold cross-validation", "score", "from", "to"]
            order = ("value", "low", "high")
        rows = [
            [self.titles[name], *(_number(score[key]) for key in order)]
            for name, score in self.scores.items()
        ]
        return Table.of(heads, rows, note=self.meaning)

    @property
    def base_rate(self) -> float:
        """The accuracy of whoever always says the more frequent label."""
        counts = np.bincount(self.held.codes)
        return float(counts.max() / counts.sum())

    @property
    def meaning(self) -> str:
        """What the numbers mean, in sentences."""
        if self.from_unlabeled:
            return (
                f"Scores of held-out bags ({self.held.n_folds} folds), at the class prior and at the ends of "
                "its interval: with unlabeled bags all but recall depend on the prior."
            )
        text = f"Always the more frequent label: accuracy {self.base_rate:.3f}. {MEANING}"
        if self.groups is not None:
            text += IN_GROUPS
            n_groups = len(np.unique(self.groups))
            if n_groups < _FEW_GROUPS:
                text += f" With {n_groups} groups, fewer than {_FEW_GROUPS}, intervals are too narrow."
        return text


def evaluate(
    held: HeldOut, groups: np.ndarray | None = None, names: tuple[str, str] | None = None
) -> Evaluation:
    """Score predictions of bags whose labels are known; `names` are those of the two classes."""
    found = score_held_out(held, groups, None if names is None else names.__getitem__)
    scores = {score.name: {"value": score.value, "low": score.low, "high": score.high} for score in found}
    return Evaluation(held, groups, scores, {score.name: score.title for score in found}, False)


def evaluate_unlabeled(
    model: Any, bags: Any, y: np.ndarray, held: HeldOut, groups: np.ndarray | None = None
) -> Evaluation:
    """Score predictions of positive and unlabeled bags, at the priors that they leave possible.

    `model`, fitted to all bags, says what it took the prior for.
    """
    from bagwise.evaluation.pu_reports import pu_report

    known = {
        name: getattr(model, name) for name in ("class_prior_", "prior_estimate_") if hasattr(model, name)
    }
    report = pu_report(SimpleNamespace(decision_function=lambda X: held.score, **known), bags, y)
    names = ("class_prior", "precision", "recall", "f1", "auc", "risk")
    scores = {
        name: dict(zip(("low", "value", "high"), map(float, getattr(report, name)), strict=True))
        for name in names
    }
    return Evaluation(held, groups, scores, {name: name.replace("_", " ") for name in names}, True)


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.3f}"
