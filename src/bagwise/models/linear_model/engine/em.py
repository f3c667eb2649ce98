"""Multiple-instance logistic regression by expectation-maximization, as in the paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import expit

from bagwise.data.blocks import Blocks
from bagwise.models.linear_model.engine.problem import BagPoint, InMemoryProblem
from bagwise.rules import Rule
from bagwise.solvers.control import Control
from bagwise.solvers.quadratic import QuadraticModel
from bagwise.solvers.result import SolverResult, Status, plain_of, result_of
from bagwise.solvers.working_set import ElasticNet

_MOST_HALVINGS = 40


def refuse_em(name: str, rules: Sequence[Rule], blocks: Blocks) -> None:
    """Raise an error if EM is not applicable: for links, learned rules and large data."""
    problem = None
    if not rules[0].has_latent_labels:
        problem = f"rule={name} has no latent instance labels, which an E step needs"
    elif len(rules) > 1 or rules[0].learns:
        problem = f"rule={name} is learned with the coefficients, but EM needs a fixed rule"
    elif blocks.are_large:
        problem = "it reads all instances in every iteration, and X is too large for this"
    if problem is not None:
        raise ValueError(f"solver='em' cannot be used: {problem}; use solver='newton'.")


def minimize_by_em(
    problem: InMemoryProblem, start: np.ndarray, penalty: ElasticNet, control: Control
) -> SolverResult:
    """Minimize the negative log-likelihood of bags plus a penalty by EM with quadratic M steps.

    The E step computes the posterior gamma of every instance. The M step maximizes the second-order expansion
    of ::

        sum w [gamma eta - log(1 + exp(eta))] - penalty

    at the current log-odds by coordinate descent. The step may overshoot. It is then halved until the
    objective of the bags does not increase.

    Parameters
    ----------
    problem : InMemoryProblem
        The likelihood, under a rule with latent labels and without a ridge.
    start : array of shape (n_features + 1,)
        The initial parameters.
    penalty : ElasticNet
        The penalty per unit of weight.
    control : Control
        Tolerance of the optimality conditions and other settings.

    Returns
    -------
    SolverResult
    """
    checkpoint = control.checkpoint.next_run(start, tuple(penalty), control.tol, control.max_iter)
    if checkpoint.has_ended:
        return result_of(checkpoint.end())
    state = checkpoint.state()
    point = problem.point(start if state is None else state["x"])
    history = [penalty.objective(point)] if state is None else state["history"]
    value = history[-1]
    status = Status.MAX_ITER if np.isfinite(value) else Status.NOT_FINITE
    while status is Status.MAX_ITER:
        violation = float(penalty.violation(point).max())
        if violation <= control.tol:
            status = Status.CONVERGED
            break
        if control.is_stopped or len(history) > control.max_iter:
            status = Status.INTERRUPTED if control.is_stopped else Status.MAX_ITER
            break
        moved = _iterate(problem, point, value, penalty, 0.01 * violation)
        if moved is None:
            status = Status.STALLED
            break
        point, value = moved
        history.append(value)
        checkpoint.keep({"x": point.x, "history": history})
        control.report(len(history) - 1, value)
    result = SolverResult(point.x, value, status, len(history) - 1, tuple(history))
    if status is not Status.INTERRUPTED:
        checkpoint.finish(plain_of(result))
    return result


def _iterate(
    problem: InMemoryProblem, point: BagPoint, value: float, penalty: ElasticNet, tol: float
) -> tuple[BagPoint, float] | None:
    """Do one E step and one M step without increasing the objective; return None if that is impossible."""
    columns = np.arange(problem.n_features)
    # By Fisher's identity, the gradient of the bag likelihood equals the gradient of the M step's objective,
    # so that the E step is implicit. The curvature is that of labeled instances.
    labelled = problem.instance_weight * expit(point.log_odds) * expit(-point.log_odds)
    curvature = problem.curvature_from(labelled, np.zeros_like(labelled), columns)
    model = QuadraticModel.of(curvature, columns, problem.n_features)
    x = model.minimum(point, columns, penalty, tol)
    for _ in range(_MOST_HALVINGS):
        new = problem.point(x)
        reached = penalty.objective(new)
        if reached <= value:
            return new, reached
        x = 0.5 * (point.x + x)
    return None
