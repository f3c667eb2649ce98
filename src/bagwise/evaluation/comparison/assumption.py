"""Assumption about how instances determine bag labels, inferred from a comparison of models."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise.data.bags import is_scan
from bagwise.evaluation.comparison.plan import Labelled
from bagwise.evaluation.comparison.portfolio import COUNT, ONE_INSTANCE, SHARE, WHOLE
from bagwise.evaluation.comparison.results import ModelResult
from bagwise.evaluation.held_out.intervals import mean_test
from bagwise.models.base.log_loss import log_probability

# A difference is significant below the first p value. Between the two p values, the data do not show whether
# the label depends on the whole bag.
_SURE, _DOUBT = 0.01, 0.2
# Minimum BIC difference in favor of a count; `diagnose_rule` calls such a difference clear.
_CLEAR_BIC = 6.0
# `diagnose_rule` fits four rules to all bags. With more instances it would take longer than the comparison.
_MOST_DIAGNOSED = 20_000

_STATEMENTS = {
    ONE_INSTANCE: "one positive instance makes a bag positive",
    SHARE: "the label depends on the share of positive instances",
    COUNT: "several positive instances make a bag positive and one is not enough",
    WHOLE: "the label depends on the bag as a whole, not on single instances",
}
_BASES = {
    ONE_INSTANCE: "one instance",
    SHARE: "the share of positive instances",
    COUNT: "the number of positive instances",
    WHOLE: "the whole bag",
}


@dataclass(frozen=True, eq=False)
class Assumption:
    """Assumption about bag labels that the data support, with the evidence for it.

    Attributes
    ----------
    kind : {"one instance", "a share", "a count", "the whole bag"} or None
        What the bag label depends on; None if the data do not show it.
    sentence : str
        The conclusion as a sentence.
    evidence : tuple of str
        Sentences with the values that support the conclusion.
    diagnosis : RuleDiagnosis or None
        The result of `diagnose_rule`, if it was called.
    """

    kind: str | None
    sentence: str
    evidence: tuple[str, ...]
    diagnosis: Any = None


@dataclass(frozen=True, eq=False)
class _Champion:
    """Best model of a kind, with the log-likelihood of each held-out bag."""

    kind: str
    name: str
    values: np.ndarray
    groups: np.ndarray | None

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    def against(self, other: _Champion) -> tuple[float, float]:
        """Return the mean difference of the two models on the same bags, and its p value."""
        return mean_test(self.values - other.values, self.groups)

    def is_surely_better(self, other: _Champion) -> bool:
        gain, p = self.against(other)
        return gain > 0 and p < _SURE


def judge_assumption(
    results: Sequence[ModelResult], majority: ModelResult, data: Labelled, seed: int
) -> Assumption | None:
    """Return the assumption about bag labels that the data support, if any.

    There are four kinds of models, which differ in what a bag label depends on. Each kind is represented by
    its model with the best held-out log-likelihood, and the kinds are compared bag by bag. Models of the
    whole bag can imitate the other kinds. The whole bag is therefore chosen only if its model is better than
    those of all other kinds. One instance and a count are both count rules; `diagnose_rule` decides between
    them.

    Return None for more than two classes and for positive and unlabeled bags. Also return None unless there
    are models with probabilities for the whole bag, for the share, and for one instance or a count: if a kind
    is missing, a comparison of the others proves nothing.

    Parameters
    ----------
    results : sequence of ModelResult
        The models.
    majority : ModelResult
        The baseline that does not use instances.
    data : Labeled
        The bags.
    seed : int
        Random state for `diagnose_rule`.
    """
    if len(data.classes) != 2 or data.from_unlabeled:
        return None
    best = _champions(results, data)
    if (
        not {SHARE, WHOLE} <= {champion.kind for champion in best}
        or len({champion.kind for champion in best}) < 3
    ):
        return None
    first, second = best[:2]
    evidence = [_describe(champion, first) for champion in best]
    chance = _champion(majority, "", data)
    if not first.is_surely_better(chance):
        gain, p = first.against(chance)
        sentence = (
            "The data do not show what makes a bag positive. No model is better than always predicting the "
            f"most frequent label ({first.name!r}: {gain:+.3f} in log-likelihood per held-out bag, "
            f"p = {p:.2g})."
        )
        return Assumption(None, sentence, tuple(evidence))
    whole = next(champion for champion in best if champion.kind == WHOLE)
    chosen = next(champion for champion in best if champion is not whole)
    if first is whole:
        if all(whole.is_surely_better(champion) for champion in best[1:]):
            return _conclude(WHOLE, whole, second, evidence)
        if chosen.against(whole)[1] < _DOUBT:
            return _leave_open(whole, chosen, evidence)
    others = (champion for champion in best if champion not in (whole, chosen))
    rival = next(champion for champion in others if not {champion.kind, chosen.kind} <= {ONE_INSTANCE, COUNT})
    if not chosen.is_surely_better(rival):
        return _leave_open(chosen, rival, evidence)
    if chosen.kind == SHARE:
        return _conclude(SHARE, chosen, rival, evidence)
    return _one_or_count(chosen, rival, evidence, _diagnose(data, seed))


def _champions(results: Sequence[ModelResult], data: Labelled) -> list[_Champion]:
    """Return the best model of each kind, best first, without models that have no probabilities."""
    best: dict[str, _Champion] = {}
    for result in results:
        if result.assumes is None or result.oof_kind != "probability":
            continue
        champion = _champion(result, result.assumes, data)
        if result.assumes not in best or champion.mean > best[result.assumes].mean:
            best[result.assumes] = champion
    return sorted(best.values(), key=lambda champion: -champion.mean)


def _champion(result: ModelResult, kind: str, data: Labelled) -> _Champion:
    assert result.oof is not None  # `oof_kind` is "probability"
    by_bag = np.mean([log_probability(np.column_stack([1 - p, p]), data.codes) for p in result.oof], axis=0)
    held = np.isfinite(by_bag)
    return _Champion(kind, result.name, by_bag[held], None if data.groups is None else data.groups[held])


def _diagnose(data: Labelled, seed: int) -> Any:
    """Return the result of `diagnose_rule`; None for scans, too many instances or missing values."""
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
    """Decide between one instance and a count of instances by the rules that `diagnose_rule` fitted."""
    unknown = "Positive instances make a bag positive. The data do not show whether one is enough"
    if diagnosis is None:
        reason = "count rules were not fitted (scanned files, missing values or too many instances)"
        return Assumption(None, f"{unknown}: {reason}.", tuple(evidence))
    evidence = [*evidence, diagnosis.sentence]
    bic = dict(zip(diagnosis.names, diagnosis.bic, strict=True))
    best = diagnosis.best
    other = min((name for name in bic if name != best), key=lambda name: bic[name])
    of_rules = (
        f" The count rule {best!r} fits best; its BIC is lower than that of {other!r} by "
        f"{bic[other] - bic[best]:.1f}."
    )
    rule = diagnosis.models[best].rule_
    is_sharp = best == "logistic" and -rule.intercept / rule.slope < 1.0
    if best == "or" or is_sharp:
        return _conclude(ONE_INSTANCE, first, second, evidence, diagnosis, of_rules)
    if bic["or"] - bic[best] > _CLEAR_BIC:
        return _conclude(COUNT, first, second, evidence, diagnosis, of_rules)
    return Assumption(None, f"{unknown}.{of_rules}", tuple(evidence), diagnosis)


def _describe(champion: _Champion, best: _Champion) -> str:
    sentence = (
        f"Best model based on {_BASES[champion.kind]}: {champion.name!r}, log-likelihood "
        f"{champion.mean:.3f} per held-out bag"
    )
    if champion is best:
        return f"{sentence} (the best of all models)."
    gain, p = champion.against(best)
    return f"{sentence}, {gain:+.3f} compared with the best model of all (p = {p:.2g})."


def _conclude(
    kind: str,
    first: _Champion,
    second: _Champion,
    evidence: list[str],
    diagnosis: Any = None,
    more: str = "",
) -> Assumption:
    gain, p = first.against(second)
    sentence = (
        f"The data support the assumption that {_STATEMENTS[kind]}. {first.name!r} is better than the best "
        f"model based on {_BASES[second.kind]} ({second.name!r}) by {gain:.3f} in log-likelihood per "
        f"held-out bag (p = {p:.2g})."
    )
    return Assumption(kind, sentence + more, tuple(evidence), diagnosis)


def _leave_open(first: _Champion, second: _Champion, evidence: list[str]) -> Assumption:
    gain, p = first.against(second)
    sentence = (
        f"The data do not show whether a label depends on {_BASES[first.kind]} or on "
        f"{_BASES[second.kind]}. {first.name!r} and {second.name!r} differ by {abs(gain):.3f} in "
        f"log-likelihood per held-out bag (p = {p:.2g})."
    )
    return Assumption(None, sentence, tuple(evidence))
