"""Kernels of proximal Newton steps, compared with direct formulas."""

import numpy as np
import pytest

from bagwise._core.compiled.coordinate import descend, learn_curvature
from bagwise._core.compiled.single import add_products, sum_products


def make_model(seed, k, condition=30.0):
    rng = np.random.default_rng(seed)
    vectors, _ = np.linalg.qr(rng.normal(size=(k, k)))
    H = (vectors * np.geomspace(1.0, condition, k)) @ vectors.T
    penalty = np.full(k, 0.5)
    penalty[-1] = 0.0
    return H, rng.normal(size=k), rng.normal(size=k) * (rng.random(k) < 0.5), penalty


@pytest.mark.parametrize("seed", range(5))
def test_coordinate_descent_never_rises_and_ends_at_the_optimum(seed):
    H, gradient, start, penalty = make_model(seed, 12)

    def value(b):
        d = b - start
        return gradient @ d + 0.5 * d @ H @ d + penalty @ np.abs(b)

    values = [value(start)]
    for n_sweeps in range(1, 40):
        b = start.copy()
        descend(H, gradient, b, penalty, 0.0, n_sweeps)
        values.append(value(b))
    assert (np.diff(values) <= 1e-12).all()
    b = start.copy()
    n_sweeps = descend(H, gradient, b, penalty, 1e-10, 10_000)
    assert n_sweeps < 1000
    slope = gradient + H @ (b - start)
    is_zero = b == 0
    assert is_zero.any()
    assert not is_zero.all()
    assert (np.abs(slope[is_zero]) <= penalty[is_zero] + 1e-9).all()
    np.testing.assert_allclose(slope[~is_zero], -(penalty * np.sign(b))[~is_zero], atol=1e-9)


def test_coordinate_descent_is_the_lasso_of_scikit_learn():
    from sklearn.linear_model import Lasso

    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 10))
    y = X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=80)
    expected = Lasso(alpha=0.1, tol=1e-12, fit_intercept=False).fit(X, y).coef_
    b = np.zeros(10)
    descend(X.T @ X / 80, -X.T @ y / 80, b, np.full(10, 0.1), 1e-12, 10_000)
    np.testing.assert_allclose(b, expected, atol=1e-10)


def test_a_learned_curvature_agrees_with_the_step_and_stays_convex():
    H, s, _, _ = make_model(0, 6)
    y = H @ s + 0.1 * s
    expected = H @ s
    learned = learn_curvature(H, y, s @ y, expected, s @ expected)
    np.testing.assert_allclose(learned @ s, y, rtol=1e-12)
    assert np.linalg.eigvalsh(learned).min() > 0


@pytest.mark.parametrize("n_columns", [0, 1, 3, 4, 8, 21])
@pytest.mark.parametrize("n_instances", [1, 2048, 5000])
def test_products_in_single_precision_are_those_of_the_chosen_columns(n_columns, n_instances):
    rng = np.random.default_rng(0)
    columns_of_X = rng.normal(size=(30, n_instances)).astype(np.float32)
    columns = rng.permutation(30)[:n_columns]
    chosen = columns_of_X[columns].astype(float)
    step, v = rng.normal(size=n_columns).astype(np.float32), rng.normal(size=n_instances).astype(np.float32)
    before = rng.normal(size=n_instances)
    after = before.copy()
    add_products(columns_of_X, columns, step, after)
    np.testing.assert_allclose(after - before, step.astype(float) @ chosen, atol=1e-5)
    sums = np.empty(n_columns)
    sum_products(columns_of_X, columns, v, sums)
    np.testing.assert_allclose(sums, chosen @ v.astype(float), atol=1e-6 * np.sqrt(n_instances) * 10)
