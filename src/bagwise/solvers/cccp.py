"""Concave-convex procedure (CCCP): minimize a sequence of convex upper bounds of the objective."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, TypeVar

from bagwise.solvers.control import Control
from bagwise.solvers.result import SolverResult, Status


class Iterate(Protocol):
    """Point of a concave-convex problem. Problems can add their own attributes."""

    @property
    def value(self) -> float:
        """Value of the objective at the point."""


Point = TypeVar("Point", bound=Iterate)


class ConcaveConvexProblem(Protocol[Point]):
    """Objective that becomes convex when its concave parts are replaced by linear functions.

    A *piece* specifies the linear functions: for `min(a, b)`, one of the two. Pieces are compared with
    ``==``.
    """

    def linearize(self, point: Point) -> Any:
        """Return the piece that touches the objective at a point."""

    def solve(self, piece: Any, start: Point, control: Control) -> Point:
        """Minimize the convex function of a piece to the relative gap `control.tol`, starting at `start`.

        If the run is stopped, return the current point. Ignore `control.max_iter`.
        """


# Relative gap of the first step. The first step is used to find the next piece, so an accurate minimum is not
# needed.
_ROUGH = 1e-2
# If the objective increases by more than this multiple of the tolerance, rounding errors are assumed to have
# prevented an accurate solution of the convex problem.
_RISE = 100.0


def minimize_cccp(
    problem: ConcaveConvexProblem[Point],
    piece: Any,
    start: Point,
    control: Control,
) -> SolverResult:
    """Minimize an objective by alternating between linearization and convex minimization.

    Each convex function is an upper bound of the objective and touches it at the last point. Therefore, the
    objective cannot increase by more than the gap of the convex solution. Steps that increase the objective
    are rejected. The first step is solved to a low accuracy, because its piece is usually replaced.

    Parameters
    ----------
    problem : ConcaveConvexProblem
        Defines the pieces and solves their convex problems.
    piece : object
        The first piece; it must touch the objective at `start`.
    start : Iterate
        Starting point.
    control : Control
        Its tolerance is the relative gap of all steps except the first. The run has converged if such a step
        does not change the piece, or if the relative decrease in the objective is at most the tolerance. It
        has stalled if the objective would increase by much more than the tolerance, which is impossible for
        an accurate convex solution.

    Returns
    -------
    SolverResult
        `x` is the last `Iterate`.
    """
    tol = control.tol
    point, history = start, [start.value]
    status, n_iter, gap = Status.MAX_ITER, 0, max(tol, _ROUGH)
    while n_iter < control.max_iter and not control.is_stopped:
        candidate = problem.solve(piece, point, replace(control, tol=gap, on_iteration=None))
        n_iter += 1
        gain = point.value - candidate.value
        if gain >= 0.0:
            point = candidate
            history.append(point.value)
            control.report(n_iter, point.value)
        if control.is_stopped:
            break
        if gap <= tol and gain < -_RISE * tol * abs(point.value):
            # An upper bound that touches the objective at `point` cannot have a minimum above that value.
            status = Status.STALLED
            break
        following = problem.linearize(point)
        done = following == piece or gain <= tol * abs(point.value)
        if done and gap <= tol:
            status = Status.CONVERGED
            break
        gap, piece = tol, following
    if control.is_stopped:
        status = Status.INTERRUPTED
    return SolverResult(point, point.value, status, n_iter, tuple(history))
