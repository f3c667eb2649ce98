"""The interior-point solver of the dual, compared with the pairwise solver."""

import threading
import time

import numpy as np
import pytest

from bagwise.solvers import Control, Status, enough_steps, interior, solve_dual, solve_dual_interior
from bagwise.solvers.interior import solve_dual_either_way


@pytest.mark.parametrize("rank", [2, 10, 60])
@pytest.mark.parametrize("seed", range(5))
def test_both_solvers_find_the_same_value(seed, rank):
    rng = np.random.default_rng(seed)
    n_points, n = 30, 50
    F = rng.normal(size=(n_points, rank))
    lower, upper = -rng.random(n), rng.random(n)
    share = rng.random()
    problem = {
        "q": rng.normal(size=n),
        "lower": lower,
        "upper": upper,
        "total": share * lower.sum() + (1 - share) * upper.sum(),
        "points": rng.integers(n_points, size=n),
    }
    ours = solve_dual_interior(F, **problem, control=Control(1e-10, 100))
    other = solve_dual(F @ F.T, **problem, control=Control(1e-10, enough_steps(n)))
    assert ours.converged
    assert ours.value == pytest.approx(other.value, rel=1e-8)
    assert ours.history[-1] == pytest.approx(ours.value, rel=1e-8), "the reported value must be the objective"
    assert ours.x.sum() == pytest.approx(problem["total"], abs=1e-9)
    assert (ours.x >= lower).all() and (ours.x <= upper).all()
    assert ours.value - ours.gap <= other.value + 1e-9 * abs(other.value)
    np.testing.assert_allclose(ours.product, F @ F.T @ np.bincount(problem["points"], ours.x, n_points))


def test_many_free_variables_of_low_rank_take_few_steps():
    """The pairwise solver needs millions of steps here: nearly all variables are free, with a low rank."""
    rng = np.random.default_rng(0)
    n = 400
    F = rng.normal(size=(n, 5))
    q = -F @ rng.normal(size=5) * 0.01
    box = {"lower": np.zeros(n), "upper": np.full(n, 1.0 / n), "total": 0.1, "points": np.arange(n)}
    result = solve_dual_interior(F, q, Control(1e-10, 100), **box)
    assert result.converged and result.n_iter < 40


@pytest.mark.parametrize("n_steps", [0, 1, 6])
def test_a_run_that_is_stopped_keeps_the_best_point_so_far(n_steps):
    rng = np.random.default_rng(0)
    n, stop = 40, threading.Event()
    if n_steps == 0:
        stop.set()
    problem = {"lower": np.zeros(n), "upper": np.ones(n), "total": 5.0, "points": np.arange(n)}
    control = Control(1e-14, 100, lambda step, value: stop.set() if step == n_steps else None, stop)
    result = solve_dual_interior(rng.normal(size=(n, 5)), rng.normal(size=n), control, **problem)
    assert result.status is Status.INTERRUPTED and result.n_iter == n_steps
    assert (result.x >= 0).all() and (result.x <= 1).all()


@pytest.mark.parametrize("C", [1.0, 1e5, 1e9])
def test_interior_point_method_converges_where_pairwise_steps_do_not(C):
    """With a large C and few features, the pairwise solver did not converge in ten million steps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    sign = np.where(rng.random(80) < 0.5, -1.0, 1.0)
    bounds = {"lower": np.minimum(C * sign, 0.0), "upper": np.maximum(C * sign, 0.0)}
    started = time.process_time()
    result = solve_dual_either_way(X @ X.T, -sign, Control(1e-6, 10_000_000), **bounds)
    assert time.process_time() - started < 5.0  # usually 0.1
    assert result.converged and abs(result.x.sum()) <= 1e-9 * C
    assert (bounds["lower"] <= result.x).all() and (result.x <= bounds["upper"]).all()
    # The primal objective of the same SVM is an upper bound of minus the dual.
    coef = result.x @ X
    primal = 0.5 * coef @ coef + C * np.maximum(0.0, 1.0 - sign * (X @ coef - result.multiplier)).sum()
    assert primal == pytest.approx(-result.value, rel=1e-5)


def test_solver_stalls_if_bounds_leave_no_significant_digits():
    """With C = 1e18 and inseparable labels, gradients of one are lost in sums of 1e18."""
    rng = np.random.default_rng(0)
    X, sign = rng.normal(size=(40, 3)), np.tile([-1.0, 1.0], 20)
    bound = sign * rng.uniform(1e18, 2e18, size=40)
    result = solve_dual_either_way(
        X @ X.T, -sign, Control(1e-6, 10_000_000), lower=np.minimum(bound, 0.0), upper=np.maximum(bound, 0.0)
    )
    assert result.status is Status.STALLED and result.n_iter <= 30_000


def test_both_methods_keep_fixed_variables(monkeypatch):
    monkeypatch.setattr(interior, "_LEAST_PAIRS", 1)
    rng = np.random.default_rng(1)
    X, sign = rng.normal(size=(12, 4)), np.tile([-1.0, 1.0], 6)
    lower, upper = np.minimum(50 * sign, 0.0), np.maximum(50 * sign, 0.0)
    lower[:2] = upper[:2] = [-3.0, 2.0]
    kernel, control = X @ X.T, Control(1e-9, 100_000)
    result = solve_dual_either_way(kernel, -sign, control, lower=lower, upper=upper)
    by_pairs = solve_dual(kernel, -sign, control, lower=lower, upper=upper)
    assert result.x[:2].tolist() == [-3.0, 2.0]
    assert result.value == pytest.approx(by_pairs.value, rel=1e-8)
