"""Convex risks, compared with generic solvers, optimality conditions, closed forms and limits."""

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from bagwise.models.pu import risk
from bagwise.models.pu.features import PUFeatures
from bagwise.models.pu.losses import LOSSES
from bagwise.models.pu.risk import minimize_risk
from bagwise.solvers.result import Status

PROBLEMS = [
    # n_positive, n_unlabeled, n_centers, prior, alpha, kernel scale
    (5, 20, 25, 0.3, 1e-1, 1.0),
    (3, 12, 4, 0.7, 1e-2, 1.0),
    (20, 60, 80, 0.1, 1e-3, 2.0),
    (20, 60, 80, 0.5, 1e-3, 2.0),
    (8, 30, 10, 0.95, 1e-2, 1.0),
    (1, 1, 3, 0.4, 1.0, 1.0),
    (10, 40, 50, 0.6, 10.0, 1.0),
]


def _problem(n_positive, n_unlabeled, n_centers, scale, seed, weighted):
    rng = np.random.default_rng(seed)
    P = scale * (1.0 + 0.5 * rng.normal(size=(n_positive, n_centers)))
    U = scale * rng.normal(size=(n_unlabeled, n_centers))
    weights = (rng.integers(1, 4, size=n).astype(float) for n in (n_positive, n_unlabeled))
    wp, wu = weights if weighted else (np.ones(n_positive), np.ones(n_unlabeled))
    return P, U, wp, wu


# Equation (13) of the paper.
PRINTED_LOSSES = {
    "double_hinge": lambda z: np.maximum(-z, np.maximum(0.0, (1.0 - z) / 2.0)),
    "squared": lambda z: (z - 1.0) ** 2 / 4.0,
    "logistic": lambda z: np.logaddexp(0.0, -z),
}


def _objective(P, U, wp, wu, loss, prior, alpha, coef, intercept):
    """Return equation (17) of the paper with bag weights."""
    g_p, g_u = P @ coef + intercept, U @ coef + intercept
    risk = prior * np.average(-g_p, weights=wp) + np.average(PRINTED_LOSSES[loss](-g_u), weights=wu)
    return risk + 0.5 * alpha * coef @ coef


def _generic(P, U, wp, wu, loss, prior, alpha):
    """Return the minimum of the objective from an independent solver."""
    solve = _by_trust_region if loss == "logistic" else _by_interior_points
    return solve(P, U, wp, wu, loss, prior, alpha)


def _by_interior_points(P, U, wp, wu, loss, prior, alpha):
    """Return the minimum from clarabel, with a slack variable for every unlabeled bag."""
    n, m = U.shape
    share = wu / wu.sum()
    # Variables: coef, intercept, xi.
    linear = np.concatenate([-prior * np.average(P, axis=0, weights=wp), [-prior], share])
    quadratic = np.concatenate([np.full(m, alpha), [0.0], np.zeros(n)])
    g = sp.hstack([sp.csr_matrix(U), sp.csr_matrix(np.ones((n, 1)))])
    I, O = sp.identity(n), sp.csr_matrix((n, m + 1))
    zero = np.zeros(n)
    if loss == "double_hinge":  # xi >= 0, xi >= (1 + g) / 2, xi >= g
        A = sp.vstack([sp.hstack([O, -I]), sp.hstack([0.5 * g, -I]), sp.hstack([g, -I])])
        b = np.concatenate([zero, -0.5 * np.ones(n), zero])
        cones = [clarabel.NonnegativeConeT(3 * n)]
    else:  # squared: xi = g, and xi^2 / 4 + xi / 2 + 1 / 4
        A, b = sp.hstack([g, -I]), zero
        quadratic[m + 1 :] = 0.5 * share
        linear[m + 1 :] = 0.5 * share
        cones = [clarabel.ZeroConeT(n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
        setattr(settings, name, 1e-12)
    result = clarabel.DefaultSolver(
        sp.diags(quadratic).tocsc(), linear, sp.csc_matrix(A), b, cones, settings
    ).solve()
    x = np.array(result.x)
    return _objective(P, U, wp, wu, loss, prior, alpha, x[:m], x[m])


def _by_trust_region(P, U, wp, wu, loss, prior, alpha):
    """Return the minimum from scipy, with explicit derivatives of the logistic loss."""
    pull = np.append(prior * np.average(P, axis=0, weights=wp), prior)
    design, share = np.column_stack([U, np.ones(len(U))]), wu / wu.sum()
    ridge = np.append(np.full(U.shape[1], alpha), 0.0)

    def value(x):
        return share @ np.logaddexp(0.0, design @ x) - pull @ x + 0.5 * ridge @ x**2

    def chance(x):
        return 0.5 * (1.0 + np.tanh(0.5 * design @ x))

    def gradient(x):
        return design.T @ (share * chance(x)) - pull + ridge * x

    def hessian(x):
        return (design.T * (share * chance(x) * chance(-x))) @ design + np.diag(ridge)

    x = minimize(value, np.zeros(len(pull)), method="trust-exact", jac=gradient, hess=hessian, tol=1e-10).x
    # The solver can stop before tol because of rounding errors. The possible decrease is half of this value.
    assert gradient(x) @ np.linalg.solve(hessian(x), gradient(x)) < 1e-10 * abs(value(x))
    return value(x)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sizes", PROBLEMS, ids=str)
def test_objective_is_that_of_a_generic_solver(sizes, loss, weighted):
    n_positive, n_unlabeled, n_centers, prior, alpha, scale = sizes
    for seed in range(3):
        parts = _problem(n_positive, n_unlabeled, n_centers, scale, seed, weighted)
        result = minimize_risk(PUFeatures(*parts), loss, prior=prior, alpha=alpha)
        assert result.converged
        ours = _objective(*parts, loss, prior, alpha, result.x.coef, result.x.intercept)
        assert ours == pytest.approx(result.value, rel=1e-9, abs=1e-9)
        theirs = _generic(*parts, loss, prior, alpha)
        assert ours == pytest.approx(theirs, rel=1e-8, abs=0.0)


@pytest.mark.parametrize("alpha", [1.0, 1e-3, 1e-6])
@pytest.mark.parametrize("degree", [1, 3])
def test_double_hinge_meets_its_optimality_conditions(alpha, degree):
    rng = np.random.default_rng(0)
    S = np.vstack([rng.uniform(0.3, 1.0, size=(20, 8)), rng.uniform(size=(100, 8))])
    K = (S @ S.T / 8 + 1) ** degree
    features = PUFeatures(K[:20], K[20:], np.ones(20), np.ones(100))
    result = minimize_risk(features, "double_hinge", prior=0.3, alpha=alpha)
    g = K[20:] @ result.x.coef + result.x.intercept
    W = 100 * (result.x.dual[:100] + result.x.dual[100:])
    slack = 1e-5 * max(1.0, np.abs(g).max())
    edge = 1e-7
    assert W.sum() / 100 == pytest.approx(0.3, abs=1e-12)
    assert (g[edge > W] <= -1 + slack).all()
    assert np.abs(g[(edge < W) & (0.5 - edge > W)] + 1).max(initial=0.0) <= slack
    assert (np.abs(g[np.abs(W - 0.5) <= edge]) <= 1 + slack).all()
    assert np.abs(g[(0.5 + edge < W) & (1 - edge > W)] - 1).max(initial=0.0) <= slack
    assert (g[1 - edge < W] >= 1 - slack).all()
    np.testing.assert_allclose(
        result.x.coef, (0.3 * K[:20].mean(0) - W / 100 @ K[20:]) / alpha, rtol=1e-6, atol=1e-6 / alpha
    )


def test_squared_loss_has_a_closed_form():
    P, U, wp, wu = _problem(6, 30, 5, 1.0, 0, weighted=False)
    C = np.cov(U.T, ddof=0)
    directions = []
    for prior in (0.2, 0.7):
        score = minimize_risk(PUFeatures(P, U, wp, wu), "squared", prior=prior, alpha=0.1).x
        expected = prior * np.linalg.solve(C / 2 + 0.1 * np.eye(5), P.mean(0) - U.mean(0))
        np.testing.assert_allclose(score.coef, expected, rtol=1e-10)
        assert score.intercept == pytest.approx(2 * prior - 1 - expected @ U.mean(0), rel=1e-10)
        directions.append(score.coef / np.linalg.norm(score.coef))
    np.testing.assert_allclose(*directions, rtol=1e-10)


@pytest.mark.parametrize(("prior", "intercept"), [(0.2, -1.0), (0.8, 1.0), (0.5, 0.0)])
def test_with_a_huge_penalty_the_score_is_constant(prior, intercept):
    P, U, wp, wu = _problem(6, 30, 5, 1.0, 0, weighted=False)
    score = minimize_risk(PUFeatures(P, U, wp, wu), "double_hinge", prior=prior, alpha=1e9).x
    assert np.abs(score.coef).max() < 1e-8
    assert score.intercept == pytest.approx(intercept, abs=1e-6)
    score = minimize_risk(PUFeatures(P, U, wp, wu), "squared", prior=prior, alpha=1e9).x
    assert score.intercept == pytest.approx(2 * prior - 1, abs=1e-6)
    score = minimize_risk(PUFeatures(P, U, wp, wu), "logistic", prior=prior, alpha=1e9).x
    assert score.intercept == pytest.approx(np.log(prior / (1 - prior)), abs=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_has_the_odd_part_that_removes_the_negatives(loss):
    z = np.linspace(-5, 5, 101)
    np.testing.assert_allclose(LOSSES[loss](z) - LOSSES[loss](-z), -z, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_warm_start_does_not_change_the_solution(loss):
    parts = _problem(10, 40, 50, 1.0, 3, weighted=True)
    features = PUFeatures(*parts)
    before = minimize_risk(features, loss, prior=0.4, alpha=1e-1)
    cold = minimize_risk(features, loss, prior=0.4, alpha=1e-2)
    warm = minimize_risk(features, loss, prior=0.4, alpha=1e-2, start=before.x)
    assert warm.value == pytest.approx(cold.value, rel=1e-8)


def test_interior_method_replaces_slow_pairwise_steps(monkeypatch):
    rng = np.random.default_rng(0)
    features = PUFeatures(1 + rng.normal(size=(20, 5)), rng.normal(size=(60, 5)), np.ones(20), np.ones(60))
    usual = minimize_risk(features, "double_hinge", prior=0.4, alpha=1e-3)
    monkeypatch.setattr(risk, "_PAIR_STEPS", 0.02)
    again = minimize_risk(features, "double_hinge", prior=0.4, alpha=1e-3)
    assert again.converged
    assert again.value == pytest.approx(usual.value, rel=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sizes", PROBLEMS, ids=str)
def test_principal_axes_give_the_same_objective(sizes, loss, monkeypatch):
    n_positive, n_unlabeled, n_centers, prior, alpha, scale = sizes
    parts = _problem(n_positive, n_unlabeled, n_centers, scale, 0, weighted=True)
    usual = minimize_risk(PUFeatures(*parts), loss, prior=prior, alpha=alpha)
    monkeypatch.setattr(PUFeatures, "is_graded", lambda features, alpha: True)
    monkeypatch.setattr(risk, "_double_hinge", lambda *problem: (None, Status.STALLED, 0))
    result = minimize_risk(PUFeatures(*parts), loss, prior=prior, alpha=alpha)
    assert result.converged
    ours = _objective(*parts, loss, prior, alpha, result.x.coef, result.x.intercept)
    assert ours == pytest.approx(usual.value, rel=1e-7)  # tol is relative to larger terms


def test_features_far_from_zero_keep_their_precision():
    """A constant in all kernel values, which the intercept absorbs, must not reduce the precision."""
    P, U, wp, wu = _problem(10, 40, 20, 1.0, 0, weighted=False)
    near = minimize_risk(PUFeatures(P, U, wp, wu), "double_hinge", prior=0.4, alpha=1e-3)
    far = minimize_risk(PUFeatures(P + 1e5, U + 1e5, wp, wu), "double_hinge", prior=0.4, alpha=1e-3)
    assert far.value == pytest.approx(near.value, rel=1e-6)


@pytest.mark.parametrize("loss", ["double_hinge", "logistic"])
def test_reported_values_end_at_the_objective(loss):
    reported = []
    features = PUFeatures(*_problem(10, 40, 50, 1.0, 3, weighted=True))
    result = minimize_risk(
        features,
        loss,
        prior=0.4,
        alpha=1e-2,
        on_iteration=lambda step, value: reported.append((step, value)),
    )
    steps, values = np.array(reported).T
    assert (np.diff(steps) > 0).all()
    assert values[-1] == pytest.approx(result.value, rel=1e-6)
    if loss == "double_hinge":  # lower bounds from the dual
        assert (values <= result.value + 1e-9).all()
    else:
        assert (np.diff(values) <= 0).all()


@pytest.mark.study
@pytest.mark.parametrize("loss", LOSSES)
def test_two_hundred_random_problems_agree_with_generic_solvers(loss):
    """Our objective is never worse by 1e-8, for random sizes, priors, penalties, correlations and weights."""
    worst = 0.0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n_positive, n_unlabeled, n_centers = rng.integers(1, [20, 60, 40])
        scale = 10.0 ** rng.uniform(-1, 0.3)
        P, U, wp, wu = _problem(n_positive, n_unlabeled, n_centers, scale, seed, seed % 2)
        mixing = rng.normal(size=(n_centers, n_centers)) if seed % 3 else np.eye(n_centers)
        parts = P @ mixing, U @ mixing, wp, wu
        prior, alpha = rng.uniform(0.05, 0.95), 10.0 ** rng.uniform(-3, 1)
        result = minimize_risk(PUFeatures(*parts), loss, prior=prior, alpha=alpha, tol=1e-10)
        ours = _objective(*parts, loss, prior, alpha, result.x.coef, result.x.intercept)
        worst = max(worst, (ours - _generic(*parts, loss, prior, alpha)) / abs(ours))
    assert worst < 1e-8
