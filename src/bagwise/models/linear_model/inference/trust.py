"""Check whether standard errors are valid at a fit, and explain why if they are not."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise.data.blocks import Block
from bagwise.models.linear_model.engine.design import Scaling
from bagwise.models.linear_model.engine.moments import moments_of
from bagwise.models.linear_model.inference.likelihood import FittedLikelihood

# Minimum eigenvalue of the information of scaled features, relative to the largest; less is rounding error.
_FLATTEST = 1e-10
# Newton's method has converged if no log-odds change by more than the first value in a step. If a step still
# changes log-odds by the second value after this number of steps, the maximum is at infinity: along a
# separating direction, each step changes log-odds by one, even if the likelihood is flat.
_ARRIVED, _MOVES, _STEPS = 1e-3, 0.1, 12
# Maximum change of log-odds in a step.
_LONGEST = 2.0
# Thresholds within this log-likelihood of the best are not excluded: half the 95 % quantile of chi^2.
_NOT_EXCLUDED = 1.92
# Removed from messages if the result already contains profile likelihoods.
REMAINS = ' Likelihood ratios are still available: inference(intervals="profile").'


def is_positive_definite(information: np.ndarray) -> bool:
    """Return whether the information is positive definite beyond rounding errors."""
    if not np.isfinite(information).all():
        return False
    values = np.linalg.eigvalsh(information)
    return bool(values[0] > _FLATTEST * max(values[-1], np.finfo(float).tiny))


def why_no_errors(
    model: Any, likelihood: FittedLikelihood, information: np.ndarray, score: np.ndarray
) -> str | None:
    """Return why there are no standard errors, or None if they are valid."""
    if _is_collinear(likelihood):
        return (
            "Features are collinear or constant, so the information is not positive definite and there are "
            "no standard errors. Use fewer features, or fit with a penalty."
        )
    if _is_separated(likelihood, information, score):
        return (
            "A combination of the features separates the bags, so some coefficients have no finite maximum "
            f"likelihood estimate and there are no standard errors.{REMAINS}"
        )
    if not model.converged_:
        return "The fit has not converged, so there are no standard errors. Increase max_iter."
    if not is_positive_definite(information):
        cause = "the data do not determine the rule" if likelihood.learns_rule else "the fit is not a maximum"
        return f"The information is not positive definite, so there are no standard errors: {cause}."
    if float(score @ np.linalg.solve(information, score)) > 0.01:
        return "The fit stopped too far from the maximum, so there are no standard errors. Decrease tol."
    return _why_not_this_rule(model)


def _why_not_this_rule(model: Any) -> str | None:
    """Return a message if other thresholds explain the bags equally well, otherwise None."""
    tried = getattr(getattr(model, "_kept", None), "tried", ())
    if not tried:
        return None
    best = min(value for _, value in tried)
    rivals = [rule for rule, value in tried if value - best < _NOT_EXCLUDED and rule is not model.rule_]
    if not rivals:
        return None
    return (
        f"The rule was selected on these bags, and {rivals[0]!r} explains them nearly as well as "
        f"{model.rule_!r}. Standard errors for a fixed rule would be too small, so there are none. If the "
        "rule is known, pass it as `rule`."
    )


def _is_collinear(likelihood: FittedLikelihood) -> bool:
    """Return whether the features and the intercept are linearly dependent."""
    problem = likelihood.problem
    raw = problem.blocks.total(_moments, problem.scaling)
    values = np.linalg.eigvalsh(raw[np.ix_(likelihood.free[: len(raw)], likelihood.free[: len(raw)])])
    return bool(len(values) > 0 and values[0] <= _FLATTEST * values[-1])


def _moments(block: Block, scaling: Scaling) -> np.ndarray:
    columns = np.arange(scaling.n_features)
    diagonal = np.ones(block.X.shape[0])
    return scaling.scale_moments(moments_of(block.X, columns, diagonal, 0 * diagonal, block.offsets), columns)


def _is_separated(likelihood: FittedLikelihood, information: np.ndarray, score: np.ndarray) -> bool:
    """Return whether Newton steps from the fit do not shrink, which shows that the bags are separable."""
    if not is_positive_definite(information):
        # Features are not collinear, so a flat likelihood means that the fit is far out along a separating
        # direction. With a negative eigenvalue, the fit is not a maximum. A learned rule can also cause a
        # flat likelihood, if the data do not determine it.
        values = np.linalg.eigvalsh(information)
        return bool(values[0] > -1e-6 * np.abs(values).max()) and not likelihood.learns_rule
    x, change = likelihood.x[likelihood.free], 0.0
    for _ in range(_STEPS):
        step = -np.linalg.solve(information, score)
        change = likelihood.largest_change(step)
        if change <= _ARRIVED:
            return False
        x = x + step / max(1.0, change / _LONGEST)
        whole = likelihood.at(x)
        _, score = likelihood.value_and_gradient(whole)
        information = likelihood.information(whole)
        if not is_positive_definite(information):
            return True
    return change > _MOVES
