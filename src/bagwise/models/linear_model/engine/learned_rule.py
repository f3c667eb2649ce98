"""Fits of coefficients together with the parameters of a learned rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bagwise.data.blocks import Block, Sums
from bagwise.models.linear_model.engine.design import Scaling
from bagwise.models.linear_model.engine.problem import LinearBagProblem
from bagwise.rules import CountTable, LearnedRule, Rule
from bagwise.solvers.prox_newton import minimize_l1
from bagwise.solvers.result import SolverResult, Status, best_of
from bagwise.solvers.smooth import minimize_smooth
from bagwise.solvers.working_set import ElasticNet

if TYPE_CHECKING:
    from bagwise.models.linear_model.engine.fit import Fit

# Soft thresholds from which a learned rule starts: ratio of successive thresholds, and number of those kept.
_SOFT_RATIO, _SOFT_KEPT = 2, 2
# EM steps of the rule between two fits of the coefficients.
_RULE_STEPS = 10
# L-BFGS needs more steps than Newton's method, and each step costs much less.
_STEPS_PER_NEWTON = 10
# The search for a threshold stops if this many thresholds on both sides of the best one are worse.
_PATIENCE = 2
# Rules within this many units of log-likelihood of the best are fitted from all starts.
_CLOSE = 10.0


@dataclass(frozen=True)
class LearnedResult(SolverResult):
    """Result of a run with its learned rule; the value includes the log prior of the rule.

    `tried` contains the compared rules, if there were several, with the best value of each.
    """

    rule: Rule
    tried: tuple[tuple[Rule, float], ...] = ()


def learn_rule(
    fit: Fit, rules: Sequence[Rule], warm_starts: Sequence[np.ndarray] = ()
) -> list[LearnedResult]:
    """Minimize over coefficients and rule from the starts of the fit, or from `warm_starts`.

    The objective per unit of bag weight is that of `LinearBagProblem` plus an L1 norm minus the log prior of
    the rule's parameters. Without an L1 norm, unconstrained parameters of the rule and coefficients are
    fitted jointly by L-BFGS. The same pass over the bags computes both gradients (Fisher's identity).
    Otherwise, fits of the coefficients alternate with EM steps of the rule. A fit by EM uses EM for both. If
    the parameter of the rule is discrete, the best of several rules is searched for.

    Parameters
    ----------
    fit : Fit
        The fit, which minimizes over the coefficients alone.
    rules : sequence of Rule
        The rule to learn, or one rule for each value of a discrete parameter.
    warm_starts : sequence of arrays
        Starts that replace those of the fit.

    Returns
    -------
    list of LearnedResult
        One result per start, or per compared rule.
    """
    if len(rules) > 1:
        return _best_rule(fit, rules, warm_starts)
    (rule,) = rules
    if not isinstance(rule, LearnedRule):
        raise TypeError(f"rule={rule!r} has learns=True, so it must be a LearnedRule.")
    return [oriented(result, fit.problem) for result in _one_rule(fit, rule, warm_starts)]


# ---------------------------------------------------------------------- one rule


def _one_rule(fit: Fit, rule: LearnedRule, warm_starts: Sequence[np.ndarray]) -> list[LearnedResult]:
    if warm_starts or fit.by_em or not fit.penalty.l1:
        starts = warm_starts or fit.under(rule).starts()
    else:
        starts = [result.x for result in fit.under(rule).search()[:3]]
    pairs = [(rule, start) for start in starts] + ([] if warm_starts else _soft_thresholds(fit, rule))
    run = _jointly if len(rule.parameters()) and not fit.penalty.l1 else _in_turns
    run = _by_em if fit.by_em else run
    results: list[LearnedResult] = []
    for pair in pairs:
        results.append(run(fit, *pair))
        if results[-1].status is Status.INTERRUPTED:
            break
    return results


def _soft_thresholds(fit: Fit, rule: LearnedRule) -> list[tuple[LearnedRule, np.ndarray]]:
    """Return the best of several soft thresholds with their coefficients, as starts of a learned rule.

    If a bag needs many positive instances to be positive, random starts lead to a nearly constant labeler.
    """
    ends: list[tuple[float, LearnedRule, np.ndarray]] = []
    largest = int(np.diff(fit.problem.offsets).max())
    k = 1
    while k <= largest and (soft := rule.soft_threshold(k)) is not None:
        under_it = replace(fit.under(soft), by_em=False)  # a start is not part of the run
        # Always start from the null model: the optimum for a different threshold is a local optimum nearby.
        result = under_it.solve(under_it.starts()[0])
        ends.append((result.value - soft.log_prior() / fit.problem.total, soft, result.x))
        if result.status is Status.INTERRUPTED:
            break
        k *= _SOFT_RATIO
    ends.sort(key=lambda end: end[0])
    return [(soft, x) for _, soft, x in ends[:_SOFT_KEPT]]


def _by_em(fit: Fit, rule: LearnedRule, start: np.ndarray) -> LearnedResult:
    result = fit.under(rule).solve(start)
    assert isinstance(result, LearnedResult)
    return result


def _jointly(fit: Fit, rule: LearnedRule, start: np.ndarray) -> LearnedResult:
    joint = JointProblem(fit.problem, rule)
    result = minimize_smooth(
        joint.value_and_gradient,
        np.concatenate([start, rule.parameters()]),
        replace(fit.control, max_iter=_STEPS_PER_NEWTON * fit.control.max_iter),
    )
    return _or_in_turns(fit, joint, result)


def _or_in_turns(fit: Fit, joint: JointProblem, result: SolverResult, **options: int) -> LearnedResult:
    """Return the result of a joint run, or continue it by alternating fits if EM still improves it."""
    theta, vector = joint.split(result.x)
    rule = joint.rule.with_parameters(vector)
    checkpoint = fit.control.checkpoint.next_run(result.x)
    gain = checkpoint.cell("gain", lambda: update_rule(fit.problem, rule, theta, **options)[1])
    is_small = gain <= _small(fit, result.value)
    if result.status is Status.INTERRUPTED or (result.converged and is_small):
        return learned_result(result, rule, theta)
    # The optimum can be at the boundary, where values of a table are equal. Only EM reaches it.
    rest = _in_turns(fit, rule, theta)
    return replace(rest, history=(*result.history, *rest.history[1:]), n_iter=result.n_iter + rest.n_iter)


def _small(fit: Fit, value: float) -> float:
    """Return the maximum gain of an EM step at convergence."""
    return 0.1 * fit.control.tol * max(1.0, abs(value))


def _in_turns(fit: Fit, rule: Rule, start: np.ndarray) -> LearnedResult:
    theta, status = start, Status.MAX_ITER
    history: list[float] = []
    first = 0
    control = fit.control
    checkpoint = control.checkpoint.next_run(start, control.tol, control.max_iter)
    state = checkpoint.state({"rule": rule, "x": None, "history": None, "turn": None})
    if state is not None:
        rule, theta, history, first = (state[name] for name in ("rule", "x", "history", "turn"))
    for turn in range(first, control.max_iter):
        checkpoint.keep({"rule": rule, "x": theta, "history": history, "turn": turn})
        of_turn = replace(control, checkpoint=checkpoint.within(f"turn {turn}"))
        result = replace(fit.under(rule), control=of_turn).solve(theta)
        theta, prior = result.x, rule.log_prior() / fit.problem.total
        history += [value - prior for value in result.history[1 if history else 0 :]]
        status = result.status
        if status in (Status.INTERRUPTED, Status.NOT_FINITE):
            break
        rule, gain = update_rule(fit.problem, rule, theta)
        history.append(history[-1] - gain)
        if gain <= _small(fit, history[-1]):
            break
        status = Status.MAX_ITER
    return LearnedResult(theta, history[-1], status, len(history) - 1, tuple(history), rule)


def go_on(fit: Fit, end: LearnedResult, sample: LinearBagProblem) -> LearnedResult:
    """Continue from the result on a sample of the bags; each step is one pass over all bags."""
    rule = end.rule
    assert isinstance(rule, LearnedRule)
    if fit.penalty.l1 or not len(rule.parameters()):
        return oriented(_in_turns(fit, rule, end.x), fit.problem)
    joint = LargeJointProblem(fit.problem, rule, JointProblem(sample, rule))
    start = np.concatenate([end.x, rule.parameters()])
    control = replace(fit.control, max_iter=_STEPS_PER_NEWTON * fit.control.max_iter)
    result = minimize_l1(joint, start, ElasticNet(0.0), control)
    return oriented(_or_in_turns(fit, joint, result, n_steps=1), fit.problem)


# ---------------------------------------------------------------------- one of several rules


def _best_rule(fit: Fit, rules: Sequence[Rule], warm_starts: Sequence[np.ndarray]) -> list[LearnedResult]:
    """Fit rules 1, 2, 4, 8, ..., then the neighbors of the best rule; fit close rules from all starts."""
    best: dict[int, LearnedResult] = {}
    control = fit.control

    def look(index: int, results: Sequence[SolverResult]) -> None:
        previous = [best[index]] if index in best else []
        best[index] = best_of([*previous, *(learned_result(r, rules[index]) for r in results)])

    def solve(index: int, start: np.ndarray) -> None:
        look(index, [fit.under(rules[index]).solve(start)])

    def leader() -> int:
        return min(best, key=lambda n: (best[n].value, n))

    first = fit.under(rules[0])
    look(0, [first.solve(start) for start in warm_starts or first.starts()[:1]])
    index = 0
    while index < len(rules) - 1 and index <= 4 * leader() + 3 and not control.is_stopped:
        last, index = index, min(2 * index + 1, len(rules) - 1)
        solve(index, best[last].x)
    searched: set[int] = set()
    while True:
        centre = leader()
        around = range(max(0, centre - _PATIENCE), min(len(rules), centre + _PATIENCE + 1))
        unseen = [n for n in around if n not in best]
        close = _CLOSE / fit.problem.total
        rivals = [n for n in around if best.get(n, best[centre]).value - best[centre].value < close]
        if unseen and not control.is_stopped:
            for index in unseen:
                solve(index, best[centre].x)
        elif not warm_starts and not searched.issuperset(rivals) and not control.is_stopped:
            for index in set(rivals) - searched:
                look(index, fit.under(rules[index]).search())
            searched.update(rivals)
        else:
            tried = tuple((best[n].rule, best[n].value) for n in sorted(best))
            return [replace(best[n], tried=tried) for n in sorted(best)]


class JointProblem:
    """`LinearBagProblem` that includes the rule's parameters: x is (coefficients, intercept, parameters)."""

    def __init__(self, problem: LinearBagProblem, rule: LearnedRule):
        self.problem = problem
        self.rule = rule

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients with intercept, and the rule's parameters."""
        n = self.problem.n_features + 1
        return x[:n], x[n:]

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient, in one pass over the bags."""
        problem = self.problem
        theta, vector = self.split(x)
        rule = self.rule.with_parameters(vector)
        *sums, statistics = problem.blocks.total(evaluate_jointly, theta, problem.scaling, rule)
        point = problem.make_point(theta, *sums)
        by_rule = rule.parameter_gradient(statistics) / problem.total
        return point.value - rule.log_prior() / problem.total, np.concatenate([point.gradient, -by_rule])

    def whole_curvature(self, x: np.ndarray) -> np.ndarray:
        """Return the curvature in all parameters.

        For the coefficients, it comes from `Rule.curvature`; for the rule, from finite differences.
        """
        theta, vector = self.split(x)
        n = len(theta)
        under_it = self.problem.with_rule(self.rule.with_parameters(vector))
        H = np.empty((len(x), len(x)))
        H[:n, :n] = under_it.curvature(under_it.point(theta), np.arange(n - 1))
        H[:, n:] = self.rule_columns(x)
        H[n:, :n] = H[:n, n:].T
        H[n:, n:] = 0.5 * (H[n:, n:] + H[n:, n:].T)
        return H

    def rule_columns(self, x: np.ndarray) -> np.ndarray:
        """Return the columns of the Hessian for the rule's parameters, by differences of the gradient."""
        n = self.problem.n_features + 1
        columns = []
        for k in range(n, len(x)):
            step = np.zeros(len(x))
            step[k] = 1e-4 * max(1.0, abs(x[k]))
            ahead, back = (self.value_and_gradient(x + sign * step)[1] for sign in (1, -1))
            columns.append((ahead - back) / (2 * step[k]))
        return np.column_stack(columns)


@dataclass(frozen=True)
class JointPoint:
    """Objective and gradient at given coefficients and parameters of the rule."""

    x: np.ndarray
    value: float
    gradient: np.ndarray


class LargeJointProblem(JointProblem):
    """The joint problem on many bags, with the interface of the L1 solver and the curvature of a sample.

    The approximate curvature affects the steps but not the optimum.
    """

    has_kinks = False

    def __init__(self, problem: LinearBagProblem, rule: LearnedRule, sample: JointProblem):
        super().__init__(problem, rule)
        self.sample = sample

    @property
    def n_features(self) -> int:
        """Number of parameters, without the last one."""
        return self.problem.n_features + len(self.rule.parameters())

    def point(self, x: np.ndarray, base: JointPoint | None = None) -> JointPoint:
        """Compute value and gradient, in one pass over the bags."""
        return JointPoint(x, *self.value_and_gradient(x))

    def exact(self, points: Sequence[JointPoint]) -> list[JointPoint]:
        """Return the points unchanged, because all points are exact."""
        return list(points)

    def curvature(self, point: JointPoint, columns: np.ndarray) -> np.ndarray:
        """Return the curvature of the sample in these columns and the last parameter."""
        entries = np.append(columns, self.n_features)
        return self.sample.whole_curvature(point.x)[np.ix_(entries, entries)]

    def restrict(self, columns: np.ndarray) -> LargeJointProblem:
        """Return the problem unchanged, because all parameters are needed."""
        return self

    def enter(self, point: JointPoint) -> JointPoint:
        """Return the point unchanged."""
        return point

    def lift(self, point: JointPoint, base: JointPoint) -> JointPoint:
        """Return the point unchanged."""
        return point


def evaluate_jointly(block: Block, theta: np.ndarray, scaling: Scaling, rule: LearnedRule) -> Sums:
    """Return the log-likelihood of the bags in a block, its gradient in theta, and the rule's statistics."""
    by_bag, by_instance, statistics = rule.gradient_and_statistics(
        scaling.dot(theta, block.X), block.offsets, block.y, block.weight
    )
    gradient = scaling.pull_back(block.weight_of_each * by_instance, block.X)
    return Sums((float(block.weight @ by_bag), gradient, statistics))


def rule_statistics(block: Block, theta: np.ndarray, scaling: Scaling, rule: Rule) -> Sums:
    """Return the log-likelihood of the bags in a block, and the statistics for the rule's M step."""
    result = rule.estep(scaling.dot(theta, block.X), block.offsets, block.y, block.weight)
    return Sums((float(block.weight @ result.log_likelihood), result.statistics))


def update_rule(
    problem: LinearBagProblem, rule: Rule, theta: np.ndarray, n_steps: int = _RULE_STEPS
) -> tuple[Rule, float]:
    """Learn the rule by EM for fixed coefficients; return it and the gain per unit of bag weight."""
    start = last = -np.inf
    for step in range(n_steps + 1):
        log_likelihood, statistics = problem.blocks.total(rule_statistics, theta, problem.scaling, rule)
        value = log_likelihood + rule.log_prior()
        start = value if step == 0 else start
        if step == n_steps or value - last <= 1e-9 * abs(value):
            break
        last = value
        rule = rule.update(statistics)
    return rule, max(0.0, (value - start) / problem.total)


def oriented(result: LearnedResult, problem: LinearBagProblem) -> LearnedResult:
    """Reverse a decreasing free table and the signs of the coefficients.

    This is the same model if all bags have the same size; otherwise, the result is not changed.
    """
    rule, sizes = result.rule, np.diff(problem.offsets)
    if not isinstance(rule, CountTable) or rule.monotone or (sizes != sizes[0]).any():
        return result
    values = np.asarray(rule.values)
    if np.arange(len(values)) @ (values - values.mean()) >= 0:
        return result
    return replace(result, x=-result.x, rule=rule.with_parameters(rule.parameters()[::-1]))


def learned_result(result: SolverResult, rule: Rule, x: Any = None) -> LearnedResult:
    """Return the result of a run together with its rule."""
    x = result.x if x is None else x
    return LearnedResult(x, result.value, result.status, result.n_iter, result.history, rule)
