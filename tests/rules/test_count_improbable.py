"""Bags with almost impossible labels (P from 1e-250 to 1e-40000), compared with 60-digit arithmetic."""

from itertools import product

import mpmath as mp
import numpy as np
import pytest
from scipy.special import expit

from bagwise.rules import CountLogistic, CountTable, Or, Threshold

INF = np.inf


def bimodal(m):
    """Return a rule for which a bag is positive if none or all of its m instances are."""
    return CountTable([1.0, *np.zeros(m - 1), 1.0])


def spread(m, center, width, seed=0):
    return center + width * np.random.default_rng(seed).normal(size=m)


CASES = {
    "just below the plain floats": (spread(60, -15.0, 1.0), Threshold(42), 1),
    "many of few": (spread(200, -15.0, 10.0), Threshold(100), 1),
    "few of many": (spread(400, 25.0, 10.0), Threshold(5), 0),
    "half of many": (spread(400, 25.0, 10.0), Threshold(200), 0),
    "equal log-odds": (np.full(300, -30.0), Threshold(150), 1),
    "no count excluded": (spread(150, 900.0, 3.0), CountLogistic(20.0, 5.0), 0),
    "huge log-odds": (spread(250, -900.0, 3.0), Threshold(125), 1),
    "two ways": (np.repeat([-600.0, 601.0, -0.5], [20, 20, 1]), bimodal(41), 1),
    "one factor without digits": (np.array([745.0, -2.0, -2.0, -2.0]), Threshold(1), 0),
    "the same under a table": (np.array([745.0, 0.3, -95.0]), CountTable([0.2, 0.0, 0.0, 0.0]), 1),
    "eight factors that fall below all digits": (spread(40, 93.0, 0.1), Threshold(1), 0),
    "more than a thousand": (spread(1100, -2.0, 0.5), Threshold(1000), 1),
}


def exact(log_odds, log_weight, chosen):
    """Return log P(label), posterior, complement and P(n | label) by the textbook recursion."""
    odds = [mp.exp(mp.mpf(float(x))) for x in log_odds]
    weight = [mp.exp(mp.mpf(float(x))) for x in log_weight]

    def ways(left_out=None):
        row = [mp.mpf(1)]
        for j, o in enumerate(odds):
            if j != left_out:
                pairs = zip([*row, mp.mpf(0)], [mp.mpf(0), *row], strict=True)
                row = [stay + o * up for stay, up in pairs]
        return row

    joint = [e * w for e, w in zip(ways(), weight, strict=True)]
    total, both = mp.fsum(joint), []
    for j in chosen:
        others = ways(j)
        up = odds[j] * mp.fsum(e * w for e, w in zip(others, weight[1:], strict=True))
        stay = mp.fsum(e * w for e, w in zip(others, weight[:-1], strict=True))
        both.append((up / (up + stay), stay / (up + stay)))
    log_p = mp.log(total) - mp.fsum(mp.log(1 + o) for o in odds)
    return log_p, [a for a, _ in both], [b for _, b in both], [x / total for x in joint]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_improbable_labels_lose_no_digits(name):
    log_odds, rule, label = CASES[name]
    m = len(log_odds)
    chosen = [0, m // 2, m - 1] if m < 1000 else [0]
    with mp.workdps(60):
        log_weight = rule.log_labeler(np.arange(m + 1), m)[label]
        log_p, *expected, by_count = exact(log_odds, log_weight, chosen)
        assert log_p < np.log(1e-250)
        log_p, by_count = float(log_p), np.array(by_count, dtype=float)
        posterior, complement = (np.array(column, dtype=float) for column in expected)
    result = rule.estep(log_odds, [0, m], [label])
    np.testing.assert_allclose(result.log_likelihood, [log_p], rtol=1e-14)
    np.testing.assert_allclose(result.posterior[chosen], posterior, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(result.complement[chosen], complement, rtol=1e-12, atol=1e-300)
    actual = rule.count_proba(log_odds, [0, m], [label])[0]
    np.testing.assert_allclose(actual, by_count, rtol=1e-11, atol=1e-150)
    value, gradient = rule.gradient(log_odds, [0, m], [label])
    np.testing.assert_array_equal(value, result.log_likelihood)
    tail = expit(-np.abs(log_odds))
    slope = np.where(log_odds > 0, tail - result.complement, result.posterior - tail)
    np.testing.assert_allclose(gradient, slope, rtol=1e-12, atol=1e-15)


def test_a_factor_without_digits_in_a_large_bag():
    log_odds = np.append(744.4, np.full(9000, -8.0))
    expected = Or().log_proba(log_odds, [0, 9001])
    np.testing.assert_allclose(Threshold(1).log_proba(log_odds, [0, 9001])[0, 0], expected[0, 0], rtol=1e-12)


TWO_CERTAIN = np.repeat([330.0, 0.0], [2, 7])  # two almost certain instances, and others


@pytest.mark.parametrize(
    "rule, label, center",
    [
        (Threshold(3), 1, -400.0),
        (Threshold(3), 0, 400.0),
        (Threshold(1), 0, 400.0),
        (Threshold(9), 1, -400.0),
        (CountTable([0.0, 1.0, 0.0]), 1, 300.0),
        (bimodal(9), 1, np.repeat([-600.0, 600.0, 0.0], [4, 4, 1])),
        # The count must be zero or at least two; both cases are about equally improbable.
        (CountTable([1.0, 0.0, 1e-280]), 1, 2 * TWO_CERTAIN),
        (CountTable([1.0, 0.0, 1e-290]), 1, TWO_CERTAIN),
        (CountTable([1.0, 0.0, 1e-300]), 1, TWO_CERTAIN),
    ],
)
def test_posteriors_and_second_derivatives_are_sums_over_labelings(rule, label, center):
    rng = np.random.default_rng(1)
    log_odds, v = center + 2.0 * rng.normal(size=9), rng.normal(size=9)
    weight = np.exp(rule.log_labeler(np.arange(10), 9)[label])
    with mp.workdps(60):
        eta = [mp.mpf(float(x)) for x in log_odds]
        labelings = [z for z in product((0, 1), repeat=9) if weight[sum(z)] > 0]
        joint = [mp.exp(mp.fdot(eta, z)) * mp.mpf(float(weight[sum(z)])) for z in labelings]
        share = np.array([float(x / mp.fsum(joint)) for x in joint])
    z = np.array(labelings)
    assert rule.log_proba(log_odds, [0, 9])[0, label] < np.log(1e-250)
    result = rule.estep(log_odds, [0, 9], [label])
    np.testing.assert_allclose(result.posterior, share @ z, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(result.complement, share @ (1 - z), rtol=1e-12, atol=1e-300)
    covariance = (z - share @ z).T @ ((z - share @ z) * share[:, None])
    expected = covariance @ v - expit(log_odds) * expit(-log_odds) * v
    product_ = rule.hessian_product(log_odds, [0, 9], [label], v)
    np.testing.assert_allclose(product_, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("label", [0, 1])
def test_known_instances_beside_improbable_ones(label):
    # Two instances are known to be positive, two to be negative. Threshold(4) needs two more positive ones.
    others = spread(20, 400.0 if label == 0 else -400.0, 2.0)
    log_odds = np.concatenate([[INF, -INF], others, [INF, -INF]])
    with_known = Threshold(4).estep(log_odds, [0, 24], [label])
    alone = Threshold(2).estep(others, [0, 20], [label])
    assert alone.log_likelihood[0] < np.log(1e-250)
    np.testing.assert_allclose(with_known.log_likelihood, alone.log_likelihood, rtol=1e-14)
    np.testing.assert_allclose(with_known.posterior[2:-2], alone.posterior, rtol=1e-12)
    np.testing.assert_allclose(with_known.complement[2:-2], alone.complement, rtol=1e-12)
    assert with_known.posterior[[0, 1, -2, -1]].tolist() == [1, 0, 1, 0]
    assert with_known.complement[[0, 1, -2, -1]].tolist() == [0, 1, 0, 1]


def test_statistics_of_improbable_bags_count_what_the_posterior_says():
    offsets, y = np.array([0, 60, 120]), np.array([1, 0])
    log_odds = np.concatenate([spread(60, -15.0, 1.0), spread(60, 45.0, 1.0)])
    rule = CountTable(np.repeat([0.0, 1.0], [45, 16]), learned=("values",))
    result = rule.estep(log_odds, offsets, y, weight=[2.0, 3.0])
    assert (result.log_likelihood < np.log(1e-250)).all()
    by_bag = rule.count_proba(log_odds, offsets, y)
    np.testing.assert_allclose(result.statistics, [3.0 * by_bag[1], 2.0 * by_bag[0]], rtol=1e-12, atol=1e-300)
