"""Steps in single precision: their errors are accounted for, and what is found is right to all digits."""

from dataclasses import replace

import numpy as np
import pytest

from bagwise import MILogisticRegression, MILogisticRegressionCV, Or, make_noisy_or_bags, milr_path
from bagwise.linear_model import cv, single
from bagwise.linear_model.design import Design
from bagwise.linear_model.problem import LinearBagProblem
from bagwise.linear_model.single import Rounding, SingleCopy
from bagwise.solvers.quadratic import QuadraticModel
from bagwise.solvers.working_set import kkt_violation


@pytest.fixture(scope="module")
def data():
    """More than a megabyte, so that steps are worth a copy."""
    return make_noisy_or_bags(700, size=4, n_features=60, n_informative=6, random_state=0, intercept=-1.5)


def make_problem(X, offsets, seed=0, **scaling):
    rng = np.random.default_rng(seed)
    n_bags = len(offsets) - 1
    y = (rng.random(n_bags) < 0.5).astype(np.int8)
    return LinearBagProblem(Design(X, offsets, **scaling), y, rng.uniform(0.5, 1.5, n_bags), Or(), ridge=0.1)


@pytest.mark.parametrize("kind", ["normal", "binary", "skewed", "far from zero"])
@pytest.mark.parametrize("size", [1e-1, 1e-3])
def test_a_point_near_another_is_off_by_its_drift_at_most(kind, size):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6000, 30))
    if kind == "binary":
        X = (X > 1.5).astype(float)
    elif kind == "skewed":
        X = np.exp(X)
    elif kind == "far from zero":
        X += 5.0
    factor = 1 / X.std(axis=0)
    problem = make_problem(X, np.arange(0, 6001, 3), factor=factor, shift=0.1 - factor * X.mean(axis=0))
    theta = np.append(0.1 * rng.normal(size=30), -2.0)
    start = problem.point(theta)
    end = problem.point(theta + size * rng.normal(size=31) / 6, near=start)
    sharp = problem.sharpened(end)
    assert start.drift == sharp.drift == 0
    error = np.abs(end.gradient - sharp.gradient).max()
    assert 0 < error < end.drift < 1e4 * error
    assert end.value == pytest.approx(sharp.value, rel=1e-5 * size)
    # What was seen makes the next estimate closer, little by little.
    again = problem.point(end.theta, near=start)
    assert again.drift == pytest.approx(max(1.5 * error, end.drift / 4), rel=1e-6)


def test_rounding_is_assumed_large_until_it_is_seen():
    rounding = Rounding()
    before = rounding.of(1.0)
    rounding.see(0.001)
    assert rounding.of(1.0) == pytest.approx(before / 4)  # little by little
    rounding.see(2.0)
    assert rounding.of(1.0) == pytest.approx(1.5 * 2.0 * before / 4)


@pytest.mark.parametrize("column", [3.0, "huge", "tiny", "outlier", "far from zero"])
def test_there_is_no_copy_where_a_column_would_lose_its_digits(column):
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    assert SingleCopy.of(X, np.ones(3), np.zeros(3)) is not None
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
    assert SingleCopy.of(X, np.ones(3), np.zeros(3)) is None


def test_a_copy_is_scaled_whatever_the_order_of_the_instances():
    X = np.random.default_rng(0).normal(size=(150, 5)) * 3
    factor, shift = np.linspace(0.5, 1.0, 5), np.linspace(-0.5, 0.5, 5)
    scaled = X * factor + shift
    for matrix in (X, np.asfortranarray(X)):
        copy = SingleCopy.of(matrix, factor, shift)
        np.testing.assert_allclose(copy.matrix.T, scaled, rtol=1e-6, atol=1e-6)
        assert copy.reach == pytest.approx(np.sqrt(np.square(scaled).mean(axis=0).max()))


def test_a_narrowed_problem_takes_steps_like_the_whole(monkeypatch, data):
    monkeypatch.setattr(single, "_WORTH_BYTES", 0)
    scaling = {"factor": np.linspace(1, 2, 60), "shift": np.linspace(-0.4, 0.4, 60)}
    problem = make_problem(np.array(data.bags.instances), data.bags.offsets, **scaling)
    columns, entries = np.array([1, 5, 40]), np.array([1, 5, 40, 60])
    narrow = problem.narrowed(columns)
    assert np.shares_memory(narrow.design.X, problem.design.X)
    theta = np.zeros(61)
    theta[entries] = 0.2, -0.1, 0.3, -1.0
    start, narrow_start = problem.point(theta), narrow.point(theta[entries])
    theta[entries] += 0.01
    end = narrow.point(theta[entries], near=narrow_start)
    sharp = problem.point(theta)
    assert end.drift > 0
    for alpha, drift, is_rough in ((1.0, 1.0, True), (1e-12, 1.0, False), (1.0, 0.0, False)):
        wide = problem.widen(end, entries, start, alpha=alpha, drift=drift)
        assert (wide.drift > end.drift) == is_rough
        assert (wide.drift == 0) == (drift == 0)  # computed anew
        np.testing.assert_allclose(wide.gradient, sharp.gradient, atol=max(wide.drift, end.drift))
        np.testing.assert_array_equal(wide.theta, theta)
    rough = narrow.curvature_at(narrow_start, np.arange(3), rough=True)
    exact = problem.curvature_at(start, columns)
    np.testing.assert_allclose(narrow.curvature_at(narrow_start, np.arange(3)), exact, rtol=1e-9)
    np.testing.assert_allclose(rough, exact, atol=0.05 * np.abs(exact).max())


@pytest.mark.parametrize("tol", [1e-5, 1e-9])
def test_a_path_is_optimal_to_its_tolerance_and_the_same_without_the_copy(tol, data, monkeypatch):
    path = milr_path(data.bags, data.y, alphas=8, tol=tol, scale=None)
    design = Design(np.array(data.bags.instances), data.bags.offsets)
    assert design.single.is_worth_steps
    problem = LinearBagProblem(design, data.y.astype(np.int8), np.ones(len(data.y)), Or())
    for alpha, coef, intercept, objective in zip(
        path.alphas, path.coefs, path.intercepts, path.objectives, strict=True
    ):
        theta = np.append(coef, intercept)
        point = problem.point(theta)
        assert kkt_violation(point.gradient, theta, alpha / problem.total).max() <= tol * (1 + 1e-6)
        expected = alpha * np.abs(coef).sum() - point.log_likelihood
        assert objective == pytest.approx(expected, rel=1e-13)
    monkeypatch.setattr(single, "_WORTH_BYTES", np.inf)
    plain = milr_path(data.bags, data.y, alphas=8, tol=tol, scale=None)
    np.testing.assert_allclose(path.objectives, plain.objectives, rtol=max(1e-12, tol**1.5))


@pytest.fixture
def bad_copies(monkeypatch):
    """Copies that are wrong in the fourth digit, while rounding is believed to be nothing."""
    make = SingleCopy.of.__func__

    def of(cls, X, factor, shift):
        copy = make(cls, X, factor, shift)
        rng = np.random.default_rng(0)
        noise = rng.normal(scale=1e-4, size=copy.matrix.shape).astype(np.float32)
        return replace(copy, matrix=copy.matrix + noise)

    monkeypatch.setattr(SingleCopy, "of", classmethod(of))
    monkeypatch.setattr(Rounding, "of", lambda self, terms: 1e-300)


@pytest.mark.usefixtures("bad_copies")
@pytest.mark.parametrize("l1_ratio", [1.0, 0.6])
def test_a_path_is_optimal_even_if_rounding_is_worse_than_estimated(data, l1_ratio):
    tol = 1e-7
    path = milr_path(data.bags, data.y, alphas=6, tol=tol, scale=None, l1_ratio=l1_ratio)
    assert path.kkt.max() <= tol
    design = Design(np.array(data.bags.instances), data.bags.offsets).in_double()
    problem = LinearBagProblem(design, data.y.astype(np.int8), np.ones(len(data.y)), Or())
    for number, alpha in enumerate(path.alphas / problem.total):
        theta = np.append(path.coefs[number], path.intercepts[number])
        problem.ridge = alpha * (1 - l1_ratio)
        violation = kkt_violation(problem.point(theta).gradient, theta, alpha * l1_ratio)
        assert violation.max() == pytest.approx(path.kkt[number], rel=1e-3, abs=1e-12)


@pytest.mark.usefixtures("bad_copies")
@pytest.mark.parametrize("warm_start", [False, True])
def test_a_fit_is_optimal_even_if_rounding_is_worse_than_estimated(data, warm_start):
    settings = {"alpha": 3.0, "scale": None, "n_init": 1, "tol": 1e-7, "random_state": 0}
    model = MILogisticRegression(**settings, warm_start=warm_start).fit(data.bags, data.y)
    if warm_start:
        model.set_params(alpha=2.0).fit(data.bags, data.y)
    assert model.converged_
    design = Design(np.array(data.bags.instances), data.bags.offsets).in_double()
    problem = LinearBagProblem(design, data.y.astype(np.int8), np.ones(len(data.y)), Or())
    theta = np.append(model.coef_, model.intercept_)
    violation = kkt_violation(problem.point(theta).gradient, theta, model.alpha / problem.total)
    assert violation.max() <= 1e-7 * (1 + 1e-6)


@pytest.mark.parametrize("n_parameters", [1, 7])
def test_likelihoods_of_several_parameters_are_those_of_each(n_parameters, monkeypatch):
    monkeypatch.setattr("bagwise.linear_model.design._BLOCK_BYTES", 8 * 5 * 40)  # several blocks
    rng = np.random.default_rng(0)
    problem = make_problem(
        rng.normal(size=(90, 5)), np.arange(0, 91, 3), factor=2.0, shift=np.arange(5.0) / 9
    )
    assert len(problem.design.blocks) > 1
    problem.ridge = 0.0
    thetas = rng.normal(size=(n_parameters, 6))
    values, gradients = problem.likelihoods(thetas)
    for theta, value, gradient in zip(thetas, values, gradients, strict=True):
        point = problem.point(theta)
        assert value == pytest.approx(point.log_likelihood, rel=1e-13)
        np.testing.assert_allclose(gradient, point.gradient, rtol=1e-12, atol=1e-15)


def test_a_fit_gives_its_objective_to_all_digits(data):
    model = MILogisticRegression(alpha=3.0, scale=None, n_init=1, random_state=0).fit(data.bags, data.y)
    expected = 3.0 * np.abs(model.coef_).sum() - model.log_likelihood_
    assert model.objective_ == pytest.approx(expected, rel=1e-13)
    assert model.objective_history_[-1] == model.objective_


def test_curvature_of_other_bags_guides_folds_and_does_not_change_them(data, monkeypatch):
    monkeypatch.setattr(cv, "_FOLD_TOL", 1e-9)
    settings = {"alphas": 8, "cv": 3, "tol": 1e-9, "random_state": 0}
    looks = []
    at = QuadraticModel.at
    monkeypatch.setattr(QuadraticModel, "at", lambda *arguments: looks.append(1) or at(*arguments))
    guided = MILogisticRegressionCV(**settings).fit(data.bags, data.y)
    n_guided = len(looks)
    fit_path = cv.fit_path
    monkeypatch.setattr(cv, "fit_path", lambda *a, **how: fit_path(*a, **{**how, "guides": None}))
    alone = MILogisticRegressionCV(**settings).fit(data.bags, data.y)
    assert n_guided < len(looks) - n_guided
    np.testing.assert_allclose(guided.deviances_, alone.deviances_, rtol=1e-6)


class Quadratic:
    """A smooth part whose curvature is a given matrix."""

    def __init__(self, H):
        self.H = H

    def curvature_at(self, point, columns, *, rough):
        return self.H


def test_a_curvature_that_is_nearly_convex_is_made_so():
    vectors, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))
    point = type("Point", (), {"theta": np.zeros(5)})
    for least, is_convex in ((0.1, True), (-0.002, True), (-0.5, False)):
        H = (vectors * [least, 1.0, 1.0, 1.0, 1.0]) @ vectors.T
        model = QuadraticModel.at(Quadratic(H), point, np.arange(4))
        assert model.is_convex == is_convex
        if is_convex:
            np.testing.assert_allclose(model.H, H, atol=0.05)
            assert np.linalg.eigvalsh(model.H).min() > 0
        else:
            np.testing.assert_array_equal(model.H, H)
