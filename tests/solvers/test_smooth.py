import numpy as np
import pytest

from bagwise.solvers import Status, best_of, minimize_smooth


def rosenbrock(x):
    a, b = x
    value = (1 - a) ** 2 + 100 * (b - a * a) ** 2
    return value, np.array([-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)])


def rosenbrock_hessian_product(x, v):
    a, b = x
    H = np.array([[2 - 400 * b + 1200 * a * a, -400 * a], [-400 * a, 200.0]])
    return H @ v


@pytest.mark.parametrize("hessian_product", [None, rosenbrock_hessian_product])
def test_both_methods_find_the_minimum_and_never_rise(hessian_product):
    result = minimize_smooth(
        rosenbrock, np.array([-1.2, 1.0]), tol=1e-9, max_iter=500, hessian_product=hessian_product
    )
    assert result.status is Status.CONVERGED
    np.testing.assert_allclose(result.x, 1.0, atol=1e-6)
    assert (np.diff(result.history) <= 0).all()
    assert result.history[-1] == result.value and len(result.history) == result.n_iter + 1


def test_newton_leaves_a_saddle_by_negative_curvature():
    def saddle(x):
        return x[0] ** 2 - x[1] ** 2 + x[1] ** 4, np.array([2 * x[0], -2 * x[1] + 4 * x[1] ** 3])

    def curved(x, v):
        return np.array([2 * v[0], (-2 + 12 * x[1] ** 2) * v[1]])

    result = minimize_smooth(saddle, np.array([1.0, 1e-3]), tol=1e-9, max_iter=100, hessian_product=curved)
    assert result.value == pytest.approx(-0.25)


def test_max_iter_is_not_convergence():
    result = minimize_smooth(rosenbrock, np.array([-1.2, 1.0]), tol=1e-9, max_iter=2)
    assert result.status is Status.MAX_ITER and not result.converged and result.n_iter == 2


def test_a_start_that_is_not_finite_is_said_to_be_so():
    result = minimize_smooth(lambda x: (np.nan, x), np.zeros(2), tol=1e-6, max_iter=5)
    assert result.status is Status.NOT_FINITE


def test_a_stationary_start_needs_no_iteration():
    result = minimize_smooth(rosenbrock, np.ones(2), tol=1e-9, max_iter=5)
    assert result.status is Status.CONVERGED and result.n_iter == 0


def test_an_interrupt_keeps_the_best_point_so_far():
    calls = []

    def interrupted(x):
        calls.append(x)
        if len(calls) == 12:
            raise KeyboardInterrupt
        return rosenbrock(x)

    start = np.array([-1.2, 1.0])
    result = minimize_smooth(interrupted, start, tol=1e-9, max_iter=500)
    assert result.status is Status.INTERRUPTED
    assert result.value == min(rosenbrock(x)[0] for x in calls[:-1]) < rosenbrock(start)[0]


def test_kinks_end_the_run_where_gradients_do_not_vanish():
    def absolute(x):
        return np.abs(x - [1.0, 2.0]).sum() + 0.01 * (x @ x), np.sign(x - [1.0, 2.0]) + 0.02 * x

    result = minimize_smooth(absolute, np.zeros(2), tol=1e-6, max_iter=500, has_kinks=True)
    assert result.status is Status.CONVERGED
    assert result.value == pytest.approx(0.05, abs=1e-3)


def test_the_best_of_several_runs_is_finite_where_one_is():
    runs = [minimize_smooth(lambda x: (np.nan, x), np.zeros(2), tol=1e-6, max_iter=5)]
    runs.append(minimize_smooth(rosenbrock, np.zeros(2), tol=1e-9, max_iter=100))
    assert best_of(runs) is runs[1]
