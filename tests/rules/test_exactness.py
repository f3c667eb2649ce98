"""Or and mean rules, compared with textbook formulas in 700-digit arithmetic.

For log-odds within +-700, 700 digits are enough for all intermediate results: exp(-700) is 1e-304, the
product of two of these values is 1e-608, and the naive 1 - posterior still has about 90 digits.
"""

import mpmath as mp
import numpy as np
import pytest
from mpmath import mpf

from bagwise.rules import Mean, Or

TOLERANCE = 1e-12  # the documented precision; rounding of exp(eta - shift) alone is 700 * 1e-16
SMALLEST = np.finfo(float).tiny  # smaller floats have fewer digits

REGIMES = {
    "the whole range": (-700, 700),
    "all far below zero": (-700, -600),
    "all far above zero": (600, 700),
    "around the faint threshold": (-45, -30),
    "around its mirror image": (30, 45),
    "ordinary": (-5, 5),
    "below zero": (-300, 0),
}


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(700):
        yield


def worst_error(actual, exact, slack=1):
    """Return the largest relative error, divided by the allowed slack."""
    floor = mpf(SMALLEST)
    errors = [abs(mpf(float(a)) - e) / max(abs(e), floor) for a, e in zip(actual, exact, strict=True)]
    return float(max(errors)) / float(slack)


def exact_or(values, counts):
    """Return s, P(+) and posteriors of a positive bag that contains values[j] counts[j] times."""
    odds = [mp.exp(mpf(float(value))) for value in values]
    s = sum((int(c) * mp.log(1 + o) for o, c in zip(odds, counts, strict=True)), mpf(0))
    any_positive = 1 - mp.exp(-s)
    return s, any_positive, [o / (1 + o) / any_positive for o in odds]


def exact_mean(values, counts, label):
    """Return P(label) and the posteriors of a bag with this label."""
    odds = [mp.exp(mpf(float(value))) for value in values]
    p = [o / (1 + o) for o in odds]
    size = int(np.sum(counts))
    total = sum((int(c) * a for a, c in zip(p, counts, strict=True)), mpf(0))
    if label == 1:
        return total / size, [a * (1 + total - a) / total for a in p]
    return 1 - total / size, [a * (size - 1 - (total - a)) / (size - total) for a in p]


def bag(values, counts):
    """Return log-odds and offsets of a bag in which the copies of every value are spread evenly."""
    log_odds = np.repeat(values, counts)
    positions = np.concatenate([(np.arange(c) + 0.5) / c for c in counts])
    return log_odds[np.argsort(positions, kind="stable")], np.array([0, counts.sum()])


def assert_or_is_exact(values, counts):
    log_odds, offsets = bag(values, counts)
    value_of = np.searchsorted(values, log_odds)
    s, any_positive, posterior = exact_or(values, counts)
    log_proba = Or().log_proba(log_odds, offsets)[0]
    result = Or().estep(log_odds, offsets, np.array([1]))
    _, gradient = Or().gradient(log_odds, offsets, np.array([1]))
    # log P(+) = -exp(-s) for large s, which multiplies the relative rounding error of s by s
    slack = max(mpf(1), s)
    assert worst_error(log_proba[:1], [-s]) < TOLERANCE
    assert worst_error(log_proba[1:], [mp.log(any_positive)], slack) < TOLERANCE
    assert worst_error(result.log_likelihood, [mp.log(any_positive)], slack) < TOLERANCE
    for actual, exact, allowed in [
        (result.posterior, posterior, 1),
        (result.complement, [1 - a for a in posterior], 1),
        (gradient, [a * mp.exp(-s) for a in posterior], slack),
    ]:
        copies = [actual[value_of == j] for j in range(len(values))]
        assert worst_error([c.min() for c in copies], exact, allowed) < TOLERANCE
        assert worst_error([c.max() for c in copies], exact, allowed) < TOLERANCE


def assert_mean_is_exact(values, counts):
    log_odds, offsets = bag(values, counts)
    value_of = np.searchsorted(values, log_odds)
    for label in (0, 1):
        proba, posterior = exact_mean(values, counts, label)
        result = Mean().estep(log_odds, offsets, np.array([label]))
        log_proba = Mean().log_proba(log_odds, offsets)[0, [label]]
        assert worst_error(log_proba, [mp.log(proba)]) < TOLERANCE
        assert worst_error(result.log_likelihood, [mp.log(proba)]) < TOLERANCE
        _, gradient = Mean().gradient(log_odds, offsets, np.array([label]))
        sigma = [1 / (1 + mp.exp(-mpf(float(value)))) for value in values]
        for actual, exact in [
            (result.posterior, posterior),
            (result.complement, [1 - a for a in posterior]),
            (gradient, [a - b for a, b in zip(posterior, sigma, strict=True)]),
        ]:
            copies = [actual[value_of == j] for j in range(len(values))]
            assert worst_error([c.min() for c in copies], exact) < TOLERANCE
            assert worst_error([c.max() for c in copies], exact) < TOLERANCE


@pytest.mark.parametrize("check", [assert_or_is_exact, assert_mean_is_exact])
@pytest.mark.parametrize("size", [1, 2, 3, 20])
@pytest.mark.parametrize("regime", REGIMES)
def test_small_bags_are_exact_to_twelve_digits(check, size, regime):
    rng = np.random.default_rng(size)
    for _ in range(3 if size < 20 else 1):
        check(np.sort(rng.uniform(*REGIMES[regime], size)), np.ones(size, dtype=int))


@pytest.mark.parametrize("check", [assert_or_is_exact, assert_mean_is_exact])
@pytest.mark.parametrize("low, high", [*REGIMES.values(), (-16, -8), (-700, -36)])
def test_bags_of_a_hundred_thousand_are_exact_to_twelve_digits(check, low, high):
    # equal terms round in the same direction, so the error of a plain sum exceeds 1e-12
    values = np.sort(np.random.default_rng(0).uniform(low, high, 3))
    check(values, np.array([1, 30_000, 69_999]))


@pytest.mark.parametrize("check", [assert_or_is_exact, assert_mean_is_exact])
@pytest.mark.parametrize("center", [-650.0, -37.0, -10.0, 0.0, 3.0, 37.0])
def test_one_dominant_instance_leaves_its_complement_exact(check, center):
    check(np.array([center - 40.0, center - 30.0, center]), np.array([2, 3, 1]))


@pytest.mark.parametrize("check", [assert_or_is_exact, assert_mean_is_exact])
@pytest.mark.parametrize("value", [-37.0 - 1e-9, -37.0, -20.0, 0.0, 5.0, 60.0])
def test_tied_instances_are_exact(check, value):
    check(np.array([value]), np.array([2]))
    check(np.array([value]), np.array([7]))


@pytest.mark.parametrize("rule", [Or(), Mean()])
@pytest.mark.parametrize("level", [-800.0, -1e4, -1e300])
def test_posterior_far_below_the_float_range_is_the_share_of_the_odds(rule, level):
    log_odds = level + np.array([0.0, -1.0, -1.0, -3.0])
    share = np.exp(log_odds - level)
    result = rule.estep(log_odds, np.array([0, 4]), np.array([1]))
    np.testing.assert_allclose(result.posterior, share / share.sum(), rtol=1e-12)
    np.testing.assert_allclose(result.complement, 1 - share / share.sum(), rtol=1e-12)
    log_size = np.log(4) if isinstance(rule, Mean) else 0.0
    np.testing.assert_allclose(result.log_likelihood, level + np.log(share.sum()) - log_size, rtol=1e-12)


def test_or_with_huge_log_odds_is_certain():
    result = Or().estep(np.array([1e4, -1e4, 2.0]), np.array([0, 3]), np.array([1]))
    sigma = 1 / (1 + np.exp(-2.0))
    np.testing.assert_allclose(result.posterior, [1, 0, sigma], rtol=1e-12)
    np.testing.assert_allclose(result.complement, [0, 1, 1 - sigma], rtol=1e-12)
    assert Or().log_proba([1e4, -1e4], [0, 2]).tolist() == [[-1e4, 0.0]]
