"""The LASSO path of a multiple-instance logistic regression: `milr_path`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.checkpoint import NO_CHECKPOINT, CheckpointLocation
from bagwise._core.interrupt import interruptible
from bagwise._core.sklearn_private import check_parameters
from bagwise._core.threads import blas_threads_for
from bagwise._core.types import ClassWeight, PositiveLabel, Scale
from bagwise.data.bags import aligned
from bagwise.data.blocks import Blocks
from bagwise.models.base import BagsLike, affine_map, fit_scaler
from bagwise.models.linear_model.engine.design import log_odds_of
from bagwise.models.linear_model.engine.fit import fit_null
from bagwise.models.linear_model.engine.large_fit import BagSample, worth_sampling
from bagwise.models.linear_model.engine.lasso import ColumnCopy, LassoProblem
from bagwise.models.linear_model.engine.path import LargePath, PathSolver, both_ways_on
from bagwise.models.linear_model.engine.problem import InMemoryProblem, make_problem
from bagwise.models.linear_model.logistic import LinearBagClassifier, MILogisticRegression
from bagwise.persist.checkpoints import CheckpointLike, identity_of, opened
from bagwise.rules import Rule, make_rule, start_fixed
from bagwise.solvers.control import Control
from bagwise.solvers.prox_newton import WarmModel, finish

# Number of coefficients in each row of the table.
_SHOWN = 3


@dataclass(frozen=True, repr=False)
class MILRPath:
    """Solutions for a grid of penalties, strongest first. The `repr` is a table.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        The penalties, in decreasing order.
    coefs : array of shape (n_alphas, n_features)
        Coefficients on the original scale of the features.
    intercepts, objectives, log_likelihoods : arrays of shape (n_alphas,)
        Intercepts on the same scale, values of the objective, and log-likelihoods of the bags (without the
        penalty).
    kkt : array of shape (n_alphas,)
        The largest violation of the optimality conditions, per unit of bag weight.
    n_iter : array of shape (n_alphas,)
        Number of Newton steps.
    from_below : array of bool, shape (n_alphas,)
        Whether the better solution was reached from a weaker penalty (see `both_ways` in `milr_path`).
    alpha_max : float
        The smallest penalty at which the model without features is still stationary.
    rule : Rule
        The rule of the fits.
    scaler : transformer or None
        The fitted `scale`.
    n_passes : int
        Number of passes over all instances, summed over all penalties.
    feature_names : array of str, or None
        The names of the features, or None if the bags have no feature names.
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
    n_passes: int = 0
    feature_names: np.ndarray | None = None

    @property
    def n_nonzero(self) -> np.ndarray:
        """The number of features in the model for each alpha."""
        return (self.coefs != 0).sum(axis=1)

    def __repr__(self) -> str:
        n_features = self.coefs.shape[1]
        names = [f"x{k}" for k in range(n_features)] if self.feature_names is None else self.feature_names
        lines = [f"Path of {len(self.alphas)} penalties, {n_features} features, rule {self.rule!r}"]
        lines.append(f"{'alpha':>10}{'features':>10}{'log-likelihood':>16}   largest coefficients")
        rows = zip(self.alphas, self.n_nonzero, self.log_likelihoods, self.coefs, strict=True)
        for alpha, inside, log_likelihood, coef in rows:
            largest = [k for k in np.argsort(-np.abs(coef), kind="stable")[:_SHOWN] if coef[k] != 0]
            shown = ", ".join(f"{names[k]} {coef[k]:.3g}" for k in largest)
            more = ", ..." if inside > len(largest) else ""
            lines.append(f"{alpha:>10.4g}{inside:>10}{log_likelihood:>16.4f}   {shown}{more}".rstrip())
        return "\n".join(lines)

    def log_odds(self, instances: Any) -> np.ndarray:
        """Return the log-odds of instances for every alpha: shape (n_instances, n_alphas)."""
        if affine_map(self.scaler) is None:
            instances = self.scaler.transform(instances)
        return log_odds_of(instances, self.coefs, self.intercepts).T


@interruptible()
def milr_path(
    X: BagsLike,
    y: ArrayLike,
    *,
    rule: str | Rule = "or",
    alphas: int | ArrayLike = 20,
    eps: float = 0.01,
    l1_ratio: float = 1.0,
    fit_intercept: bool = True,
    scale: Scale = "standard",
    class_weight: ClassWeight = None,
    positive: PositiveLabel = None,
    sample_weight: ArrayLike | None = None,
    both_ways: bool = True,
    tol: float = 1e-6,
    max_iter: int = 200,
    checkpoint: CheckpointLike | None = None,
) -> MILRPath:
    """Fit `MILogisticRegression` for a grid of penalties, with each solution as the start for the next one.

    The downward path starts with the model without features at the largest alpha, and alpha decreases. The
    bag likelihood is not concave: a solution that the downward path reaches at a small alpha may also be
    better at larger alphas. Therefore the path is computed in the upward direction as well, beyond the
    largest alpha until no feature is left. For every alpha, the solution with the smaller objective is kept.

    Parameters
    ----------
    X, y, rule, l1_ratio, fit_intercept, scale, class_weight, sample_weight, tol, max_iter
        As in `MILogisticRegression` and its `fit`; `l1_ratio` must be positive.
    positive : label or None, default=None
        As in `MILogisticRegression`, but required if the labels are text.
    alphas : int or array, default=20
        The penalties, or the number of penalties on a logarithmic grid that ranges from `alpha_max` to `eps`
        times this value.
    eps : float, default=0.01
        Ratio of the smallest to the largest penalty of the grid. The paper uses 0.001 with 20 alphas, which
        costs more: the last solutions are close to the maximum likelihood estimate.
    both_ways : bool, default=True
        Whether to compute the path in both directions. If all bags have one instance, the problem is convex,
        and only the downward path is computed.
    checkpoint : path, optional
        As in `MILogisticRegression.fit`.

    Returns
    -------
    MILRPath
        The path. If `alphas` is an integer, the path may begin with alphas above `alpha_max`: those for which
        the upward path has a better solution than the model without features.

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
        positive=positive,
        tol=tol,
        max_iter=max_iter,
    )
    check_parameters(model)
    training = model._read_training(X, aligned("y", y, X), aligned("sample_weight", sample_weight, X))
    options: dict[str, Any] = {"alphas": alphas, "eps": eps, "both_ways": both_ways}
    with opened(checkpoint, lambda: {**identity_of(model, **options), "model": "milr_path"}) as location:
        blocks = training.bags.blocks(training.y, training.weight)
        path, _ = fit_path(model, blocks, **options, checkpoint=location)
    return path


def fit_path(
    model: LinearBagClassifier,
    blocks: Blocks,
    *,
    alphas: int | ArrayLike,
    eps: float = 0.01,
    both_ways: bool = True,
    tol: float | None = None,
    warm_models: dict[float, WarmModel] | None = None,
    exactly: bool = True,
    sample: BagSample | None = None,
    checkpoint: CheckpointLocation = NO_CHECKPOINT,
) -> tuple[MILRPath, dict[float, WarmModel]]:
    """Compute the path with a model's parameters (and another `tol`, if passed) for validated data.

    The second result contains the curvature models of the downward path for every alpha, which can be the
    `warm_models` of a path on similar data. With ``exactly=False``, the objective and the optimality
    conditions may have errors of a fraction of the tolerance. For large data, the path is computed on a
    `sample` first, which is drawn here if it is not passed. A `checkpoint` stores the solution for every
    alpha. For small data, a resumed path then lacks the curvature models.
    """
    if not model.l1_ratio > 0:
        raise ValueError(f"a path needs an L1 penalty; l1_ratio must be positive, got {model.l1_ratio!r}.")
    passes_before = blocks.n_passes
    scaler = fit_scaler(model.scale, blocks)
    rule = start_fixed(make_rule(model.rule), blocks.offsets, blocks.y)
    problem = make_problem(blocks, scaler, rule, fit_intercept=model.fit_intercept)
    control = Control(tol or model.tol, model.max_iter, checkpoint=checkpoint)
    # In a fold, further features may be constant.
    warm = {a: w for a, w in (warm_models or {}).items() if w.n_features == problem.n_features}
    with blas_threads_for(blocks.n_values):
        # Use a smaller tolerance than for the path, so that the largest alpha is exact.
        null = blocks.exclusive(fit_null, problem, replace(control, tol=1e-3 * control.tol))
        if isinstance(problem, InMemoryProblem) or not worth_sampling(blocks):
            copy = ColumnCopy.of(problem.design) if isinstance(problem, InMemoryProblem) else None
            lasso = LassoProblem(problem, copy, tol=control.tol)
            solver = PathSolver(lasso, null, model.l1_ratio, control)
            alpha_max, learned = solver.alpha_max, solver.warm_models
            grid, is_automatic = _make_grid(alphas, eps, alpha_max)
            result = both_ways_on(solver, grid, warm, both_ways=both_ways, beyond=is_automatic)
            if exactly:
                result = result._replace(solutions=finish(lasso, result.solutions, control))
        else:
            alpha_max = problem.point(null).largest_slope * problem.total / model.l1_ratio
            grid, is_automatic = _make_grid(alphas, eps, alpha_max)
            large = LargePath(problem, null, model.l1_ratio, control, alpha_max)
            options = {"both_ways": both_ways, "beyond": is_automatic}
            result, learned = large.solve(sample, grid, warm, **options)
    originals = [problem.scaling.to_original(solution.x) for solution in result.solutions]
    path = MILRPath(
        alphas=result.alphas,
        coefs=np.array([coef for coef, _ in originals]),
        intercepts=np.array([intercept for _, intercept in originals]),
        objectives=problem.total * np.array([solution.value for solution in result.solutions]),
        log_likelihoods=np.array([solution.point.log_likelihood for solution in result.solutions]),
        kkt=np.array([solution.kkt for solution in result.solutions]),
        n_iter=np.array([solution.n_iter for solution in result.solutions]),
        from_below=np.array(result.from_below),
        alpha_max=alpha_max,
        rule=rule,
        scaler=scaler,
        n_passes=problem.blocks.n_passes - passes_before,
        feature_names=_names(model, len(originals[0][0])),
    )
    return path, learned


def _names(model: Any, n_features: int) -> np.ndarray | None:
    """Return the names of the features, or None if a transformer has replaced the features."""
    names = getattr(model, "feature_names_in_", None)
    return np.asarray(list(map(str, names))) if names is not None and len(names) == n_features else None


def _make_grid(alphas: int | ArrayLike, eps: float, alpha_max: float) -> tuple[np.ndarray, bool]:
    """Return decreasing alphas, and whether this function generated them."""
    if isinstance(alphas, Integral):
        if alphas < 1 or not 0 < eps < 1:
            raise ValueError(f"alphas must be at least 1 and eps between 0 and 1; got {alphas} and {eps}.")
        # Start slightly above the largest alpha, so that rounding errors do not add a feature.
        top = alpha_max * (1 + 1e-9)
        if not np.isfinite(top):
            raise ValueError("the gradient of the scaled features overflows; rescale X to smaller values.")
        return (np.geomspace(top, eps * top, int(alphas)) if alpha_max > 0 else np.ones(int(alphas))), True
    grid = np.sort(np.asarray(alphas, dtype=float))[::-1]
    if grid.ndim != 1 or len(grid) == 0 or not (np.isfinite(grid).all() and grid[-1] > 0):
        raise ValueError(f"alphas must be an integer or an array of positive penalties; got {alphas!r}.")
    return grid, False
