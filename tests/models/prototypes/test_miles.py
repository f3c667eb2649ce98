"""Tests of MILES and its 1-norm SVM against other solvers, enumeration and the credits of instances."""

import os

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.base import clone

from bagwise import Bags, MILESClassifier, fetch_musk1, make_mixture_bags
from bagwise.solvers.l1_svm import best_intercept, minimize_l1_svm


@pytest.fixture
def data():
    return make_mixture_bags(40, n_features=3, separation=1.5, random_state=0)


def make_problem(seed, n=20, p=6):
    rng = np.random.default_rng(seed)
    sign = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    return rng.uniform(size=(n, p)), sign, rng.uniform(0.3, 2.0, size=n)


def objective(M, sign, cost, coef, intercept):
    return np.abs(coef).sum() + cost @ np.maximum(0.0, 1.0 - sign * (M @ coef + intercept))


@pytest.mark.parametrize("seed", range(5))
def test_l1_svm_reaches_the_bound_of_its_dual(seed):
    """The dual is: max sum alpha, |sum_i alpha_i y_i m_ik| <= 1, sum alpha y = 0, 0 <= alpha <= cost."""
    M, sign, cost = make_problem(seed)
    coef, intercept, value = minimize_l1_svm(M, sign, cost)
    np.testing.assert_allclose(value, objective(M, sign, cost, coef, intercept), rtol=1e-12)
    signed = sign[:, None] * M
    dual = linprog(
        -np.ones(len(sign)),
        A_ub=np.hstack([signed, -signed]).T,
        b_ub=np.ones(2 * M.shape[1]),
        A_eq=sign[None],
        b_eq=[0.0],
        bounds=[(0, c) for c in cost],
    )
    np.testing.assert_allclose(value, -dual.fun, rtol=1e-8)


def test_nearby_coefficients_are_not_better():
    M, _, cost = make_problem(7, n=30, p=3)
    sign = np.where(M[:, 0] > 0.5, 1.0, -1.0)
    coef, intercept, value = minimize_l1_svm(M, sign, 5 * cost)
    assert np.abs(coef).any()
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(200):
            other = objective(
                M, sign, 5 * cost, coef + size * rng.normal(size=3), intercept + size * rng.normal()
            )
            assert other >= value - 1e-9


def test_repeated_rows_equal_rows_of_higher_cost():
    M, sign, _ = make_problem(1)
    twice = np.repeat(np.arange(20), 1 + np.arange(20) % 2)[::-1]
    weighted = minimize_l1_svm(M, sign, 1.0 + np.arange(20) % 2)
    repeated = minimize_l1_svm(M[twice], sign[twice], np.ones(30))
    np.testing.assert_allclose(weighted[0], repeated[0], atol=1e-9)
    np.testing.assert_allclose(weighted[1:], repeated[1:], rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_intercept_is_the_middle_of_the_best_ones(seed):
    rng = np.random.default_rng(seed)
    scores, sign = rng.normal(size=9), np.where(np.arange(9) < 4, 1.0, -1.0)
    cost = rng.integers(1, 3, size=9).astype(float)
    grid = np.linspace(-6, 6, 240_001)
    values = cost @ np.maximum(0.0, 1.0 - sign[:, None] * (scores[:, None] + grid))
    best = grid[values <= values.min() + 1e-4]
    assert abs(best_intercept(scores, sign, cost) - 0.5 * (best[0] + best[-1])) < 2e-4


def test_scores_are_sums_over_the_selected_instances(data):
    model = MILESClassifier(width=1.3).fit(data.bags, data.y)
    points, Z = model.prototypes_.points, model.scaler_.transform(data.bags.instances)
    assert 0 < len(points) == len(model.coef_) < data.bags.n_instances / 4
    for i, bag in enumerate(np.split(Z, data.bags.offsets[1:-1])):
        near = [max(np.exp(-np.sum((x - t) ** 2) / 1.3**2) for x in bag) for t in points]
        score = model.decision_function(data.bags[i : i + 1])[0]
        np.testing.assert_allclose(score, near @ model.coef_ + model.intercept_, rtol=1e-9)


def test_credits_and_the_intercept_add_up_to_the_score(data):
    model = MILESClassifier().fit(data.bags, data.y)
    credit, scores = model.instance_credits(data.bags), model.decision_function(data.bags)
    np.testing.assert_allclose(
        np.add.reduceat(credit, data.bags.offsets[:-1]) + model.intercept_, scores, rtol=1e-12
    )
    # The scores of the used instances add up to the score as well.
    used = credit != 0
    of_instances = np.where(used, model.decision_function_instances(data.bags), 0.0)
    np.testing.assert_allclose(np.add.reduceat(of_instances, data.bags.offsets[:-1]), scores, rtol=1e-9)
    assert (~used).sum() > 0 and (model.decision_function_instances(data.bags)[~used] < 0).all()


def test_equal_instances_share_their_credit(data):
    model = MILESClassifier().fit(data.bags, data.y)
    bag = data.bags[int(np.argmax(data.y))]
    once = model.instance_credits([bag])
    twice = model.instance_credits([np.concatenate([bag, bag])])
    np.testing.assert_allclose(twice, np.tile(once, 2) / 2, rtol=1e-9, atol=1e-15)


def test_infinite_width_predicts_the_larger_class(data):
    y = np.append(np.ones(25, dtype=int), np.zeros(15, dtype=int))
    model = MILESClassifier(width=1e9).fit(data.bags, y)
    assert not len(model.coef_) and (model.predict(data.bags) == 1).all()
    assert not model.instance_credits(data.bags).any()


@pytest.mark.parametrize("prototypes", ["all", "sample", "kmeans"])
def test_every_kind_of_prototypes_is_accurate(prototypes, data):
    model = MILESClassifier(prototypes=prototypes, n_prototypes=30, random_state=0).fit(data.bags, data.y)
    assert model.score(data.bags, data.y) > 0.75
    assert len(model.coef_) <= 30 or prototypes == "all"


def test_sparse_bags_are_dense_ones(data):
    X = np.where(data.bags.instances > 0, data.bags.instances, 0.0)
    dense, sparse = (data.bags.with_instances(Z) for Z in (X, sp.csr_array(X)))
    for scale in (None, "minmax"):
        # For sparse features, both scalings only divide, as the expected scaling does.
        model = MILESClassifier(width=1.0, scale=scale)
        fitted = clone(model).fit(sparse, data.y)
        factor = np.abs(X).max(axis=0) if scale else 1.0
        expected = MILESClassifier(width=1.0, scale=None).fit(dense.with_instances(X / factor), data.y)
        np.testing.assert_allclose(
            fitted.decision_function(sparse),
            expected.decision_function(dense.with_instances(X / factor)),
            atol=1e-8,
        )


def test_units_do_not_matter(data):
    factor = np.array([1e-6, 1.0, 1e6])
    other = data.bags.with_instances(data.bags.instances * factor + 7.0 * factor)
    model = MILESClassifier()
    expected = model.fit(data.bags, data.y).decision_function(data.bags)
    np.testing.assert_allclose(model.fit(other, data.y).decision_function(other), expected, atol=1e-6)


def test_a_bag_of_equal_instances_is_fitted():
    bags = Bags(np.zeros((8, 2)), np.arange(0, 9, 2))
    assert np.isfinite(MILESClassifier().fit(bags, [0, 1, 0, 1]).decision_function(bags)).all()


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("BAGWISE_DATA"), reason="BAGWISE_DATA is not set")
def test_musk1_is_separated_by_a_few_instances():
    data = fetch_musk1()
    model = MILESClassifier(C=10.0).fit(data.bags, data.y)
    assert model.score(data.bags, data.y) > 0.95 and len(model.coef_) < 80
