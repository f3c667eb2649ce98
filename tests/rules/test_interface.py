"""The interface of rules, apart from the values they compute."""

import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core import caching
from sklearn.base import clone

from bagwise._core.compiled import bag, links, mean, or_
from bagwise._core.compiled.compiling import kernel
from bagwise.rules import RULES as NAMED
from bagwise.rules import (
    CountLogistic,
    CountTable,
    GeometricMean,
    Link,
    LogOddsMean,
    Max,
    Mean,
    Or,
    Rule,
    RuleResult,
    SoftMax,
    Threshold,
    make_rule,
)

RULES = [Or(), Mean(), SoftMax(), GeometricMean(), LogOddsMean(), Max()]
INF = np.inf

each_rule = pytest.mark.parametrize("rule", RULES, ids=str)


@pytest.mark.parametrize(
    "name, rule_class",
    [
        ("or", Or),
        ("mean", Mean),
        ("softmax", SoftMax),
        ("geometric_mean", GeometricMean),
        ("log_odds_mean", LogOddsMean),
        ("max", Max),
        ("count_table", CountTable),
        ("count_logistic", CountLogistic),
        ("threshold", Threshold),
    ],
)
def test_a_name_makes_the_rule_with_its_defaults(name, rule_class):
    rule = make_rule(name)
    assert type(rule) is rule_class
    assert rule.get_params() == rule_class().get_params()


def test_a_rule_object_is_returned_as_it_is():
    rule = SoftMax(sharpness=7.0)
    assert make_rule(rule) is rule


@pytest.mark.parametrize("spec", ["noisy-or", None, 3, Or, ["or"]])
def test_anything_else_is_refused_with_a_sentence_that_names_the_choices(spec):
    names = ", ".join(repr(name) for name in NAMED)
    with pytest.raises(ValueError, match=rf"rule must be one of {names}, or a Rule object .* got"):
        make_rule(spec)


@each_rule
def test_rules_are_estimators_without_state(rule):
    twin = clone(rule)
    rule.gradient([0.3, -1.0], [0, 2], [1])
    assert vars(twin) == vars(rule)
    assert rule.start([0, 2], [1]) is rule
    assert rule.update(np.empty(0)) is rule


def test_only_rules_with_latent_labels_have_an_estep():
    for rule in RULES:
        assert rule.has_latent_labels is not isinstance(rule, Link)
        assert hasattr(rule, "estep") is rule.has_latent_labels
        assert hasattr(rule, "hessian_product") is rule.has_latent_labels
    assert [rule.negative_bags_are_pure for rule in RULES] == [True, *[False] * 5]


def test_a_link_without_a_gradient_says_what_it_lacks():
    with pytest.raises(NotImplementedError, match="Link must define gradient"):
        Link().gradient([0.0], [0, 1], [1])


class And(Rule):
    """Rule with only an `estep`: a bag is positive if all its instances are (the mirrored or rule)."""

    def estep(self, log_odds, offsets, y, weight=None):
        y = np.asarray(y)
        result = Or().estep(-np.asarray(log_odds), offsets, np.where(y < 0, -1, 1 - y))
        return RuleResult(result.log_likelihood, result.complement, result.posterior, result.statistics)


def test_a_rule_that_defines_its_estep_alone_has_gradient_and_log_proba():
    log_odds, offsets = np.array([0.5, 2.0, -1.0, 3.0]), np.array([0, 3, 4])
    log_p = -np.log1p(np.exp(-log_odds))
    log_proba = And().log_proba(log_odds, offsets)
    np.testing.assert_allclose(log_proba[:, 1], [log_p[:3].sum(), log_p[3]], rtol=1e-14)
    np.testing.assert_allclose(np.exp(log_proba).sum(axis=1), 1.0, rtol=1e-14)
    _, gradient = And().gradient(log_odds, offsets, [1, -1])
    np.testing.assert_allclose(gradient, [*(1 - np.exp(log_p[:3])), 0.0], rtol=1e-14)


@pytest.mark.parametrize("rule", [Or(), Mean()])
def test_statistics_of_a_rule_without_parameters_are_empty_and_add_up(rule):
    result = rule.estep([0.3, -1.0], [0, 2], [1], weight=[2.0])
    assert result.statistics.shape == (0,)
    assert (result.statistics + result.statistics).dtype == np.float64


@pytest.mark.parametrize(
    "rule, log_odds, label, posterior",
    [
        (Or(), [-INF, -INF], 1, [0.5, 0.5]),
        (Or(), [INF, 0.0], 0, [0.0, 0.0]),
        (Mean(), [-INF, -INF], 1, [0.5, 0.5]),
        (Mean(), [INF, INF, INF], 0, [2 / 3, 2 / 3, 2 / 3]),
    ],
)
def test_impossible_labels_have_likelihood_zero_and_a_limiting_posterior(rule, log_odds, label, posterior):
    result = rule.estep(log_odds, [0, len(log_odds)], [label])
    assert result.log_likelihood[0] == -INF
    np.testing.assert_allclose(result.posterior, posterior, rtol=1e-15)
    np.testing.assert_allclose(result.complement, 1 - np.array(posterior), rtol=1e-15)


@pytest.mark.parametrize("rule, label", [(Or(), 1), (Mean(), 1), (Mean(), 0)])
def test_known_instance_labels_are_kept(rule, label):
    result = rule.estep([INF, -INF, 0.5], [0, 3], [label])
    assert result.posterior[:2].tolist() == [1.0, 0.0]
    assert result.complement[:2].tolist() == [0.0, 1.0]


@each_rule
def test_a_nan_is_not_hidden(rule):
    log_likelihood, gradient = rule.gradient([np.nan, 1.0, 0.0], [0, 1, 3], [1, 1])
    assert np.isnan(log_likelihood).tolist() == [True, False]
    assert np.isfinite(gradient[1:]).all()


def test_tied_maxima_share_the_gradient():
    _, gradient = Max().gradient([0.0, -1.0, 0.0], [0, 3], [1])
    assert gradient.tolist() == [0.25, 0.0, 0.25]


@pytest.mark.parametrize("sharpness, limit", [(0, Mean()), (1e5, Max())])
@pytest.mark.parametrize("label", [0, 1])
def test_softmax_lies_between_the_mean_and_the_maximum(sharpness, limit, label):
    bag = [-2.0, 0.3, 1.0], [0, 3], [label]
    log_likelihood, gradient = SoftMax(sharpness=sharpness).gradient(*bag)
    expected_log_likelihood, expected = limit.gradient(*bag)
    # the other weights of the sharp softmax are exp(-15,000); 1e5 rounding errors are 1e-11
    np.testing.assert_allclose(log_likelihood, expected_log_likelihood, rtol=1e-12)
    np.testing.assert_allclose(gradient, expected, rtol=1e-10)


@pytest.mark.parametrize("sharpness", [INF, np.nan])
def test_softmax_refuses_a_sharpness_that_is_not_finite(sharpness):
    with pytest.raises(ValueError, match="sharpness must be finite"):
        SoftMax(sharpness=sharpness).gradient([0.0], [0, 1], [1])


@each_rule
@pytest.mark.parametrize("offsets", [[0, 3], [0, 1], [1, 2], [0, 5, 2], [[0, 2]], []])
def test_offsets_that_do_not_fit_are_refused(rule, offsets):
    with pytest.raises(ValueError, match="offsets must start with 0, never decrease, and end with"):
        rule.gradient([0.1, 0.2], offsets, [1])


@each_rule
@pytest.mark.parametrize("y", [[1, 0], [2], [256], [0.5], [np.nan], [[1]]])
def test_labels_other_than_one_zero_and_unknown_are_refused(rule, y):
    with pytest.raises(ValueError, match="y must contain 1, 0 or -1"):
        rule.gradient([0.1, 0.2], [0, 2], y)


def test_a_vector_of_another_length_is_refused():
    with pytest.raises(ValueError, match="v must have the same shape as log_odds"):
        Or().hessian_product([0.1, 0.2], [0, 2], [1], [1.0])


@each_rule
def test_empty_bags_are_harmless_and_leave_their_neighbours_alone(rule):
    # input validation refuses empty bags, but kernels must still not read beyond their arrays
    log_likelihood, gradient = rule.gradient([0.4, -1.0], [0, 0, 2, 2], [1, 1, 0])
    alone = rule.gradient([0.4, -1.0], [0, 2], [1])
    np.testing.assert_array_equal(log_likelihood, [0.0, alone[0][0], 0.0])
    np.testing.assert_array_equal(gradient, alone[1])
    if rule.has_latent_labels:
        result = rule.estep([0.4, -1.0], [0, 0, 2, 2], [1, 1, -1])
        np.testing.assert_array_equal(result.posterior, rule.estep([0.4, -1.0], [0, 2], [1]).posterior)
    assert rule.gradient([], [0], [])[0].shape == (0,)


def test_a_rule_with_a_discrete_parameter_lists_what_a_fit_compares():
    offsets, y = np.array([0, 3, 5, 9]), np.array([1, 0, 1])
    # The smallest positive bag has three instances, so a larger threshold is impossible.
    assert [rule.k for rule in Threshold().alternatives(offsets, y)] == [1, 2, 3]
    assert [rule.k for rule in Threshold(2).alternatives(offsets, y)] == [2]
    assert [type(rule) for rule in Or().alternatives(offsets, y)] == [Or]
    with pytest.raises(ValueError, match="k=4 is impossible: a positive bag has only 3 instances"):
        Threshold(4).alternatives(offsets, y)


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("learned", [CountTable(), CountLogistic()], ids=str)
def test_a_rule_that_learns_can_begin_as_a_soft_threshold(learned, k):
    soft = learned.start(np.arange(0, 61, 5), np.arange(12) % 2).soft_threshold(k)
    # Bags of five instances, of which zero to five are certainly positive.
    log_odds = np.where(np.tile(np.arange(5), 6) < np.repeat(np.arange(6), 5), INF, -INF)
    positive = np.exp(soft.log_proba(log_odds, np.arange(0, 31, 5))[:, 1])
    assert (np.diff(positive) >= 0).all()
    np.testing.assert_array_equal(positive > 0.5, np.arange(6) >= k)
    assert ((positive > 0) & (positive < 1)).all(), "a soft threshold excludes no count"


def test_a_rule_that_is_given_cannot_begin_as_a_soft_threshold():
    assert CountTable([0.0, 1.0]).soft_threshold(2) is None


def test_importing_rules_does_not_import_numba():
    code = "import sys, bagwise.rules; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="needs compiled kernels")
def test_every_kernel_is_compiled_once_whatever_it_is_given():
    frozen = np.array([0.5, -1.0])
    frozen.flags.writeable = False
    for log_odds in ([0, 1], frozen, frozen.copy(), np.float32([1, 2]), np.arange(4.0)[::2]):
        for kind in (np.int8, np.int64, np.bool_, np.float64):
            for offsets in ([0, 2], np.array([0, 2], dtype=np.int32)):
                for rule in RULES:
                    rule.gradient(log_odds, offsets, np.ones(1, dtype=kind))
    for function in (or_.softplus_parts, or_.or_slopes, mean.mean_gradient, links.softmax_gradient):
        assert len(function.signatures) == 1


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="needs compiled kernels")
def test_kernels_compile_if_numba_cannot_cache(monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])

    def double(x):
        return 2.0 * x

    with pytest.raises(RuntimeError, match="cannot cache"):
        numba.njit(cache=True)(double)
    assert kernel(double)(1.5) == 3.0


def test_sums_do_not_drift():
    # a plain sum of 0.1 has an error of 1e-11; sums of blocks of 64 have at most 64 rounding errors
    values = np.full(1_000_001, 0.1)
    np.testing.assert_allclose(bag.sum_except(values, len(values), 7), 1e5, rtol=1.5e-14)


@pytest.mark.parametrize(
    ("log_odds", "expected"),
    [([INF, 1.0], [-INF, 0.0]), ([-INF, INF, 3.0], np.log([1 / (1 + np.e), np.e / (1 + np.e)]))],
)
def test_infinite_log_odds_decide_a_mean_of_log_odds_or_cancel(log_odds, expected):
    rule, offsets = LogOddsMean(), [0, len(log_odds)]
    np.testing.assert_allclose(rule.log_proba(log_odds, offsets)[0], expected)
    assert np.isfinite(rule.gradient(log_odds, offsets, [0])[1]).all()
