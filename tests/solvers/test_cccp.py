import threading
from dataclasses import dataclass

import pytest

from bagwise.solvers.cccp import minimize_cccp
from bagwise.solvers.control import Control
from bagwise.solvers.result import Status


@dataclass
class Point:
    x: float
    value: float


class TwoWells:
    """min(|x - 1|, |x + 2| + 0.1) + x^2 / 20: each piece is one of the two."""

    wells = ((1.0, 0.0), (-2.0, 0.1))

    def __init__(self, error=0.0):
        self.error = error
        self.gaps = []

    def at(self, x):
        return Point(x, min(abs(x - c) + h for c, h in self.wells) + x**2 / 20)

    def linearize(self, point):
        return min((0, 1), key=lambda i: abs(point.x - self.wells[i][0]) + self.wells[i][1])

    def solve(self, piece, start, control):
        self.gaps.append(control.tol)
        return self.at(self.wells[piece][0] + (self.error if len(self.gaps) > 1 else 0.0))


def test_run_converges_to_the_local_optimum_of_the_start():
    for start, end in ((0.5, 1.0), (-3.0, -2.0)):
        problem = TwoWells()
        point = problem.at(start)
        result = minimize_cccp(problem, problem.linearize(point), point, Control(1e-6, 10))
        assert result.converged and result.x.x == end
        assert result.history[0] == point.value and result.value == result.history[-1]
        assert list(result.history) == sorted(result.history, reverse=True)


def test_only_the_first_step_is_rough_and_never_ends_the_run():
    problem = TwoWells()
    point = problem.at(0.5)
    minimize_cccp(problem, 0, point, Control(1e-6, 10))
    assert problem.gaps == [1e-2, 1e-6]


def test_step_that_increases_the_objective_is_rejected():
    problem = TwoWells(error=0.05)
    result = minimize_cccp(problem, 0, problem.at(0.5), Control(1e-6, 10))
    assert result.status is Status.STALLED  # the convex problem was not solved
    assert result.x.x == 1.0
    assert len(result.history) == 2


def test_iteration_limit_is_reported_as_status():
    problem = TwoWells()
    assert minimize_cccp(problem, 0, problem.at(0.5), Control(1e-6, 1)).status is Status.MAX_ITER


@pytest.mark.parametrize("n_steps", [0, 1])
def test_a_run_that_is_stopped_keeps_the_best_point_so_far(n_steps):
    problem, stop = TwoWells(), threading.Event()
    if n_steps == 0:
        stop.set()
    control = Control(1e-6, 9, lambda iteration, value: stop.set(), stop)
    result = minimize_cccp(problem, 0, problem.at(0.5), control)
    assert result.status is Status.INTERRUPTED and result.n_iter == n_steps
    assert result.value == pytest.approx(1 / 20 if n_steps else problem.at(0.5).value)


def test_interrupted_step_is_taken_if_it_decreases_the_objective():
    stop = threading.Event()

    class Stopped(TwoWells):
        def __init__(self, reached):
            super().__init__()
            self.reached = reached

        def solve(self, piece, start, control):
            stop.set()
            assert control.is_stopped, "a step must check the stop flag of the run"
            return self.at(self.reached)

    for reached, end in ((0.8, 0.8), (0.2, 0.5)):
        stop.clear()
        result = minimize_cccp(Stopped(reached), 0, TwoWells().at(0.5), Control(1e-6, 9, stop=stop))
        assert result.status is Status.INTERRUPTED and result.x.x == end
