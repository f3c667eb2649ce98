"""Steps on a single-precision copy: errors are estimated, and solutions have full precision."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import MILogisticRegression, MILogisticRegressionCV, Or, make_noisy_or_bags, milr_path
from bagwise.models.linear_model import cv
from bagwise.models.linear_model.engine import lasso
from bagwise.models.linear_model.engine.design import Design
from bagwise.models.linear_model.engine.fit import fit_null
from bagwise.models.linear_model.engine.lasso import ColumnCopy, LassoProblem
from bagwise.models.linear_model.engine.problem import InMemoryProblem
from bagwise.solvers.control import Control
from bagwise.solvers.quadratic import QuadraticModel
from bagwise.solvers.working_set import ElasticNet


@pytest.fixture(scope="module")
def data():
    """Return more than a megabyte of data, for which steps use a copy."""
    return make_noisy_or_bags(700, size=4, n_features=60, n_informative=6, random_state=0, intercept=-1.5)


def make_problem(X, offsets, seed=0, tol=1e-6, **scaling):
    rng = np.random.default_rng(seed)
    n_bags = len(offsets) - 1
    y = (rng.random(n_bags) < 0.5).astype(np.int8)
    bags = InMemoryProblem(Design(X, offsets, **scaling), y, rng.uniform(0.5, 1.5, n_bags), Or())
    return LassoProblem(bags, ColumnCopy.of(bags.design), tol=tol)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", ["normal", "binary", "skewed", "far from zero"])
@pytest.mark.parametrize("size", [1e-1, 1e-3])
def test_a_point_near_another_is_off_by_about_its_estimated_error(kind, size, fit_intercept):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6000, 30))
    if kind == "binary":
        X = (X > 1.5).astype(float)
    elif kind == "skewed":
        X = np.exp(X)
    elif kind == "far from zero":
        X += 5.0
    factor = 1 / X.std(axis=0)
    scaling = {"factor": factor, "shift": 0.1 - factor * X.mean(axis=0), "fit_intercept": fit_intercept}
    problem = make_problem(X, np.arange(0, 6001, 3), **scaling)
    free = np.append(np.ones(30), fit_intercept)
    x = np.append(0.1 * rng.normal(size=30), -2.0) * free
    start = problem.point(x)
    end = problem.point(x + size * rng.normal(size=31) / 6 * free, base=start)
    (exact,) = problem.exact([end])
    assert start.gradient_error == exact.gradient_error == 0
    assert problem.exact([start])[0] is start
    error = np.abs(end.gradient - exact.gradient).max()
    assert 0 < error < 4 * end.gradient_error < 1e4 * error
    assert end.value == pytest.approx(exact.value, rel=1e-5 * size)
    assert end.gradient[-1] == pytest.approx(exact.gradient[-1], rel=1e-4, abs=4 * end.gradient_error)
    assert (exact.gradient[-1] == 0) == (not fit_intercept) == (end.gradient[-1] == 0)


def test_errors_add_up_until_a_short_step_recomputes_the_point(data):
    problem = make_problem(np.array(data.bags.instances), data.bags.offsets, tol=1e-8)
    rng = np.random.default_rng(0)
    point = problem.point(np.zeros(61))
    errors = [0.0]
    for _ in range(20):
        point = problem.point(point.x + 0.1 * rng.normal(size=61), base=point)
        errors.append(point.gradient_error)
    assert (np.diff(errors) > 0).all() and errors[-1] > 1e-8  # long steps accumulate errors
    point = problem.point(point.x + 1e-7 * rng.normal(size=61), base=point)
    assert point.gradient_error == 0
    point = problem.point(point.x + 1e-7 * rng.normal(size=61), base=point)
    assert 0 < point.gradient_error < 1e-10


@pytest.mark.parametrize("column", [3.0, "huge", "tiny", "outlier", "far from zero"])
def test_there_is_no_copy_where_a_column_would_lose_its_digits(column):
    X = np.random.default_rng(0).normal(size=(50_000, 3))
    offsets = np.arange(50_001)
    assert ColumnCopy.of(Design(X, offsets)) is not None
    if column == "huge":
        X[:, 1] *= 1e150
    elif column == "tiny":
        X[:, 1] *= 1e-150
    elif column == "outlier":
        X[0, 1] = 1e6
    elif column == "far from zero":
        X[:, 1] += 3.0
    else:
        X[:, 1] = column
    assert ColumnCopy.of(Design(X, offsets)) is None


def test_what_is_sparse_or_small_or_large_is_not_copied(monkeypatch):
    X, offsets = np.random.default_rng(0).normal(size=(50_000, 3)), np.arange(50_001)
    assert ColumnCopy.of(Design(sp.csr_array(X), offsets)) is None
    assert ColumnCopy.of(Design(X[:100], offsets[:101])) is None
    monkeypatch.setattr(lasso, "COPY_BYTES", X.nbytes - 1)
    assert ColumnCopy.of(Design(X, offsets)) is None


def test_a_copy_is_scaled_whatever_the_order_of_the_instances(monkeypatch):
    monkeypatch.setattr(lasso, "_WORTH_BYTES", 0)
    X = np.random.default_rng(0).normal(size=(150, 5)) * 3
    factor, shift = np.linspace(0.5, 1.0, 5), np.linspace(-0.5, 0.5, 5)
    scaled = X * factor + shift
    for matrix in (X, np.asfortranarray(X)):
        copy = ColumnCopy.of(Design(matrix, np.arange(151), factor=factor, shift=shift))
        np.testing.assert_allclose(copy.matrix.T, scaled, rtol=1e-6, atol=1e-6)
        assert copy.rms == pytest.approx(np.sqrt(np.square(scaled).mean(axis=0).max()))


@pytest.mark.parametrize("storage", ["copied", "small", "sparse"])
def test_a_restricted_problem_is_the_problem_where_the_other_coefficients_are_zero(
    data, storage, monkeypatch
):
    if storage == "small":
        monkeypatch.setattr(lasso, "_WORTH_BYTES", np.inf)
    X = np.array(data.bags.instances)
    X = sp.csr_array(X) if storage == "sparse" else X
    scaling = {"factor": np.linspace(1, 2, 60), "shift": np.linspace(-0.4, 0.4, 60)}
    problem = make_problem(X, data.bags.offsets, **scaling)
    chosen, entries = np.array([1, 5, 40]), np.array([1, 5, 40, 60])
    part = problem.restrict(chosen)
    assert part.n_features == 3
    assert (part.bags is problem.bags) == (storage == "copied")
    x = np.zeros(61)
    x[entries] = 0.2, -0.1, 0.3, -1.0
    start = problem.point(x)
    assert part.enter(start).gradient.tolist() == start.gradient[entries].tolist()
    x = x + 0.01 * (x != 0)
    end = part.point(x[entries], base=part.enter(start))
    exact, exact_part = problem.point(x), part.point(x[entries])
    assert (end.gradient_error > 0) == (storage == "copied")
    assert exact_part.value == pytest.approx(exact.value, rel=1e-13)
    np.testing.assert_allclose(exact_part.gradient, exact.gradient[entries], rtol=1e-9, atol=1e-14)
    wide = part.lift(end, start)
    assert wide.gradient_error >= end.gradient_error
    np.testing.assert_array_equal(wide.x, x)
    np.testing.assert_allclose(wide.gradient, exact.gradient, atol=max(1e-13, 4 * wide.gradient_error))
    assert wide.log_likelihood == pytest.approx(exact.log_likelihood, rel=1e-9)
    hessian = problem.bags.curvature(exact, chosen)
    np.testing.assert_allclose(part.curvature(end, np.arange(3)), hessian, atol=0.05 * np.abs(hessian).max())
    assert problem.restrict(np.arange(40)) is problem  # too many columns for a copy
    assert problem.lift(start, start) is problem.enter(start) is start


def test_lifted_point_with_a_large_error_is_recomputed(data):
    problem = make_problem(np.array(data.bags.instances), data.bags.offsets, tol=1e-12)
    part = problem.restrict(np.array([0, 3]))
    start = problem.point(np.zeros(61))
    end = part.point(np.array([0.5, -0.5, -1.0]), base=part.enter(start))
    assert end.gradient_error > 1e-12
    assert part.lift(end, start).gradient_error == 0


def test_a_large_matrix_is_not_restricted_and_a_sparse_one_is(data, monkeypatch):
    monkeypatch.setattr("bagwise.models.linear_model.engine.design.COPY_BYTES", 0)
    monkeypatch.setattr(lasso, "COPY_BYTES", 0)
    X = np.array(data.bags.instances)
    for matrix, is_restricted in ((X, False), (sp.csr_array(X), True)):
        problem = make_problem(matrix, data.bags.offsets)
        assert (problem.restrict(np.array([2])) is not problem) == is_restricted


def _violation(problem, coef, intercept, penalty):
    return penalty.violation(problem.point(np.append(coef, intercept))).max()


def _exact_problem(data):
    design = Design(np.array(data.bags.instances), data.bags.offsets)
    return InMemoryProblem(design, data.y.astype(np.int8), np.ones(len(data.y)), Or())


@pytest.mark.parametrize("tol", [1e-5, 1e-9])
def test_a_path_is_optimal_to_its_tolerance_and_the_same_without_the_copy(tol, data, monkeypatch):
    path = milr_path(data.bags, data.y, alphas=8, tol=tol, scale=None)
    problem = _exact_problem(data)
    assert ColumnCopy.of(problem.design) is not None
    for alpha, coef, intercept, objective in zip(
        path.alphas, path.coefs, path.intercepts, path.objectives, strict=True
    ):
        penalty = ElasticNet(alpha / problem.total)
        assert _violation(problem, coef, intercept, penalty) <= tol * (1 + 1e-6)
        expected = alpha * np.abs(coef).sum() - problem.point(np.append(coef, intercept)).log_likelihood
        assert objective == pytest.approx(expected, rel=1e-13)
    monkeypatch.setattr(lasso, "_WORTH_BYTES", np.inf)
    plain = milr_path(data.bags, data.y, alphas=8, tol=tol, scale=None)
    np.testing.assert_allclose(path.objectives, plain.objectives, rtol=max(1e-12, tol**1.5))


@pytest.fixture
def bad_copies(monkeypatch):
    """Make copies wrong in the fourth digit, but let the estimated rounding errors be almost zero."""
    make = ColumnCopy.of.__func__

    def of(cls, design):
        copy = make(cls, design)
        rng = np.random.default_rng(0)
        noise = rng.normal(scale=1e-4, size=copy.matrix.shape).astype(np.float32)
        return replace(copy, matrix=copy.matrix + noise)

    monkeypatch.setattr(ColumnCopy, "of", classmethod(of))
    monkeypatch.setattr(ColumnCopy, "rounding", lambda self, norm: 1e-300)


@pytest.mark.usefixtures("bad_copies")
@pytest.mark.parametrize("l1_ratio", [1.0, 0.6])
def test_a_path_is_optimal_even_if_rounding_is_worse_than_estimated(data, l1_ratio):
    tol = 1e-7
    path = milr_path(data.bags, data.y, alphas=6, tol=tol, scale=None, l1_ratio=l1_ratio)
    assert path.kkt.max() <= tol
    problem = _exact_problem(data)
    for i, alpha in enumerate(path.alphas / problem.total):
        penalty = ElasticNet(alpha * l1_ratio, alpha * (1 - l1_ratio))
        violation = _violation(problem, path.coefs[i], path.intercepts[i], penalty)
        assert violation == pytest.approx(path.kkt[i], rel=1e-3, abs=1e-14)


@pytest.mark.usefixtures("bad_copies")
@pytest.mark.parametrize("warm_start", [False, True])
def test_a_fit_is_optimal_even_if_rounding_is_worse_than_estimated(data, warm_start):
    settings = {"alpha": 3.0, "scale": None, "n_init": 1, "tol": 1e-7, "random_state": 0}
    model = MILogisticRegression(**settings, warm_start=warm_start).fit(data.bags, data.y)
    if warm_start:
        model.set_params(alpha=2.0).fit(data.bags, data.y)
    assert model.converged_
    problem = _exact_problem(data)
    penalty = ElasticNet(model.alpha / problem.total)
    assert _violation(problem, model.coef_, model.intercept_, penalty) <= 1e-7 * (1 + 1e-6)


@pytest.mark.parametrize("n_points", [1, 7])
def test_several_points_at_once_are_those_computed_one_by_one(n_points, large_from):
    large_from(block_bytes=8 * 5 * 40)  # several blocks
    rng = np.random.default_rng(0)
    scaling = {"factor": 2.0, "shift": np.arange(5.0) / 9}
    problem = make_problem(rng.normal(size=(90, 5)), np.arange(0, 91, 3), **scaling).bags
    problem = InMemoryProblem(problem.design, problem.y, problem.weight, problem.rule, ridge=0.3)
    assert problem.blocks.n_blocks > 1
    xs = list(rng.normal(size=(n_points, 6)))
    for x, point in zip(xs, problem.points(xs), strict=True):
        alone = problem.point(x)
        assert point.value == pytest.approx(alone.value, rel=1e-13)
        assert point.log_likelihood == pytest.approx(alone.log_likelihood, rel=1e-13)
        np.testing.assert_allclose(point.gradient, alone.gradient, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(point.by_instance, alone.by_instance, rtol=1e-12)


def test_a_fit_gives_its_objective_to_all_digits(data):
    model = MILogisticRegression(alpha=3.0, scale=None, n_init=1, random_state=0).fit(data.bags, data.y)
    expected = 3.0 * np.abs(model.coef_).sum() - model.log_likelihood_
    assert model.objective_ == pytest.approx(expected, rel=1e-13)
    assert model.objective_history_[-1] == model.objective_
    assert (np.diff(model.objective_history_) <= 1e-9 * model.objective_).all()


def test_curvature_of_other_bags_helps_folds_and_does_not_change_them(data, monkeypatch):
    monkeypatch.setattr(cv, "_FOLD_TOL", 1e-9)
    settings = {"alphas": 8, "cv": 3, "tol": 1e-9, "random_state": 0}
    made = []
    of = QuadraticModel.of
    monkeypatch.setattr(QuadraticModel, "of", lambda *arguments: made.append(1) or of(*arguments))
    helped = MILogisticRegressionCV(**settings).fit(data.bags, data.y)
    n_helped = len(made)
    fit_path = cv.fit_path
    monkeypatch.setattr(
        cv, "fit_path", lambda *a, **options: fit_path(*a, **{**options, "warm_models": None})
    )
    alone = MILogisticRegressionCV(**settings).fit(data.bags, data.y)
    assert n_helped < len(made) - n_helped
    np.testing.assert_allclose(helped.deviances_, alone.deviances_, rtol=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_model_without_features_has_the_best_intercept(data, fit_intercept):
    problem = make_problem(np.array(data.bags.instances), data.bags.offsets, fit_intercept=fit_intercept).bags
    null = fit_null(problem, Control(1e-12, 200))
    assert not null[:-1].any()
    if not fit_intercept:
        assert null[-1] == 0
        return
    assert abs(problem.point(null).gradient[-1]) < 1e-11
    best = problem.point(null).log_likelihood
    for other in (null[-1] - 0.01, null[-1] + 0.01):
        assert problem.point(np.append(null[:-1], other)).log_likelihood < best
