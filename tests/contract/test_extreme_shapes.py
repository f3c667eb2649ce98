"""A million bags of one instance, a bag of a million instances, and a hundred thousand features."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from bagwise import Bags, BagStatistics, MILogisticRegression

pytestmark = pytest.mark.slow


def ridge(rule="or", **options):
    return MILogisticRegression(rule, l1_ratio=0.0, scale=None, tol=1e-9, n_init=1, random_state=0, **options)


def test_a_million_bags_of_one_instance_are_an_ordinary_logistic_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10**6, 2))
    y = (rng.random(len(X)) < expit(X[:, 0] - 2.0 * X[:, 1] - 1.0)).astype(int)
    model = ridge().fit(Bags(X, np.arange(len(X) + 1)), y)
    expected = LogisticRegression(tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-5)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=1e-5)


def test_the_gradient_is_zero_with_one_bag_of_a_million_instances():
    rng = np.random.default_rng(0)
    n_large, n_small = 10**6, 200
    X = np.vstack([rng.normal(size=(n_large, 2)), rng.normal(size=(2 * n_small, 2))])
    offsets = np.r_[0, n_large + 2 * np.arange(n_small + 1)]
    y = np.r_[1, X[n_large:, 0].reshape(-1, 2).max(axis=1) > 1.0].astype(int)
    model = ridge().fit(Bags(X, offsets), y)
    p = expit(X @ model.coef_[0] + model.intercept_[0])
    log_negative = np.add.reduceat(np.log1p(-p), offsets[:-1])
    weight = np.where(y == 1, np.exp(log_negative) / -np.expm1(log_negative), -1.0)
    by_instance = np.repeat(weight, np.diff(offsets)) * p
    np.testing.assert_allclose(X.T @ by_instance, model.coef_[0], atol=1e-4)  # alpha is 1
    assert abs(by_instance.sum()) < 1e-4
    assert (model.decision_function(Bags(X, offsets)) > 0)[0]


def test_a_hundred_thousand_features_are_as_good_as_their_principal_axes():
    rng = np.random.default_rng(0)
    X, offsets = rng.normal(size=(80, 10**5)), np.arange(0, 81, 2)
    y = np.arange(40) % 2
    X[::2, 0] += 200.0 * y
    # A ridge penalty does not change with a rotation of the features.
    U, sizes, _ = np.linalg.svd(X, full_matrices=False)
    wide, narrow = Bags(X, offsets), Bags(U * sizes, offsets)
    expected = ridge("mean", alpha=100.0).fit(narrow, y).decision_function(narrow)
    model = ridge("mean", alpha=100.0).fit(wide, y)
    np.testing.assert_allclose(model.decision_function(wide), expected, rtol=1e-4, atol=1e-4)
    assert np.abs(expected).max() > 1.0
    vectors = BagStatistics(("mean",), scale=None).fit_transform(wide)
    np.testing.assert_allclose(vectors, X.reshape(40, 2, -1).mean(axis=1))
