"""Gradients and second derivatives, compared with finite differences with 300 digits.

With a step of 1e-25, central differences are exact to about 45 digits, so that all measured errors come from
the rules.
"""

import mpmath as mp
import numpy as np
import pytest
from mpmath import mpf

from bagwise.rules import GeometricMean, LogOddsMean, Max, Mean, Or, SoftMax

STEP = mpf(10) ** -25


def sigma(x):
    return 1 / (1 + mp.exp(-x))


def softmax_probability(eta, sharpness):
    p = [sigma(x) for x in eta]
    weight = [mp.exp(mpf(sharpness) * a) for a in p]
    return mp.fsum(w * a for w, a in zip(weight, p, strict=True)) / mp.fsum(weight)


PROBABILITY = {
    "or": (Or(), lambda eta: 1 - mp.fprod(1 - sigma(x) for x in eta)),
    "mean": (Mean(), lambda eta: mp.fsum(sigma(x) for x in eta) / len(eta)),
    "softmax": (SoftMax(), lambda eta: softmax_probability(eta, 3.0)),
    "sharp softmax": (SoftMax(sharpness=40.0), lambda eta: softmax_probability(eta, 40.0)),
    "inverted softmax": (SoftMax(sharpness=-2.0), lambda eta: softmax_probability(eta, -2.0)),
    "geometric mean": (
        GeometricMean(),
        lambda eta: mp.exp(mp.fsum(mp.log(sigma(x)) for x in eta) / len(eta)),
    ),
    "log-odds mean": (LogOddsMean(), lambda eta: sigma(mp.fsum(mpf(x) for x in eta) / len(eta))),
    "max": (Max(), lambda eta: max(sigma(x) for x in eta)),
}
LATENT = ["or", "mean"]

BAGS = {
    "one instance": [0.7],
    "ordinary": [-1.3, 0.4, 2.2, -0.1],
    "one dominant": [-14.0, -3.0, -15.0],
    "faint": [-41.0, -39.5, -44.0],
    "certain": [41.0, 39.5, 44.0],
    "wide": [-30.0, -1.0, 1.5, 33.0],
}


@pytest.fixture(autouse=True)
def digits():
    with mp.workdps(300):
        yield


def log_likelihood(name, eta, label):
    positive = PROBABILITY[name][1](eta)
    return mp.log(positive if label == 1 else 1 - positive)


def moved(eta, direction, step):
    return [x + step * mpf(float(d)) for x, d in zip(eta, direction, strict=True)]


def difference(function, eta, direction):
    """Return the central difference of `function` at eta along `direction`."""
    ahead, behind = moved(eta, direction, STEP), moved(eta, direction, -STEP)
    return (function(ahead) - function(behind)) / (2 * STEP)


@pytest.mark.parametrize("name", PROBABILITY)
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("bag", BAGS)
def test_gradient_is_the_slope_of_the_log_likelihood(name, label, bag):
    rule, eta = PROBABILITY[name][0], [mpf(x) for x in BAGS[bag]]
    value, gradient = rule.gradient(np.array(BAGS[bag]), [0, len(eta)], [label])
    np.testing.assert_allclose(value[0], float(log_likelihood(name, eta, label)), rtol=1e-12)
    slopes = [
        float(difference(lambda x: log_likelihood(name, x, label), eta, unit)) for unit in np.eye(len(eta))
    ]
    # relative at every scale; p_j - P(+) of a softmax multiplies rounding errors by `sharpness`
    np.testing.assert_allclose(gradient, slopes, rtol=1e-12)


@pytest.mark.parametrize("name", LATENT)
@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("bag", BAGS)
def test_hessian_product_is_the_slope_of_the_gradient(name, label, bag):
    rule, eta = PROBABILITY[name][0], [mpf(x) for x in BAGS[bag]]
    v = np.random.default_rng(1).normal(size=len(eta))
    product = rule.hessian_product(np.array(BAGS[bag]), [0, len(eta)], [label], v)
    exact = [
        float(
            difference(
                lambda at, unit=unit: difference(lambda x: log_likelihood(name, x, label), at, unit),
                eta,
                v,
            )
        )
        for unit in np.eye(len(eta))
    ]
    np.testing.assert_allclose(product, exact, rtol=1e-11)


@pytest.mark.parametrize("name", LATENT)
@pytest.mark.parametrize("label", [0, 1])
def test_hessian_product_of_a_single_instance_keeps_its_digits_when_faint(name, label):
    # the second derivative is -p (1 - p); 1 - 2 p - (1 - p) would lose all digits of p = 1e-15
    for eta in (-34.0, -36.9, -38.0, -600.0):
        p = float(sigma(mpf(eta)))
        product = PROBABILITY[name][0].hessian_product([eta], [0, 1], [label], [1.0])
        np.testing.assert_allclose(product, -p * (1 - p), rtol=1e-12)
