"""Count rules, compared with enumeration, with 60-digit arithmetic, and with equivalent rules."""

from functools import cache

import mpmath as mp
import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from bagwise.rules import CountLogistic, CountRule, CountTable, Mean, Or, Threshold
from bagwise.testing import check_rule, enumerate_labels

TABLE = [0.05, 0.4, 0.3, 0.9, 0.6, 0.2]


class Share(CountRule):
    """The mean rule as a count rule with phi(n, m) = n / m."""

    depends_on_size = True

    def log_labeler(self, counts, size):
        with np.errstate(divide="ignore"):
            return np.log1p(-counts / size), np.log(counts / size)


RULES = {
    "table": (CountTable(TABLE), lambda n: TABLE[min(n, 5)]),
    "logistic": (CountLogistic(-2.5, 1.2), lambda n: 1 / (1 + np.exp(2.5 - 1.2 * n))),
    "threshold": (Threshold(3), lambda n: float(n >= 3)),
    "exactly one": (CountTable([0.0, 1.0, 0.0]), lambda n: float(n == 1)),
}


def bags_of(sizes, scale, seed=0):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return rng.normal(scale=scale, size=offsets[-1]), offsets


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("size", [3, 5, 8, 12])
@pytest.mark.parametrize("label", [0, 1])
def test_estep_and_counts_are_the_sum_over_all_labelings(name, size, label):
    rule, phi = RULES[name]
    log_odds, offsets = bags_of([size], 2.0, seed=size)
    log_likelihood, posterior, _ = enumerate_labels(log_odds, lambda z: phi(sum(z)))[label]
    result = rule.estep(log_odds, offsets, [label])
    np.testing.assert_allclose(np.exp(result.log_likelihood), [np.exp(log_likelihood)], rtol=1e-12)
    np.testing.assert_allclose(result.posterior, posterior, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(result.complement, 1 - posterior, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        rule.log_proba(log_odds, offsets)[0, label], log_likelihood, rtol=1e-12, atol=1e-15
    )
    by_count = [
        np.exp(enumerate_labels(log_odds, lambda z, n=n: float(sum(z) == n))[1][0]) for n in range(size + 1)
    ]
    prior = rule.count_proba(log_odds, offsets)[0]
    np.testing.assert_allclose(prior, by_count, rtol=1e-12)
    weight = np.exp(rule.log_labeler(np.arange(size + 1), size)[label])
    np.testing.assert_allclose(weight, [phi(n) if label else 1 - phi(n) for n in range(size + 1)], atol=1e-15)
    expected = prior * weight / (prior @ weight)
    np.testing.assert_allclose(rule.count_proba(log_odds, offsets, [label])[0], expected, rtol=1e-12)


@pytest.mark.parametrize(
    "rule, sizes",
    [
        (CountTable(TABLE), (1, 2, 5, 7)),
        (CountTable([0.0, 1.0, 0.0]), (1, 2, 3, 5)),
        (CountLogistic(-2.0, 1.3), (1, 2, 3, 5)),
        (Threshold(1), (1, 2, 3, 5)),
        (Threshold(3), (3, 4, 6)),
        (Share(), (1, 2, 3, 5)),
    ],
)
def test_rules_agree_with_brute_force(rule, sizes):
    check_rule(rule, sizes=sizes, n_bags=15)


# ---------------------------------------------------------------------- precision


@cache
def exact_bag(kind, size):
    """Return log-odds and P(n), also without single instances, by the textbook recursion with 40 digits."""
    rng = np.random.default_rng(size)
    wide = kind == "wide"
    log_odds = rng.uniform(-50, 50, size=size) if wide else kind + rng.normal(scale=3.0, size=size)
    chosen = (0, size // 3)
    with mp.workdps(40):
        p = [1 / (1 + mp.exp(-mp.mpf(float(x)))) for x in log_odds]
        q = [1 / (1 + mp.exp(mp.mpf(float(x)))) for x in log_odds]

        def counts(left_out=None):
            row = [mp.mpf(1)]
            for j in range(size):
                if j != left_out:
                    up = [p[j] * x for x in row]
                    row = [q[j] * x for x in row]
                    row = [a + b for a, b in zip([*row, mp.mpf(0)], [mp.mpf(0), *up], strict=True)]
            return row

        return log_odds, chosen, [(p[j], q[j]) for j in chosen], counts(), [counts(j) for j in chosen]


def mp_weights(rule, m, label):
    if isinstance(rule, CountLogistic):
        sign = 1 if label else -1
        score = [sign * (mp.mpf(rule.intercept) + mp.mpf(rule.slope) * n) for n in range(m + 1)]
        return [1 / (1 + mp.exp(-s)) for s in score]
    values = [mp.mpf(float(v)) for v in np.exp(rule.log_labeler(np.arange(m + 1), m)[1])]
    return values if label else [1 - v for v in values]


def assert_exact(rule, label, kind, size, rtol):
    log_odds, chosen, both, counts, without = exact_bag(kind, size)
    with mp.workdps(40):
        weights = mp_weights(rule, size, label)
        joint = [a * w for a, w in zip(counts, weights, strict=True)]
        total = mp.fsum(joint)
        posterior = [
            float(a * mp.fsum(x * w for x, w in zip(row, weights[1:], strict=True)) / total)
            for (a, b), row in zip(both, without, strict=True)
        ]
        complement = [
            float(b * mp.fsum(x * w for x, w in zip(row, weights[:-1], strict=True)) / total)
            for (a, b), row in zip(both, without, strict=True)
        ]
        other = mp.fsum(a * w for a, w in zip(counts, mp_weights(rule, size, 1 - label), strict=True))
        expected, of_other = (
            float(mp.log(a) if a < 0.9 else mp.log1p(-b)) for a, b in ((total, other), (other, total))
        )
        by_count = [float(x / total) for x in joint]
    result = rule.estep(log_odds, [0, size], [label])
    # The logarithm of a probability near one has an absolute error of about the machine epsilon.
    np.testing.assert_allclose(result.log_likelihood, [expected], rtol=rtol, atol=1e-13)
    np.testing.assert_allclose(result.posterior[list(chosen)], posterior, rtol=rtol, atol=1e-300)
    np.testing.assert_allclose(result.complement[list(chosen)], complement, rtol=rtol, atol=1e-300)
    # Probabilities of almost impossible counts can underflow to zero.
    actual = rule.count_proba(log_odds, [0, size], [label])[0]
    np.testing.assert_allclose(actual, by_count, rtol=rtol, atol=1e-150)
    # Predictions have full precision in this case, too.
    log_proba = rule.log_proba(log_odds, [0, size])[0]
    np.testing.assert_allclose(log_proba[[label, 1 - label]], [expected, of_other], rtol=rtol, atol=1e-300)


@pytest.mark.parametrize(
    "rule",
    [
        CountLogistic(-20.0, 0.07),
        CountLogistic(-3.0, 2.0),
        Threshold(4),
        Threshold(400),
        CountTable(np.linspace(0.1, 0.9, 300)),
    ],
    ids=str,
)
@pytest.mark.parametrize("label", [0, 1])
def test_a_thousand_instances_with_log_odds_within_fifty(rule, label):
    assert_exact(rule, label, "wide", 1000, rtol=1e-9)


@pytest.mark.parametrize("size", [40, 250])
@pytest.mark.parametrize("rule", [CountLogistic(-3.0, 0.8), Threshold(5), CountTable(TABLE)], ids=str)
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("centre", [-900.0, -60.0, 60.0, 900.0])
def test_extreme_log_odds_lose_no_digits(size, rule, label, centre):
    assert_exact(rule, label, centre, size, rtol=1e-10)


def test_no_underflow_in_a_hundred_thousand_instances():
    log_odds = np.zeros(100_000)
    value, gradient = Threshold(3).gradient(log_odds, [0, 100_000], [0])
    expected = -100_000 * np.log(2) + np.log(1 + 100_000 + 100_000 * 99_999 / 2)
    np.testing.assert_allclose(value, [expected], rtol=1e-12)
    # given fewer than three positive instances, about two in 100,000 instances are positive
    mean_count = (100_000 + 100_000 * 99_999) / (1 + 100_000 + 100_000 * 99_999 / 2)
    np.testing.assert_allclose(gradient, mean_count / 100_000 - 0.5, rtol=1e-12)
    value, _ = Threshold(3).gradient(log_odds - 1000.0, [0, 100_000], [1])
    triples = 100_000 * 99_999 * 99_998 / 6
    np.testing.assert_allclose(value, [-3000.0 + np.log(triples)], rtol=1e-12)


# ---------------------------------------------------------------------- large bags


@pytest.mark.parametrize("rule", [CountLogistic(-8.0, 0.02), Threshold(380), CountTable(TABLE)], ids=str)
@pytest.mark.parametrize("label", [0, 1])
def test_halves_answer_as_one_long_recursion(rule, label):
    # Bags of 1500 instances are divided into halves. With more than 1000 counts, negligible ones are dropped.
    log_odds = np.random.default_rng(2).normal(-1.2, 1.0, size=1500)
    result = rule.estep(log_odds, [0, 1500], [label])
    weights = np.exp(rule.log_labeler(np.arange(1501), 1500)[label])
    p = expit(log_odds)
    rows = [np.ones(1)]
    for a in p:
        rows.append(np.append(rows[-1] * (1 - a), 0.0) + np.append(0.0, rows[-1] * a))
    np.testing.assert_allclose(result.log_likelihood, [np.log(rows[-1] @ weights)], rtol=1e-11, atol=1e-13)
    context, posterior = weights.copy(), np.empty(1500)
    for j in range(1499, -1, -1):
        with_one, with_none = p[j] * (rows[j] @ context[1:]), (1 - p[j]) * (rows[j] @ context[:-1])
        posterior[j] = with_one / (with_one + with_none)
        context = p[j] * context[1:] + (1 - p[j]) * context[:-1]
    np.testing.assert_allclose(result.posterior, posterior, rtol=1e-11)


@pytest.mark.parametrize("rule", [CountLogistic(-8.0, 0.02), Threshold(380)], ids=str)
@pytest.mark.parametrize("label", [0, 1])
def test_second_derivatives_of_large_bags_are_the_slope_of_the_gradient(rule, label):
    rng = np.random.default_rng(3)
    log_odds, v, step = rng.normal(-1.2, 1.0, size=1500), rng.normal(size=1500), 1e-5
    product = rule.hessian_product(log_odds, [0, 1500], [label], v)
    _, ahead = rule.gradient(log_odds + step * v, [0, 1500], [label])
    _, back = rule.gradient(log_odds - step * v, [0, 1500], [label])
    np.testing.assert_allclose(product, (ahead - back) / (2 * step), atol=1e-9)


@cache
def characteristic_function(m, centre):
    """Return log-odds, probabilities, and E exp(i t n) at the frequencies of a Fourier transform."""
    log_odds = np.random.default_rng(4).normal(centre, 1.0, size=m)
    p = expit(log_odds)
    turns = np.exp(2j * np.pi * np.arange(m // 2 + 1) / (m + 1))
    factor = np.ones(len(turns), dtype=complex)
    for a in p:
        factor *= 1 + a * (turns - 1)
    return log_odds, p, turns, factor


@pytest.mark.parametrize("rule", [CountLogistic(-10.0, 0.001), Threshold(10_100), CountTable(TABLE)], ids=str)
@pytest.mark.parametrize("label", [0, 1])
def test_twenty_thousand_instances_agree_with_the_characteristic_function(rule, label):
    m = 20_000
    log_odds, p, turns, factor = characteristic_function(m, -9.0 if isinstance(rule, CountTable) else 0.0)
    weight = np.exp(rule.log_labeler(np.arange(m + 1), m)[label])
    counts = np.fft.irfft(factor.conj(), m + 1)
    result = rule.estep(log_odds, [0, m], [label])
    total = counts @ weight
    assert total > 1e-6
    np.testing.assert_allclose(result.log_likelihood, [np.log(total)], atol=1e-8)
    for j in (0, 777, m - 1):
        others = np.fft.irfft((factor / (1 + p[j] * (turns - 1))).conj(), m + 1)
        posterior = p[j] * (others[:-1] @ weight[1:]) / total
        np.testing.assert_allclose(result.posterior[j], posterior, atol=1e-8)
        np.testing.assert_allclose(result.complement[j], 1 - posterior, atol=1e-8)


def test_an_improbable_label_of_a_large_bag_is_done_without_forgetting():
    # P(at least 1,100 of 1,500 fair coins) is about 1e-75, so counts below 1e-30 must not be dropped.
    log_odds = np.zeros(1500)
    result = Threshold(1100).estep(log_odds, [0, 1500], [1])
    np.testing.assert_allclose(result.log_likelihood, [binom.logsf(1099, 1500, 0.5)], rtol=1e-10)


def test_memory_stays_far_below_the_square_of_the_bag():
    import tracemalloc

    log_odds = np.random.default_rng(0).normal(size=20_000)
    rule = CountLogistic(-10.0, 0.001)
    rule.gradient(log_odds[:2000], [0, 2000], [1])
    tracemalloc.start()
    rule.gradient(log_odds, [0, 20_000], [1])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.02 * 8 * 20_000**2


# ---------------------------------------------------------------------- equivalent rules


def test_a_threshold_of_one_is_the_or_rule():
    log_odds, offsets = bags_of([1, 4, 9, 30], 3.0)
    v = np.random.default_rng(1).normal(size=len(log_odds))
    for y in ([1, 1, 1, 1], [0, 0, 0, 0], [1, 0, -1, 1]):
        ours, theirs = (rule.estep(log_odds, offsets, y) for rule in (Threshold(1), Or()))
        np.testing.assert_allclose(ours.log_likelihood, theirs.log_likelihood, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(ours.posterior, theirs.posterior, rtol=1e-12)
        np.testing.assert_allclose(ours.complement, theirs.complement, rtol=1e-12)
        products = [rule.hessian_product(log_odds, offsets, y, v) for rule in (Threshold(1), Or())]
        np.testing.assert_allclose(*products, rtol=1e-9, atol=1e-13)


def test_a_threshold_of_the_size_asks_for_all():
    log_odds, offsets = bags_of([5], 2.0)
    log_proba = Threshold(5).log_proba(log_odds, offsets)[0]
    np.testing.assert_allclose(log_proba[1], -np.logaddexp(0, -log_odds).sum(), rtol=1e-12)


def test_equal_probabilities_make_a_binomial_count():
    proba = Threshold(3).count_proba(np.full(50, -0.7), [0, 20, 50])
    for row, size in zip(proba, (20, 30), strict=True):
        np.testing.assert_allclose(row, binom.pmf(np.arange(31), size, expit(-0.7)), rtol=1e-11)


def test_the_share_of_positive_instances_is_the_mean_rule():
    log_odds, offsets = bags_of([1, 4, 9, 200], 2.0)
    for y in ([1, 1, 1, 1], [0, 0, 0, 0]):
        ours, theirs = (rule.estep(log_odds, offsets, y) for rule in (Share(), Mean()))
        np.testing.assert_allclose(ours.log_likelihood, theirs.log_likelihood, rtol=1e-11)
        np.testing.assert_allclose(ours.posterior, theirs.posterior, rtol=1e-11)


def test_a_constant_labeler_leaves_the_prior():
    log_odds, offsets = bags_of([3, 40], 2.0)
    result = CountTable([0.3]).estep(log_odds, offsets, [1, 0])
    np.testing.assert_allclose(result.log_likelihood, np.log([0.3, 0.7]), rtol=1e-12)
    np.testing.assert_allclose(result.posterior, expit(log_odds), rtol=1e-12)
    _, gradient = CountTable([0.3]).gradient(log_odds, offsets, [1, 0])
    np.testing.assert_allclose(gradient, 0.0, atol=1e-15)


def test_mirrored_log_odds_and_a_mirrored_table_are_the_same_model():
    log_odds, offsets = bags_of([5, 5, 5], 2.0)
    ours = CountTable(TABLE).log_proba(log_odds, offsets)
    mirrored = CountTable(TABLE[::-1]).log_proba(-log_odds, offsets)
    np.testing.assert_allclose(mirrored, ours, rtol=1e-12)


def test_an_impossible_label_says_nothing_of_the_instances():
    log_odds, offsets = bags_of([2, 4], 1.0)
    result = Threshold(3).estep(log_odds, offsets, [1, 1])
    assert result.log_likelihood[0] == -np.inf and np.isfinite(result.log_likelihood[1])
    np.testing.assert_allclose(result.posterior[:2], expit(log_odds[:2]))
    assert not Threshold(3).gradient(log_odds, offsets, [1, 1])[1][:2].any()
    assert Threshold(3).log_proba(log_odds, offsets)[0].tolist() == [0.0, -np.inf]


def test_known_instances_count_as_they_are():
    log_odds = np.array([np.inf, np.inf, -np.inf, 0.0])
    np.testing.assert_allclose(np.exp(Threshold(3).log_proba(log_odds, [0, 4])), [[0.5, 0.5]])
    np.testing.assert_allclose(Threshold(3).estep(log_odds, [0, 4], [1]).posterior, [1, 1, 0, 1])


def test_not_a_number_reaches_the_result():
    value, gradient = Threshold(2).gradient([0.0, np.nan, 1.0], [0, 2, 3], [1, 0])
    assert np.isnan(value[0]) and np.isnan(gradient[0]) and value[1] == 0.0


def test_blocks_and_threads_do_not_change_a_bit(monkeypatch):
    log_odds, offsets = bags_of(np.arange(1, 60), 2.0)
    y = (np.arange(59) % 3 - 1).astype(np.int8)
    rule = CountTable().start(offsets, y)
    whole = rule.estep(log_odds, offsets, y, np.ones(59))
    monkeypatch.setattr("bagwise.rules.count._BLOCK_CELLS", 1000)
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", 4)
    cut = rule.estep(log_odds, offsets, y, np.ones(59))
    np.testing.assert_array_equal(cut.posterior, whole.posterior)
    np.testing.assert_array_equal(cut.log_likelihood, whole.log_likelihood)
    np.testing.assert_allclose(cut.statistics, whole.statistics, rtol=1e-13)


def test_a_bag_too_small_for_the_threshold_does_not_feel_a_larger_one():
    log_odds, y = np.array([0.0, 0.0, 2.0]), np.array([-1, 0], dtype=np.int8)
    together = Threshold(2).estep(log_odds, np.array([0, 2, 3]), y).log_likelihood[1]
    assert together == Threshold(2).estep(log_odds[2:], np.array([0, 1]), y[1:]).log_likelihood[0] == 0.0
