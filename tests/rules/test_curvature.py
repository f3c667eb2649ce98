import numpy as np
import pytest

from bagwise.rules import GeometricMean, LogOddsMean, Mean, Or, SoftMax


def problem(seed=0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, size=40)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return rng.normal(scale=3.0, size=offsets[-1]), offsets, rng.integers(-1, 2, size=40).astype(np.int8), rng


def product(rule, log_odds, offsets, y, v):
    diagonal, factor = rule.curvature(log_odds, offsets, y)
    inner = np.add.reduceat(factor * v, offsets[:-1])
    return diagonal * v + factor * np.repeat(inner, np.diff(offsets))


@pytest.mark.parametrize("rule", [Or(), Mean()])
def test_curvature_is_the_negative_hessian_of_rules_with_latent_labels(rule):
    log_odds, offsets, y, rng = problem()
    v = rng.normal(size=len(log_odds))
    expected = -rule.hessian_product(log_odds, offsets, y, v)
    np.testing.assert_allclose(product(rule, log_odds, offsets, y, v), expected, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("rule", [GeometricMean(), LogOddsMean()])
def test_curvature_of_means_in_the_log_domain_is_exact(rule):
    step = 1e-5
    log_odds, offsets, y, rng = problem(1)
    v = rng.normal(size=len(log_odds))
    _, ahead = rule.gradient(log_odds + step * v, offsets, y)
    _, back = rule.gradient(log_odds - step * v, offsets, y)
    # The error of a central difference is about step^2 = 1e-10.
    np.testing.assert_allclose(
        product(rule, log_odds, offsets, y, v), -(ahead - back) / (2 * step), rtol=1e-5, atol=1e-8
    )


@pytest.mark.parametrize("rule", [Or(), Mean(), GeometricMean(), LogOddsMean(), SoftMax()])
def test_curvature_is_finite_at_extreme_log_odds_and_zero_for_unknown_labels(rule):
    log_odds = np.array([-1e4, 1e4, 0.0, -800.0, -800.0, 40.0, 1.0])
    offsets = np.array([0, 2, 3, 5, 6, 7])
    for y in ([1, 1, 1, 1, -1], [0, 0, 0, 0, -1]):
        diagonal, factor = rule.curvature(log_odds, offsets, np.array(y, dtype=np.int8))
        assert np.isfinite(diagonal).all() and np.isfinite(factor).all()
        assert diagonal[-1] == 0 and factor[-1] == 0
