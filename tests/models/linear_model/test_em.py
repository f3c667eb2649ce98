"""The paper's EM: single steps compared with direct formulas, the optimum with Newton's method."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from bagwise import MILogisticRegression, Threshold, make_count_bags, make_noisy_or_bags

DATA = make_noisy_or_bags(150, size=(1, 5), coef=[1.5, -1.5, 0.0, 0.7], intercept=-1.0, random_state=3)
COUNTS = make_count_bags(200, size=6, labeler=2, coef=[2.0, -2.0], random_state=0)


def em_by_hand(bags, y, theta, alpha):
    """Run an iteration of eq. 2 and section III: E step, working response, coordinate descent."""
    X = np.column_stack([bags.instances, np.ones(bags.n_instances)])
    p = expit(X @ theta)
    bag = 1 - np.multiply.reduceat(1 - p, bags.offsets[:-1])
    gamma = np.repeat(y / bag, bags.sizes) * p
    w = p * (1 - p)
    u = X @ theta + (gamma - p) / w
    new = theta.copy()
    for _ in range(3000):
        for k in range(len(new)):
            others = X @ new - X[:, k] * new[k]
            S = (w * X[:, k]) @ (u - others)
            soft = np.sign(S) * max(0.0, abs(S) - alpha) if k < len(new) - 1 else S
            new[k] = soft / (w @ X[:, k] ** 2)
    return new


@pytest.mark.parametrize("alpha", [0.0, 4.0])
def test_an_iteration_is_the_printed_one(alpha):
    options = {"alpha": alpha, "scale": None, "solver": "em", "warm_start": True, "max_iter": 1}
    model = MILogisticRegression(**options)
    theta = np.array([0.3, -0.2, 0.1, 0.0, -1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(DATA.bags, DATA.y)
        for _ in range(3):
            model.coef_, model.intercept_ = theta[None, :-1].copy(), theta[-1:].copy()
            model.fit(DATA.bags, DATA.y)
            assert len(model.objective_history_) == 2
            theta = em_by_hand(DATA.bags, DATA.y, theta, alpha)
            np.testing.assert_allclose(model.coef_[0], theta[:-1], atol=2e-3)
            np.testing.assert_allclose(model.intercept_, theta[-1:], atol=2e-3)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (DATA, {"alpha": 0.0}),
        (DATA, {"alpha": 2.0}),
        (DATA, {"alpha": 2.0, "l1_ratio": 0.0, "class_weight": "balanced"}),
        (DATA, {"alpha": 1.0, "l1_ratio": 0.5, "rule": "mean"}),
        (DATA, {"alpha": 1.0, "fit_intercept": False}),
        (COUNTS, {"alpha": 1.0, "rule": Threshold(2)}),
    ],
    ids=["likelihood", "lasso", "ridge", "mean", "no intercept", "threshold"],
)
def test_em_ends_at_the_optimum_of_newton(data, options):
    weight = 1.0 + np.arange(len(data.y)) % 2
    newton = MILogisticRegression(**options, random_state=0).fit(data.bags, data.y, weight)
    em = MILogisticRegression(**options, solver="em", max_iter=5000, random_state=0)
    em.fit(data.bags, data.y, weight)
    assert em.converged_ and em.n_iter_ > newton.n_iter_
    assert em.objective_ == pytest.approx(newton.objective_, rel=1e-7)
    np.testing.assert_allclose(em.coef_, newton.coef_, atol=1e-3)
    assert (np.diff(em.objective_history_) <= 0).all()


def test_too_few_em_iterations_cause_a_warning():
    with pytest.warns(ConvergenceWarning, match="reached max_iter=2 before tol"):
        MILogisticRegression(solver="em", max_iter=2).fit(DATA.bags, DATA.y)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            "softmax",
            "rule='softmax' has no latent instance labels, which an E step needs; use solver='newton'",
        ),
        ("count_logistic", "rule='count_logistic' is learned with the coefficients"),
        ("threshold", "rule='threshold' is learned with the coefficients"),
    ],
)
def test_rules_that_em_is_not_for_are_refused(rule, message):
    with pytest.raises(ValueError, match=f"solver='em' cannot be used: {message}"):
        MILogisticRegression(rule, solver="em").fit(COUNTS.bags, COUNTS.y)


def test_many_bags_are_refused(large_from):
    large_from(100)
    with pytest.raises(ValueError, match=r"reads all instances in every iteration.*use solver='newton'"):
        MILogisticRegression(solver="em").fit(DATA.bags, DATA.y)
