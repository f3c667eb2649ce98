"""The model without features, for tests of all features together."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from bagwise.models.linear_model.engine.learned_rule import JointProblem
from bagwise.models.linear_model.engine.null import fit_null
from bagwise.models.linear_model.inference.likelihood import FittedLikelihood
from bagwise.rules import LearnedRule
from bagwise.solvers.control import Control


def score_without_features(likelihood: FittedLikelihood) -> float:
    """The score statistic of the hypothesis that no feature matters, under a rule that is given."""
    null = fit_null(likelihood.problem, Control(tol=1e-9, max_iter=200))
    score, information = likelihood.score_and_expected_information(null)
    return float(score @ np.linalg.lstsq(information, score, rcond=None)[0])


def log_likelihood_without_features(likelihood: FittedLikelihood) -> float:
    """The largest log-likelihood of an intercept alone, and of the rule, if that was learned."""
    problem = likelihood.problem
    null = fit_null(problem, Control(tol=1e-9, max_iter=200))
    if not likelihood.learns_rule:
        return problem.log_likelihood(null)
    rule = problem.rule
    assert isinstance(rule, LearnedRule)
    joint = JointProblem(problem, rule)
    n = likelihood.n_features

    def value_and_gradient(v: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = joint.value_and_gradient(np.concatenate([null[:n], v]))
        return value, gradient[n:]

    start = np.concatenate([null[n:], rule.parameters()])
    end = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    theta, vector = joint.split(np.concatenate([null[:n], end.x]))
    return problem.with_rule(rule.with_parameters(vector)).log_likelihood(theta)
