"""The vote of the families: its fit to the bags of two classes, and its text description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bagwise._core.checkpoint import CheckpointLocation
from bagwise._core.interrupt import raise_if_stopped
from bagwise._display.notebook import as_text
from bagwise._display.parts import Table
from bagwise.data.bags import Bags
from bagwise.models.base import Training
from bagwise.models.base.folds import Split
from bagwise.models.ensemble.blend import (
    Blend,
    Sharpening,
    blend,
    held_out_log_odds,
    log_likelihood,
    sharpening,
)
from bagwise.models.ensemble.families import FAMILIES, Choice
from bagwise.models.ensemble.kernel_part import KernelPart
from bagwise.models.ensemble.members import FittedMember
from bagwise.models.ensemble.training import OpenTraining, TrainingBags
from bagwise.solvers.reporting import Reporter

# The report's statement about the standard assumption.
_RESPECTS = (
    "Adding an instance to a bag never lowers its score: the ensemble does not use the absence of instances."
)
_IGNORES = (
    "The ensemble can call a bag positive because something is missing from it. If only the presence of an "
    "instance should matter, use assumption='standard'."
)


@dataclass(frozen=True)
class Vote:
    """Fitted families for two classes; the log-odds are ``exponent * (constant + sum of parts)``.

    Attributes
    ----------
    parts : list
        Terms of the log-odds of bags; some also contribute to the log-odds of instances.
    constant, instance_constant : float
        Constant terms of the log-odds, for bags and for instances.
    exponent : float
        Factor that multiplies the evidence beyond the class prior, fitted to the held-out bags.
    predicts_instances : bool
        Whether any part scores instances.
    training : TrainingBags or None
        The training bags; None if no part needs them, if they are in files, and in model files of
        bagwise 0.2.
    """

    parts: list[Any]
    constant: float
    instance_constant: float
    exponent: float
    predicts_instances: bool
    training: TrainingBags | None = None

    def log_odds(self, bags: Bags) -> np.ndarray:
        """Return the log-odds that bags belong to the second class."""
        training = self._open()
        total = sum(part.log_odds(bags, training) for part in self.parts)
        return self.exponent * (total + self.constant)

    def instance_log_odds(self, bags: Bags) -> np.ndarray:
        """Return the log-odds that bags with a single instance belong to the second class."""
        training = self._open()
        total = sum(part.instance_log_odds(bags, training) for part in self.parts)
        return self.exponent * (total + self.instance_constant)

    def _open(self) -> OpenTraining | None:
        return None if self.training is None else self.training.open()


class FamilyScore(NamedTuple):
    """Scores of a family on the bags that the inner folds held out."""

    name: str
    n_settings: int
    log_loss: float
    accuracy: float
    best: str
    share_of_best: float


class FittedVote(NamedTuple):
    """Fitted vote, with the held-out scores of its families and of their combination."""

    vote: Vote
    families: list[FamilyScore]
    log_loss: float
    accuracy: float


def fit_vote(
    training: Training,
    splits: list[Split],
    choice: Choice,
    *,
    seed: int,
    n_jobs: int | None,
    checkpoint: CheckpointLocation,
    reporter: Reporter,
    stored: TrainingBags | None,
) -> FittedVote:
    """Fit all families, blend the settings of each, and combine the families with equal weights.

    An uninformative family has little effect: after calibration it predicts the class frequencies. Weights
    that depend on the held-out scores of the families were tried, and performed worse on new bags.
    """
    y, weight = training.y, training.weight
    members: dict[str, list[FittedMember]] = {}
    n_members = sum(len(choice.members(name)) for name in choice.fitted)
    for name in choice.fitted:
        members[name] = []
        for position, member in enumerate(choice.members(name)):
            n_done = sum(map(len, members.values()))
            reporter.step(f"{FAMILIES[name].title}, part {n_done + 1} of {n_members}", n_steps=n_members)
            part = checkpoint.within(f"{name} {position + 1}")
            members[name].append(member.fit(training, splits, seed, n_jobs, part))
            raise_if_stopped()
    is_held = np.isfinite(next(iter(members.values()))[0].held[0])
    labels, counts = y[is_held], weight[is_held]
    blends, held = {}, {}
    for name, fitted in members.items():
        scores = np.concatenate([member.held for member in fitted])
        blends[name] = blend(scores[:, is_held], labels, counts)
        held[name] = held_out_log_odds(scores, y, weight, splits)[is_held]
    together = np.mean([held[name] for name in choice.fitted], axis=0)
    # The prior is computed from all training bags, because the held-out bags may all belong to one class.
    n_negative, n_positive = np.bincount(y, weights=weight)
    sharpen = sharpening(together, labels, counts, float(np.log(n_positive / n_negative)))
    together = sharpen(together)
    vote = _put_together(members, blends, sharpen)
    if any(isinstance(part, KernelPart) for part in vote.parts):
        vote = replace(vote, training=stored)
    of_families = [
        _score(name, members[name], blends[name], held[name], labels, counts) for name in choice.fitted
    ]
    loss = -float(log_likelihood(together, labels, counts))
    return FittedVote(vote, of_families, loss, _accuracy(together, labels, counts))


def _put_together(
    members: dict[str, list[FittedMember]], blends: dict[str, Blend], sharpen: Sharpening
) -> Vote:
    """Return the weighted sum of all settings of all families."""
    scores_instances = {name: np.concatenate([m.of_instances for m in members[name]]) for name in members}
    instance_families = [name for name in members if (scores_instances[name] * blends[name].weight).sum() > 0]
    parts, constant, instance_constant = [], 0.0, 0.0
    for name in members:
        slope, shift, weight, _ = blends[name]
        intercept = np.concatenate([member.intercept for member in members[name]])
        counts = weight / len(members)
        constant += float(counts @ (slope * intercept + shift))
        of_instances = np.zeros_like(weight)
        if name in instance_families:
            of_instances = weight * scores_instances[name]
            of_instances /= of_instances.sum() * len(instance_families)
            instance_constant += float(of_instances @ (slope * intercept + shift))
        begin = 0
        for member in members[name]:
            rows = slice(begin, begin + len(member.intercept))
            parts.append(member.joined((counts * slope)[rows], (of_instances * slope)[rows]))
            begin = rows.stop
    constant = sharpen(constant) / sharpen.exponent
    instance_constant = sharpen(instance_constant) / sharpen.exponent
    return Vote(parts, constant, instance_constant, sharpen.exponent, bool(instance_families))


def _score(
    name: str,
    members: list[FittedMember],
    family_blend: Blend,
    held: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
) -> FamilyScore:
    names = [setting for member in members for setting in member.names]
    best = int(np.argmax(family_blend.weight))
    loss = -float(log_likelihood(held, y, weight))
    accuracy = _accuracy(held, y, weight)
    return FamilyScore(name, len(names), loss, accuracy, names[best], float(family_blend.weight[best]))


def _accuracy(log_odds: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    return float(weight @ ((log_odds >= 0) == (y == 1))) / float(weight.sum())


def describe_fit(
    results: Sequence[FittedVote], pairs: Sequence[tuple[Any, Any]], n_folds: int, choice: Choice
) -> str:
    """Describe the families, their scores on held-out bags and their weights, for every pair of classes."""
    parts: list[str | Table] = []
    if choice.reason:
        parts.append(f"{choice.reason[0].upper()}{choice.reason[1:]}.")
    for (low, high), result in zip(pairs, results, strict=True):
        title = f"{high!r} against {low!r}" if len(pairs) > 1 else ""
        parts += _of_pair(result, n_folds, title)
    if len(pairs) == 1:
        parts.append(_RESPECTS if choice.is_standard else _IGNORES)
    return as_text(parts)


def _of_pair(result: FittedVote, n_folds: int, title: str) -> list[str | Table]:
    scores = ["log loss", "accuracy"]
    rows: list[dict[str, Any]] = [
        {
            "family": family.name,
            "setting with the largest weight": family.best,
            "weight": f"{family.share_of_best:.0%}",
            "settings": family.n_settings,
            **dict(zip(scores, (f"{family.log_loss:.3f}", f"{family.accuracy:.3f}"), strict=True)),
        }
        for family in result.families
    ]
    ensemble = f"{result.log_loss:.3f}", f"{result.accuracy:.3f}"
    rows.append({"family": "ensemble", **dict(zip(scores, ensemble, strict=True))})
    remarks = (
        f"Scores are of held-out bags, in {n_folds} inner folds. The log-odds of the ensemble are the mean "
        "over the families, and the evidence beyond the base rate is multiplied by "
        f"{result.vote.exponent:.2f}. The label of a held-out bag does not affect the SVMs, calibration "
        "lines and weights that are evaluated on it, but the factor was fitted to these scores."
    )
    return [Table(title, rows, n_text=2), remarks]
