"""The concave-convex procedure: convex problems, one after another, each at or above the objective."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, TypeVar

from bagwise.solvers.control import Control
from bagwise.solvers.result import SolverResult, Status


class Iterate(Protocol):
    """A point of a concave-convex problem; what else it holds, only the problem knows."""

    @property
    def value(self) -> float:
        """The objective there."""


Point = TypeVar("Point", bound=Iterate)


class ConcaveConvexProblem(Protocol[Point]):
    """An objective whose concave parts are replaced by lines, which makes it convex.

    A *piece* says which lines: for `min(a, b)`, one of the two. Pieces are compared by ``==``.
    """

    def linearize(self, point: Point) -> Any:
        """Give the piece that touches the objective at a point."""

    def solve(self, piece: Any, start: Point, control: Control) -> Point:
        """Minimise the convex function of a piece to the relative gap `control.tol`, from a point.

        Whoever is stopped on the way gives the point that was reached. The limit of `control` is not meant.
        """


# Relative gap of the first step. What it has to get right is the next piece, not its own minimum.
_ROUGH = 1e-2
# A rise of this many tolerances says that a convex problem was not solved: rounding is in the way.
_RISE = 100.0


def minimize_cccp(
    problem: ConcaveConvexProblem[Point],
    piece: Any,
    start: Point,
    control: Control,
) -> SolverResult:
    """Solve the convex problem of a piece, take the piece that touches there, and so on.

    Each convex function lies above the objective and touches it at the last point, so the objective never
    rises beyond the gap to which the convex problem is solved; a step that would let it rise by that is
    not taken. The first step, from far away, may be solved roughly.

    Parameters
    ----------
    problem : ConcaveConvexProblem
        Which pieces there are and how they are solved.
    piece : object
        The piece to begin with; it must touch the objective at `start`.
    start : Iterate
        The first point.
    control : Control
        Its tolerance is the relative gap of all steps but the first. Converged when one of them leaves the
        piece as it was, or lowers the objective by no more than this share of it; stalled when the objective
        would rise by far more, which a convex problem that was solved does not let it.

    Returns
    -------
    SolverResult
        `x` is the last `Iterate` itself.
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
            # What lies above the objective and touches it at a point is not lowest where it is higher.
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
