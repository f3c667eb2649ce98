"""Smooth plus L1, by proximal Newton steps on a working set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise.solvers.result import SolverResult, Status, rounding_tol


@dataclass(frozen=True)
class L1Result(SolverResult):
    """The end of a run, with what is known of the smooth part there, and the largest KKT violation.

    A run at another alpha on the same smooth part goes on from it without computing anything twice.
    """

    point: Any
    gradient: np.ndarray
    kkt: float


# Sufficient decrease of the line search, and how often a step may be halved.
_ARMIJO, _MAX_HALVINGS = 1e-4, 40
# The least curvature that is believed, relative to the largest: columns may be constant or collinear.
_FLATTEST = 1e-8
# So many violators may always enter at a time.
_FEWEST_NEW = 20


def minimize_l1(
    problem,
    x0: np.ndarray | L1Result,
    *,
    alpha: float,
    tol: float,
    max_iter: int,
    on_iteration: Callable[[int, float], None] | None = None,
) -> L1Result:
    """Minimise ``f(x) + alpha * sum_k |x_k|`` over all entries of x but the last, which is free.

    1) The gradient of all features says which violate the optimality conditions; none: the end. 2) The
    working set is these and the non-zero ones. There f is replaced by its quadratic model, with directions of
    negative curvature turned around, and the model plus the L1 norm is minimised by coordinate descent.
    3) A line search from the present point to that minimum lowers the objective; back to 1.

    f need not be convex: every step lowers the objective, and the end is a stationary point.

    Parameters
    ----------
    problem : object
        ``point(x, log_odds=None)`` (with ``.theta``, ``.value`` and ``.log_odds``), ``gradient_at(point)``,
        ``curvature_at(point, columns)``, ``direction(step)`` (the change of the log-odds), ``has_kinks``.
    x0 : array of shape (p + 1,), or L1Result
        The start, or the end of a run on the same smooth part.
    alpha : float
        Strength of the L1 norm.
    tol : float
        The largest violation of the optimality conditions at the end.
    max_iter : int
        The most Newton steps.
    on_iteration : callable, optional
        Called with the number of the step and the objective.

    Returns
    -------
    L1Result
    """
    if isinstance(x0, L1Result):
        x, point, gradient = x0.x, x0.point, x0.gradient
    else:
        x = np.array(x0, dtype=np.float64)
        point = problem.point(x)
        gradient = problem.gradient_at(point)
    value = point.value + _penalty(x, alpha)
    history = [value]
    status = Status.NOT_FINITE
    n_iter, violation = 0, np.full(1, np.inf)
    try:
        while np.isfinite(value):
            violation = kkt_violation(gradient, x, alpha)
            if violation.max() <= tol:
                status = Status.CONVERGED
                break
            if n_iter >= max_iter:
                status = Status.MAX_ITER
                break
            columns = _working_set(x, violation, tol)
            step, slope = _newton_step(problem, point, gradient, columns, alpha, tol)
            moved = _search(problem, point, step, slope, value, alpha)
            if moved is None:
                # At a kink no step may help although no gradient vanishes.
                exhausted = problem.has_kinks or violation.max() <= rounding_tol(value)
                status = Status.CONVERGED if exhausted else Status.STALLED
                break
            point, value = moved
            x = point.theta
            gradient = problem.gradient_at(point)
            n_iter += 1
            history.append(value)
            if on_iteration is not None:
                on_iteration(n_iter, value)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    return L1Result(x, value, status, n_iter, tuple(history), point, gradient, float(violation.max()))


def kkt_violation(gradient: np.ndarray, x: np.ndarray, alpha: float) -> np.ndarray:
    """How far each entry is from optimal: the distance of zero from the subdifferential."""
    smooth, coef = gradient[:-1], x[:-1]
    violation = np.maximum(np.abs(smooth) - alpha, 0.0)
    moved = coef != 0
    violation[moved] = np.abs(smooth[moved] + alpha * np.sign(coef[moved]))
    return np.append(violation, abs(gradient[-1]))


def _penalty(x: np.ndarray, alpha: float) -> float:
    norm = np.abs(x[:-1]).sum()
    return float(alpha * norm) if norm else 0.0  # alpha may be infinite: the model without features


def _working_set(x: np.ndarray, violation: np.ndarray, tol: float) -> np.ndarray:
    """The non-zero entries and the worst violators, not many more of these than of the others."""
    inside = x[:-1] != 0
    outside = np.flatnonzero(~inside & (violation[:-1] > tol))
    most = max(_FEWEST_NEW, int(inside.sum()))
    if len(outside) > most:
        outside = outside[np.argsort(-violation[outside], kind="stable")[:most]]
    inside[outside] = True
    return np.flatnonzero(inside)


def _newton_step(problem, point, gradient, columns, alpha, tol) -> tuple[np.ndarray, float]:
    """Minimise the quadratic model on the working set; give the step and the model's slope along it."""
    from bagwise._numba.coordinate import descend

    x = point.theta
    entries = np.append(columns, len(x) - 1)
    H = _positive_definite(problem.curvature_at(point, columns))
    start = x[entries]
    penalty = np.append(np.full(len(columns), alpha), 0.0)
    b = start.copy()
    descend(H, H @ start - gradient[entries], b, penalty, 0.1 * tol, 1000)
    step = np.zeros_like(x)
    step[entries] = b - start
    slope = gradient @ step + _penalty(b, alpha) - _penalty(start, alpha)
    return step, float(slope)


def _positive_definite(H: np.ndarray) -> np.ndarray:
    """Give H itself where it is safely positive definite, else with its eigenvalues made positive.

    Turning negative curvature around keeps the scale of the step and leaves a saddle, where a shift of
    all eigenvalues would creep along it.
    """
    floor = _FLATTEST * max(np.abs(np.diagonal(H)).max(), np.finfo(float).tiny)
    shifted = H.copy()
    shifted[np.arange(len(H)), np.arange(len(H))] -= floor
    try:
        np.linalg.cholesky(shifted)
        return H
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(H)
        values = np.maximum(np.abs(values), floor)
        return (vectors * values) @ vectors.T


def _search(problem, point, step, slope, value, alpha):
    """Halve the step until the objective falls enough; None if it never does."""
    along = problem.direction(step)
    size = 1.0
    for _ in range(_MAX_HALVINGS):
        x = point.theta + size * step
        log_odds = point.log_odds + size * along
        trial = problem.point(x, log_odds)
        trial_value = trial.value + _penalty(x, alpha)
        if trial_value <= value + _ARMIJO * size * slope and trial_value < value:
            return trial, trial_value
        size *= 0.5
    return None
