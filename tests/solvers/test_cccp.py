from dataclasses import dataclass

import pytest

from bagwise.solvers.cccp import minimize_cccp
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

    def solve(self, piece, near, tol):
        self.gaps.append(tol)
        return self.at(self.wells[piece][0] + (self.error if len(self.gaps) > 1 else 0.0))


def test_it_ends_in_the_well_it_starts_from():
    for start, end in ((0.5, 1.0), (-3.0, -2.0)):
        problem = TwoWells()
        point = problem.at(start)
        found = minimize_cccp(problem, problem.linearize(point), point, tol=1e-6, max_iter=10)
        assert found.converged and found.x.x == end
        assert found.history[0] == point.value and found.value == found.history[-1]
        assert list(found.history) == sorted(found.history, reverse=True)


def test_only_the_first_step_is_rough_and_the_end_is_never_decided_on_it():
    problem = TwoWells()
    point = problem.at(0.5)
    minimize_cccp(problem, 0, point, tol=1e-6, max_iter=10)
    assert problem.gaps == [1e-2, 1e-6]


def test_a_step_that_would_let_the_objective_rise_is_not_taken():
    problem = TwoWells(error=0.05)
    found = minimize_cccp(problem, 0, problem.at(0.5), tol=1e-6, max_iter=10)
    assert found.converged
    assert found.x.x == 1.0
    assert len(found.history) == 2


def test_the_limit_and_an_interrupt_are_statuses():
    problem = TwoWells()
    assert minimize_cccp(problem, 0, problem.at(0.5), tol=1e-6, max_iter=1).status is Status.MAX_ITER

    def interrupt(number, value):
        raise KeyboardInterrupt

    found = minimize_cccp(problem, 0, problem.at(0.5), tol=1e-6, max_iter=9, on_iteration=interrupt)
    assert found.status is Status.INTERRUPTED
    assert found.value == pytest.approx(1 / 20)
