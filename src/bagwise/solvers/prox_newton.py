"""Proximal Newton solver for a smooth function plus an elastic net, restricted to relevant columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from bagwise._core.checkpoint import CheckpointLocation
from bagwise.solvers.control import Control
from bagwise.solvers.quadratic import QuadraticModel
from bagwise.solvers.result import SolverResult, Status, plain_of, result_of, rounding_tol
from bagwise.solvers.working_set import ElasticNet, Point, with_likely, working_set

# Sufficient decrease in the line search, as a fraction of the expected decrease.
_ARMIJO = 1e-4
# Number of halvings of a step in the line search, and number of divisions by ten after them. With unscaled
# features far from the origin, steps can become a billion times shorter.
_HALVINGS, _TENTHS = 10, 9
# Relative increase in the objective that is attributed to rounding.
_ROUNDING = 4 * float(np.finfo(float).eps)
# Columns whose gradient exceeds these fractions of the L1 strength are likely to become nonzero soon. They
# are included in the restricted problem and in the curvature.
_RESTRICT_TO, _CURVATURE_OF = 0.4, 0.5
# The curvature in k of p columns costs about _LEAST_COST + k^2 / (p _COLUMNS_PER_POINT) new points.
_LEAST_COST, _COLUMNS_PER_POINT = 3, 8
# The minimum of a quadratic model is computed to this fraction of the current violation.
_MODEL_TOL = 1e-2
# Steps continue until the violation is below this fraction of the tolerance. The last step is cheap, and the
# margin covers rounding errors.
_STEP_TOL = 0.15


class L1Problem(Protocol):
    """Smooth function of one coefficient per column of the data and of a last, unpenalized entry.

    Points can be computed from a nearby point. Their error is then negligible compared with the tolerance.
    `exact` returns points without this error.
    """

    @property
    def n_features(self) -> int:
        """Number of coefficients."""

    @property
    def has_kinks(self) -> bool:
        """Whether the function is only piecewise smooth."""

    def point(self, x: np.ndarray, base: Any = None) -> Any:
        """Compute value and gradient at x, optionally from those at a nearby point `base`."""

    def exact(self, points: Sequence[Any]) -> list[Any]:
        """Return points at the same parameters in full precision; exact points are returned unchanged."""

    def curvature(self, point: Any, columns: np.ndarray) -> np.ndarray:
        """Return the curvature in the columns and the last entry, (k + 1, k + 1), to at least two digits."""

    def restrict(self, columns: np.ndarray) -> L1Problem:
        """Return the function restricted to the columns, or the problem itself if that would save no time."""

    def enter(self, point: Any) -> Any:
        """Convert a point of the full problem to a point of this restricted problem."""

    def lift(self, point: Any, base: Any) -> Any:
        """Convert a point of this restricted problem to a point of the full problem, near `base`."""


class WarmModel(NamedTuple):
    """Columns of a restricted problem and its last quadratic model, for warm starts on similar problems.

    `n_features` is the number of features of the unrestricted problem. Problems with other features cannot
    use the model.
    """

    columns: np.ndarray
    model: QuadraticModel
    n_features: int


class Restriction(NamedTuple):
    """A problem restricted to a subset of columns, and these columns."""

    problem: L1Problem
    columns: np.ndarray
    inside: np.ndarray

    @classmethod
    def to(cls, problem: L1Problem, columns: np.ndarray) -> Restriction:
        """Restrict a problem to the columns; keep all columns if a restriction would save no time."""
        fewer = problem.restrict(columns)
        if fewer is problem:
            columns = np.arange(problem.n_features)
        inside = np.zeros(problem.n_features, dtype=bool)
        inside[columns] = True
        return cls(fewer, columns, inside)


@dataclass(frozen=True)
class L1Result(SolverResult):
    """Result of an L1 run, which can start a run with another penalty without repeated computations.

    `point` contains the smooth function at the solution. `model` is the last quadratic model in the columns
    of the last `restriction`. `is_convex` is True if every computed curvature was positive definite. If the
    result `was_read` from a checkpoint, the point is exact, although the run may have ended at an inexact
    point.
    """

    point: Any
    penalty: ElasticNet
    restriction: Restriction | None = None
    model: QuadraticModel | None = None
    is_convex: bool = True
    was_read: bool = False

    @property
    def kkt(self) -> float:
        """The largest violation of the optimality conditions."""
        return float(self.penalty.violation(self.point).max())

    @property
    def warm_model(self) -> WarmModel | None:
        """Warm start for a run on a similar problem; None without a convex quadratic model."""
        if self.restriction is None or self.model is None or not self.model.is_convex:
            return None
        return WarmModel(self.restriction.columns, self.model, len(self.point.x) - 1)

    def at(self, point: Point) -> L1Result:
        """Return the same result with a more accurate point."""
        value = self.penalty.objective(point)
        # Only rounding can make earlier values lower.
        history = (*(max(before, value) for before in self.history[:-1]), value)
        return replace(self, point=point, value=value, history=history)


def minimize_l1(
    problem: L1Problem,
    start: np.ndarray | Point | L1Result,
    penalty: ElasticNet,
    control: Control,
    *,
    warm_models: Sequence[WarmModel] = (),
) -> L1Result:
    """Minimize ``f(x) + l1 sum_k |x_k| + l2 / 2 sum_k x_k^2`` with a smooth function f.

    The sums are over all entries of x except the last.

    The algorithm repeats these steps:

    1) Compute the gradient in all columns. Stop if no column violates the optimality conditions. Otherwise,
       restrict the problem to the columns that violate or nearly violate them and to the nonzero columns.
       Solve the restricted problem with steps 2 and 3.
    2) Replace f by a quadratic model, with the sign of negative curvature reversed. Minimize the model plus
       the penalty by coordinate descent.
    3) Decrease the objective with a line search from the current point towards this minimum. Return to 2.

    The curvature dominates the cost; points are cheap in comparison. The model is therefore kept across steps
    and penalties and updated after every step. It is recomputed only if it lacks a column or if the steps
    converge slowly.

    f can be nonconvex. Every step decreases the objective, and the solution is a stationary point. The
    solution can be slightly inexact; `finish` makes it exact.

    Parameters
    ----------
    problem : L1Problem
        The smooth part f.
    start : array, Point or L1Result
        Parameters, a point of the problem, or the result of a previous run.
    penalty : ElasticNet
        The penalty.
    control : Control
        ``tol`` is the largest accepted violation of the optimality conditions. ``max_iter`` is the maximum
        number of Newton steps. A checkpoint stores the parameters after every step, but not the curvature,
        which a resumed run recomputes.
    warm_models : sequence of WarmModel, optional
        Models from runs on similar problems with a similar penalty. They save the computation of curvature
        and change only the speed, not the solution.

    Returns
    -------
    L1Result
    """
    x = start if isinstance(start, np.ndarray) else start.x
    checkpoint = control.checkpoint.next_run(x, tuple(penalty), control.tol, control.max_iter)
    if checkpoint.has_ended:
        return _read(problem, penalty, checkpoint.end())
    run = _MinimisationState(problem, start, penalty, control, warm_models, checkpoint)
    while (status := run.reason_to_end(violation := penalty.violation(run.point))) is None:
        restriction = run.restrict(violation)
        n_before = len(run.history)
        status = run.descend(restriction)
        # Checking all columns again is only useful after a successful run on a subset of them.
        is_whole = restriction.problem is problem
        if is_whole or status is not Status.CONVERGED or len(run.history) == n_before:
            break
    result = run.result(status)
    if status is not Status.INTERRUPTED:
        checkpoint.finish({**plain_of(result), "is_convex": result.is_convex})
    return result


def _read(problem: L1Problem, penalty: ElasticNet, end: dict[str, Any]) -> L1Result:
    """Return the stored result of a run, with a recomputed point and without the curvature."""
    plain = result_of(end)
    return L1Result(
        plain.x, plain.value, plain.status, plain.n_iter, plain.history,
        problem.point(plain.x), penalty, is_convex=end["is_convex"], was_read=True,
    )  # fmt: skip


def finish(problem: L1Problem, results: Sequence[L1Result], control: Control) -> list[L1Result]:
    """Compute the points of results exactly, in one batch; continue runs that are not optimal there."""
    points = problem.exact([result.point for result in results])
    return [
        _go_on(problem, result.at(point), control) if result.was_read or point is not result.point else result
        for result, point in zip(results, points, strict=True)
    ]


def _go_on(problem: L1Problem, result: L1Result, control: Control) -> L1Result:
    """Restart from exact points until one is optimal; short steps are computed accurately."""
    while result.status in (Status.CONVERGED, Status.STALLED) and result.kkt > control.tol:
        n_left = control.max_iter - result.n_iter
        more = minimize_l1(problem, result, result.penalty, replace(control, max_iter=n_left))
        more = more.at(problem.exact([more.point])[0])
        history = (*result.history, *more.history[1:])
        result = replace(more, history=history, n_iter=result.n_iter + more.n_iter)
        if not more.n_iter:
            break
    return result


class _MinimisationState:
    """State of one minimization: the current point, the restriction to columns, and the quadratic model."""

    def __init__(
        self,
        problem: L1Problem,
        start: np.ndarray | Point | L1Result,
        penalty: ElasticNet,
        control: Control,
        warm_models: Sequence[WarmModel],
        checkpoint: CheckpointLocation,
    ):
        self.problem = problem
        self.penalty = penalty
        self.control = control
        self.checkpoint = checkpoint
        self.tol = _STEP_TOL * control.tol
        self.warm_models = list(warm_models)
        self.restriction: Restriction | None = None
        self.model: QuadraticModel | None = None
        self.is_model_of_this_point = False
        self.is_convex = True
        if isinstance(start, L1Result):
            self.restriction, self.model, self.is_convex = start.restriction, start.model, start.is_convex
        state = checkpoint.state()
        if state is not None:
            x = np.zeros(problem.n_features + 1)
            x[np.append(state["columns"], -1)] = state["x"]
            self.point, self.is_convex = problem.point(x), state["is_convex"]
        elif isinstance(start, np.ndarray):
            self.point = problem.point(start)
        else:
            self.point = start.point if isinstance(start, L1Result) else start
        # The objective after every step; the last entry belongs to the current point.
        self.history = [] if state is None else state["history"][:-1]
        self.history.append(penalty.objective(self.point))

    def result(self, status: Status) -> L1Result:
        """Return the current point as a result."""
        return L1Result(
            self.point.x, self.history[-1], status, len(self.history) - 1, tuple(self.history),
            self.point, self.penalty, self.restriction, self.model, self.is_convex,
        )  # fmt: skip

    def reason_to_end(self, violation: np.ndarray) -> Status | None:
        if not np.isfinite(self.history[-1]):
            return Status.NOT_FINITE
        if violation.max() <= self.tol:
            return Status.CONVERGED
        if self.control.is_stopped:
            return Status.INTERRUPTED
        if len(self.history) > self.control.max_iter:
            return Status.CONVERGED if violation.max() <= self.control.tol else Status.MAX_ITER
        return None

    def restrict(self, violation: np.ndarray) -> Restriction:
        """Restrict the problem to the relevant columns; keep a restriction that contains them."""
        wanted = working_set(self.point.x, violation, self.tol)
        if self.restriction is not None and self.restriction.inside[wanted].all():
            return self.restriction
        self.model = None
        supersets = [warm.columns for warm in self.warm_models if np.isin(wanted, warm.columns).all()]
        columns = (
            supersets[0] if supersets else with_likely(self.point, wanted, _RESTRICT_TO * self.penalty.l1)
        )
        self.restriction = Restriction.to(self.problem, columns)
        return self.restriction

    # ------------------------------------------------------------ methods for a restricted problem

    def descend(self, restriction: Restriction) -> Status:
        """Take steps until these columns are optimal or no step lowers the objective."""
        problem, penalty = restriction.problem, self.penalty
        point = problem.enter(self.point)
        violation = penalty.violation(point)
        is_first = True
        while (status := self.reason_to_end(violation)) is None:
            worst = violation.max()
            wanted = working_set(point.x, violation, self.tol)
            if self.model is None or not self.model.inside[wanted].all():
                self.model = self._new_model(restriction, point, wanted)
            target = self.model.minimum(point, wanted, penalty, max(0.1 * self.tol, _MODEL_TOL * worst))
            moved = self._line_search(problem, point, target - point.x, worst)
            if moved is None and not self.is_model_of_this_point:
                self.model = None
                continue
            if moved is None and (exact := problem.exact([point])[0]) is not point:
                point, self.history[-1] = exact, penalty.objective(exact)
                violation = penalty.violation(point)
                continue
            if moved is None:
                moved = self._line_search(problem, point, target - point.x, worst, exactly=True)
            if moved is None:
                # At a kink, the objective can be minimal although the gradient does not vanish.
                enough = max(self.control.tol, rounding_tol(self.history[-1]))
                is_end = problem.has_kinks or worst <= enough
                status = Status.CONVERGED if is_end else Status.STALLED
                break
            next_point, value, size = moved
            self.model, self.is_model_of_this_point = self.model.after(point, next_point), False
            point = next_point
            self.history.append(value)
            violation = penalty.violation(point)
            # The first step can change the set of selected features, so it does not show how accurate the
            # model is.
            if size < 1 or (not is_first and self._is_slow(self.model, violation.max(), worst)):
                self.model = None
            is_first = False
            self._keep(point.x, restriction.columns)
            self.control.report(len(self.history) - 1, self.history[-1])
        self.point = problem.lift(point, self.point)
        self.history[-1] = penalty.objective(self.point)
        return status

    def _keep(self, x: np.ndarray, columns: np.ndarray) -> None:
        """Store the parameters of these columns; all other coefficients are zero."""
        state = {"x": x, "columns": columns, "history": self.history, "is_convex": self.is_convex}
        self.checkpoint.keep(state)

    def _new_model(self, restriction: Restriction, point: Any, wanted: np.ndarray) -> QuadraticModel:
        """Compute a quadratic model in the requested columns and in those that are likely to follow.

        If the previous model lacked a column and these are more than half of the columns, use all columns. If
        the function is not convex, no columns are added. If a warm model is available, nothing is computed.
        """
        for index, warm in enumerate(self.warm_models):
            if np.array_equal(warm.columns, restriction.columns) and warm.model.inside[wanted].all():
                return self.warm_models.pop(index).model
        columns, n_columns = wanted, len(point.x) - 1
        if self.is_convex:
            columns = with_likely(point, wanted, _CURVATURE_OF * self.penalty.l1)
            if self.model is not None and 2 * len(columns) > n_columns:
                columns = np.arange(n_columns)
        curvature = restriction.problem.curvature(point, columns)
        model = QuadraticModel.of(curvature, columns, n_columns)
        self.is_convex &= model.is_convex
        self.is_model_of_this_point = True
        return model

    def _is_slow(self, model: QuadraticModel, now: float, before: float) -> bool:
        """Return whether further steps at this rate of convergence would cost more than a new model."""
        if now <= self.tol:
            return False
        if now >= before:
            return True
        price = _LEAST_COST + len(model.columns) ** 2 / (_COLUMNS_PER_POINT * (len(model.inside) + 1))
        return bool(np.log(self.tol / now) / np.log(now / before) > 1 + price)

    def _line_search(
        self, problem: L1Problem, point: Any, step: np.ndarray, worst: float, *, exactly: bool = False
    ) -> tuple[Any, float, float] | None:
        """Shorten the step until the objective decreases sufficiently.

        Return the point, the objective and the fraction of the step, or None if no step succeeds. If the
        expected decrease is below the rounding error of the objective, the optimality conditions decide.
        """
        penalty, value = self.penalty, self.history[-1]
        slope = point.gradient @ step + penalty.value(point.x + step) - penalty.value(point.x)
        rounding = _ROUNDING * abs(value)
        size = 1.0
        for i in range(_HALVINGS + _TENTHS):
            trial = problem.point(point.x + size * step, base=None if exactly else point)
            trial_value = penalty.objective(trial)
            if trial_value <= value + _ARMIJO * size * slope and trial_value < value:
                return trial, trial_value, size
            if -size * slope <= rounding:
                is_better = penalty.violation(trial).max() <= 0.5 * worst and trial_value <= value + rounding
                return (trial, trial_value, size) if is_better else None
            size *= 0.5 if i < _HALVINGS else 0.1
        return None
