"""Fits in which the rule has parameters of its own: learned together with the coefficients."""

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

# Soft thresholds that a learned rule may start from: how they grow, and how many of the best are taken.
_SOFT_RATIO, _SOFT_KEPT = 2, 2
# EM steps of the rule alone between two looks at the coefficients.
_RULE_STEPS = 10
# L-BFGS takes more steps than Newton, each at a small part of the cost.
_STEPS_PER_NEWTON = 10
# Thresholds on either side of the best that must be worse before the search for a better one ends.
_PATIENCE = 2
# Rules within this many units of log-likelihood of the best are looked at from all starts.
_CLOSE = 10.0


@dataclass(frozen=True)
class LearnedResult(SolverResult):
    """The end of a run, with the rule that it learned; the value contains the rule's prior.

    `tried` are the rules that were compared, if there were several, each with the best value reached.
    """

    rule: Rule
    tried: tuple[tuple[Rule, float], ...] = ()


def learn_rule(fit: Fit, rules: Sequence[Rule], given: Sequence[np.ndarray] = ()) -> list[LearnedResult]:
    """Minimise over coefficients and rule from all starts, or from those that are `given`.

    The objective, per unit of bag weight, is that of `LinearBagProblem`, an L1 norm, and minus the log prior
    of the rule's parameters. Without L1 norm, parameters without constraints go with the coefficients into
    one L-BFGS run: the gradient in them comes from the same pass (Fisher's identity). Otherwise coefficients
    and EM steps of the rule take turns. Where the rule is one of several, a discrete parameter, the best is
    searched for.

    Parameters
    ----------
    fit : Fit
        Minimises over the coefficients alone.
    rules : sequence of Rule
        A rule to be learned, or the values of a discrete parameter.
    given : sequence of arrays
        Starts, in place of those of the fit.

    Returns
    -------
    list of LearnedResult
        One for every start, or for every rule that was compared.
    """
    if len(rules) > 1:
        return _best_rule(fit, rules, given)
    (rule,) = rules
    if not isinstance(rule, LearnedRule):
        raise TypeError(f"rule={rule!r} says that it learns; then it must be a LearnedRule.")
    return [oriented(result, fit.problem) for result in _one_rule(fit, rule, given)]


# ---------------------------------------------------------------------- one rule


def _one_rule(fit: Fit, rule: LearnedRule, given: Sequence[np.ndarray]) -> list[LearnedResult]:
    if given or not fit.penalty.l1:
        starts = given or fit.under(rule).starts()
    else:
        starts = [result.x for result in fit.under(rule).search()[:3]]
    pairs = [(rule, start) for start in starts] + ([] if given else _soft_thresholds(fit, rule))
    run = _jointly if len(rule.parameters()) and not fit.penalty.l1 else _in_turns
    results: list[LearnedResult] = []
    for pair in pairs:
        results.append(run(fit, *pair))
        if results[-1].status is Status.INTERRUPTED:
            break
    return results


def _soft_thresholds(fit: Fit, rule: LearnedRule) -> list[tuple[LearnedRule, np.ndarray]]:
    """Starts for a rule that may be like a threshold: the best of several, with their coefficients.

    Where many positive instances are needed, random starts end with a labeler that is nearly constant.
    """
    ends: list[tuple[float, LearnedRule, np.ndarray]] = []
    largest = int(np.diff(fit.problem.offsets).max())
    k = 1
    while k <= largest and (soft := rule.soft_threshold(k)) is not None:
        under_it = fit.under(soft)
        # Each from the null model: what another number of instances has led to holds on to it.
        result = under_it.solve(under_it.starts()[0])
        ends.append((result.value - soft.log_prior() / fit.problem.total, soft, result.x))
        if result.status is Status.INTERRUPTED:
            break
        k *= _SOFT_RATIO
    ends.sort(key=lambda end: end[0])
    return [(soft, x) for _, soft, x in ends[:_SOFT_KEPT]]


def _jointly(fit: Fit, rule: LearnedRule, start: np.ndarray) -> LearnedResult:
    joint = JointProblem(fit.problem, rule)
    result = minimize_smooth(
        joint.value_and_gradient,
        np.concatenate([start, rule.parameters()]),
        replace(fit.control, max_iter=_STEPS_PER_NEWTON * fit.control.max_iter),
    )
    return _or_in_turns(fit, joint, result)


def _or_in_turns(fit: Fit, joint: JointProblem, result: SolverResult, **how: int) -> LearnedResult:
    """Give the end of a joint run, or where EM says that it is none, what the two in turns make of it."""
    theta, vector = joint.split(result.x)
    rule = joint.rule.with_parameters(vector)
    checkpoint = fit.control.checkpoint.next_run(result.x)
    gain = checkpoint.cell("gain", lambda: update_rule(fit.problem, rule, theta, **how)[1])
    is_small = gain <= _small(fit, result.value)
    if result.status is Status.INTERRUPTED or (result.converged and is_small):
        return learned_result(result, rule, theta)
    # The optimum may lie on the border, where values of a table are equal: EM reaches it.
    rest = _in_turns(fit, rule, theta)
    return replace(rest, history=(*result.history, *rest.history[1:]), n_iter=result.n_iter + rest.n_iter)


def _small(fit: Fit, value: float) -> float:
    """What a step of EM gains at most where it has converged."""
    return 0.1 * fit.control.tol * max(1.0, abs(value))


def _in_turns(fit: Fit, rule: Rule, start: np.ndarray) -> LearnedResult:
    theta, status = start, Status.MAX_ITER
    history: list[float] = []
    first = 0
    control = fit.control
    checkpoint = control.checkpoint.next_run(start, control.tol, control.max_iter)
    known = checkpoint.state({"rule": rule, "x": None, "history": None, "turn": None})
    if known is not None:
        rule, theta, history, first = (known[name] for name in ("rule", "x", "history", "turn"))
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
    """Go on from an end on a sample of the bags, each step being one pass over all."""
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


def _best_rule(fit: Fit, rules: Sequence[Rule], given: Sequence[np.ndarray]) -> list[LearnedResult]:
    """Look at rules 1, 2, 4, 8, ... of the list, then around the best, and there from all starts."""
    best: dict[int, LearnedResult] = {}
    control = fit.control

    def look(number: int, results: Sequence[SolverResult]) -> None:
        known = [best[number]] if number in best else []
        best[number] = best_of([*known, *(learned_result(r, rules[number]) for r in results)])

    def solve(number: int, start: np.ndarray) -> None:
        look(number, [fit.under(rules[number]).solve(start)])

    def leader() -> int:
        return min(best, key=lambda n: (best[n].value, n))

    first = fit.under(rules[0])
    look(0, [first.solve(start) for start in given or first.starts()[:1]])
    number = 0
    while number < len(rules) - 1 and number <= 4 * leader() + 3 and not control.is_stopped:
        last, number = number, min(2 * number + 1, len(rules) - 1)
        solve(number, best[last].x)
    searched: set[int] = set()
    while True:
        centre = leader()
        around = range(max(0, centre - _PATIENCE), min(len(rules), centre + _PATIENCE + 1))
        unseen = [n for n in around if n not in best]
        close = _CLOSE / fit.problem.total
        rivals = [n for n in around if best.get(n, best[centre]).value - best[centre].value < close]
        if unseen and not control.is_stopped:
            for number in unseen:
                solve(number, best[centre].x)
        elif not given and not searched.issuperset(rivals) and not control.is_stopped:
            for number in set(rivals) - searched:
                look(number, fit.under(rules[number]).search())
            searched.update(rivals)
        else:
            tried = tuple((best[n].rule, best[n].value) for n in sorted(best))
            return [replace(best[n], tried=tried) for n in sorted(best)]


class JointProblem:
    """`LinearBagProblem` whose rule has parameters too: x is (coefficients, intercept, parameters)."""

    def __init__(self, problem: LinearBagProblem, rule: LearnedRule):
        self.problem = problem
        self.rule = rule

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give coefficients with intercept, and the rule's parameters."""
        n = self.problem.n_features + 1
        return x[:n], x[n:]

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Objective and its gradient, in one pass over the bags."""
        problem = self.problem
        theta, vector = self.split(x)
        rule = self.rule.with_parameters(vector)
        *sums, statistics = problem.blocks.total(evaluate_jointly, theta, problem.scaling, rule)
        point = problem.make_point(theta, *sums)
        by_rule = rule.parameter_gradient(statistics) / problem.total
        return point.value - rule.log_prior() / problem.total, np.concatenate([point.gradient, -by_rule])

    def whole_curvature(self, x: np.ndarray) -> np.ndarray:
        """Curvature in all parameters: by `Rule.curvature` in coefficients, by differences in the rule's."""
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
        """The columns of the Hessian that belong to the rule's parameters, by differences of the gradient."""
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
    """Objective and gradient at one set of coefficients and parameters of the rule."""

    x: np.ndarray
    value: float
    gradient: np.ndarray


class LargeJointProblem(JointProblem):
    """The joint problem on many bags, as the L1 solver wants it; all curvature is that of a sample.

    It says how far to step, not where to end.
    """

    has_kinks = False

    def __init__(self, problem: LinearBagProblem, rule: LearnedRule, sample: JointProblem):
        super().__init__(problem, rule)
        self.sample = sample

    @property
    def n_features(self) -> int:
        """The number of parameters but the last."""
        return self.problem.n_features + len(self.rule.parameters())

    def point(self, x: np.ndarray, base: JointPoint | None = None) -> JointPoint:
        """Compute value and gradient: one pass."""
        return JointPoint(x, *self.value_and_gradient(x))

    def exact(self, points: Sequence[JointPoint]) -> list[JointPoint]:
        """All points are exact."""
        return list(points)

    def curvature(self, point: JointPoint, columns: np.ndarray) -> np.ndarray:
        """Curvature on the sample in some entries and the last."""
        entries = np.append(columns, self.n_features)
        return self.sample.whole_curvature(point.x)[np.ix_(entries, entries)]

    def restrict(self, columns: np.ndarray) -> LargeJointProblem:
        """All parameters are needed anyway."""
        return self

    def enter(self, point: JointPoint) -> JointPoint:
        """The point itself."""
        return point

    def lift(self, point: JointPoint, base: JointPoint) -> JointPoint:
        """The point itself."""
        return point


def evaluate_jointly(block: Block, theta: np.ndarray, scaling: Scaling, rule: LearnedRule) -> Sums:
    """Log-likelihood of a block's bags, its gradient in theta, and the statistics of the rule."""
    by_bag, by_instance, statistics = rule.gradient_and_statistics(
        scaling.dot(theta, block.X), block.offsets, block.y, block.weight
    )
    gradient = scaling.pull_back(block.weight_of_each * by_instance, block.X)
    return Sums((float(block.weight @ by_bag), gradient, statistics))


def rule_statistics(block: Block, theta: np.ndarray, scaling: Scaling, rule: Rule) -> Sums:
    """Log-likelihood of a block's bags, and what the M step of the rule needs."""
    result = rule.estep(scaling.dot(theta, block.X), block.offsets, block.y, block.weight)
    return Sums((float(block.weight @ result.log_likelihood), result.statistics))


def update_rule(
    problem: LinearBagProblem, rule: Rule, theta: np.ndarray, n_steps: int = _RULE_STEPS
) -> tuple[Rule, float]:
    """Learn the rule by EM for given coefficients; also say what that gained, per unit of weight."""
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
    """Turn a free table that falls, and the coefficients with it: the same model, if bags have one size."""
    rule, sizes = result.rule, np.diff(problem.offsets)
    if not isinstance(rule, CountTable) or rule.monotone or (sizes != sizes[0]).any():
        return result
    values = np.asarray(rule.values)
    if np.arange(len(values)) @ (values - values.mean()) >= 0:
        return result
    return replace(result, x=-result.x, rule=rule.with_parameters(rule.parameters()[::-1]))


def learned_result(result: SolverResult, rule: Rule, x: Any = None) -> LearnedResult:
    """A run's end with the rule that belongs to it."""
    x = result.x if x is None else x
    return LearnedResult(x, result.value, result.status, result.n_iter, result.history, rule)
