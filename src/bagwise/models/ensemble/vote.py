"""The vote of the families: fitted on the bags of two classes, and described in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bagwise._core.checkpoint import CheckpointLocation
from bagwise._core.interrupt import raise_if_stopped
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
from bagwise.models.ensemble.members import FittedMember
from bagwise.solvers.reporting import Reporter


@dataclass(frozen=True)
class Vote:
    """What the families say together of bags: log-odds ``exponent (constant + sum of parts)``.

    Attributes
    ----------
    parts : list
        Each adds to the log-odds of bags, and perhaps to those of instances.
    constant, instance_constant : float
        What is added to them.
    exponent : float
        The factor of the evidence, beyond the frequency of the classes, that held-out bags ask for.
    predicts_instances : bool
        Whether any part does.
    """

    parts: list[Any]
    constant: float
    instance_constant: float
    exponent: float
    predicts_instances: bool

    def log_odds(self, bags: Bags) -> np.ndarray:
        """Log-odds that bags are of the second class."""
        total = sum(part.log_odds(bags) for part in self.parts)
        return self.exponent * (total + self.constant)

    def instance_log_odds(self, bags: Bags) -> np.ndarray:
        """Log-odds that bags of one instance each would be."""
        total = sum(part.instance_log_odds(bags) for part in self.parts)
        return self.exponent * (total + self.instance_constant)


class FamilyScore(NamedTuple):
    """How a family did on the bags that were held out inside the fit."""

    name: str
    n_settings: int
    log_loss: float
    accuracy: float
    best: str
    share_of_best: float


class Found(NamedTuple):
    """A fitted vote, how its families did, and how they do together."""

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
    place: CheckpointLocation,
    reporter: Reporter,
) -> Found:
    """Fit all families, blend the settings of each, and let them vote, each as much as any other.

    A family that knows nothing says so: once it is calibrated it gives the frequency of the classes. Votes
    that are weighed by how families did on held-out bags were tried, and were worse on new ones.
    """
    y, weight = training.y, training.weight
    members: dict[str, list[FittedMember]] = {}
    n_members = sum(len(FAMILIES[name].members) for name in choice.fitted)
    for name in choice.fitted:
        members[name] = []
        for number, member in enumerate(FAMILIES[name].members):
            n_done = sum(map(len, members.values()))
            reporter.step(f"{FAMILIES[name].title}, part {n_done + 1} of {n_members}")
            part = place.within(f"{name} {number + 1}")
            members[name].append(member.fit(training, splits, seed, n_jobs, part))
            raise_if_stopped()
    is_held = np.isfinite(next(iter(members.values()))[0].held[0])
    known, counts = y[is_held], weight[is_held]
    blends, held = {}, {}
    for name, fitted in members.items():
        scores = np.concatenate([member.held for member in fitted])
        blends[name] = blend(scores[:, is_held], known, counts)
        held[name] = held_out_log_odds(scores, y, weight, splits)[is_held]
    together = np.mean([held[name] for name in choice.fitted], axis=0)
    # Of all training bags: those that are held out may be of one class.
    n_negative, n_positive = np.bincount(y, weights=weight)
    sharpen = sharpening(together, known, counts, float(np.log(n_positive / n_negative)))
    together = sharpen(together)
    vote = _put_together(members, blends, sharpen)
    of_families = [
        _score(name, members[name], blends[name], held[name], known, counts) for name in choice.fitted
    ]
    loss = -float(log_likelihood(together, known, counts))
    return Found(vote, of_families, loss, _accuracy(together, known, counts))


def _put_together(
    members: dict[str, list[FittedMember]], blends: dict[str, Blend], sharpen: Sharpening
) -> Vote:
    """Make of all settings of all families one sum."""
    speaks = {name: np.concatenate([m.of_instances for m in members[name]]) for name in members}
    speakers = [name for name in members if (speaks[name] * blends[name].weight).sum() > 0]
    parts, constant, instance_constant = [], 0.0, 0.0
    for name in members:
        slope, shift, weight, _ = blends[name]
        intercept = np.concatenate([member.intercept for member in members[name]])
        counts = weight / len(members)
        constant += float(counts @ (slope * intercept + shift))
        of_instances = np.zeros_like(weight)
        if name in speakers:
            of_instances = weight * speaks[name]
            of_instances /= of_instances.sum() * len(speakers)
            instance_constant += float(of_instances @ (slope * intercept + shift))
        begin = 0
        for member in members[name]:
            some = slice(begin, begin + len(member.intercept))
            parts.append(member.joined((counts * slope)[some], (of_instances * slope)[some]))
            begin = some.stop
    constant = sharpen(constant) / sharpen.exponent
    instance_constant = sharpen(instance_constant) / sharpen.exponent
    return Vote(parts, constant, instance_constant, sharpen.exponent, bool(speakers))


def _score(
    name: str,
    members: list[FittedMember],
    found: Blend,
    held: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
) -> FamilyScore:
    names = [setting for member in members for setting in member.names]
    best = int(np.argmax(found.weight))
    loss = -float(log_likelihood(held, y, weight))
    accuracy = _accuracy(held, y, weight)
    return FamilyScore(name, len(names), loss, accuracy, names[best], float(found.weight[best]))


def _accuracy(log_odds: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    return float(weight @ ((log_odds >= 0) == (y == 1))) / float(weight.sum())


def describe_fit(found: Sequence[Found], pairs: Sequence[tuple[Any, Any]], n_folds: int, reason: str) -> str:
    """Describe the families, their scores on held-out bags and their weights, for every pair of classes."""
    lines = []
    if reason:
        lines.append(f"{reason[0].upper()}{reason[1:]}.")
    for (low, high), vote in zip(pairs, found, strict=True):
        if len(pairs) > 1:
            lines.append(f"{high!r} against {low!r}:")
        lines += _of_pair(vote, n_folds)
    return "\n".join(lines)


def _of_pair(found: Found, n_folds: int) -> list[str]:
    lines = []
    for family in found.families:
        lines.append(
            f"{family.name} ({FAMILIES[family.name].title}, {family.n_settings} settings): log loss "
            f"{family.log_loss:.3f} and accuracy {family.accuracy:.3f} of bags held out. "
            f"Most weight in it, {family.share_of_best:.0%}, has: {family.best}."
        )
    lines.append(
        f"Together: log loss {found.log_loss:.3f} and accuracy {found.accuracy:.3f} of bags held out, in "
        f"{n_folds} folds inside the fit; log-odds are the mean of those of the families, and what that says "
        f"beyond the frequency of the classes counts times {found.vote.exponent:.2f}. The label of a bag "
        "that is held out plays no part in the machines, lines and weights that it is judged by; but that "
        "factor was chosen by these scores."
    )
    return lines
