"""What the data say of how instances make the label of a bag."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise.data.bags import is_scan
from bagwise.evaluation.comparison.plan import Labelled
from bagwise.evaluation.comparison.portfolio import COUNT, ONE, SHARE, WHOLE
from bagwise.evaluation.comparison.results import ModelResult
from bagwise.evaluation.held_out.intervals import mean_test
from bagwise.models.base.log_loss import log_probability

# A difference counts from this p value on. Between it and the other, the whole bag may be what matters.
_SURE, _DOUBT = 0.01, 0.2
# BIC must be lower by this before a count is believed in: "clearly" in `diagnose_rule`.
_CLEAR_BIC = 6.0
# `diagnose_rule` fits four rules to all bags: with more instances it takes longer than the rest.
_MOST_DIAGNOSED = 20_000

_WORDS = {
    ONE: "one positive instance makes a bag positive",
    SHARE: "the share of positive instances makes a bag positive",
    COUNT: "several positive instances make a bag positive, and one is not enough",
    WHOLE: "the bag as a whole makes the label, not its instances one by one",
}
_LOOKING_AT = {
    ONE: "one instance",
    SHARE: "the share of positive instances",
    COUNT: "the number of positive instances",
    WHOLE: "the whole bag",
}


@dataclass(frozen=True, eq=False)
class Assumption:
    """What a bag's label seems to depend on, and why one may think so.

    Attributes
    ----------
    kind : {"one instance", "a share", "a count", "the whole bag"} or None
        None where it cannot be told.
    sentence : str
        The answer in words.
    evidence : tuple of str
        Sentences with the numbers behind it.
    diagnosis : RuleDiagnosis or None
        What `diagnose_rule` found, where it was asked.
    """

    kind: str | None
    sentence: str
    evidence: tuple[str, ...]
    diagnosis: Any = None


@dataclass(frozen=True, eq=False)
class _Champion:
    """The best model of a kind, and the log-likelihood of every bag that was held out from it."""

    kind: str
    name: str
    values: np.ndarray
    groups: np.ndarray | None

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    def against(self, other: _Champion) -> tuple[float, float]:
        """Give the mean difference of the two on the same bags, and its p value."""
        return mean_test(self.values - other.values, self.groups)

    def is_surely_better(self, other: _Champion) -> bool:
        gain, p = self.against(other)
        return gain > 0 and p < _SURE


def judge_assumption(
    results: Sequence[ModelResult], majority: ModelResult, data: Labelled, seed: int
) -> Assumption | None:
    """Say what the label of a bag depends on, or that it cannot be told.

    Models are of four kinds, by what they take a label to depend on. Of every kind the one with the best
    log-likelihood of held-out bags stands for it, and kinds are compared bag by bag. The whole bag is
    believed in only if its model is better than those of all other kinds, because it can imitate them. One
    instance and a count of them are rules of counts both, which `diagnose_rule` tells apart.

    None where there is nothing to compare: more than two classes, positive and unlabeled bags, or no model
    with probabilities that looks at instances one by one (or counts them), at their share, or at the whole
    bag. Where one of these is not heard, the others prove nothing.

    Parameters
    ----------
    results : sequence of ModelResult
        The models.
    majority : ModelResult
        The baseline that knows no instances.
    data : Labelled
        The bags.
    seed : int
        For `diagnose_rule`.
    """
    if len(data.classes) != 2 or data.from_unlabeled:
        return None
    best = _champions(results, data)
    if not {SHARE, WHOLE} <= {one.kind for one in best} or len({one.kind for one in best}) < 3:
        return None
    first, second = best[:2]
    evidence = [_told(one, first) for one in best]
    chance = _champion(majority, "", data)
    if not first.is_surely_better(chance):
        gain, p = first.against(chance)
        sentence = (
            "What makes a bag positive cannot be told: no model is better than always saying the most "
            f"frequent label ({first.name}: {gain:+.3f} in log-likelihood a held-out bag, p = {p:.2g})."
        )
        return Assumption(None, sentence, tuple(evidence))
    whole = next(one for one in best if one.kind == WHOLE)
    chosen = next(one for one in best if one is not whole)
    if first is whole:
        if all(whole.is_surely_better(one) for one in best[1:]):
            return _answer(WHOLE, whole, second, evidence)
        if chosen.against(whole)[1] < _DOUBT:
            return _cannot(whole, chosen, evidence)
    others = (one for one in best if one not in (whole, chosen))
    rival = next(one for one in others if not {one.kind, chosen.kind} <= {ONE, COUNT})
    if not chosen.is_surely_better(rival):
        return _cannot(chosen, rival, evidence)
    if chosen.kind == SHARE:
        return _answer(SHARE, chosen, rival, evidence)
    return _one_or_count(chosen, rival, evidence, _diagnose(data, seed))


def _champions(results: Sequence[ModelResult], data: Labelled) -> list[_Champion]:
    """The best model of every kind, best first; models without probabilities cannot be compared."""
    best: dict[str, _Champion] = {}
    for one in results:
        if one.assumes is None or one.oof_kind != "probability":
            continue
        found = _champion(one, one.assumes, data)
        if one.assumes not in best or found.mean > best[one.assumes].mean:
            best[one.assumes] = found
    return sorted(best.values(), key=lambda one: -one.mean)


def _champion(one: ModelResult, kind: str, data: Labelled) -> _Champion:
    assert one.oof is not None  # who has probabilities has them
    by_bag = np.mean([log_probability(np.column_stack([1 - p, p]), data.codes) for p in one.oof], axis=0)
    held = np.isfinite(by_bag)
    return _Champion(kind, one.name, by_bag[held], None if data.groups is None else data.groups[held])


def _diagnose(data: Labelled, seed: int) -> Any:
    """Ask `diagnose_rule`; None where it cannot answer: files, too many instances, missing values."""
    if is_scan(data.bags) or data.bags.n_instances > _MOST_DIAGNOSED:
        return None
    from bagwise.models.linear_model import diagnose_rule

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return diagnose_rule(data.bags, data.codes, cv=None, random_state=seed)
        except (ValueError, TypeError):
            return None


def _one_or_count(first: _Champion, second: _Champion, evidence: list[str], diagnosis: Any) -> Assumption:
    """Tell one instance from a count of them, by the rules that `diagnose_rule` has fitted."""
    unknown = "Positive instances make a bag positive; whether one is enough cannot be told"
    if diagnosis is None:
        why = "the rules of counts were not fitted (files, missing values or too many instances)"
        return Assumption(None, f"{unknown}: {why}.", tuple(evidence))
    evidence = [*evidence, diagnosis.sentence]
    bic = dict(zip(diagnosis.names, diagnosis.bic, strict=True))
    best = diagnosis.best
    other = min((name for name in bic if name != best), key=lambda name: bic[name])
    of_rules = (
        f" Of the rules of counts {best!r} fits best (BIC lower than that of {other!r} by "
        f"{bic[other] - bic[best]:.1f})."
    )
    rule = diagnosis.models[best].rule_
    is_sharp = best == "logistic" and -rule.intercept / rule.slope < 1.0
    if best == "or" or is_sharp:
        return _answer(ONE, first, second, evidence, diagnosis, of_rules)
    if bic["or"] - bic[best] > _CLEAR_BIC:
        return _answer(COUNT, first, second, evidence, diagnosis, of_rules)
    return Assumption(None, f"{unknown}.{of_rules}", tuple(evidence), diagnosis)


def _told(one: _Champion, best: _Champion) -> str:
    said = (
        f"Models that look at {_LOOKING_AT[one.kind]}: log-likelihood {one.mean:.3f} a held-out bag "
        f"({one.name})"
    )
    if one is best:
        return f"{said}, the best."
    gain, p = one.against(best)
    return f"{said}, {gain:+.3f} from the best, p = {p:.2g}."


def _answer(
    kind: str,
    first: _Champion,
    second: _Champion,
    evidence: list[str],
    diagnosis: Any = None,
    more: str = "",
) -> Assumption:
    gain, p = first.against(second)
    sentence = (
        f"The data say that {_WORDS[kind]}: {first.name} is better than the best model that looks at "
        f"{_LOOKING_AT[second.kind]} ({second.name}) by {gain:.3f} in log-likelihood a held-out bag "
        f"(p = {p:.2g})."
    )
    return Assumption(kind, sentence + more, tuple(evidence), diagnosis)


def _cannot(first: _Champion, second: _Champion, evidence: list[str]) -> Assumption:
    gain, p = first.against(second)
    sentence = (
        f"Whether a label depends on {_LOOKING_AT[first.kind]} or on {_LOOKING_AT[second.kind]} cannot be "
        f"told: {first.name} and {second.name} differ by {abs(gain):.3f} in log-likelihood a held-out bag "
        f"(p = {p:.2g})."
    )
    return Assumption(None, sentence, tuple(evidence))
