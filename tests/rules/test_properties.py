"""Properties of rules that must hold for all bags; hypothesis searches for counterexamples."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bagwise.rules import (
    CountLogistic,
    CountTable,
    GeometricMean,
    LogOddsMean,
    Max,
    Mean,
    Or,
    Rule,
    SoftMax,
    Threshold,
)

COUNT = [Threshold(2), CountLogistic(-2.0, 1.5), CountTable([0.1, 0.7, 0.3])]
LATENT = [Or(), Mean(), *COUNT]
RULES = [
    *LATENT,
    SoftMax(),
    SoftMax(sharpness=1e4),
    SoftMax(sharpness=-5),
    GeometricMean(),
    LogOddsMean(),
    Max(),
]

each_rule = pytest.mark.parametrize("rule", RULES, ids=str)
each_latent_rule = pytest.mark.parametrize("rule", LATENT, ids=str)

finite = st.one_of(
    st.floats(-1e4, 1e4), st.floats(-45, -30), st.floats(-3, 3), st.sampled_from([-37.0, 0.0, 37.0])
)
certain = st.sampled_from([-np.inf, np.inf])
one_bag = st.lists(st.one_of(finite, finite, finite, certain), min_size=1, max_size=7)


@st.composite
def bag_arrays(draw, labels=(-1, 0, 1)):
    """Return log_odds, offsets and y of one to five bags."""
    drawn = draw(st.lists(one_bag, min_size=1, max_size=5))
    y = [draw(st.sampled_from(labels)) for _ in drawn]
    offsets = np.concatenate([[0], np.cumsum([len(bag) for bag in drawn])])
    return np.concatenate(drawn), offsets, np.array(y, dtype=np.int8)


def answers(rule, log_odds, offsets, y):
    """Return all results of a rule: (arrays per bag, arrays per instance)."""
    log_likelihood, gradient = rule.gradient(log_odds, offsets, y)
    per_bag = [log_likelihood, *rule.log_proba(log_odds, offsets).T]
    per_instance = [gradient]
    if rule.has_latent_labels:
        result = rule.estep(log_odds, offsets, y)
        v = np.ones_like(log_odds)
        per_bag += [result.log_likelihood]
        per_instance += [result.posterior, result.complement]
        per_instance += [rule.hessian_product(log_odds, offsets, y, v)]
    return per_bag, per_instance


property_test = settings(deadline=None, max_examples=150)  # the first example compiles


@pytest.mark.slow
@each_rule
@property_test
@given(data=bag_arrays())
def test_no_answer_is_nan_and_no_likelihood_exceeds_one(rule, data):
    per_bag, per_instance = answers(rule, *data)
    assert all((log_p <= 0).all() for log_p in per_bag)
    assert all(np.isfinite(array).all() for array in per_instance)


@pytest.mark.slow
@each_rule
@property_test
@given(data=bag_arrays())
def test_blocks_of_bags_answer_as_they_do_together(rule, data):
    log_odds, offsets, y = data
    per_bag, per_instance = answers(rule, log_odds, offsets, y)
    blocks = [
        answers(rule, log_odds[a:b], np.array([0, b - a]), y[i : i + 1])
        for i, (a, b) in enumerate(pairwise(offsets))
    ]
    # bit-identical: results must not depend on adjacent bags
    for array, parts in zip(per_bag, zip(*(block[0] for block in blocks), strict=True), strict=True):
        np.testing.assert_array_equal(array, np.concatenate(parts))
    for array, parts in zip(per_instance, zip(*(block[1] for block in blocks), strict=True), strict=True):
        np.testing.assert_array_equal(array, np.concatenate(parts))


@each_rule
@property_test
@given(bag=one_bag, label=st.sampled_from([0, 1]), seed=st.integers(0, 1000))
def test_order_of_instances_does_not_matter(rule, bag, label, seed):
    log_odds, offsets, y = np.array(bag), np.array([0, len(bag)]), np.array([label])
    order = np.random.default_rng(seed).permutation(len(bag))
    per_bag, per_instance = answers(rule, log_odds, offsets, y)
    again_per_bag, again_per_instance = answers(rule, log_odds[order], offsets, y)
    # 1e-12 as documented; the slope 1 + a (p_j - P) of a sharp softmax multiplies rounding errors by a
    atol = 1e-15 * max(1.0, abs(getattr(rule, "sharpness", 1.0)))
    for array, again in zip(per_bag, again_per_bag, strict=True):
        np.testing.assert_allclose(again, array, rtol=1e-12, atol=atol)
    for array, again in zip(per_instance, again_per_instance, strict=True):
        np.testing.assert_allclose(again, array[order], rtol=1e-12, atol=10 * atol)


@pytest.mark.slow
@each_rule
@property_test
@given(data=bag_arrays())
def test_the_two_labels_have_probability_one_together(rule, data):
    log_proba = rule.log_proba(*data[:2])
    np.testing.assert_allclose(np.exp(log_proba).sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.slow
@each_latent_rule
@property_test
@given(data=bag_arrays())
def test_posterior_and_complement_add_up_to_one(rule, data):
    result = rule.estep(*data)
    assert (result.posterior >= 0).all() and (result.posterior <= 1).all()
    assert (result.complement >= 0).all() and (result.complement <= 1).all()
    np.testing.assert_allclose(result.posterior + result.complement, 1.0, rtol=1e-13)


@pytest.mark.slow
@each_latent_rule
@property_test
@given(data=bag_arrays())
def test_sharp_gradient_agrees_with_the_generic_one(rule, data):
    log_likelihood, gradient = rule.gradient(*data)
    generic_log_likelihood, generic = Rule.gradient(rule, *data)
    # The order of summation differs, so s = sum_j softplus(eta_j) differs in its last digits. The
    # log-likelihood of an almost certainly positive bag is about -exp(-s), whose relative error is s times
    # larger.
    s = np.minimum(np.add.reduceat(np.logaddexp(0.0, data[0]), data[1][:-1]), 1e4)
    with np.errstate(invalid="ignore"):
        error = np.abs(log_likelihood - generic_log_likelihood)
        is_close = error <= 1e-14 * np.maximum(1.0, s) * np.abs(generic_log_likelihood)
    assert (is_close | (log_likelihood == generic_log_likelihood)).all()
    np.testing.assert_allclose(generic, gradient, atol=1e-12)  # it subtracts values up to 1


@pytest.mark.slow
@each_rule
@property_test
@given(data=bag_arrays(labels=(-1,)))
def test_bags_of_unknown_label_say_nothing_and_keep_the_prior(rule, data):
    log_odds, offsets, y = data
    log_likelihood, gradient = rule.gradient(log_odds, offsets, y)
    assert not log_likelihood.any() and not gradient.any()
    if rule.has_latent_labels:
        result = rule.estep(log_odds, offsets, y)
        odds = np.exp(-np.abs(log_odds))
        p = np.where(log_odds > 0, 1.0, odds) / (1 + odds)
        q = np.where(log_odds > 0, odds, 1.0) / (1 + odds)
        assert not result.log_likelihood.any()
        np.testing.assert_allclose(result.posterior, p, rtol=1e-12, atol=1e-307)
        np.testing.assert_allclose(result.complement, q, rtol=1e-12, atol=1e-307)
        assert not rule.hessian_product(log_odds, offsets, y, np.ones_like(log_odds)).any()
