"""Minimization of a convex risk of positive and unlabeled bags, for three losses.

With ``g = features @ coef + intercept`` and the class prior pi, the objective is ::

    -pi mean_P(g) + mean_U(l(-g)) + alpha / 2 |coef|^2

The means are weighted, and the intercept is not penalized. `pu_risk_bound` bounds the risk of a fixed score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

from bagwise.models.pu.features import PUFeatures
from bagwise.models.pu.losses import LOSSES
from bagwise.solvers.control import Control
from bagwise.solvers.dual import solve_dual
from bagwise.solvers.interior import solve_dual_interior
from bagwise.solvers.result import SolverResult, Status

_NEWTON_STEPS = 200

# Pairwise steps per unlabeled bag before the solver switches to the interior-point method.
_PAIR_STEPS = 100
_INTERIOR_STEPS = 100

# Number of widths of the smoothed hinge, each a tenth of the previous one.
_WIDTHS = 10


@dataclass(frozen=True)
class LinearScore:
    """Linear score ``features @ coef + intercept``; `dual` starts the next problem on the same bags."""

    coef: np.ndarray
    intercept: float
    dual: np.ndarray | None = None


def minimize_risk(
    features: PUFeatures,
    loss: str,
    *,
    prior: float,
    alpha: float,
    tol: float = 1e-8,
    start: LinearScore | None = None,
    on_iteration: Callable[[int, float], None] | None = None,
) -> SolverResult:
    """Minimize the penalized risk and return a result whose `x` is a `LinearScore`.

    Parameters
    ----------
    features : PUFeatures
        Features of positive and unlabeled bags. Quantities that only depend on them are computed once.
    loss : {"double_hinge", "squared", "logistic"}
        Name of the loss.
    prior : float in (0, 1)
        The class prior pi.
    alpha : float
        Weight of the penalty, > 0.
    tol : float
        "double_hinge": the duality gap relative to the terms of the objective. "logistic": Newton's decrement
        relative to these terms.
    start : LinearScore, optional
        Solution of a similar problem on the same bags.
    on_iteration : callable, optional
        Called with the number of steps so far and the objective. For "double_hinge", the second argument is
        the dual objective, a lower bound that rises to the objective.

    Notes
    -----
    "double_hinge" costs as much as a support vector machine with n_unlabeled points. "squared" solves one
    linear system with n_centers unknowns, and "logistic" solves a few of them. If features are so large that
    the rounding errors of their squares exceed the penalty, "squared" and "logistic" use principal axes.
    "double_hinge" then uses Newton's method on principal axes if its dual fails.
    """
    control = Control(tol, _NEWTON_STEPS, on_iteration)
    score, status, n_iter = _solve(features, loss, prior, alpha, control, start)
    value = sum(_terms(features, loss, prior, alpha, score.coef, score.intercept))
    # Without features, the optimum is a constant score.
    best = _best_constant(loss, prior)
    constant = float(-prior * best + LOSSES[loss](np.array(-best)))
    if not value - constant <= 1e-6 * abs(constant):  # rounding errors prevented any progress
        score, value, status = LinearScore(np.zeros_like(features.mean), best), constant, Status.STALLED
    # Convert the intercept of centered features to that of the original features.
    score = LinearScore(score.coef, score.intercept - float(features.mean @ score.coef), score.dual)
    return SolverResult(score, value, status, n_iter, (max(constant, value), value))


def _solve(
    features: PUFeatures, loss: str, prior: float, alpha: float, control: Control, start: LinearScore | None
) -> tuple[LinearScore, Status, int]:
    """Return the score of centered features, the solver status, and the number of steps."""
    solve = {"double_hinge": _double_hinge, "squared": _squared, "logistic": _logistic}[loss]
    if not features.is_graded(alpha):
        return solve(features, prior, alpha, control, start)
    if loss == "double_hinge":
        solution = solve(features, prior, alpha, control, start)
        if solution[1] in (Status.CONVERGED, Status.INTERRUPTED):
            return solution
        solve = _smoothed_double_hinge
    turned, axes = features.turned
    score, status, n_iter = solve(turned, prior, alpha, control, None)
    return LinearScore(axes @ score.coef, score.intercept - float(turned.mean @ score.coef)), status, n_iter


def _terms(
    features: PUFeatures, loss: str, prior: float, alpha: float, coef: np.ndarray, intercept: float
) -> tuple[float, float, float]:
    """Return the three terms of the objective, with an intercept for centered features."""
    unlabeled = features.unlabeled @ coef + intercept
    of_positive = -prior * (float(features.shift @ coef) + intercept)
    of_unlabeled = float(features.unlabeled_share @ LOSSES[loss](-unlabeled))
    return of_positive, of_unlabeled, 0.5 * alpha * float(coef @ coef)


def _best_constant(loss: str, prior: float) -> float:
    """Return the constant score with the lowest risk."""
    return {
        "double_hinge": -1.0 if prior < 0.5 else 1.0,
        "squared": 2.0 * prior - 1.0,
        "logistic": float(np.log(prior) - np.log1p(-prior)),
    }[loss]


def _squared(
    features: PUFeatures, prior: float, alpha: float, control: Control, start: LinearScore | None
) -> tuple[LinearScore, Status, int]:
    """Solve (C / 2 + alpha I) coef = pi (mean_P - mean_U) in closed form, with intercept 2 pi - 1."""
    matrix = 0.5 * features.covariance
    matrix.flat[:: len(matrix) + 1] += alpha
    coef = cho_solve(cho_factor(matrix, overwrite_a=True), prior * features.shift)
    return LinearScore(coef, 2.0 * prior - 1.0), Status.CONVERGED, 1


# ---------------------------------------------------------------------- double hinge


def _double_hinge(
    features: PUFeatures, prior: float, alpha: float, control: Control, start: LinearScore | None
) -> tuple[LinearScore, Status, int]:
    """Minimize the double-hinge risk by its dual, which has two variables per unlabeled bag.

    The loss is half the sum of two hinges. Their multipliers are u and v in [0, share / 2], and w = u + v.
    With c = pi (mean_P - mean_U) of centered features, the dual, multiplied by -alpha, is ::

        min  |c - U'w|^2 / 2 - alpha sum(u - v)     subject to    sum(w) = pi

    and coef = (c - U'w) / alpha.
    """
    U, n = features.unlabeled, len(features.unlabeled)
    target = prior * features.shift
    linear = -(U @ target)
    problem: dict[str, Any] = {
        "q": np.concatenate([linear - alpha, linear + alpha]),
        "lower": np.zeros(2 * n),
        "upper": np.tile(0.5 * features.unlabeled_share, 2),
        "total": prior,
        "points": np.tile(np.arange(n), 2),
    }
    # Pairwise steps are slow with low rank and many free variables, so the solver switches early.
    pairs: dict[str, Any] = {"start": None if start is None else start.dual, "product": None}
    by_pairs, n_iter, relative = True, 0, control.tol

    def report_bound(steps: int, value: float) -> None:
        control.report(n_iter + steps, -(value + 0.5 * float(target @ target)) / alpha)

    for _ in range(5):
        if by_pairs:
            limited = replace(control, tol=relative, max_iter=_PAIR_STEPS * n, on_iteration=report_bound)
            result = solve_dual(features.gram, control=limited, **problem, **pairs)
            by_pairs = result.status is not Status.MAX_ITER
            pairs |= {"start": result.x, "product": result.product}
        else:
            limited = replace(control, tol=relative, max_iter=_INTERIOR_STEPS, on_iteration=None)
            result = solve_dual_interior(U, control=limited, **problem)
            if result.status is Status.INTERRUPTED:  # not close to the optimum: the pairwise result is better
                break
            report_bound(result.n_iter, result.value)
        n_iter += result.n_iter
        dual = result.x
        coef = (target - (dual[:n] + dual[n:]) @ U) / alpha
        intercept = best_intercept(U @ coef, features.unlabeled_share, prior)
        terms = _terms(features, "double_hinge", prior, alpha, coef, intercept)
        gap = sum(terms) - float(dual[:n].sum() - dual[n:].sum() - terms[2])
        allowed = control.tol * sum(map(abs, terms))
        if gap <= allowed:
            return LinearScore(coef, intercept, dual), Status.CONVERGED, n_iter
        if result.status in (Status.STALLED, Status.INTERRUPTED):
            break
        # The dual solver's tolerance omits |c|^2 / 2, which can be much larger than the objective.
        if result.converged:
            relative = min(0.1 * relative, 0.5 * relative * allowed / gap)
    # If rounding errors prevent convergence to `tol`, accept 1e-6, which is far below statistical precision.
    if result.status is Status.INTERRUPTED:
        status = Status.INTERRUPTED
    else:
        status = Status.CONVERGED if gap <= 1e-6 * sum(map(abs, terms)) else Status.STALLED
    return LinearScore(coef, intercept, dual), status, n_iter


def best_intercept(scores: np.ndarray, share: np.ndarray, prior: float) -> float:
    """Return the intercept with the lowest double-hinge risk: a weighted quantile of -1 - g and 1 - g.

    If all values in an interval are optimal, the midpoint is returned.
    """
    corners = np.concatenate([-1.0 - scores, 1.0 - scores])
    order = np.argsort(corners, kind="stable")
    below = np.cumsum(np.tile(0.5 * share, 2)[order])
    slack = 1e-12
    first = int(np.searchsorted(below, prior - slack))
    last = int(np.searchsorted(below, prior + slack))
    corners = corners[order]
    return 0.5 * float(corners[min(first, len(corners) - 1)] + corners[min(last, len(corners) - 1)])


def _smoothed_double_hinge(
    features: PUFeatures, prior: float, alpha: float, control: Control, start: LinearScore | None
) -> tuple[LinearScore, Status, int]:
    """Minimize a smoothed double-hinge risk by Newton's method, with decreasing smoothing widths.

    Used if rounding errors dominate the dual. ``max(0, 1 + g)`` is replaced by
    ``width * log(1 + exp((1 + g) / width))``. The multipliers of its slope yield a lower bound of the
    objective.
    """
    U, share, target = features.unlabeled, features.unlabeled_share, prior * features.shift
    x = np.append(np.zeros_like(features.mean), _best_constant("double_hinge", prior))
    score: Any  # not None after the first width
    n_iter, value, bound, allowed, score = 0, np.inf, -np.inf, 0.0, None
    for width in 0.1 ** np.arange(_WIDTHS):
        x, step, _, steps = _newton(features, prior, alpha, replace(control, on_iteration=None), x, width)
        n_iter += steps
        g, along = (U @ part[:-1] + part[-1] for part in (x, step))
        # Use the multipliers after the next step, where the gradient is zero up to rounding errors. At the
        # current point, rounding errors of the score would change them.
        u, v = (
            share * np.clip(0.5 * expit(a) + 0.5 * expit(a) * expit(-a) * along / width, 0.0, 0.5)
            for a in ((g + 1.0) / width, (g - 1.0) / width)
        )
        ahead = alpha * (x + step)[:-1]
        rest = ahead - ((u + v) @ U - target + ahead)
        off = abs(float((u + v).sum() - prior) * x[-1])  # violation of the equality constraint of the dual
        bound = max(bound, float(u.sum() - v.sum() - 0.5 * (rest @ rest) / alpha) - off)
        intercept = best_intercept(U @ x[:-1], share, prior)
        terms = _terms(features, "double_hinge", prior, alpha, x[:-1], intercept)
        if sum(terms) < value:
            value, allowed, score = sum(terms), sum(map(abs, terms)), LinearScore(x[:-1], intercept)
        control.report(n_iter, bound)
        if control.is_stopped:
            return score, Status.INTERRUPTED, n_iter
        if value - bound <= control.tol * allowed:
            return score, Status.CONVERGED, n_iter
    return score, Status.CONVERGED if value - bound <= 1e-6 * allowed else Status.STALLED, n_iter


# ---------------------------------------------------------------------- logistic


def _logistic(
    features: PUFeatures, prior: float, alpha: float, control: Control, start: LinearScore | None
) -> tuple[LinearScore, Status, int]:
    """Minimize the logistic risk by Newton's method, started from a rough double-hinge solution."""
    if start is not None:
        x = np.append(start.coef, start.intercept + features.mean @ start.coef)
    elif features.is_graded(alpha):
        x = np.append(np.zeros_like(features.mean), _best_constant("logistic", prior))
    else:
        rough = replace(control, tol=1e-3, on_iteration=None)
        near = _double_hinge(features, prior, alpha, rough, None)[0]
        x = np.append(near.coef, near.intercept)
    x, _, status, n_iter = _newton(features, prior, alpha, control, x)
    return LinearScore(x[:-1], float(x[-1])), status, n_iter


def _newton(
    features: PUFeatures,
    prior: float,
    alpha: float,
    control: Control,
    x: np.ndarray,
    width: float | None = None,
) -> tuple[np.ndarray, np.ndarray, Status, int]:
    """Minimize the logistic risk, or with a `width` the smoothed double-hinge risk, by Newton's method.

    Steps are halved until the objective decreases. With the curvature c of the loss, the Hessian is
    ``U' diag(share c) U + alpha I`` plus a row for the intercept; it is factorized in every step. Returns the
    point, the next step, the status and the number of steps.
    """
    U, share = features.unlabeled, features.unlabeled_share
    direction = np.zeros_like(x)
    pull = np.append(prior * features.shift, prior)
    design = np.column_stack([U, np.ones(len(U))])
    ridge = np.append(np.full(len(x) - 1, alpha), 0.0)
    sides, factor, width = ((0.0,), 1.0, 1.0) if width is None else ((1.0, -1.0), 0.5, width)

    def value_at(x: np.ndarray, g: np.ndarray) -> float:
        loss = factor * width * sum(np.logaddexp(0.0, (g + side) / width) for side in sides)
        return float(share @ loss - pull @ x + 0.5 * ridge @ (x * x))

    def slope_and_curvature(g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at = [(g + side) / width for side in sides]
        return factor * sum(expit(a) for a in at), factor / width * sum(expit(a) * expit(-a) for a in at)

    g = design @ x
    value, status = value_at(x, g), Status.MAX_ITER
    n_iter = 0
    while n_iter < control.max_iter:
        if control.is_stopped:
            status = Status.INTERRUPTED
            break
        n_iter += 1
        slope, curvature = slope_and_curvature(g)
        gradient = (share * slope) @ design - pull + ridge * x
        if not np.isfinite(gradient).all():  # the last step overflowed
            status = Status.NOT_FINITE
            break
        half = np.sqrt(share * curvature)[:, None] * design
        hessian = half.T @ half
        # The curvature of the intercept can vanish if all scores are large; a small ridge avoids this.
        hessian.flat[:: len(x) + 1] += np.append(ridge[:-1], 1e-12 + 1e-9 * hessian[-1, -1])
        try:
            direction = cho_solve(cho_factor(hessian, overwrite_a=True, check_finite=False), -gradient)
        except LinAlgError:
            status = Status.STALLED
            break
        decrement = -float(gradient @ direction)
        # Near the optimum, half the decrement is the distance of the value from the optimal value.
        if decrement <= min(control.tol, 1e-8) * 1e-2 * (abs(value) + abs(float(pull @ x))):
            status = Status.CONVERGED
            break
        along, length = design @ direction, 1.0
        while length > 1e-10:
            trial = value_at(x + length * direction, g + length * along)
            if trial <= value - 1e-4 * length * decrement:
                break
            length *= 0.5
        else:
            status = Status.STALLED
            break
        x, g, value = x + length * direction, g + length * along, trial
        control.report(n_iter, value)
    return x, direction, status, n_iter


def pu_risk_bound(
    largest_score: float, *, class_prior: float, n_positive: int, n_unlabeled: int, delta: float = 0.05
) -> float:
    """Bound the excess of the risk of a fixed score over its empirical value (Theorem 1 of the paper).

    The bound holds for the double hinge loss and a score g with ``|g|`` <= `largest_score` everywhere. With
    probability at least 1 - delta over the draw of positive and unlabeled bags, the risk exceeds its
    empirical value by at most ::

        largest_score sqrt(log(2 / delta) / 2) (2 pi / sqrt(n_positive) + 1 / sqrt(n_unlabeled))

    Parameters
    ----------
    largest_score : float
        Upper bound of the absolute score: the paper's C_alpha C_phi, the largest norm of the coefficients
        times the largest norm of the basis functions, including the intercept.
    class_prior : float
        Share pi of positive bags.
    n_positive, n_unlabeled : int
        Numbers of bags in the sample.
    delta : float, default=0.05
        Probability that the bound fails.

    Returns
    -------
    float

    Notes
    -----
    The bound holds for a score that was **fixed before the sample was drawn**. It does not apply to a fitted
    score, which is chosen for a small risk on the sample and whose basis functions are bags of the sample. It
    does not apply to the error rate either, which is a different loss. The bound shows which sample to
    enlarge: more positive bags reduce it most if 4 pi^2 n_unlabeled > n_positive.

    References
    ----------
    Bao, Sakai, Sato and Sugiyama (2018), Neural Networks 105, Theorem 1 and appendix C.

    Examples
    --------
    >>> from bagwise import pu_risk_bound
    >>> round(pu_risk_bound(1.0, class_prior=0.5, n_positive=100, n_unlabeled=400), 3)
    0.204
    """
    return float(
        largest_score
        * np.sqrt(np.log(2.0 / delta) / 2.0)
        * (2.0 * class_prior / np.sqrt(n_positive) + 1.0 / np.sqrt(n_unlabeled))
    )
