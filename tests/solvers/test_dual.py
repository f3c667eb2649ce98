import threading

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from bagwise.solvers.control import Control
from bagwise.solvers.dual import enough_steps, solve_dual
from bagwise.solvers.result import Status
from bagwise.solvers.rows import DenseRows, RowCache

STEPS = enough_steps(1000)


def oracle(Q, q, lower, upper, total):
    """Return the minimum from a generic interior-point solver."""
    n = len(q)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = 1e-11
    A = sp.csc_matrix(np.vstack([np.ones((1, n)), np.eye(n), -np.eye(n)]))
    b = np.concatenate([[total], upper, -lower])
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]
    P = sp.csc_matrix(np.triu(Q))
    return clarabel.DefaultSolver(P, q, A, b, cones, settings).solve().obj_val


def random_problem(seed, n=40, n_points=None):
    """Return a problem with any linear term, bounds of any sign and a feasible total; K can be singular."""
    rng = np.random.default_rng(seed)
    n_points = n if n_points is None else n_points
    factor = rng.normal(size=(n_points, rng.integers(2, n_points + 1)))
    ends = np.sort(rng.normal(size=(2, n)), axis=0)
    share = rng.random()
    return {
        "kernel": factor @ factor.T,
        "q": rng.normal(size=n),
        "lower": ends[0],
        "upper": ends[1],
        "total": share * ends[0].sum() + (1 - share) * ends[1].sum(),
        "points": rng.integers(n_points, size=n),
    }


def value(problem, u):
    Q = problem["kernel"][np.ix_(problem["points"], problem["points"])]
    return 0.5 * u @ Q @ u + problem["q"] @ u


@pytest.mark.parametrize("seed", range(12))
def test_random_problems_reach_the_value_of_a_generic_solver(seed):
    problem = random_problem(seed, n_points=25 if seed % 2 else 40)
    result = solve_dual(**problem, control=Control(1e-9, STEPS))
    assert result.status is Status.CONVERGED
    Q = problem["kernel"][np.ix_(problem["points"], problem["points"])]
    best = oracle(Q, problem["q"], problem["lower"], problem["upper"], problem["total"])
    scale = abs(value(problem, result.x)) + abs(problem["q"] @ result.x)
    assert result.value == pytest.approx(value(problem, result.x), rel=1e-10, abs=1e-10 * scale)
    assert result.value == pytest.approx(best, rel=1e-6, abs=1e-7 * scale)
    assert result.x.sum() == pytest.approx(problem["total"], abs=1e-9)
    assert (result.x >= problem["lower"]).all() and (result.x <= problem["upper"]).all()


def test_the_gap_bounds_the_distance_to_the_optimum_at_every_accuracy():
    problem = random_problem(3, n=60)
    best = solve_dual(**problem, control=Control(1e-12, STEPS)).value
    for tol in (1e-1, 1e-2, 1e-3, 1e-5):
        result = solve_dual(**problem, control=Control(tol, STEPS))
        assert best - 1e-9 <= result.value <= best + result.gap + 1e-9
        assert (np.diff(result.history) <= 1e-10).all()


@pytest.mark.parametrize("seed", range(3))
def test_multiplier_and_product_satisfy_the_optimality_conditions(seed):
    problem = random_problem(seed)
    result = solve_dual(**problem, control=Control(1e-12, STEPS))
    gathered = np.bincount(problem["points"], weights=result.x, minlength=40)
    np.testing.assert_allclose(result.product, problem["kernel"] @ gathered, atol=1e-8)
    reduced = result.product[problem["points"]] + problem["q"] - result.multiplier
    inside = (result.x > problem["lower"]) & (result.x < problem["upper"])
    assert inside.any()
    np.testing.assert_allclose(reduced[inside], 0.0, atol=1e-5)
    assert (reduced[result.x == problem["lower"]] > -1e-5).all()
    assert (reduced[result.x == problem["upper"]] < 1e-5).all()


@pytest.mark.parametrize("max_rows", [2, 7, 40])
def test_rows_on_demand_equal_those_of_the_full_matrix(max_rows):
    problem = random_problem(5)
    K = problem["kernel"]
    asked = []

    def compute(points):
        asked.append(len(points))
        return K[points]

    cache = RowCache(compute, K.diagonal(), max_bytes=8 * 40 * max_rows)
    result = solve_dual(**{**problem, "kernel": cache}, control=Control(1e-9, STEPS))
    assert result.value == pytest.approx(solve_dual(**problem, control=Control(1e-9, STEPS)).value, rel=1e-7)
    assert cache.kept.shape == (max_rows, 40)
    assert max(asked) <= max_rows
    if max_rows == 40:
        assert sum(asked) <= 40, "a kept row was computed again"


def test_the_cache_drops_the_row_that_was_used_least_recently():
    K = np.arange(16.0).reshape(4, 4)
    asked = []

    def compute(points):
        asked.extend(points.tolist())
        return K[points]

    cache = RowCache(compute, K.diagonal(), max_bytes=2 * 4 * 8)
    for points in ([0], [1], [0], [2], [0]):
        np.testing.assert_array_equal(cache.rows(np.array(points)), K[points])
    assert asked == [0, 1, 2]
    cache.rows(np.array([1]))
    assert asked == [0, 1, 2, 1]
    cache.forget(np.array([1]))
    cache.rows(np.array([1, 1]))
    assert asked == [0, 1, 2, 1, 1]


def svm(n, seed=0, C=10.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n) > 1, 1.0, -1.0)
    bound = C * rng.uniform(0.2, 1.0, size=n)
    limits = {"lower": np.where(y > 0, 0.0, -bound), "upper": np.where(y > 0, bound, 0.0)}
    return rbf_kernel(X, gamma=0.1), y, bound, limits


def test_weighted_svm_equals_that_of_libsvm():
    K, y, bound, limits = svm(300)
    result = solve_dual(K, -y, **limits, control=Control(1e-10, STEPS))
    theirs = SVC(C=1.0, kernel="precomputed", tol=1e-8).fit(K, y, sample_weight=bound)
    np.testing.assert_allclose(result.product - result.multiplier, theirs.decision_function(K), atol=1e-5)


def test_large_problem_is_split_into_working_sets_and_reaches_the_gap(monkeypatch):
    monkeypatch.setattr("bagwise.solvers.dual._SMALL", 50)
    K, y, _, limits = svm(400)
    result = solve_dual(K, -y, **limits, control=Control(1e-8, STEPS))
    whole = solve_dual(DenseRows(K), -y, **limits, control=Control(1e-12, STEPS))
    assert result.converged
    assert whole.value <= result.value + 1e-9
    assert result.value == pytest.approx(whole.value, rel=1e-7)


def test_a_warm_start_saves_steps_and_its_sum_is_repaired():
    K, y, _, limits = svm(300)
    cold = solve_dual(K, -y, **limits, control=Control(1e-6, STEPS))
    near = {**limits, "upper": 0.98 * limits["upper"]}
    again = solve_dual(K, -y, **near, control=Control(1e-6, STEPS))
    warm = solve_dual(K, -y, **near, control=Control(1e-6, STEPS), start=cold.x, product=cold.product)
    assert warm.value == pytest.approx(again.value, rel=1e-5)
    assert warm.n_iter < 0.5 * again.n_iter
    assert warm.x.sum() == pytest.approx(0.0, abs=1e-9)
    # a product that is not passed is computed
    unsaid = solve_dual(K, -y, **near, control=Control(1e-6, STEPS), start=cold.x)
    np.testing.assert_allclose(unsaid.x, warm.x, atol=1e-6)


def test_positive_unlabelled_problem_with_total_and_two_variables_per_point():
    """PU-SKC: u, v in [0, 1/(2N)], sum(u + v) = pi, cost v - u, on one Gram matrix."""
    rng = np.random.default_rng(0)
    K = rbf_kernel(rng.normal(size=(20, 3)))
    q = np.repeat([-1.0, 1.0], 20) + np.tile(-K.mean(axis=1), 2)
    bounds = {"lower": np.zeros(40), "upper": np.full(40, 1 / 40)}
    result = solve_dual(
        K, q, **bounds, total=0.3, points=np.tile(np.arange(20), 2), control=Control(1e-9, STEPS)
    )
    best = oracle(np.tile(K, (2, 2)), q, bounds["lower"], bounds["upper"], 0.3)
    assert result.value == pytest.approx(best, abs=1e-8)
    u, v = result.x[:20], result.x[20:]
    assert (v[u < 1 / 40 - 1e-9] < 1e-9).all()


def test_fixed_variables_and_empty_boxes_are_accepted():
    K = np.eye(3)
    result = solve_dual(
        K, np.zeros(3), Control(1e-6, STEPS), lower=np.array([0.5, -1, -1]), upper=np.array([0.5, 1, 1])
    )
    np.testing.assert_allclose(result.x, [0.5, -0.25, -0.25])
    stuck = solve_dual(K, np.ones(3), Control(1e-6, STEPS), lower=np.zeros(3), upper=np.zeros(3))
    assert stuck.converged and stuck.value == 0.0 and stuck.gap == 0.0


def test_step_limit_is_reported_as_status():
    K, y, _, limits = svm(200)
    result = solve_dual(K, -y, **limits, control=Control(1e-12, 10))
    assert result.status is Status.MAX_ITER and result.n_iter == 10
    assert np.isfinite(result.gap)


@pytest.mark.parametrize("n_sets", [0, 1, 3])
def test_a_run_that_is_stopped_keeps_a_feasible_point(n_sets, monkeypatch):
    monkeypatch.setattr("bagwise.solvers.dual._SMALL", 20)
    K, y, _, limits = svm(200)
    stop, values = threading.Event(), []
    if n_sets == 0:
        stop.set()

    def after_a_set(steps, value):
        values.append(value)
        if len(values) == n_sets:
            stop.set()

    result = solve_dual(K, -y, Control(1e-12, STEPS, after_a_set, stop), **limits)
    assert result.status is Status.INTERRUPTED and len(values) == n_sets
    assert result.value == pytest.approx(0.5 * result.x @ K @ result.x - y @ result.x, abs=1e-9)
    assert result.x.sum() == pytest.approx(0.0, abs=1e-9)
    assert (result.x >= limits["lower"]).all() and (result.x <= limits["upper"]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"total": 99.0}, "total=99.0 is infeasible"),
        ({"lower": np.array([2.0, 0, 0])}, "lower must be <= upper; it is greater at index 0"),
        ({"points": np.array([0, 1, 3])}, "points must contain, for each of the"),
        ({"upper": np.ones(2)}, "must be 1-D arrays of the same length"),
        ({"kernel": np.ones((3, 2))}, "kernel must be a square matrix"),
    ],
)
def test_inconsistent_arguments_are_refused(change, message):
    problem = {"kernel": np.eye(3), "q": np.zeros(3), "lower": np.zeros(3), "upper": np.ones(3)}
    with pytest.raises(ValueError, match=message):
        solve_dual(control=Control(1e-6, STEPS), **{**problem, **change})


@pytest.mark.parametrize("seed", range(20))
def test_tolerance_below_rounding_stalls_instead_of_looping(seed):
    problem = random_problem(seed)
    reached = solve_dual(**problem, control=Control(1e-10, STEPS))
    result = solve_dual(**problem, control=Control(1e-300, STEPS))
    assert result.status in (Status.CONVERGED, Status.STALLED)
    assert result.value <= reached.value + 1e-12 * abs(reached.value)
    assert len(result.history) < 200


def test_working_sets_of_single_steps_respect_the_limit(monkeypatch):
    import bagwise._core.compiled.dual as kernels

    problem = random_problem(0)
    monkeypatch.setattr(kernels, "pair_steps", one_step_at_a_time(kernels.pair_steps))
    result = solve_dual(control=Control(1e-12, 75), **problem)
    assert result.status is Status.MAX_ITER and result.n_iter == 75
    assert len(result.history) <= 1 + 75 // 25


def one_step_at_a_time(pair_steps):
    """Stop every working set after one step, as if rounding errors prevented progress."""

    def steps(*arguments):
        *rest, budget = arguments
        return pair_steps(*rest, min(1, budget))

    return steps


@pytest.mark.parametrize("seed", range(10))
def test_multiplier_ignores_rounding_if_all_variables_are_at_bounds(seed):
    """The sums of bounds differ in the last digit, so that one variable stays inside its bounds."""
    rng = np.random.default_rng(seed)
    y = np.repeat([1.0, -1.0], [3, 7])
    K = rbf_kernel(rng.normal(size=(10, 2)))
    bound = 0.01 * np.where(y > 0, 1 / 3, 1 / 7)
    result = solve_dual(
        K, -y, Control(1e-9, STEPS), lower=np.minimum(y * bound, 0), upper=np.maximum(y * bound, 0)
    )
    np.testing.assert_allclose(result.x, y * bound, rtol=1e-12)
    gradient = result.product - y
    assert result.multiplier == pytest.approx((gradient[y > 0].max() + gradient[y < 0].min()) / 2, abs=1e-12)
    assert result.gap < 1e-9 * 0.02
