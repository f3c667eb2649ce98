"""Smooth minimisation: trust-region Newton where curvature is at hand, L-BFGS elsewhere (by scipy)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from bagwise._core.checkpoint import CheckpointLocation
from bagwise.solvers.control import Control
from bagwise.solvers.result import SolverResult, Status, plain_of, result_of, rounding_tol

ValueAndGradient = Callable[[np.ndarray], tuple[float, np.ndarray]]
# scipy's first and largest trust radius; a first one that is given must be smaller than the largest.
_FIRST_RADIUS, _LARGEST_RADIUS = 1.0, 1000.0

HessianProduct = Callable[[np.ndarray, np.ndarray], np.ndarray]


def minimize_smooth(
    value_and_gradient: ValueAndGradient,
    x0: np.ndarray,
    control: Control,
    *,
    hessian_product: HessianProduct | None = None,
    has_kinks: bool = False,
) -> SolverResult:
    """Minimise a smooth function, which need not be convex, from `x0`.

    With `hessian_product` the steps are those of a trust-region Newton method with conjugate gradients,
    which makes use of negative curvature; without it those of L-BFGS. Either never lets the value rise.

    Parameters
    ----------
    value_and_gradient : callable
        ``x -> (value, gradient)``.
    x0 : array of shape (n,)
        The start.
    control : Control
        Converged when no entry of the gradient is larger than its tolerance.
    hessian_product : callable, optional
        ``(x, v) -> H(x) v``.
    has_kinks : bool
        Whether the function is smooth only in pieces. Its gradient need not vanish anywhere, so the run
        has also converged when ten iterations lower the value by less than the share `control.tol`, or when
        no line search succeeds.

    Returns
    -------
    SolverResult
        A run that is stopped ends before its next look at the function, with the best point so far.

    Notes
    -----
    A checkpoint stores the best point after every iteration, and the trust radius. A resumed run goes on from
    there; L-BFGS has to collect its pairs of steps and gradients again.
    """
    x0 = np.asarray(x0, dtype=np.float64)
    checkpoint = control.checkpoint.next_run(x0, control.tol, control.max_iter)
    if checkpoint.has_ended:
        return result_of(checkpoint.end())
    result = _minimize(value_and_gradient, x0, control, hessian_product, has_kinks, checkpoint)
    if result.status is not Status.INTERRUPTED:
        checkpoint.finish(plain_of(result))
    return result


def _minimize(
    value_and_gradient: ValueAndGradient,
    x0: np.ndarray,
    control: Control,
    hessian_product: HessianProduct | None,
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
    method: dict[str, Any]
    if hessian_product is None:
        # ftol=0: only the gradient says that the end is reached.
        options = {"gtol": tol, "ftol": 0.0, "maxiter": max_iter, "maxfun": 20 * max_iter}
        method = {"method": "L-BFGS-B", "options": options}
    else:
        # scipy looks at the Euclidean norm, which is at least the largest entry.
        options = {"gtol": tol, "maxiter": max_iter, "initial_trust_radius": watch.first_radius}
        method = {"method": "trust-ncg", "hessp": watch.unless_stopped(hessian_product), "options": options}
    interrupted = False
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            minimize(watch, watch.x, jac=True, callback=watch.after_iteration, **method)
    except _Stopped:
        interrupted = True
    interrupted = interrupted and not watch.is_lost
    if watch.value < watch.history[-1]:  # scipy gave a line search up which had seen a better point
        watch.history.append(watch.value)
    n_iter = len(watch.history) - 1 - n_before
    # Where no step lowers the value and the gradient is that small, what is left is rounding.
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
    """Leads out of scipy's loop when the stop flag is set, or the loop is lost."""


class _Watch:
    """Wraps the function to remember the best point seen, and the value after every iteration."""

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
        self.n_products, self.is_lost = 0, False
        self.radius = _FIRST_RADIUS
        # The last vector that the Hessian was multiplied by, and the product.
        self.multiplied: tuple[np.ndarray, np.ndarray] | None = None

    def start(self, x: np.ndarray) -> None:
        """Evaluate the start, or the point that the checkpoint has stored; a stopped run returns it."""
        state = self.checkpoint.state()
        if state is not None:
            x, self.radius = state["x"], state["radius"]
        value, gradient = self.value_and_gradient(x)
        self.x, self.value, self.gradient = x.copy(), float(value), gradient.copy()
        self.history = [self.value] if state is None else state["history"]

    @property
    def first_radius(self) -> float:
        """The trust radius at the start: scipy's own, or that of the run that is resumed."""
        return min(self.radius, 0.999 * _LARGEST_RADIUS)

    def follow_radius(self, value: float) -> None:
        """Change the trust radius as scipy changes its own, which it does not show, after a trial step.

        The last product before a trial step is that of the step itself, for the predicted reduction.
        """
        if self.multiplied is None:
            return
        step, curved = self.multiplied
        predicted = -float(self.gradient @ step + 0.5 * (step @ curved))
        gained = self.value - value
        if not gained >= 0.25 * predicted:
            self.radius *= 0.25
        elif gained > 0.75 * predicted and np.linalg.norm(step) > 0.999 * self.radius:
            self.radius = min(2.0 * self.radius, _LARGEST_RADIUS)

    def result(self, status: Status) -> SolverResult:
        """Return the best point."""
        return SolverResult(self.x, self.value, status, len(self.history) - 1, tuple(self.history))

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        self._check()
        self.n_products = 0
        value, gradient = self.value_and_gradient(x)
        if self.checkpoint.is_stored:
            self.follow_radius(value)
        if value < self.value:
            self.x, self.value, self.gradient = x.copy(), float(value), gradient.copy()
        # A trial step may overflow; to the line search it is just a bad point.
        return (value, gradient) if np.isfinite(value) else (np.inf, np.zeros_like(gradient))

    def unless_stopped(self, hessian_product: HessianProduct) -> HessianProduct:
        """Give the Hessian product, which many times make one step, with a look at the flag before it.

        Conjugate gradients end after as many products as there are variables. Where rounding keeps them from
        it (numbers at the edge of what a float holds), scipy's loop would never end: the run is then lost.
        """

        def product(x: np.ndarray, v: np.ndarray) -> np.ndarray:
            self._check()
            self.n_products += 1
            result = hessian_product(x, v)
            self.multiplied = v, result
            if self.n_products > 10 * len(x) + 100 or not np.isfinite(result).all():
                self.is_lost = True
                raise _Stopped
            return result

        return product

    def _check(self) -> None:
        if self.control.is_stopped:
            raise _Stopped

    @property
    def largest_gradient(self) -> float:
        return float(np.abs(self.gradient).max(initial=0.0))

    # scipy tells by the parameter's name what to pass.
    def after_iteration(self, intermediate_result: object) -> None:
        # Rejected trust-region steps are iterations too; the value stays.
        self.history.append(self.value)
        self.checkpoint.keep({"x": self.x, "radius": self.radius, "history": self.history})
        self.control.report(len(self.history) - 1, self.value)
        if self.stall_tol is not None and len(self.history) > 10:
            gain = self.history[-11] - self.value
            self.stalled = gain <= self.stall_tol * max(1.0, abs(self.value))
            if self.stalled:
                raise StopIteration
