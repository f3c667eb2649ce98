"""Smooth plus elastic net, by proximal Newton steps on the columns that matter."""

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

# Sufficient decrease of the line search, and how often a step may be halved.
_ARMIJO = 1e-4
# Halvings of a step, and after them tenths: where features are far from the origin and unscaled, a step may
# have to become a thousand million times shorter.
_HALVINGS, _TENTHS = 10, 9
# What the objective may rise by rounding, relative to itself.
_ROUNDING = 4 * float(np.finfo(float).eps)
# Columns whose gradient is above these parts of the L1 strength are likely to enter soon: the problem is
# restricted to them too, and their curvature is computed with the others'.
_RESTRICT_TO, _CURVATURE_OF = 0.4, 0.5
# The curvature in k of p columns costs as much as _LEAST_COST + k^2 / (p _COLUMNS_PER_POINT) new points.
_LEAST_COST, _COLUMNS_PER_POINT = 3, 8
# The minimum of a model is found to this part of the present violation.
_MODEL_TOL = 1e-2
# Steps go on to this part of the tolerance: the last one is cheap, and what rounding does stays within it.
_STEP_TOL = 0.15


class L1Problem(Protocol):
    """A smooth function of coefficients, one for each column of the data, and of a last, free entry.

    How its numbers are computed is its own affair. A point may be computed from a known one and be a little
    off, by less than matters at the tolerance; `exact` gives one that is not.
    """

    @property
    def n_features(self) -> int:
        """The number of coefficients."""

    @property
    def has_kinks(self) -> bool:
        """Whether the function is smooth only in pieces."""

    def point(self, x: np.ndarray, base: Any = None) -> Any:
        """Compute value and gradient at x, perhaps from those at a `base` near it."""

    def exact(self, points: Sequence[Any]) -> list[Any]:
        """Give points at the same parameters to all digits; those that are so already, as they are."""

    def curvature(self, point: Any, columns: np.ndarray) -> np.ndarray:
        """Give the curvature in some columns and the last entry, (k + 1, k + 1); two digits are enough."""

    def restrict(self, columns: np.ndarray) -> L1Problem:
        """Give the function of some columns alone, the others zero; itself, where that would save nothing."""

    def enter(self, point: Any) -> Any:
        """Give, in a restricted problem, what a point of the whole problem is there."""

    def lift(self, point: Any, base: Any) -> Any:
        """Give, in a restricted problem, its point as one of the whole problem, `base` being one near it."""


class WarmModel(NamedTuple):
    """The columns that a run was restricted to, and its last model: a beginning for runs on like problems."""

    columns: np.ndarray
    model: QuadraticModel


class Restriction(NamedTuple):
    """A problem restricted to some columns, and which these are."""

    problem: L1Problem
    columns: np.ndarray
    inside: np.ndarray

    @classmethod
    def to(cls, problem: L1Problem, columns: np.ndarray) -> Restriction:
        """Restrict a problem to some columns; to all, where fewer would save nothing."""
        fewer = problem.restrict(columns)
        if fewer is problem:
            columns = np.arange(problem.n_features)
        inside = np.zeros(problem.n_features, dtype=bool)
        inside[columns] = True
        return cls(fewer, columns, inside)


@dataclass(frozen=True)
class L1Result(SolverResult):
    """The end of a run; one with another penalty goes on from it without computing anything twice.

    `point` is what is known there of the smooth function, `model` the last model in the columns of the last
    `restriction`, and `is_convex` says whether all curvature that was computed was so. Where the end
    `was_read` from a checkpoint, the point is exact, and the run may have ended at one that was not.
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
        """What a run on a like problem may begin with."""
        if self.restriction is None or self.model is None or not self.model.is_convex:
            return None
        return WarmModel(self.restriction.columns, self.model)

    def at(self, point: Point) -> L1Result:
        """Give the same end with a better computed point."""
        value = self.penalty.objective(point)
        # Values before it that came out lower did so by rounding.
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
    """Minimise ``f(x) + l1 sum_k |x_k| + l2 / 2 sum_k x_k^2``, the sums over all entries of x but the last.

    1) The gradient in all columns says which violate the optimality conditions; none: the end. The problem
    is restricted to these, the non-zero ones and those that nearly violate them, and solved there by 2 and 3;
    back to 1. 2) f is replaced by a quadratic model, with directions of negative curvature turned around, and
    the model plus the penalty is minimised by coordinate descent. 3) A line search from the present point to
    that minimum lowers the objective; back to 2.

    The curvature is the expensive part, a point costs little beside it. So the model is kept from step to
    step, and from one penalty to the next, learns from every step, and is made anew only when it lacks a
    column or the steps that it gives are slow.

    f need not be convex: every step lowers the objective, and the end is a stationary point. It may have been
    computed a little less than exactly: `finish` sees to that.

    Parameters
    ----------
    problem : L1Problem
        The smooth part f.
    start : array, Point or L1Result
        Parameters, a point of the problem, or the end of a run on it.
    penalty : ElasticNet
        The penalty.
    control : Control
        ``tol``: the largest violation of the optimality conditions at the end. ``max_iter``: the most Newton
        steps. A checkpoint stores the parameters after every step, not the curvature, which a resumed run
        computes again.
    warm_models : sequence of WarmModel, optional
        From ends of runs on a like problem, with about the same penalty: they save computing curvature. What
        is found does not depend on it, only how soon.

    Returns
    -------
    L1Result
    """
    x = start if isinstance(start, np.ndarray) else start.x
    checkpoint = control.checkpoint.next_run(x, tuple(penalty), control.tol, control.max_iter)
    if checkpoint.has_ended:
        return _read(problem, penalty, checkpoint.end())
    run = _Run(problem, start, penalty, control, warm_models, checkpoint)
    while (status := run.reason_to_end(violation := penalty.violation(run.point))) is None:
        restriction = run.restrict(violation)
        n_before = len(run.history)
        status = run.descend(restriction)
        # If these were all columns, or no step helps, there is nothing more to see.
        is_whole = restriction.problem is problem
        if is_whole or status is not Status.CONVERGED or len(run.history) == n_before:
            break
    result = run.result(status)
    if status is not Status.INTERRUPTED:
        checkpoint.finish({**plain_of(result), "is_convex": result.is_convex})
    return result


def _read(problem: L1Problem, penalty: ElasticNet, end: dict[str, Any]) -> L1Result:
    """Return the stored result of a run; its point is computed again, and the curvature is not known."""
    plain = result_of(end)
    return L1Result(
        plain.x, plain.value, plain.status, plain.n_iter, plain.history,
        problem.point(plain.x), penalty, is_convex=end["is_convex"], was_read=True,
    )  # fmt: skip


def finish(problem: L1Problem, results: Sequence[L1Result], control: Control) -> list[L1Result]:
    """Compute the ends of runs exactly, all together; runs that turn out not to be optimal go on."""
    points = problem.exact([result.point for result in results])
    return [
        _go_on(problem, result.at(point), control) if result.was_read or point is not result.point else result
        for result, point in zip(results, points, strict=True)
    ]


def _go_on(problem: L1Problem, result: L1Result, control: Control) -> L1Result:
    """Minimise from exact points until one is optimal: short steps are computed well."""
    while result.status in (Status.CONVERGED, Status.STALLED) and result.kkt > control.tol:
        n_left = control.max_iter - result.n_iter
        more = minimize_l1(problem, result, result.penalty, replace(control, max_iter=n_left))
        more = more.at(problem.exact([more.point])[0])
        history = (*result.history, *more.history[1:])
        result = replace(more, history=history, n_iter=result.n_iter + more.n_iter)
        if not more.n_iter:
            break
    return result


class _Run:
    """One minimisation: the present point, the columns it is restricted to there, and the model."""

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
        # The objective after every step; the last one is that of the current point.
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
        """Restrict the problem to the columns that matter, unless it is restricted to such already."""
        wanted = working_set(self.point.x, violation, self.tol)
        if self.restriction is not None and self.restriction.inside[wanted].all():
            return self.restriction
        self.model = None
        known = [warm.columns for warm in self.warm_models if np.isin(wanted, warm.columns).all()]
        columns = known[0] if known else with_likely(self.point, wanted, _RESTRICT_TO * self.penalty.l1)
        self.restriction = Restriction.to(self.problem, columns)
        return self.restriction

    # ------------------------------------------------------------ in the columns of a restriction

    def descend(self, restriction: Restriction) -> Status:
        """Step until the optimality conditions hold in these columns, or no step lowers the objective."""
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
                # At a kink no step may help although no gradient vanishes.
                enough = max(self.control.tol, rounding_tol(self.history[-1]))
                is_end = problem.has_kinks or worst <= enough
                status = Status.CONVERGED if is_end else Status.STALLED
                break
            there, value, size = moved
            self.model, self.is_model_of_this_point = self.model.after(point, there), False
            point = there
            self.history.append(value)
            violation = penalty.violation(point)
            # The first step changes the set of features, and says little of the model.
            if size < 1 or (not is_first and self._is_slow(self.model, violation.max(), worst)):
                self.model = None
            is_first = False
            self._keep(point.x, restriction.columns)
            self.control.report(len(self.history) - 1, self.history[-1])
        self.point = problem.lift(point, self.point)
        self.history[-1] = penalty.objective(self.point)
        return status

    def _keep(self, x: np.ndarray, columns: np.ndarray) -> None:
        """Store the parameters; all columns but these have coefficient zero."""
        state = {"x": x, "columns": columns, "history": self.history, "is_convex": self.is_convex}
        self.checkpoint.keep(state)

    def _new_model(self, restriction: Restriction, point: Any, wanted: np.ndarray) -> QuadraticModel:
        """Compute the curvature in the columns wanted and in those likely to be wanted next.

        If a good model has just lacked a column, and these are most columns anyway, all are taken. Where the
        function is not convex in so many, they are of no use. A warm model saves the computation.
        """
        for number, warm in enumerate(self.warm_models):
            if np.array_equal(warm.columns, restriction.columns) and warm.model.inside[wanted].all():
                return self.warm_models.pop(number).model
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
        """Whether steps at this pace would cost more than a new model."""
        if now <= self.tol:
            return False
        if now >= before:
            return True
        price = _LEAST_COST + len(model.columns) ** 2 / (_COLUMNS_PER_POINT * (len(model.inside) + 1))
        return bool(np.log(self.tol / now) / np.log(now / before) > 1 + price)

    def _line_search(
        self, problem: L1Problem, point: Any, step: np.ndarray, worst: float, *, exactly: bool = False
    ) -> tuple[Any, float, float] | None:
        """Shorten the step until the objective falls enough: the point, the objective, the part; or None.

        Where a step promises less than the rounding of the objective, the optimality conditions decide.
        """
        penalty, value = self.penalty, self.history[-1]
        slope = point.gradient @ step + penalty.value(point.x + step) - penalty.value(point.x)
        rounding = _ROUNDING * abs(value)
        size = 1.0
        for number in range(_HALVINGS + _TENTHS):
            trial = problem.point(point.x + size * step, base=None if exactly else point)
            trial_value = penalty.objective(trial)
            if trial_value <= value + _ARMIJO * size * slope and trial_value < value:
                return trial, trial_value, size
            if -size * slope <= rounding:
                is_better = penalty.violation(trial).max() <= 0.5 * worst and trial_value <= value + rounding
                return (trial, trial_value, size) if is_better else None
            size *= 0.5 if number < _HALVINGS else 0.1
        return None
