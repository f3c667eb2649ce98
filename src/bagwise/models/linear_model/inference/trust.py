"""Whether standard errors hold at a fit; if not, a sentence that says why."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise.data.blocks import Block
from bagwise.models.linear_model.engine.design import Scaling
from bagwise.models.linear_model.engine.moments import moments_of
from bagwise.models.linear_model.inference.likelihood import FittedLikelihood

# The least eigenvalue of the information that is believed, relative to the largest, on scaled features.
_FLATTEST = 1e-10
# A step of Newton's method that moves no log-odds by more than the first has arrived; where the steps still
# move some by the second after so many, the maximum is at infinity: along a separating direction every step
# moves log-odds by one, however flat the likelihood has become.
_ARRIVED, _MOVES, _STEPS = 1e-3, 0.1, 12
# No step moves log-odds by more than this.
_LONGEST = 2.0
# Thresholds whose log-likelihood is within this of the best are not excluded: half the 95 % point of chi^2.
_NOT_EXCLUDED = 1.92
# What is said only where likelihood ratios are not given anyway.
REMAINS = ' Likelihood ratios remain: inference(intervals="profile").'


def is_positive_definite(information: np.ndarray) -> bool:
    """Whether every direction has information beyond rounding."""
    if not np.isfinite(information).all():
        return False
    values = np.linalg.eigvalsh(information)
    return bool(values[0] > _FLATTEST * max(values[-1], np.finfo(float).tiny))


def why_no_errors(
    model: Any, likelihood: FittedLikelihood, information: np.ndarray, score: np.ndarray
) -> str | None:
    """Say why there are no standard errors, or None where they hold."""
    if _is_collinear(likelihood):
        return (
            "Features are collinear or constant, so the information is not positive definite and there are "
            "no standard errors. Use fewer features or a penalty."
        )
    if _is_separated(likelihood, information, score):
        return (
            "A combination of the features separates the bags, so some coefficients have no finite maximum "
            f"likelihood estimate and there are no standard errors.{REMAINS}"
        )
    if not model.converged_:
        return "The fit has not converged, so there are no standard errors. Raise max_iter."
    if not is_positive_definite(information):
        cause = "the data leave the rule open" if likelihood.learns_rule else "the fit is not at a maximum"
        return f"The information is not positive definite, so there are no standard errors: {cause}."
    if float(score @ np.linalg.solve(information, score)) > 0.01:
        return "The fit ended too far from the maximum for standard errors. Lower tol."
    return _why_not_this_rule(model)


def _why_not_this_rule(model: Any) -> str | None:
    """Say that other thresholds explain the bags as well, if they do."""
    tried = getattr(getattr(model, "_kept", None), "tried", ())
    if not tried:
        return None
    best = min(value for _, value in tried)
    rivals = [rule for rule, value in tried if value - best < _NOT_EXCLUDED and rule is not model.rule_]
    if not rivals:
        return None
    return (
        f"The rule was chosen on these bags, and {rivals[0]!r} explains them nearly as well as "
        f"{model.rule_!r}: errors that take it as known would be too small. Give the rule, if it is known."
    )


def _is_collinear(likelihood: FittedLikelihood) -> bool:
    """Whether features, together with the intercept, are linearly dependent."""
    problem = likelihood.problem
    raw = problem.blocks.total(_moments, problem.scaling)
    values = np.linalg.eigvalsh(raw[np.ix_(likelihood.free[: len(raw)], likelihood.free[: len(raw)])])
    return bool(len(values) > 0 and values[0] <= _FLATTEST * values[-1])


def _moments(block: Block, scaling: Scaling) -> np.ndarray:
    columns = np.arange(scaling.n_features)
    ones = np.ones(block.X.shape[0])
    return scaling.scale_moments(moments_of(block.X, columns, ones, 0 * ones, block.offsets), columns)


def _is_separated(likelihood: FittedLikelihood, information: np.ndarray, score: np.ndarray) -> bool:
    """Whether Newton's steps from the fit go on and on, instead of shrinking."""
    if not is_positive_definite(information):
        # Flat though no features are collinear: so far out that the likelihood has become constant. Where it
        # bends upwards the fit is no maximum, and a rule that is learned may be what the data leave open.
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
