"""Multiple-instance logistic regression by expectation-maximization, as in the papers.

With a fixed rule, this is the algorithm of MILR-LASSO; with a learned count rule, it is that of SORLR.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit

from bagwise.data.blocks import Blocks
from bagwise.models.linear_model.engine.learned_rule import LearnedResult
from bagwise.models.linear_model.engine.problem import BagPoint, InMemoryProblem
from bagwise.rules import LearnedRule, Rule
from bagwise.solvers.control import Control
from bagwise.solvers.quadratic import QuadraticModel
from bagwise.solvers.result import Status
from bagwise.solvers.working_set import ElasticNet

_MOST_HALVINGS = 40


def refuse_em(name: str, rules: Sequence[Rule], blocks: Blocks) -> None:
    """Raise an error if EM is not applicable, which is the case for links and for large data."""
    problem = None
    if not rules[0].has_latent_labels:
        problem = f"rule={name} has no latent instance labels, which an E step needs"
    elif blocks.are_large:
        problem = "it reads all instances in every iteration, and X is too large for this"
    if problem is not None:
        raise ValueError(f"solver='em' cannot be used: {problem}; use solver='newton'.")


def minimize_by_em(
    problem: InMemoryProblem, start: np.ndarray, penalty: ElasticNet, control: Control
) -> LearnedResult:
    """Minimize the negative log-likelihood of bags plus a penalty by EM with quadratic M steps.

    The E step computes the posterior gamma of every instance. The M step of the coefficients maximizes the
    second-order expansion of ::

        sum w [gamma eta - log(1 + exp(eta))] - penalty

    at the current log-odds, by coordinate descent or, without an L1 norm, by a Newton step. If the step
    increases the objective of the bags, it is halved until the objective no longer increases. The M step of a
    learned rule is `Rule.update`. The M steps of coefficients and rule use the same E step.

    Parameters
    ----------
    problem : InMemoryProblem
        The likelihood, under a rule with latent labels and without a ridge. A learned rule starts from this
        rule.
    start : array of shape (n_features + 1,)
        The initial parameters.
    penalty : ElasticNet
        The penalty per unit of weight.
    control : Control
        Tolerance of the optimality conditions and other settings. For a learned rule, it is also the
        tolerance of the mean change of a bag's log-likelihood in an M step of the rule.

    Returns
    -------
    LearnedResult
        The value of a learned rule includes its log prior.
    """
    checkpoint = control.checkpoint.next_run(start, tuple(penalty), control.tol, control.max_iter)
    form: dict[str, Any] = {"rule": problem.rule, "x": None, "history": None}
    if checkpoint.has_ended:
        return _result(**checkpoint.end({**form, "status": None}))
    x, history = start, []
    state = checkpoint.state(form)
    if state is not None:
        problem, x, history = problem.with_rule(state["rule"]), state["x"], state["history"]
    point = problem.point(x)
    history = history or [_objective(problem.rule, point, problem.total, penalty)]
    status = Status.MAX_ITER if np.isfinite(history[-1]) else Status.NOT_FINITE
    while status is Status.MAX_ITER:
        rule, change = _learn_rule(problem, point)
        violation = max(change, float(penalty.violation(point).max()))
        if violation <= control.tol:
            status = Status.CONVERGED
            break
        if control.is_stopped or len(history) > control.max_iter:
            status = Status.INTERRUPTED if control.is_stopped else Status.MAX_ITER
            break
        x = _minimum(problem, point, penalty, 0.01 * violation)
        if problem.rule.learns:
            problem = problem.with_rule(rule)
        moved = _halved(problem, point, x, penalty, history[-1])
        if moved is None:
            status = Status.STALLED
            break
        point, value = moved
        history = [*history, value]
        checkpoint.keep({"rule": problem.rule, "x": point.x, "history": history})
        control.report(len(history) - 1, value)
    end: dict[str, Any] = {"rule": problem.rule, "x": point.x, "history": history, "status": status.name}
    if status is not Status.INTERRUPTED:
        checkpoint.finish(end)
    return _result(**end)


def _result(rule: Rule, x: np.ndarray, history: list[float], status: str) -> LearnedResult:
    return LearnedResult(x, history[-1], Status[status], len(history) - 1, tuple(history), rule)


def _objective(rule: Rule, point: BagPoint, total: float, penalty: ElasticNet) -> float:
    return penalty.objective(point) - rule.log_prior() / total


def _learn_rule(problem: InMemoryProblem, point: BagPoint) -> tuple[Rule, float]:
    """Do the M step of a learned rule; also return the mean absolute change of bag log-likelihoods."""
    rule, bags = problem.rule, (point.log_odds, problem.offsets, problem.y)
    if not isinstance(rule, LearnedRule) or not rule.learns:
        return rule, 0.0
    old, _, statistics = rule.gradient_and_statistics(*bags, problem.blocks.weight)
    updated = rule.update(statistics)
    return updated, float(problem.weight @ np.abs(updated.gradient(*bags)[0] - old))


def _minimum(problem: InMemoryProblem, point: BagPoint, penalty: ElasticNet, tol: float) -> np.ndarray:
    """Return the minimum of the quadratic expansion of the M step of the coefficients."""
    columns = np.arange(problem.n_features)
    # By Fisher's identity, the gradient of the bag likelihood equals the gradient of the M step's objective,
    # so that the E step is implicit. The curvature is that of labeled instances.
    labelled = problem.instance_weight * expit(point.log_odds) * expit(-point.log_odds)
    curvature = problem.curvature_from(labelled, np.zeros_like(labelled), columns)
    model = QuadraticModel.of(curvature, columns, problem.n_features)
    return model.minimum(point, columns, penalty, tol)


def _halved(
    problem: InMemoryProblem, point: BagPoint, x: np.ndarray, penalty: ElasticNet, value: float
) -> tuple[BagPoint, float] | None:
    """Halve the step to `x` until the objective does not increase; return None if that is impossible.

    It is possible even after an M step of the rule, because that step alone does not increase the objective.
    """
    for _ in range(_MOST_HALVINGS):
        new = problem.point(x)
        reached = _objective(problem.rule, new, problem.total, penalty)
        if reached <= value:
            return new, reached
        x = 0.5 * (point.x + x)
    return None
