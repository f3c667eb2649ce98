"""The L1 solver on a minimal problem: least squares with adjustable errors."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet as ScikitLearnElasticNet

from bagwise.persist.checkpoints import opened
from bagwise.solvers.control import Control
from bagwise.solvers.prox_newton import finish, minimize_l1
from bagwise.solvers.quadratic import QuadraticModel
from bagwise.solvers.result import Status
from bagwise.solvers.working_set import ElasticNet, with_likely, working_set


class CutOffError(Exception):
    """Raised to interrupt a run."""


def identity():
    return {"model": "L1"}


@dataclass(frozen=True)
class Point:
    x: np.ndarray
    value: float
    gradient: np.ndarray
    is_exact: bool = True


class LeastSquares:
    """|A coef + intercept - b|^2 / 2n; gradients from a base have errors of `error` times the step."""

    has_kinks = False

    def __init__(self, A, b, error=0.0, restricts=True, whole=None, columns=None):
        self.A, self.b, self.error, self.restricts = A, b, error, restricts
        self.whole, self.columns = whole, columns
        self.Z = np.column_stack([A, np.ones(len(A))])
        self.n_features = A.shape[1]
        self.n_exact = self.n_curvatures = 0

    def point(self, x, base=None):
        residual = self.Z @ x - self.b
        gradient = self.Z.T @ residual / len(self.b)
        if base is not None and self.error:
            wrong = np.sin(np.arange(len(x)) + 1.0) * np.linalg.norm(x - base.x)
            return Point(x, 0.5 * residual @ residual / len(self.b), gradient + self.error * wrong, False)
        return Point(x, 0.5 * residual @ residual / len(self.b), gradient)

    def exact(self, points):
        self.n_exact += 1
        return [point if point.is_exact else self.point(point.x) for point in points]

    def curvature(self, point, columns):
        self.n_curvatures += 1
        entries = np.append(columns, self.n_features)
        return self.Z[:, entries].T @ self.Z[:, entries] / len(self.b)

    def restrict(self, columns):
        if not self.restricts or len(columns) == self.n_features:
            return self
        return LeastSquares(self.A[:, columns], self.b, self.error, whole=self, columns=columns)

    @property
    def entries(self):
        return np.append(self.columns, self.whole.n_features)

    def enter(self, point):
        if self.whole is None:
            return point
        return replace(point, x=point.x[self.entries], gradient=point.gradient[self.entries])

    def lift(self, point, base):
        if self.whole is None:
            return point
        x = np.zeros(self.whole.n_features + 1)
        x[self.entries] = point.x
        return self.whole.point(x, base if self.error else None)


@pytest.fixture
def problem_parts():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(80, 40)) + rng.normal(size=(80, 1))
    return A, A[:, :4] @ [2.0, -1.0, 1.0, 0.5] + rng.normal(size=80) + 3.0


@pytest.mark.parametrize("restricts", [True, False])
@pytest.mark.parametrize(("l1", "l2"), [(0.3, 0.0), (0.05, 0.0), (0.2, 0.4)])
def test_optimum_equals_the_elastic_net_of_scikit_learn(problem_parts, l1, l2, restricts):
    A, b = problem_parts
    problem = LeastSquares(A, b, restricts=restricts)
    start = problem.point(np.zeros(41))
    result = minimize_l1(problem, start, ElasticNet(l1, l2), Control(1e-10, 100))
    theirs = ScikitLearnElasticNet(alpha=l1 + l2, l1_ratio=l1 / (l1 + l2), tol=1e-14, max_iter=100_000)
    theirs.fit(A, b)
    assert result.converged and result.kkt <= 1e-10
    np.testing.assert_allclose(result.x, np.append(theirs.coef_, theirs.intercept_), atol=1e-7)
    assert (np.diff(result.history) <= 1e-12).all()
    assert result.value == pytest.approx(ElasticNet(l1, l2).objective(result.point), rel=1e-14)
    assert problem.n_exact == 0 or not restricts  # exact points are returned unchanged


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("error", [1e-3, 1e-1, 0.3])
def test_rough_points_do_not_change_the_optimum(problem_parts, error, is_read, tmp_path):
    A, b = problem_parts
    penalty, control = ElasticNet(0.1), Control(1e-9, 500)
    rough = LeastSquares(A, b, error)
    if is_read:
        # The point of a result from a checkpoint is exact, but it may not be optimal.
        with pytest.raises(CutOffError), opened(tmp_path / "run", identity) as checkpoint:
            minimize_l1(rough, np.zeros(41), penalty, replace(control, checkpoint=checkpoint))
            raise CutOffError
    with opened(tmp_path / "run" if is_read else None, identity) as checkpoint:
        kept = replace(control, checkpoint=checkpoint)
        result = minimize_l1(rough, np.zeros(41), penalty, kept)
        assert result.was_read == is_read
        ends = finish(rough, [result], kept)
    exact = LeastSquares(A, b)
    best = minimize_l1(exact, exact.point(np.zeros(41)), penalty, control)
    assert ends[0].converged and ends[0].point.is_exact and ends[0].kkt <= 1e-9
    np.testing.assert_allclose(ends[0].x, best.x, atol=1e-7)
    assert ends[0].history[-1] == ends[0].value and len(ends[0].history) == ends[0].n_iter + 1


@pytest.mark.parametrize("restricts", [False, True])
def test_a_resumed_run_loses_at_most_a_few_points(problem_parts, restricts, tmp_path):
    penalty, control = ElasticNet(0.01), Control(1e-9, 500)

    class Counted(LeastSquares):
        n_points, last = 0, np.inf

        def point(self, x, base=None):
            Counted.n_points += 1
            if Counted.n_points > Counted.last:
                raise CutOffError
            return super().point(x, base)

    problem = Counted(*problem_parts, restricts=restricts)
    whole = minimize_l1(problem, np.zeros(41), penalty, control)
    n_whole = Counted.n_points
    for last in range(2, n_whole):
        Counted.n_points, Counted.last = 0, last
        with pytest.raises(CutOffError), opened(tmp_path / "run", identity) as checkpoint:
            minimize_l1(problem, np.zeros(41), penalty, replace(control, checkpoint=checkpoint))
        Counted.n_points, Counted.last = 0, np.inf
        with opened(tmp_path / "run", identity) as checkpoint:
            result = minimize_l1(problem, np.zeros(41), penalty, replace(control, checkpoint=checkpoint))
        assert result.converged and result.value == pytest.approx(whole.value, rel=1e-12)
        np.testing.assert_allclose(result.x, whole.x, atol=1e-6)
        assert len(result.history) == result.n_iter + 1
        assert last + Counted.n_points <= n_whole + 5


def test_exact_results_are_finished(problem_parts):
    problem = LeastSquares(*problem_parts)
    control = Control(1e-6, 1)
    result = minimize_l1(problem, problem.point(np.zeros(41)), ElasticNet(0.01), control)
    assert result.status is Status.MAX_ITER
    assert finish(problem, [result], control) == [result]


def test_run_reuses_the_restriction_of_another_penalty(problem_parts):
    problem = LeastSquares(*problem_parts, restricts=False)
    control = Control(1e-9, 100)
    first = minimize_l1(problem, problem.point(np.zeros(41)), ElasticNet(0.1), control)
    n_before = problem.n_curvatures
    again = minimize_l1(problem, first, ElasticNet(0.1), control)
    assert again.n_iter == 0 and problem.n_curvatures == n_before
    near = minimize_l1(problem, first, ElasticNet(0.0999), control)
    assert near.converged and problem.n_curvatures == n_before


def test_warm_models_save_curvature_without_losing_accuracy(problem_parts):
    penalty, control = ElasticNet(0.1), Control(1e-9, 100)
    first = LeastSquares(*problem_parts)
    warm = minimize_l1(first, first.point(np.zeros(41)), penalty, control).warm_model
    cold = LeastSquares(*problem_parts, restricts=False)
    problem = LeastSquares(*problem_parts, restricts=False)
    expected = minimize_l1(cold, cold.point(np.zeros(41)), penalty, control)
    all_columns = warm._replace(columns=np.arange(40), model=expected.model)
    result = minimize_l1(problem, problem.point(np.zeros(41)), penalty, control, warm_models=[all_columns])
    assert problem.n_curvatures < cold.n_curvatures
    np.testing.assert_allclose(result.x, expected.x, atol=1e-7)


def test_stop_flag_ends_a_run_after_its_current_step(problem_parts):
    problem = LeastSquares(*problem_parts)
    control = Control(1e-12, 100)
    control = replace(control, on_iteration=lambda iteration, value: iteration == 2 and control.stop.set())
    result = minimize_l1(problem, problem.point(np.zeros(41)), ElasticNet(0.01), control)
    assert result.status is Status.INTERRUPTED and result.n_iter == 2
    assert result.value < result.history[0]


def test_iteration_limit_within_the_tolerance_counts_as_converged(problem_parts):
    problem, penalty = LeastSquares(*problem_parts), ElasticNet(0.1)
    whole = minimize_l1(problem, problem.point(np.zeros(41)), penalty, Control(1e-8, 100))
    last = penalty.violation(whole.point).max()
    # Steps aim at a smaller violation, but convergence only requires the tolerance.
    limited = minimize_l1(problem, whole, penalty, Control(2 * last, 0))
    assert limited.status is Status.CONVERGED and limited.n_iter == 0


def test_function_without_a_finite_value_is_reported(problem_parts):
    A, b = problem_parts
    problem = LeastSquares(A, b)
    start = replace(problem.point(np.zeros(41)), value=np.inf)
    result = minimize_l1(problem, start, ElasticNet(0.1), Control(1e-6, 10))
    assert result.status is Status.NOT_FINITE and result.n_iter == 0


def test_optimality_conditions_of_elastic_net_equal_those_of_its_parts():
    point = Point(np.array([1.0, -2.0, 0.0, 0.0, 5.0]), 0.0, np.array([0.5, 0.5, 0.2, -1.5, 0.25]))
    violation = ElasticNet(1.0, 0.5).violation(point)
    # 0.5 + 0.5 + 1; 0.5 - 1 - 1; inside; 1.5 - 1; free
    np.testing.assert_allclose(violation, [2.0, 1.5, 0.0, 0.5, 0.25])
    assert ElasticNet(1.0, 0.5).value(point.x) == pytest.approx(3.0 + 0.25 * 5.0)


def test_working_sets_contain_nonzero_and_worst_columns():
    x = np.zeros(101)
    x[7] = 1.0
    violation = np.append(np.linspace(0, 1, 100), 0.0)
    columns = working_set(x, violation, 0.5)
    assert columns.tolist() == [7, *range(80, 100)]  # twenty columns can always be added
    point = Point(x, 0.0, -violation)
    assert with_likely(point, np.array([3]), 0.9).tolist() == [3, *range(90, 100)]


def test_nearly_convex_curvature_is_made_convex():
    vectors, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))
    for least, is_convex in ((0.1, True), (-0.002, True), (-0.5, False)):
        H = (vectors * [least, 1.0, 1.0, 1.0, 1.0]) @ vectors.T
        model = QuadraticModel.of(H, np.arange(4), 4)
        assert model.is_convex == is_convex
        if is_convex:
            np.testing.assert_allclose(model.H, H, atol=0.05)
            assert np.linalg.eigvalsh(model.H).min() > 0
        else:
            np.testing.assert_array_equal(model.H, H)
