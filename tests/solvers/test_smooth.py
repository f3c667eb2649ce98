import threading
from dataclasses import replace

import numpy as np
import pytest

from bagwise import Bags, MIMLLogisticRegression
from bagwise.persist.checkpoints import opened
from bagwise.solvers import Control, Status, best_of, minimize_smooth


def rosenbrock(x):
    a, b = x
    value = (1 - a) ** 2 + 100 * (b - a * a) ** 2
    return value, np.array([-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)])


def test_the_minimum_is_found_and_the_value_never_increases():
    result = minimize_smooth(rosenbrock, np.array([-1.2, 1.0]), Control(1e-9, 500))
    assert result.status is Status.CONVERGED
    np.testing.assert_allclose(result.x, 1.0, atol=1e-6)
    assert (np.diff(result.history) <= 0).all()
    assert result.history[-1] == result.value and len(result.history) == result.n_iter + 1


def test_max_iter_is_not_convergence():
    result = minimize_smooth(rosenbrock, np.array([-1.2, 1.0]), Control(1e-9, 2))
    assert result.status is Status.MAX_ITER and not result.converged and result.n_iter == 2


def test_start_that_is_not_finite_is_reported():
    result = minimize_smooth(lambda x: (np.nan, x), np.zeros(2), Control(1e-6, 5))
    assert result.status is Status.NOT_FINITE


def test_a_stationary_start_needs_no_iteration():
    result = minimize_smooth(rosenbrock, np.ones(2), Control(1e-9, 5))
    assert result.status is Status.CONVERGED and result.n_iter == 0


@pytest.mark.parametrize("n_calls", [1, 2, 12])
def test_a_run_that_is_stopped_keeps_the_best_point_so_far(n_calls):
    calls, stop = [], threading.Event()

    def stopping(x):
        calls.append(x)
        if len(calls) == n_calls:
            stop.set()
        return rosenbrock(x)

    start = np.array([-1.2, 1.0])
    result = minimize_smooth(stopping, start, Control(1e-9, 500, stop=stop))
    assert result.status is Status.INTERRUPTED and not result.converged
    assert len(calls) == n_calls
    assert result.value == rosenbrock(result.x)[0] == min(rosenbrock(x)[0] for x in calls)


def test_a_second_interrupt_is_passed_on():
    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        minimize_smooth(interrupted, np.zeros(2), Control(1e-9, 500))


def test_run_ends_at_kinks_with_nonzero_gradients():
    def absolute(x):
        return np.abs(x - [1.0, 2.0]).sum() + 0.01 * (x @ x), np.sign(x - [1.0, 2.0]) + 0.02 * x

    result = minimize_smooth(absolute, np.zeros(2), Control(1e-6, 500), has_kinks=True)
    assert result.status is Status.CONVERGED
    assert result.value == pytest.approx(0.05, abs=1e-3)


def test_best_of_several_runs_is_finite_if_any_run_is_finite():
    runs = [minimize_smooth(lambda x: (np.nan, x), np.zeros(2), Control(1e-6, 5))]
    runs.append(minimize_smooth(rosenbrock, np.zeros(2), Control(1e-9, 100)))
    assert best_of(runs) is runs[1]


def test_better_point_of_a_failed_line_search_ends_the_history():
    rng = np.random.default_rng(4)
    X = np.clip(1e100 * rng.normal(size=(18, 40)), -3.4e38, 3.4e38).astype(np.float32)
    model = MIMLLogisticRegression(scale=None, n_init=1, random_state=0, tol=1e-3)
    model.fit(Bags(X, [0, 2, 5, 7, 9, 12, 15, 18]), [0, 1, 0, 1, 1, 0, 0])
    assert model.objective_ == model.objective_history_[-1] < model.objective_history_[0]


class CutOffError(Exception):
    """Raised to interrupt a run."""


# Without its pairs, a resumed L-BFGS run would lose up to fourteen evaluations, at any iteration.
def test_a_resumed_run_loses_at_most_a_few_evaluations(tmp_path):
    start, control = np.array([-1.2, 1.0]), Control(1e-8, 500)
    n, n_most = 0, np.inf

    def counted(x):
        nonlocal n
        n += 1
        if n > n_most:
            raise CutOffError
        return rosenbrock(x)

    def run(checkpoint):
        kept = replace(control, checkpoint=checkpoint)
        return minimize_smooth(counted, start, kept)

    def identity():
        return {"model": "Rosenbrock"}

    whole = minimize_smooth(counted, start, control)
    n_whole, n = n, 0
    with opened(tmp_path / "run", identity) as checkpoint:
        again = run(checkpoint)
    assert again.history == whole.history and (again.x == whole.x).all()
    for last in range(3, n_whole):
        n, n_most = 0, last
        with pytest.raises(CutOffError), opened(tmp_path / "run", identity) as checkpoint:
            run(checkpoint)
        n, n_most = 0, np.inf
        with opened(tmp_path / "run", identity) as checkpoint:
            result = run(checkpoint)
        assert result.converged and (np.diff(result.history) <= 0).all()
        np.testing.assert_allclose(result.x, 1.0, atol=1e-6)
        assert len(result.history) == result.n_iter + 1
        assert last + n <= n_whole + (10 if last < 0.75 * n_whole else 5)


def test_a_resumed_run_counts_the_iterations_before_it(tmp_path):
    def run(checkpoint):
        control = Control(1e-9, 5, checkpoint=checkpoint)
        return minimize_smooth(rosenbrock, np.array([-1.2, 1.0]), control)

    def identity():
        return {"model": "Rosenbrock"}

    for n_done in (2, 5):

        def stop(iteration, value, n_done=n_done):
            if iteration == n_done:
                raise CutOffError

        with pytest.raises(CutOffError), opened(tmp_path / "run", identity) as checkpoint:
            control = Control(1e-9, 5, stop, checkpoint=checkpoint)
            minimize_smooth(rosenbrock, np.array([-1.2, 1.0]), control)
        with opened(tmp_path / "run", identity) as checkpoint:
            result = run(checkpoint)
        assert result.status is Status.MAX_ITER and result.n_iter == 5
