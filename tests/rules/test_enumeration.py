"""Rules with latent labels, compared with the sum over all 2^m labellings of a bag."""

import itertools

import numpy as np
import pytest

from bagwise.rules import Mean, Or

# P(y = 1 | z) by the definition of each rule
GIVEN_LABELS = {
    Or: lambda z: float(any(z)),
    Mean: lambda z: sum(z) / len(z),
}


def enumerate_bag(rule_class, log_odds, label):
    """Return log-likelihood, posterior, and Cov(z | y) - diag p (1 - p) of one bag."""
    p = 1 / (1 + np.exp(-log_odds))
    labellings = np.array(list(itertools.product([0, 1], repeat=len(p))))
    joint = np.prod(np.where(labellings == 1, p, 1 - p), axis=1)
    positive = np.array([GIVEN_LABELS[rule_class](z) for z in labellings])
    joint = joint * (positive if label == 1 else 1 - positive)
    likelihood = joint.sum()
    posterior = joint @ labellings / likelihood
    centred = labellings - posterior
    covariance = centred.T @ (centred * joint[:, None]) / likelihood
    return np.log(likelihood), posterior, covariance - np.diag(p * (1 - p))


@pytest.fixture(params=[Or, Mean], ids=lambda rule_class: rule_class.__name__)
def rule_class(request):
    return request.param


@pytest.fixture(params=[1, 2, 3, 5, 8])
def log_odds(request):
    return np.random.default_rng(request.param).normal(-0.5, 2, request.param)


# For sums of 2^8 products of 8 rounded factors, 1e-12 is a tolerance with two spare digits.
RTOL, ATOL = 1e-12, 1e-14


@pytest.mark.parametrize("label", [0, 1])
def test_estep_is_the_sum_over_all_labellings(rule_class, log_odds, label):
    log_likelihood, posterior, _ = enumerate_bag(rule_class, log_odds, label)
    offsets = np.array([0, len(log_odds)])
    result = rule_class().estep(log_odds, offsets, np.array([label]))
    np.testing.assert_allclose(result.log_likelihood, [log_likelihood], rtol=RTOL)
    np.testing.assert_allclose(result.posterior, posterior, rtol=RTOL, atol=ATOL)
    np.testing.assert_allclose(result.complement, 1 - posterior, rtol=RTOL, atol=ATOL)
    log_proba = rule_class().log_proba(log_odds, offsets)
    np.testing.assert_allclose(log_proba[0, label], log_likelihood, rtol=RTOL)


@pytest.mark.parametrize("label", [0, 1])
def test_gradient_is_posterior_minus_prior(rule_class, log_odds, label):
    log_likelihood, posterior, _ = enumerate_bag(rule_class, log_odds, label)
    result = rule_class().gradient(log_odds, np.array([0, len(log_odds)]), np.array([label]))
    np.testing.assert_allclose(result[0], [log_likelihood], rtol=RTOL)
    np.testing.assert_allclose(result[1], posterior - 1 / (1 + np.exp(-log_odds)), atol=1e-13)


@pytest.mark.parametrize("label", [0, 1])
def test_hessian_product_is_posterior_minus_prior_covariance(rule_class, log_odds, label):
    _, _, hessian = enumerate_bag(rule_class, log_odds, label)
    offsets = np.array([0, len(log_odds)])
    columns = [
        rule_class().hessian_product(log_odds, offsets, np.array([label]), unit)
        for unit in np.eye(len(log_odds))
    ]
    np.testing.assert_allclose(np.column_stack(columns), hessian, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("label", [0, 1])
def test_hessian_product_is_linear(rule_class, log_odds, label):
    offsets, y = np.array([0, len(log_odds)]), np.array([label])
    v, w = np.random.default_rng(0).normal(size=(2, len(log_odds)))
    product = [rule_class().hessian_product(log_odds, offsets, y, u) for u in (v, w, v + 2 * w)]
    np.testing.assert_allclose(product[2], product[0] + 2 * product[1], rtol=1e-11, atol=1e-14)
