"""The LASSO path of a multiple-instance logistic regression: down from the null model, and back up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bagwise._sklearn import check_parameters
from bagwise.base import BagsLike, affine_map, fit_scaler
from bagwise.linear_model.logistic import MILogisticRegression, make_design
from bagwise.linear_model.problem import LinearBagProblem
from bagwise.linear_model.search import largest_alpha, solve_null
from bagwise.rules import Rule, make_rule, start_fixed
from bagwise.solvers.interrupt import interruptible
from bagwise.solvers.prox_newton import Guide, L1Result, minimize_l1
from bagwise.solvers.result import Status
from bagwise.solvers.working_set import kkt_violation
from bagwise.threads import blas_threads_for

# How far the way back up may go on beyond the largest alpha, in steps of the grid.
_MOST_STEPS_BEYOND = 100
# On the way up optimality within this part of alpha is enough to see where it leads, and parameters that
# agree to this part of the largest lead to the same place.
_ROUGHLY, _NEAR = 1e-3, 1e-2
# So many alphas of another path, from the present one on, guide it.
_GUIDES = 3
# What beats the model without features does so by more than rounding.
_CLEARLY = 1e-8


@dataclass(frozen=True)
class MILRPath:
    """Solutions along a grid of penalties, strongest first.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        The penalties, falling.
    coefs : array of shape (n_alphas, n_features)
        Coefficients on the original scale of the features.
    intercepts, objectives, log_likelihoods : arrays of shape (n_alphas,)
        Intercepts on that scale; what is minimised; the log-likelihood of the bags alone.
    kkt : array of shape (n_alphas,)
        The largest violation of the optimality conditions, per unit of bag weight.
    n_iter : array of shape (n_alphas,)
        Newton steps.
    from_below : array of bool, shape (n_alphas,)
        Whether the way back up has found the better solution.
    alpha_max : float
        The exact penalty at which the model without features stops being stationary on the way down.
    rule : Rule
        The rule of the fits.
    scaler : transformer or None
        The fitted `scale`.
    """

    alphas: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    objectives: np.ndarray
    log_likelihoods: np.ndarray
    kkt: np.ndarray
    n_iter: np.ndarray
    from_below: np.ndarray
    alpha_max: float
    rule: Rule
    scaler: Any

    @property
    def n_nonzero(self) -> np.ndarray:
        """The number of features in the model, for each alpha."""
        return (self.coefs != 0).sum(axis=1)

    def log_odds(self, instances) -> np.ndarray:
        """Log-odds of instances at every alpha: shape (n_instances, n_alphas)."""
        if affine_map(self.scaler) is None:
            instances = self.scaler.transform(instances)
        return instances @ self.coefs.T + self.intercepts


@interruptible()
def milr_path(
    X: BagsLike,
    y: ArrayLike,
    *,
    rule="or",
    alphas=20,
    eps: float = 0.01,
    l1_ratio: float = 1.0,
    fit_intercept: bool = True,
    scale="standard",
    class_weight=None,
    sample_weight: ArrayLike | None = None,
    both_ways: bool = True,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> MILRPath:
    """Fit `MILogisticRegression` along a grid of penalties, each from the solution of the last.

    The way down starts at the exact largest alpha with the model without features. The bag likelihood is not
    concave, and a solution that the way down reaches late may have been better long before: so the path
    comes back up, goes on beyond the largest alpha until no feature is left, and keeps the better objective
    at every alpha.

    Parameters
    ----------
    X, y, rule, l1_ratio, fit_intercept, scale, class_weight, sample_weight, tol, max_iter
        As in `MILogisticRegression` and its `fit`; `l1_ratio` must be positive.
    alphas : int or array, default=20
        The penalties, or how many on a logarithmic grid from the largest to `eps` times the largest.
    eps : float, default=0.01
        The end of that grid.
    both_ways : bool, default=True
        Whether to come back up. Bags of one instance make a convex problem: there it is never needed.

    Returns
    -------
    MILRPath
        Where the grid is of its own making, alphas above `alpha_max` come first, if the way up has found
        something better than the model without features there.

    Examples
    --------
    >>> from bagwise import make_noisy_or_bags, milr_path
    >>> data = make_noisy_or_bags(100, coef=[2.0, -2.0, 0.0, 0.0], random_state=0)
    >>> path = milr_path(data.bags, data.y, alphas=10)
    >>> path.coefs.shape[1], bool(path.n_nonzero[0] <= path.n_nonzero[-1])
    (4, True)
    """
    model = MILogisticRegression(
        rule,
        l1_ratio=l1_ratio,
        fit_intercept=fit_intercept,
        scale=scale,
        class_weight=class_weight,
        tol=tol,
        max_iter=max_iter,
    )
    check_parameters(model)
    training = model._read_training(X, y, sample_weight)
    path, _ = fit_path(model, training, alphas=alphas, eps=eps, both_ways=both_ways)
    return path


def fit_path(
    model,
    training,
    *,
    alphas,
    eps: float = 0.01,
    both_ways: bool = True,
    tol: float | None = None,
    guides: dict[float, Guide] | None = None,
    is_sharp: bool = True,
) -> tuple[MILRPath, dict[float, Guide]]:
    """Compute the path for a model's parameters (but `tol`, if given) on data that has been read.

    Gives also what the way down has learned of the curvature at each alpha, which may be the `guides` of a
    path on like data. If it need not be sharp, objective and optimality may be off by part of the tolerance.
    """
    bags, y, weight = training
    if not model.l1_ratio > 0:
        raise ValueError(f"a path needs an L1 penalty; l1_ratio must be positive, got {model.l1_ratio!r}.")
    scaler = fit_scaler(model.scale, bags, weight)
    rule = start_fixed(make_rule(model.rule), bags.offsets, y)
    design = make_design(bags, scaler, fit_intercept=model.fit_intercept)
    problem = LinearBagProblem(design, y, weight, rule)
    with blas_threads_for(bags.n_instances * bags.n_features):
        walk = _Walk(problem, model.l1_ratio, tol or model.tol, model.max_iter)
        grid, is_own = _make_grid(alphas, eps, walk.alpha_max)
        results, last = walk.down(grid, guides or {})
        down, better = results, []
        if both_ways and not problem.is_convex:
            results, last = walk.back_up(grid, down, last)
            better = walk.beyond(grid, last) if is_own else []
        alphas_out = np.array([alpha for alpha, _ in better[::-1]] + list(grid))
        from_below = [True] * len(better) + [r is not d for r, d in zip(results, down, strict=True)]
        results = [result for _, result in better[::-1]] + results
        if is_sharp:
            results = walk.certified(alphas_out, results)
    originals = [design.to_original(r.x) for r in results]
    log_likelihoods = np.array([r.log_likelihood for r in results])
    path = MILRPath(
        alphas=alphas_out,
        coefs=np.array([coef for coef, _ in originals]),
        intercepts=np.array([intercept for _, intercept in originals]),
        objectives=alphas_out * [walk.penalty(r.x) for r in results] - log_likelihoods,
        log_likelihoods=log_likelihoods,
        kkt=np.array([r.kkt for r in results]),
        n_iter=np.array([r.n_iter for r in results]),
        from_below=np.array(from_below),
        alpha_max=walk.alpha_max,
        rule=rule,
        scaler=scaler,
    )
    return path, walk.guides


class _Stop(NamedTuple):
    """What is kept of one solution."""

    x: np.ndarray
    value: float
    log_likelihood: float
    drift: float
    kkt: float
    n_iter: int


class _Walk:
    """Solves at one alpha after the other, each from the last solution."""

    def __init__(self, problem: LinearBagProblem, l1_ratio: float, tol: float, max_iter: int):
        self.problem = problem
        self.l1_ratio = l1_ratio
        self.tol = tol
        self.max_iter = max_iter
        # Tighter than the path, so that the largest alpha is exact.
        self.null = _finished(solve_null(problem, tol=1e-3 * tol, max_iter=max_iter))
        self.alpha_max = largest_alpha(self.null) * problem.total / l1_ratio
        self.guides: dict[float, Guide] = {}

    def penalty(self, x: np.ndarray) -> float:
        """What alpha multiplies in the objective."""
        coef = x[:-1]
        return float(self.l1_ratio * np.abs(coef).sum() + 0.5 * (1 - self.l1_ratio) * (coef @ coef))

    def solve(
        self, alpha: float, last: L1Result, *, roughly: bool = False, guides: Sequence[Guide] = ()
    ) -> L1Result:
        l1, ridge = self._parts(alpha)
        # With a ridge part the smooth function changes with alpha, and is looked at anew.
        start = last if ridge == self.problem.ridge else last.x
        self.problem.ridge = ridge
        tol = max(self.tol, _ROUGHLY * l1) if roughly else self.tol
        return _finished(
            minimize_l1(self.problem, start, alpha=l1, tol=tol, max_iter=self.max_iter, guides=guides)
        )

    def _parts(self, alpha: float) -> tuple[float, float]:
        """Strengths of the L1 norm and of the squared norm, per unit of weight."""
        alpha = alpha / self.problem.total
        return alpha * self.l1_ratio, alpha * (1 - self.l1_ratio)

    def down(self, alphas, guides: dict[float, Guide]) -> tuple[list[_Stop], L1Result]:
        stops, last = [], self.null
        for number, alpha in enumerate(alphas):
            # A guide for a smaller alpha knows more columns.
            near = [guides[other] for other in alphas[number : number + _GUIDES] if other in guides]
            last = self.solve(alpha, last, guides=near)
            stops.append(_stop(last))
            if last.guide is not None:
                self.guides[alpha] = last.guide
        return stops, last

    def back_up(self, alphas, known: list[_Stop], last: L1Result) -> tuple[list[_Stop], L1Result]:
        """Come back from the last solution; give the better one at every alpha, and the end of the way.

        Where the way up comes near what is known, or stays above it, it need not go to the end.
        """
        kept = []
        for alpha, there in zip(alphas[::-1], known[::-1], strict=True):
            last = self.solve(alpha, last, roughly=True)
            if not _is_near(last, there) and last.value < there.value * (1 + _ROUGHLY):
                last = self.solve(alpha, last)
            kept.append(
                min(there, _stop(last), key=lambda stop: stop.value) if last.kkt <= self.tol else there
            )
        return kept[::-1], last

    def beyond(self, grid, last: L1Result) -> list[tuple[float, _Stop]]:
        """Go on upward from the top of the grid until no feature is left; give what beats that.

        The step is that of the grid.
        """
        ratio = grid[0] / grid[1] if len(grid) > 1 else 1.25
        better: list[tuple[float, _Stop]] = []
        alpha = grid[0]
        for _ in range(_MOST_STEPS_BEYOND):
            if not last.x[:-1].any():
                break
            alpha *= ratio
            last = self.solve(alpha, last)
            if last.value < self.null.value * (1 - _CLEARLY):
                better.append((alpha, _stop(last)))
        return better

    def certified(self, alphas, stops: list[_Stop]) -> list[_Stop]:
        """Compute to all digits what was found without; what then is not optimal goes on with all digits."""
        rough = [number for number, stop in enumerate(stops) if stop.drift]
        if not rough:
            return stops
        stops = list(stops)
        found = self.problem.likelihoods(np.array([stops[number].x for number in rough]))
        for number, log_likelihood, gradient in zip(rough, *found, strict=True):
            stop, (l1, ridge) = stops[number], self._parts(alphas[number])
            gradient[:-1] += ridge * stop.x[:-1]
            kkt = float(kkt_violation(gradient, stop.x, l1).max())
            stops[number] = stop._replace(log_likelihood=float(log_likelihood), drift=0.0, kkt=kkt)
            n_left = self.max_iter - stop.n_iter
            if kkt > self.tol and n_left > 0:
                self.problem.ridge = ridge
                exact = self.problem.in_double()
                last = _finished(minimize_l1(exact, stop.x, alpha=l1, tol=self.tol, max_iter=n_left))
                stops[number] = _stop(last)._replace(n_iter=stop.n_iter + last.n_iter)
        return stops


def _finished(result: L1Result) -> L1Result:
    """Pass an interrupt on: a path of which a part is missing is of no use."""
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return result


def _stop(result: L1Result) -> _Stop:
    point = result.point
    return _Stop(result.x, result.value, point.log_likelihood, point.drift, result.kkt, result.n_iter)


def _is_near(result: L1Result, known: _Stop) -> bool:
    """Whether a rough solution is on its way to a known one."""
    return bool(np.abs(result.x - known.x).max() <= _NEAR * np.abs(known.x).max())


def _make_grid(alphas, eps: float, alpha_max: float) -> tuple[np.ndarray, bool]:
    """Give falling alphas, and whether they are of our own making."""
    if isinstance(alphas, Integral):
        if alphas < 1 or not 0 < eps < 1:
            raise ValueError(f"alphas must be at least 1 and eps between 0 and 1; got {alphas} and {eps}.")
        # At the largest alpha itself rounding must not let a feature in.
        top = alpha_max * (1 + 1e-9)
        return (np.geomspace(top, eps * top, int(alphas)) if alpha_max > 0 else np.ones(int(alphas))), True
    grid = np.sort(np.asarray(alphas, dtype=float))[::-1]
    if grid.ndim != 1 or len(grid) == 0 or not (np.isfinite(grid).all() and grid[-1] > 0):
        raise ValueError(f"alphas must be a number of penalties or positive penalties; got {alphas!r}.")
    return grid, False
