"""Every public rule at extreme log-odds: valid probabilities, and enumeration for small bags."""

from __future__ import annotations

import numpy as np
from tests.fuzz.choosing import chosen, generator
from tests.fuzz.judging import Refused, asked, require, require_close
from tests.fuzz.parameters import draw_rule

from bagwise.testing import all_rules, enumerate_labels

_HOSTILE = (0.0, -0.0, 1e-300, -5e-324, 40.0, -40.0, 745.0, -745.0, 1e5, -1e5, 1e300, -1e300)
_KNOWN = (np.inf, -np.inf)
# The largest bag for which all labelings are enumerated.
_SMALL = 6
# Smaller probabilities are not compared: the enumeration computes them as 1 - p with p near 1, without
# precision.
_NEAR = -15.0


def run(seed: int, only: str | None = None) -> str:
    """Check the likelihoods and derivatives of one rule for random bags."""
    names = {rule.__name__: rule for rule in all_rules()}
    rng = generator("rules", seed)
    cls = names[only or chosen(seed, list(names))]
    rule = draw_rule(rng, of=cls)
    sizes = rng.choice([1, 2, 3, 5, 5, 40, 400], size=rng.integers(1, 8))
    offsets = np.append(0, np.cumsum(sizes))
    log_odds = _draw_log_odds(rng, int(offsets[-1]))
    y = rng.choice(np.array([-1, 0, 1], dtype=np.int8), size=len(sizes))
    story = f"{rule!r}, sizes {sizes.tolist()}, y {y.tolist()}, log_odds {log_odds[:8].tolist()}"
    try:
        rule = asked(rule.start, offsets, y)
        _probabilities(rule, log_odds, offsets, rng)
        _derivatives(rule, log_odds, offsets, y)
        _by_enumeration(rule, log_odds, offsets)
    except (AssertionError, Refused) as end:
        end.add_note(story)
        raise
    return story


def _draw_log_odds(rng, n: int) -> np.ndarray:
    log_odds = rng.normal(scale=rng.choice([1e-3, 1.0, 10.0, 300.0]), size=n) + rng.choice([0.0, -5.0, 50.0])
    odd = rng.random(n) < rng.choice([0.0, 0.3, 1.0])
    log_odds[odd] = rng.choice(_HOSTILE if rng.random() < 0.7 else _HOSTILE + _KNOWN, size=int(odd.sum()))
    return log_odds


def _probabilities(rule, log_odds, offsets, rng) -> None:
    log_proba = asked(rule.log_proba, log_odds, offsets)
    require(not np.isnan(log_proba).any(), f"log_proba is NaN: {log_proba}")
    require((log_proba <= 1e-9).all(), f"a probability is above one: {log_proba.max()}")
    require_close(np.exp(log_proba).sum(axis=1), np.ones(len(log_proba)), 1e-9, "both labels of a bag")
    bag = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((rng.random(len(bag)), bag))
    again = rule.log_proba(log_odds[order], offsets)
    digits = _digits(rule, log_odds)
    _same_logs(again, log_proba, digits, "log_proba in another order of instances")
    i = int(rng.integers(len(offsets) - 1))
    alone = rule.log_proba(log_odds[offsets[i] : offsets[i + 1]], [0, offsets[i + 1] - offsets[i]])
    _same_logs(alone, log_proba[i : i + 1], digits, "log_proba alone and with other bags")


def _digits(rule, log_odds) -> float:
    """Return the tolerance for two computations of a likelihood, relative to its value or to 1."""
    if type(rule).__name__ == "LogOddsMean":
        size = np.abs(log_odds[np.isfinite(log_odds)])
        return 1e-12 * max(1e3, float(size.max(initial=0.0)))  # large log-odds of both signs cancel in a mean
    return 1e-9


def _same_logs(actual, expected, tolerance: float, description: str) -> None:
    """Check that log-probabilities are equal where infinite, and close elsewhere."""
    infinite = np.isinf(expected) | np.isinf(actual)
    require((actual[infinite] == expected[infinite]).all(), f"{description}: {actual} and {expected}")
    with np.errstate(over="ignore"):
        apart = np.abs(actual - expected)[~infinite] / np.maximum(1.0, np.abs(expected[~infinite]))
    require((apart <= tolerance).all(), f"{description}: {actual} and {expected}")


def _derivatives(rule, log_odds, offsets, y) -> None:
    log_likelihood, gradient = rule.gradient(log_odds, offsets, y)
    require(not np.isnan(log_likelihood).any(), "a log-likelihood is NaN")
    possible = np.repeat(log_likelihood > -np.inf, np.diff(offsets))
    require(np.isfinite(gradient[possible]).all(), "the gradient of a possible label is not finite")
    unknown = np.repeat(y == -1, np.diff(offsets))
    require(
        not gradient[unknown].any() and not log_likelihood[y == -1].any(), "an unknown label has an effect"
    )
    for part in rule.curvature(log_odds, offsets, y):
        require(np.isfinite(part[possible]).all(), "the curvature of a possible label is not finite")
    if not rule.has_latent_labels:
        return
    result = rule.estep(log_odds, offsets, y)
    for name in ("posterior", "complement"):
        value = getattr(result, name)[possible]
        require(
            ((value >= 0) & (value <= 1 + 1e-12)).all(),
            f"{name} is not in [0, 1]: {value.min()}, {value.max()}",
        )
    both = (result.posterior + result.complement)[possible]
    require_close(both, np.ones(len(both)), 1e-9, "posterior and complement")
    product = rule.hessian_product(log_odds, offsets, y, np.ones(len(log_odds)))
    require(np.isfinite(product[possible]).all(), "the Hessian product of a possible label is not finite")
    require(np.isfinite(result.statistics).all(), "the statistics are not finite")


def _by_enumeration(rule, log_odds, offsets) -> None:
    """Compare a small bag with the enumeration of its labelings; P(y | z) is the rule at known labels."""
    if not rule.has_latent_labels:
        return
    log_proba = rule.log_proba(log_odds, offsets)
    for i in range(len(offsets) - 1):
        mine = log_odds[offsets[i] : offsets[i + 1]]
        if len(mine) > _SMALL or not np.isfinite(mine).all():
            continue

        def positive(z) -> float:
            certain = np.where(np.array(z) == 1, np.inf, -np.inf)
            return float(np.exp(rule.log_proba(certain, [0, len(z)])[0, 1]))

        enumerated = enumerate_labels(mine, positive)
        for y in (0, 1):
            expected, actual = enumerated[y][0], log_proba[i, y]
            if expected > _NEAR:
                apart = abs(actual - expected) / max(1.0, abs(expected))
                require(apart < 1e-7, f"log P(y={y}) is {actual}, by enumeration {expected}")
            posterior = rule.estep(mine, [0, len(mine)], [y]).posterior
            if expected > _NEAR:
                require_close(posterior, enumerated[y][1], 1e-6, f"posterior given y={y}, by enumeration")
        break  # one bag per case
