"""Smooth minimisation: trust-region Newton where curvature is at hand, L-BFGS elsewhere (by scipy)."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from bagwise.solvers.interrupt import stopping
from bagwise.solvers.result import SolverResult, Status, rounding_tol


def minimize_smooth(
    value_and_gradient: Callable[[np.ndarray], tuple[float, np.ndarray]],
    x0: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    hessian_product: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    has_kinks: bool = False,
    on_iteration: Callable[[int, float], None] | None = None,
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
    tol : float
        Converged when no entry of the gradient is larger than this.
    max_iter : int
        The most iterations.
    hessian_product : callable, optional
        ``(x, v) -> H(x) v``.
    has_kinks : bool
        Whether the function is smooth only in pieces. Its gradient need not vanish anywhere, so the run
        has also converged when ten iterations lower the value by less than the share `tol`, or when no
        line search succeeds.
    on_iteration : callable, optional
        Called with the number of the iteration and the value.

    Returns
    -------
    SolverResult
        An interrupt by the keyboard ends the run with the best parameters so far.
    """
    watch = _Watch(value_and_gradient, on_iteration, stall_tol=tol if has_kinks else None)
    x0 = np.asarray(x0, dtype=np.float64)
    start = watch(x0)[0]
    if not np.isfinite(start):
        return SolverResult(x0, start, Status.NOT_FINITE, 0, (start,))
    watch.history.append(start)
    if np.abs(watch.gradient).max(initial=0.0) <= tol:
        return SolverResult(x0, start, Status.CONVERGED, 0, (start,))
    with stopping() as watch.stop, np.errstate(over="ignore", invalid="ignore"):
        if hessian_product is None:
            minimize(
                watch,
                x0,
                jac=True,
                method="L-BFGS-B",
                callback=watch.after_iteration,
                # ftol=0: only the gradient says that the end is reached.
                options={
                    "gtol": tol,
                    "ftol": 0.0,
                    "maxiter": max_iter,
                    "maxfun": 20 * max_iter,
                },
            )
        else:
            minimize(
                watch,
                x0,
                jac=True,
                hessp=hessian_product,
                method="trust-ncg",
                callback=watch.after_iteration,
                # scipy looks at the Euclidean norm, which is at least the largest entry.
                options={"gtol": tol, "maxiter": max_iter},
            )
    interrupted = watch.stop.is_set()
    n_iter = len(watch.history) - 1
    # Where no step lowers the value and the gradient is that small, what is left is rounding.
    exhausted = not interrupted and n_iter < max_iter and watch.largest_gradient <= rounding_tol(watch.value)
    if interrupted:
        status = Status.INTERRUPTED
    elif watch.largest_gradient <= tol or watch.stalled or exhausted:
        status = Status.CONVERGED
    elif n_iter >= max_iter:
        status = Status.MAX_ITER
    else:
        status = Status.CONVERGED if has_kinks else Status.STALLED
    return SolverResult(watch.x, watch.value, status, n_iter, tuple(watch.history))


class _Watch:
    """Wraps the function to remember the best point seen, and the value after every iteration."""

    def __init__(self, value_and_gradient, on_iteration, stall_tol=None):
        self.value_and_gradient = value_and_gradient
        self.on_iteration = on_iteration
        self.stall_tol = stall_tol
        self.stalled = False
        self.stop = threading.Event()
        self.value = np.inf
        self.history: list[float] = []

    def __call__(self, x):
        if self.stop.is_set():
            raise KeyboardInterrupt
        value, gradient = self.value_and_gradient(x)
        if value < self.value or not self.history:
            self.x, self.value, self.gradient = x.copy(), float(value), gradient.copy()
        # A trial step may overflow; to the line search it is just a bad point.
        return (value, gradient) if np.isfinite(value) else (np.inf, np.zeros_like(gradient))

    @property
    def largest_gradient(self) -> float:
        return float(np.abs(self.gradient).max(initial=0.0))

    def after_iteration(self, intermediate_result):
        # Rejected trust-region steps are iterations too; the value stays.
        self.history.append(self.value)
        if self.on_iteration is not None:
            self.on_iteration(len(self.history) - 1, self.value)
        if self.stall_tol is not None and len(self.history) > 10:
            gain = self.history[-11] - self.value
            self.stalled = gain <= self.stall_tol * max(1.0, abs(self.value))
            if self.stalled:
                raise StopIteration
