"""Adjacent rows of all widths, rows at the size limit, and the distribution of bags over threads."""

import threading

import numpy as np
import pytest
from scipy.special import expit

from bagwise._core.compiled.count_leaf import BUDGET, row_length
from bagwise.data.blocks import share_out
from bagwise.rules import CountRule, CountTable
from bagwise.testing import enumerate_labels


class Uneven(CountRule):
    """Count rule with a different labeler for every bag size, which is constant for counts above `last`."""

    depends_on_size = True

    def __init__(self, last=1000):
        self.last = last

    def log_labeler(self, counts, size):
        positive = expit(np.sin(3.0 * np.minimum(counts, self.last) + size))
        return np.log1p(-positive), np.log(positive)


def table(length, last):
    """Return a table whose last entry is for all counts >= `length`; 0 or 1 makes a label impossible."""
    values = np.random.default_rng(length).uniform(0.1, 0.9, size=length + 1)
    return CountTable([*values[:-1], values[-1] if last is None else last])


def mixed_bags(sizes, seed=0):
    """Return bags of these sizes with the labels 0, 1 and -1 (unknown), all twice, in random order."""
    rng = np.random.default_rng(seed)
    sizes, y = (a.ravel() for a in np.meshgrid([*sizes, *sizes], [0, 1, -1]))
    order = rng.permutation(len(y))
    offsets = np.concatenate([[0], np.cumsum(sizes[order])])
    return rng.normal(scale=1.5, size=offsets[-1]), offsets, y[order]


@pytest.mark.parametrize(
    "rule",
    [*(table(length, last) for length in range(1, 10) for last in (None, 0.0, 1.0)), Uneven(), Uneven(2)],
)
def test_bags_of_all_widths_beside_each_other_are_sums_over_labelings(rule):
    log_odds, offsets, y = mixed_bags(range(1, 10))
    v = np.random.default_rng(1).normal(size=len(log_odds))
    result, (value, gradient) = rule.estep(log_odds, offsets, y), rule.gradient(log_odds, offsets, y)
    product = rule.hessian_product(log_odds, offsets, y, v)
    np.testing.assert_array_equal(value, result.log_likelihood)
    for i, label in enumerate(y):
        bag = slice(offsets[i], offsets[i + 1])
        p, m = expit(log_odds[bag]), offsets[i + 1] - offsets[i]
        log_likelihood, posterior, covariance = 0.0, p, np.diag(p * (1 - p))
        if label >= 0:
            phi = np.exp(rule.log_labeler(np.arange(m + 1), m)[1])
            expected = enumerate_labels(log_odds[bag], lambda z, phi=phi: phi[sum(z)])[label]
            log_likelihood, posterior, covariance = expected
        np.testing.assert_allclose(result.log_likelihood[i], log_likelihood, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(result.posterior[bag], posterior, rtol=1e-12)
        np.testing.assert_allclose(result.complement[bag], 1 - posterior, rtol=1e-12)
        np.testing.assert_allclose(gradient[bag], posterior - p, rtol=1e-10, atol=1e-13)
        expected = (covariance - np.diag(p * (1 - p))) @ v[bag]
        np.testing.assert_allclose(product[bag], expected, rtol=1e-10, atol=1e-13)


def one_long_recursion(log_odds, weight):
    """Return log-likelihood and posterior of a bag, leaving out each instance in turn. O(m^3)."""
    p = expit(log_odds)

    def counts(chosen):
        row = np.ones(1)
        for a in chosen:
            row = np.convolve(row, [1 - a, a])
        return row

    total = counts(p) @ weight
    return np.log(total), [
        p[j] * (counts(np.delete(p, j)) @ weight[1:]) / total for j in (0, len(p) // 2, len(p) - 1)
    ]


def test_rows_that_just_fit_and_those_that_just_do_not_say_the_same():
    largest = next(m for m in range(1000, 0, -1) if (m + 1) * row_length(m) <= BUDGET)
    assert row_length(largest) >= largest + 2
    for rule in (Uneven(), table(largest - 2, None), table(largest, 0.0)):
        log_odds, offsets, y = mixed_bags(range(largest - 5, largest + 6))
        result = rule.estep(log_odds, offsets, y)
        slope = rule.gradient(log_odds, offsets, y)[1]
        np.testing.assert_allclose(slope, result.posterior - expit(log_odds), rtol=1e-9, atol=1e-13)
        for i in np.flatnonzero(y >= 0):
            bag = slice(offsets[i], offsets[i + 1])
            m = offsets[i + 1] - offsets[i]
            weight = np.exp(rule.log_labeler(np.arange(m + 1), m)[y[i]])
            log_likelihood, posterior = one_long_recursion(log_odds[bag], weight)
            np.testing.assert_allclose(result.log_likelihood[i], log_likelihood, rtol=1e-11)
            np.testing.assert_allclose(result.posterior[bag][[0, m // 2, -1]], posterior, rtol=1e-11)


# ---------------------------------------------------------------------- threads


def test_threads_do_everything_once_and_in_order(monkeypatch):
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", 3)
    meet, threads = threading.Barrier(3, timeout=30), set()

    def work(item):
        if item < 3:
            meet.wait()  # passes only with three parallel threads
        threads.add(threading.current_thread())
        return 10 * item

    assert share_out(work, range(20)) == [10 * item for item in range(20)]
    assert len(threads) == 3 and threading.main_thread() in threads


@pytest.mark.parametrize("in_main", [True, False])
def test_error_in_any_thread_is_raised(monkeypatch, in_main):
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", 2)
    meet = threading.Barrier(2, timeout=30)

    def work(item):
        meet.wait()
        if (threading.current_thread() is threading.main_thread()) == in_main:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        share_out(work, range(2))
