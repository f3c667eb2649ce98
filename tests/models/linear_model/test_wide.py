"""Fits with many features: L-BFGS on the data as they are, LASSO on copies of the relevant features."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from bagwise import Bags, MILogisticRegression, MILogisticRegressionCV, Or, milr_path
from bagwise.models.linear_model.engine.design import scaled_blocks
from bagwise.models.linear_model.engine.large_fit import make_fit, worth_sampling
from bagwise.models.linear_model.engine.problem import LinearBagProblem
from bagwise.solvers import Control
from bagwise.solvers.working_set import ElasticNet

D = 80  # above the number of features for which the curvature of all pairs is computed


def draw(n_bags, size, dtype=np.float32, d=D):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_bags * size, d)).astype(dtype)
    z = rng.random(len(X)) < expit(X[:, :4] @ [2.0, -2.0, 1.0, 1.0] - (3.0 if size > 1 else 0.0))
    return Bags(X, np.arange(0, len(X) + 1, size)), z.reshape(-1, size).any(axis=1).astype(int)


@pytest.fixture(params=["memory", "blocks"])
def storage(request, large_from):
    """Keep the data as one piece in memory, or process them in many blocks like large data."""
    if request.param == "blocks":
        large_from(1000, block_bytes=8 * D * 100)
    return request.param


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bags_of_one_give_scikit_learns_logistic_regression(dtype, storage):
    bags, y = draw(400, 1, dtype)
    ours = MILogisticRegression(l1_ratio=0.0, alpha=2.0, scale=None, tol=1e-9).fit(bags, y)
    X = bags.instances.astype(np.float64)
    theirs = LogisticRegression(C=0.5, tol=1e-12, solver="newton-cholesky").fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)


def objective(bags, y, theta, l2):
    X = bags.instances.astype(np.float64)
    by_bag, slopes = Or().gradient(X @ theta[:-1] + theta[-1], bags.offsets, y)
    gradient = -np.append(slopes @ X, slopes.sum()) + l2 * np.append(theta[:-1], 0.0)
    return -by_bag.sum() + 0.5 * l2 * theta[:-1] @ theta[:-1], gradient


def test_an_or_fit_ends_where_a_generic_solver_finds_nothing_better(storage):
    bags, y = draw(150, 4)
    model = MILogisticRegression(l1_ratio=0.0, alpha=3.0, scale=None, n_init=2, tol=1e-8, random_state=0)
    model.fit(bags, y)
    theta = np.append(model.coef_[0], model.intercept_)
    value, gradient = objective(bags, y, theta, 3.0)
    assert model.objective_ == pytest.approx(value, rel=1e-12)
    assert np.abs(gradient).max() <= 1e-6
    oracle = minimize(lambda x: objective(bags, y, x, 3.0), theta, jac=True, method="BFGS")
    assert oracle.fun == pytest.approx(value, rel=1e-10)
    assert model.log_likelihood_ == pytest.approx(-objective(bags, y, theta, 0.0)[0], rel=1e-9)
    assert len(model.objectives_) == 2


def violation(bags, y, coef, intercept, alpha):
    """Return the largest violation of the optimality conditions of the LASSO, per bag."""
    gradient = objective(bags, y, np.append(coef, intercept), 0.0)[1]
    inside = np.abs(gradient[:-1] + alpha * np.sign(coef))
    outside = np.maximum(np.abs(gradient[:-1]) - alpha, 0.0)
    return max(np.where(coef != 0, inside, outside).max(), abs(gradient[-1])) / len(y)


def test_the_lasso_satisfies_its_optimality_conditions(storage):
    bags, y = draw(150, 4)
    model = MILogisticRegression(alpha=8.0, scale=None, n_init=2, random_state=0).fit(bags, y)
    assert model.converged_ and 0 < (model.coef_ != 0).sum() < D / 2
    assert violation(bags, y, model.coef_[0], model.intercept_[0], 8.0) <= 1e-6
    path = milr_path(bags, y, alphas=5, eps=0.1, scale=None)
    for alpha, coef, intercept in zip(path.alphas, path.coefs, path.intercepts, strict=True):
        assert violation(bags, y, coef, intercept, alpha) <= 1e-6


def test_large_data_have_the_results_of_data_in_memory(large_from):
    bags, y = draw(150, 4)
    models = [
        MILogisticRegression(l1_ratio=0.0, n_init=2, random_state=0, tol=1e-8),
        MILogisticRegression(alpha=8.0, n_init=1, random_state=0, tol=1e-8),
        MILogisticRegressionCV(alphas=3, cv=2, n_init=1, random_state=0),
    ]
    expected = [model.fit(bags, y).objective_ for model in models]
    large_from(1000, block_bytes=8 * D * 100)
    for model, value in zip(models, expected, strict=True):
        assert model.fit(bags, y).objective_ == pytest.approx(value, rel=1e-9)


def test_stalled_runs_with_few_features_continue_with_newton_steps():
    bags, y = draw(120, 3, np.float64, d=4)
    shifted = bags.with_instances(bags.instances * [1, 10, 100, 1000] + 5.0)
    model = MILogisticRegression(l1_ratio=0.0, scale=None, tol=1e-8, random_state=0).fit(shifted, y)
    assert model.converged_
    assert (np.diff(model.objective_history_) <= 0).all()
    assert model.objective_history_[-1] == model.objective_


@pytest.mark.parametrize(
    ("n_bags", "d", "l1", "is_sampled"),
    [(1000, 4, 0.0, True), (900, 4, 0.0, False), (16_000, 66, 0.0, False), (16_000, 66, 0.1, True)],
)
def test_a_sample_needs_many_bags_per_feature(n_bags, d, l1, is_sampled, large_from):
    large_from(1)
    rng = np.random.default_rng(0)
    bags, y = Bags(rng.normal(size=(n_bags, d)), np.arange(n_bags + 1)), rng.integers(0, 2, n_bags)
    blocks = bags.blocks(y.astype(np.int8), np.ones(n_bags))
    problem = LinearBagProblem(*scaled_blocks(blocks, None), Or())
    fit = make_fit(problem, ElasticNet(l1, 0.1), Control(1e-6, 100), 1, np.random.RandomState(0))
    assert hasattr(fit, "sample_fit") == is_sampled
    assert not is_sampled or (worth_sampling(blocks) and fit.sample_fit.problem.blocks.n_bags >= 10 * d)
