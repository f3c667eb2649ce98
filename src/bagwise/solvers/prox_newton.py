"""Smooth plus L1, by proximal Newton steps on the features that matter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bagwise.solvers.interrupt import stopping
from bagwise.solvers.quadratic import QuadraticModel
from bagwise.solvers.result import SolverResult, Status, rounding_tol
from bagwise.solvers.working_set import kkt_violation, with_likely, working_set

# Sufficient decrease of the line search, and how often a step may be halved.
_ARMIJO, _MAX_HALVINGS = 1e-4, 40
# What the objective may rise by rounding, relative to itself.
_ROUNDING = 4 * float(np.finfo(float).eps)
# Columns whose gradient is above these parts of alpha are likely to enter soon: they are looked at, and their
# curvature is.
_IN_SIGHT, _LIKELY = 0.4, 0.5
# Looking at the curvature in k of p columns costs as much as _LEAST + k^2 / (p _PER_LOOK) new points.
_LEAST, _PER_LOOK = 3, 8
# Where the gradient is off by more than this part of the tolerance, one looks sharply rather than steps.
_BLURRED = 0.9
# The minimum of a model is found to this part of the present violation.
_MODEL_TOL = 1e-2


class Guide(NamedTuple):
    """Which columns a run has looked at, and the curvature that it ended with: for runs on like problems."""

    columns: np.ndarray
    model: QuadraticModel


@dataclass(frozen=True)
class L1Result(SolverResult):
    """The end of a run, with what is known of the smooth part there, and the largest KKT violation.

    A run at another alpha on the same smooth part goes on from it without computing anything twice.
    """

    point: Any
    lens: _Lens | None
    model: QuadraticModel | None
    kkt: float

    @property
    def guide(self) -> Guide | None:
        """What a run on a like problem may begin with."""
        if self.lens is None or self.model is None or not self.model.is_convex:
            return None
        return Guide(self.lens.columns, self.model)


def minimize_l1(
    problem,
    x0: np.ndarray | L1Result,
    *,
    alpha: float,
    tol: float,
    max_iter: int,
    guides: Sequence[Guide] = (),
    on_iteration: Callable[[int, float], None] | None = None,
) -> L1Result:
    """Minimise ``f(x) + alpha * sum_k |x_k|`` over all entries of x but the last, which is free.

    1) The gradient of all features says which violate the optimality conditions; none: the end. These, the
    non-zero ones and those that nearly violate them are looked at alone, until they are optimal among
    themselves; back to 1. 2) There f is replaced by a quadratic model, with directions of negative curvature
    turned around, and the model plus the L1 norm is minimised by coordinate descent. 3) A line search from
    the present point to that minimum lowers the objective; back to 2.

    The curvature is the expensive part, a point costs little beside it. So the model is kept from step to
    step, and from one alpha to the next, learns from every step, and is made anew only when it lacks a column
    or the steps that it gives are slow.

    f need not be convex: every step lowers the objective, and the end is a stationary point.

    Parameters
    ----------
    problem : object
        ``point(x, near=None)`` (with ``.theta``, ``.value`` and ``.gradient``, and ``.drift``, by which the
        latter may be off when it was computed from a point that is near), ``sharpened(point)``,
        ``curvature_at(point, columns, rough=True)``, ``has_kinks``; ``narrowed(columns)``, the same
        function of some columns alone (or itself, where that is not worth while), ``narrow(point, entries)``
        and ``widen(point, entries, near, alpha=, drift=)`` from one to the other.
    x0 : array of shape (p + 1,), or L1Result
        The start, or the end of a run on the same smooth part.
    alpha : float
        Strength of the L1 norm.
    tol : float
        The largest violation of the optimality conditions at the end.
    max_iter : int
        The most Newton steps.
    guides : sequence of Guide, optional
        Ends of runs on a like problem, with about the same penalty: their curvature saves looking. What is
        found does not depend on it, only how soon.
    on_iteration : callable, optional
        Called with the number of the step and the objective.

    Returns
    -------
    L1Result
    """
    if isinstance(x0, L1Result):
        point, lens, model = x0.point, x0.lens, x0.model
    else:
        point, lens, model = problem.point(np.array(x0, dtype=np.float64)), None, None
    history = [point.value + _penalty(point.theta, alpha)]
    status, run = None, None
    with stopping() as stop:
        while status is None:
            violation = kkt_violation(point.gradient, point.theta, alpha)
            if not np.isfinite(history[-1]):
                status = Status.NOT_FINITE
            elif violation.max() <= tol:
                status = Status.CONVERGED
            elif len(history) > max_iter:
                status = Status.MAX_ITER
            else:
                wanted = working_set(point.theta, violation, tol)
                if lens is None or not lens.inside[wanted].all():
                    known = [guide.columns for guide in guides if np.isin(wanted, guide.columns).all()]
                    columns = known[0] if known else with_likely(point, wanted, _IN_SIGHT * alpha)
                    lens, model = _Lens(problem, columns, is_convex=lens is None or lens.is_convex), None
                run = _Run(lens, point, model, guides, alpha, tol, history)
                ended = run.go(max_iter, on_iteration, stop)
                # Where all columns were looked at, or no step helps, there is nothing more to see.
                is_final = lens.is_whole or ended is not Status.CONVERGED or not run.n_iter
                status = ended if is_final else None
                model, point = run.model, lens.widen(run.point, point, alpha, tol)
                history[-1] = point.value + _penalty(point.theta, alpha)  # which may be sharper now
    if status is None:
        status = Status.INTERRUPTED
        if run is not None:
            model, point = run.model, lens.widen(run.point, point, alpha, tol)
    worst = kkt_violation(point.gradient, point.theta, alpha).max()
    return L1Result(
        point.theta, history[-1], status, len(history) - 1, tuple(history), point, lens, model, float(worst)
    )


def certified(problem, result: L1Result, *, alpha: float, tol: float, max_iter: int) -> L1Result:
    """Compute the end of a run to all digits; if it turns out not to be optimal, go on with them."""
    if not result.point.drift:
        return result
    point = problem.sharpened(result.point)
    value = point.value + _penalty(point.theta, alpha)
    worst = float(kkt_violation(point.gradient, point.theta, alpha).max())
    history = (*result.history[:-1], value)
    sharp = replace(result, point=point, value=value, kkt=worst, history=history, lens=None, model=None)
    if worst <= tol or result.status not in (Status.CONVERGED, Status.STALLED):
        return sharp
    end = minimize_l1(
        problem.in_double(), sharp, alpha=alpha, tol=tol, max_iter=max(1, max_iter - result.n_iter)
    )
    return replace(end, history=history + end.history[1:], n_iter=result.n_iter + end.n_iter)


class _Lens:
    """Some columns of a problem, as a problem of its own; `is_convex` until the opposite is seen."""

    def __init__(self, problem, columns: np.ndarray, *, is_convex: bool):
        self._whole = problem
        self.is_convex = is_convex
        self.problem = problem.narrowed(columns)
        n_columns = problem.n_features
        self.inside = np.ones(n_columns, dtype=bool)
        if not self.is_whole:
            self.inside[:] = False
            self.inside[columns] = True
        self.columns = np.flatnonzero(self.inside)
        self._entries = np.append(self.columns, n_columns)
        self._last: tuple[Any, Any] = None, None

    @property
    def is_whole(self) -> bool:
        """Whether all columns are in it."""
        return self.problem is self._whole

    def narrow(self, point):
        if self.is_whole:
            return point
        wide, narrow = self._last
        is_sharper = wide is point and narrow.drift <= point.drift
        return narrow if is_sharper else self._whole.narrow(point, self._entries)

    def widen(self, point, near, alpha: float, tol: float):
        if self.is_whole:
            return point
        wide = self._whole.widen(point, self._entries, near, alpha=alpha, drift=_BLURRED * tol)
        self._last = wide, point
        return wide


class _Run:
    """Proximal Newton steps on the columns of one problem; its state can be read at any time."""

    def __init__(
        self,
        lens: _Lens,
        point,
        model: QuadraticModel | None,
        guides: Sequence[Guide],
        alpha: float,
        tol: float,
        history: list[float],
    ):
        self.lens = lens
        self._known = [guide.model for guide in guides if np.array_equal(guide.columns, lens.columns)]
        self.problem = lens.problem
        self.point = lens.narrow(point)
        self.model = model
        self.alpha = alpha
        self.tol = tol
        self.history = history
        self.n_iter = 0
        self._is_rough = True  # steps may lose digits

    def go(self, max_iter: int, on_iteration, stop) -> Status:
        """Step until the optimality conditions hold within the tolerance, or no step is left."""
        violation = kkt_violation(self.point.gradient, self.point.theta, self.alpha)
        while (worst := violation.max()) + self.point.drift > self.tol:
            if stop.is_set():
                return Status.INTERRUPTED
            if worst <= self.tol and self.point.drift > _BLURRED * self.tol:
                if not self.lens.is_whole:
                    return Status.CONVERGED  # looking at all columns costs as much
                violation = self._look_sharply()
                continue
            if len(self.history) > max_iter:
                return Status.MAX_ITER
            size = self._step(violation)
            if size is None:
                if worst <= self.tol:
                    violation = self._look_sharply()
                    continue
                if self.model is not None and self.model.point is not self.point:
                    self.model = None  # it described another place
                    continue
                if self._is_rough:  # which may be too rough to see an objective fall
                    self._is_rough = False
                    violation = self._look_sharply() if self.point.drift > 0 else violation
                    continue
                # At a kink no step may help although no gradient vanishes.
                exhausted = self.problem.has_kinks or worst <= rounding_tol(self.history[-1])
                return Status.CONVERGED if exhausted else Status.STALLED
            violation = kkt_violation(self.point.gradient, self.point.theta, self.alpha)
            # The first step changes the set of features, and says little.
            if size < 1 or (self.n_iter and self._creeps(self.model, violation.max(), worst)):
                self.model = None
            self.n_iter += 1
            if on_iteration is not None:
                on_iteration(len(self.history) - 1, self.history[-1])
        return Status.CONVERGED

    def _look_sharply(self) -> np.ndarray:
        """Compute the present point anew, to all digits; give the violations there."""
        self.point = self.problem.sharpened(self.point)
        self.history[-1] = self.point.value + _penalty(self.point.theta, self.alpha)
        return kkt_violation(self.point.gradient, self.point.theta, self.alpha)

    def _step(self, violation: np.ndarray) -> float | None:
        """Do one step and give its size; None if none lowers the objective."""
        wanted = working_set(self.point.theta, violation, self.tol)
        if self.model is None or not self.model.inside[wanted].all():
            self.model = self._look(wanted, generous=self.model is not None)
        model_tol = max(0.1 * self.tol, _MODEL_TOL * violation.max())
        target = self.model.minimum(self.point, wanted, self.alpha, model_tol)
        moved = self._search(target - self.point.theta, violation.max())
        if moved is None:
            return None
        there, value, size = moved
        self.model = self.model.after(there.theta - self.point.theta, there.gradient - self.point.gradient)
        self.point = there
        self.history.append(value)
        return size

    def _look(self, wanted: np.ndarray, *, generous: bool) -> QuadraticModel:
        """Look at the curvature in the columns wanted and those likely to be wanted next.

        Once a good model has lacked a column, a `generous` one has them all, if these are not many more.
        Where the function is not convex in so many columns, they are of no use. A guide saves the look.
        """
        for number, model in enumerate(self._known):
            if model.inside[wanted].all():
                return self._known.pop(number)
        columns = wanted
        if self.lens.is_convex:
            columns = with_likely(self.point, wanted, _LIKELY * self.alpha)
            n_columns = len(self.point.theta) - 1
            if generous and 2 * len(columns) > n_columns:
                columns = np.arange(n_columns)
        model = QuadraticModel.at(self.problem, self.point, columns)
        self.lens.is_convex &= model.is_convex
        return model

    def _creeps(self, model, now: float, before: float) -> bool:
        """Whether steps at this pace would cost more than a new model."""
        if now <= self.tol:
            return False
        if now >= before:
            return True
        price = _LEAST + len(model.columns) ** 2 / (_PER_LOOK * len(self.point.theta))
        return bool(np.log(self.tol / now) / np.log(now / before) > 1 + price)

    def _search(self, step: np.ndarray, worst: float):
        """Halve the step until the objective falls enough; None if it never does.

        Where a step promises less than the rounding of the objective, the optimality conditions decide.
        """
        x, value, alpha = self.point.theta, self.history[-1], self.alpha
        penalty = _penalty(x + step, alpha)
        slope = self.point.gradient @ step + penalty - _penalty(x, alpha)
        rounding = _ROUNDING * abs(value)
        size = 1.0
        for _ in range(_MAX_HALVINGS):
            trial = self.problem.point(x + size * step, near=self.point if self._is_rough else None)
            self._is_rough = trial.drift > 0
            trial_value = trial.value + penalty
            if trial_value <= value + _ARMIJO * size * slope and trial_value < value:
                return trial, trial_value, size
            if -size * slope <= rounding:
                now = kkt_violation(trial.gradient, trial.theta, alpha).max()
                better = now <= 0.5 * worst and trial_value <= value + rounding
                return (trial, trial_value, size) if better else None
            size *= 0.5
            penalty = _penalty(x + size * step, alpha)
        return None


def _penalty(x: np.ndarray, alpha: float) -> float:
    norm = np.abs(x[:-1]).sum()
    return float(alpha * norm) if norm else 0.0  # alpha may be infinite: the model without features
