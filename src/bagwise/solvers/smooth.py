"""Smooth minimization with scipy's L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from bagwise._core.checkpoint import CheckpointLocation
from bagwise.solvers.control import Control
from bagwise.solvers.result import SolverResult, Status, plain_of, result_of, rounding_tol

ValueAndGradient = Callable[[np.ndarray], tuple[float, np.ndarray]]
# Number of pairs of L-BFGS, each a step and the change in the gradient: scipy's default.
_N_PAIRS = 10
# For resumed L-BFGS runs: minimum decrease in a step, relative to its slope, and maximum number of halvings.
_SUFFICIENT, _MOST_HALVINGS = 1e-4, 30


def minimize_smooth(
    value_and_gradient: ValueAndGradient,
    x0: np.ndarray,
    control: Control,
    *,
    has_kinks: bool = False,
) -> SolverResult:
    """Minimize a smooth, possibly nonconvex function by L-BFGS, starting at `x0`; the value never increases.

    Parameters
    ----------
    value_and_gradient : callable
        ``x -> (value, gradient)``.
    x0 : array of shape (n,)
        Starting point.
    control : Control
        The run has converged if no absolute value in the gradient exceeds ``control.tol``.
    has_kinks : bool
        Whether the function is only piecewise smooth. The gradient of such a function does not have to
        vanish at the minimum. Therefore, the run has also converged if the relative decrease in ten
        iterations is at most `control.tol`, or if no line search succeeds.

    Returns
    -------
    SolverResult
        A stopped run ends before its next function evaluation and returns the best point so far.

    Notes
    -----
    A checkpoint stores the best point and the last pairs of L-BFGS after every iteration. A resumed run
    continues with them, so at most a few evaluations are repeated.
    """
    x0 = np.asarray(x0, dtype=np.float64)
    checkpoint = control.checkpoint.next_run(x0, control.tol, control.max_iter)
    if checkpoint.has_ended:
        return result_of(checkpoint.end())
    result = _minimize(value_and_gradient, x0, control, has_kinks, checkpoint)
    if result.status is not Status.INTERRUPTED:
        checkpoint.finish(plain_of(result))
    return result


def _minimize(
    value_and_gradient: ValueAndGradient,
    x0: np.ndarray,
    control: Control,
    has_kinks: bool,
    checkpoint: CheckpointLocation,
) -> SolverResult:
    tol, max_iter = control.tol, control.max_iter
    watch = _Watch(value_and_gradient, control, checkpoint, stall_tol=tol if has_kinks else None)
    watch.start(x0)
    if not np.isfinite(watch.value):
        return watch.result(Status.NOT_FINITE)
    if watch.largest_gradient <= tol:
        return watch.result(Status.CONVERGED)
    n_before = len(watch.history) - 1
    if n_before and n_before >= max_iter:
        return watch.result(Status.MAX_ITER)
    max_iter -= n_before
    # ftol=0, because only the gradient determines convergence.
    options = {"gtol": tol, "ftol": 0.0, "maxiter": max_iter, "maxfun": 20 * max_iter}
    method: dict[str, Any] = {"method": "L-BFGS-B", "options": options}
    interrupted = False
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            if watch.pairs:
                watch.continue_from_pairs(max_iter)
            else:
                minimize(watch, watch.x, jac=True, callback=watch.after_iteration, **method)
    except _Stopped:
        interrupted = True
    except StopIteration:  # from a resumed run
        pass
    if watch.value < watch.history[-1]:  # scipy's line search failed but evaluated a better point
        watch.history.append(watch.value)
    n_iter = len(watch.history) - 1 - n_before
    # If no step lowers the value and the gradient is this small, only rounding errors remain.
    exhausted = n_iter < max_iter and watch.largest_gradient <= rounding_tol(watch.value)
    if interrupted:
        status = Status.INTERRUPTED
    elif watch.largest_gradient <= tol or watch.stalled or exhausted:
        status = Status.CONVERGED
    elif n_iter >= max_iter:
        status = Status.MAX_ITER
    else:
        status = Status.CONVERGED if has_kinks else Status.STALLED
    return watch.result(status)


class _Stopped(Exception):  # noqa: N818 - not an error
    """Exception that leaves scipy's loop when the stop flag is set."""


class _Watch:
    """Wrapper of the function that stores the best evaluated point and the value after every iteration."""

    def __init__(
        self,
        value_and_gradient: ValueAndGradient,
        control: Control,
        checkpoint: CheckpointLocation,
        stall_tol: float | None,
    ):
        self.value_and_gradient = value_and_gradient
        self.control = control
        self.checkpoint = checkpoint
        self.stall_tol = stall_tol
        self.stalled = False
        # Last steps of L-BFGS with the changes of the gradient, the oldest first.
        self.pairs: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def start(self, x: np.ndarray) -> None:
        """Evaluate the starting point or the stored point, so that a stopped run has a result."""
        state = self.checkpoint.state()
        if state is not None:
            x, self.pairs = state["x"], state["pairs"]
        value, gradient = self.value_and_gradient(x)
        self.x, self.value, self.gradient = x.copy(), float(value), gradient.copy()
        self.before = self.x, self.gradient
        self.history = [self.value] if state is None else state["history"]

    def continue_from_pairs(self, max_iter: int) -> None:
        """Continue L-BFGS from the stored point and pairs, from which scipy's L-BFGS-B cannot start."""
        n_before = len(self.history)
        while len(self.history) - n_before < max_iter and self.largest_gradient > self.control.tol:
            x, value, step = self.x, self.value, -_inverse_hessian_product(self.pairs, self.gradient)
            slope = float(self.gradient @ step)
            for halvings in range(_MOST_HALVINGS):
                expected = 0.5**halvings * slope
                is_lower = self(x + 0.5**halvings * step)[0] <= value + _SUFFICIENT * expected
                if is_lower or -expected <= np.finfo(float).eps * abs(value):  # the rest is rounding error
                    break
            if self.x is not x:
                self.after_iteration(None)
            elif self.pairs:
                self.pairs = ()  # as L-BFGS-B does if no step lowers the value
            else:
                return

    def _add_pair(self) -> None:
        step, change = self.x - self.before[0], self.gradient - self.before[1]
        if step @ change > np.finfo(float).eps * (change @ change):  # as in L-BFGS-B
            self.pairs = (*self.pairs[-_N_PAIRS + 1 :], (step, change))
        self.before = self.x, self.gradient

    def result(self, status: Status) -> SolverResult:
        """Return the best point as a result."""
        return SolverResult(self.x, self.value, status, len(self.history) - 1, tuple(self.history))

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        if np.array_equal(x, self.x):  # scipy begins with the starting point again
            return self.value, self.gradient.copy()
        if self.control.is_stopped:
            raise _Stopped
        value, gradient = self.value_and_gradient(x)
        # Near the minimum, the value no longer changes, but the gradient still does.
        is_flatter = value == self.value and np.abs(gradient).max(initial=0.0) < self.largest_gradient
        if value < self.value or is_flatter:
            self.x, self.value, self.gradient = x.copy(), float(value), gradient.copy()
        # A trial step can overflow. The line search then treats it as a bad point.
        return (value, gradient) if np.isfinite(value) else (np.inf, np.zeros_like(gradient))

    @property
    def largest_gradient(self) -> float:
        return float(np.abs(self.gradient).max(initial=0.0))

    # scipy selects the argument by the name of this parameter.
    def after_iteration(self, intermediate_result: object) -> None:
        self.history.append(self.value)
        if self.checkpoint.is_stored:
            self._add_pair()
        self.checkpoint.keep({"x": self.x, "pairs": self.pairs, "history": self.history})
        self.control.report(len(self.history) - 1, self.value)
        if self.stall_tol is not None and len(self.history) > 10:
            gain = self.history[-11] - self.value
            self.stalled = gain <= self.stall_tol * max(1.0, abs(self.value))
            if self.stalled:
                raise StopIteration


def _inverse_hessian_product(pairs: tuple[tuple[np.ndarray, np.ndarray], ...], v: np.ndarray) -> np.ndarray:
    """Return the L-BFGS inverse Hessian times v; without pairs, v scaled to a length of at most 1."""
    if not pairs:
        return v / max(1.0, float(np.linalg.norm(v)))
    v, factors = v.copy(), []
    for step, change in reversed(pairs):
        factors.append(step @ v / (step @ change))
        v -= factors[-1] * change
    step, change = pairs[-1]
    v *= (step @ change) / (change @ change)
    for (step, change), factor in zip(pairs, reversed(factors), strict=True):
        v += (factor - change @ v / (step @ change)) * step
    return v
