"""Helper functions of the experiments on multiple-instance logistic regression."""

import numpy as np
import pytest
from reproduction.milr import bag_scores, evaluate
from reproduction.milr_simulations import naive_forward, ordinary_errors, printed_alpha_max, printed_em
from scipy.special import expit

from bagwise import MILogisticRegression, make_noisy_or_bags


@pytest.fixture
def data():
    return make_noisy_or_bags(150, coef=[1.5, -1.5, 0.0], random_state=0)


def test_printed_bound_is_zero_for_single_instances_and_correct_for_three():
    y = np.array([1, 0, 1])
    assert printed_alpha_max(np.ones(3, dtype=int), y) == 0
    # sqrt(3 * 2) * sqrt(1/3 + 3 + 1/3)
    assert printed_alpha_max(np.full(3, 3), y) == pytest.approx(np.sqrt(6 * (3 + 2 / 3)))


def test_printed_em_converges_to_maximum_likelihood_from_zero(data):
    model = MILogisticRegression(alpha=0.0, random_state=0).fit(data.bags, data.y)
    theta = printed_em(data.bags, data.y, np.zeros(4), tol=1e-8, max_iter=5000)
    np.testing.assert_allclose(theta, np.append(model.intercept_, model.coef_[0]), atol=1e-4)


def test_ordinary_errors_equal_those_of_single_instance_bags():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(200, 2))
    z = (rng.random_sample(200) < expit(X[:, 0])).astype(int)
    model = MILogisticRegression(alpha=0.0, tol=1e-10, random_state=0).fit(X, z)
    theta = np.append(model.intercept_, model.coef_[0])
    np.testing.assert_allclose(ordinary_errors(X, theta), model.inference(X, z).se, rtol=1e-6)


def test_naive_forward_selection_finds_the_active_features():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(400, 6))
    z = (rng.random_sample(400) < expit(2 * X[:, 1] - 2 * X[:, 4])).astype(float)
    assert naive_forward(X, z, level=0.001).tolist() == [False, True, False, False, True, False]


def test_both_scores_of_a_noisy_or_model_agree(data):
    model = MILogisticRegression(alpha=1.0, random_state=0).fit(data.bags, data.y)
    noisy_or, own_score = bag_scores(model, data.bags).T
    np.testing.assert_array_equal(noisy_or >= 0, own_score >= 0)
    measures = evaluate(data.y, np.column_stack([noisy_or, own_score]))
    assert measures["or acc"] == measures["own acc"] == np.mean(model.predict(data.bags) == data.y)
    assert measures["or auc"] == pytest.approx(measures["own auc"])
