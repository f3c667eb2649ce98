"""The likelihood near a fit: value, score and observed information of all learned parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from bagwise.data.blocks import Block, Blocks, MemoryBlocks, PerBag, SelectColumns, Sums, TransformedBlocks
from bagwise.models.base import Training, fit_scaler
from bagwise.models.linear_model.engine.design import Scaling
from bagwise.models.linear_model.engine.fit import fit_null
from bagwise.models.linear_model.engine.learned_rule import JointProblem
from bagwise.models.linear_model.engine.problem import LinearBagProblem, make_problem
from bagwise.rules import LearnedRule, Rule
from bagwise.solvers.control import Control

# Step size in log-odds and in parameters of a rule, for finite differences of exact gradients.
_STEP = 1e-4
# Larger parameters of a rule make its exponentials overflow.
_LARGEST_PARAMETER = 300.0


class FittedLikelihood:
    """Negative log-likelihood of bags near a fit, plus a ridge penalty, minus the log prior of the rule.

    The parameters are the coefficients of the standardized features, the intercept, and the parameters of a
    learned rule. `free` is the mask of the parameters that vary; without an intercept, that parameter is
    fixed. Values are sums over bags, not means. Each evaluation is one pass over the bags, in memory or
    streamed.

    Parameters
    ----------
    problem : LinearBagProblem
        The likelihood with the rule of the fit.
    theta : array of shape (n_features + 1,)
        Coefficients of the scaled features and the intercept, at the fit.
    """

    free: np.ndarray
    n_features: int
    x: np.ndarray

    def __init__(self, problem: LinearBagProblem, theta: np.ndarray):
        self.problem = problem
        self.n_features = problem.n_features
        rule = problem.rule
        self._joint: JointProblem | None = None
        self.x = theta
        if isinstance(rule, LearnedRule) and len(rule.parameters()):
            self._joint = JointProblem(problem, rule)
            self.x = np.concatenate([theta, rule.parameters()])
        self.free = np.ones(len(self.x), dtype=bool)
        self.free[self.n_features] = problem.scaling.fit_intercept

    @property
    def learns_rule(self) -> bool:
        """Whether the rule has learned parameters."""
        return self._joint is not None

    def split(self, x: np.ndarray) -> tuple[np.ndarray, Rule]:
        """Return the coefficients with intercept, and the rule."""
        n = self.n_features + 1
        if self._joint is None:
            return x, self.problem.rule
        return x[:n], self._joint.rule.with_parameters(x[n:])

    def at(self, free: np.ndarray) -> np.ndarray:
        """Return the vector of all parameters, given the free parameters."""
        x = np.zeros(len(self.x))
        x[self.free] = free
        return x

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value at these parameters, and its gradient in the free parameters."""
        if self._joint is None:
            value, gradient = self.problem.value_and_gradient(x)
        elif np.abs(x[self.n_features + 1 :]).max() > _LARGEST_PARAMETER:
            return np.inf, np.zeros(int(self.free.sum()))
        else:
            value, gradient = self._joint.value_and_gradient(x)
        return self.problem.total * value, self.problem.total * gradient[self.free]

    def information(self, x: np.ndarray) -> np.ndarray:
        """Return the observed information of the free parameters.

        It is exact for coefficients, and computed by finite differences for parameters of the rule. The cost
        is one pass over the bags, plus two passes per parameter of the rule.
        """
        theta, rule = self.split(x)
        n = len(theta)
        H = np.empty((len(x), len(x)))
        H[:n, :n] = self.problem.blocks.total(information_of, theta, self.problem.scaling, rule)
        ridge = np.arange(self.n_features)
        H[ridge, ridge] += self.problem.total * self.problem.ridge
        if self._joint is not None:
            H[:, n:] = self.problem.total * self._joint.rule_columns(x)
            H[n:, :n] = H[:n, n:].T
        return (0.5 * (H + H.T))[np.ix_(self.free, self.free)]

    def log_likelihood(self) -> float:
        """Return the log-likelihood of the bags at the fit, without a prior."""
        return self.problem.point(self.x[: self.n_features + 1]).log_likelihood

    def largest_change(self, step: np.ndarray) -> float:
        """Return the largest change that a step causes in log-odds of instances or parameters of the rule."""
        whole = self.at(step)
        n = self.n_features + 1
        changes = self.problem.blocks.each(_largest_product, whole[:n], self.problem.scaling)
        return max(np.abs(whole[n:]).max(initial=0.0), *changes)

    def scores_by_group(self, group: np.ndarray, n_groups: int) -> np.ndarray:
        """Return the gradient of the log-likelihood for each group: shape (n_groups, n_free).

        The cost is one pass over the bags. `group` contains the index of the group for each bag.
        """
        theta, rule = self.split(self.x)
        scores = self.problem.blocks.total(
            _scores_of, theta, self.problem.scaling, rule, self._moves(self.x), PerBag(group), n_groups
        )
        return scores[:, self.free]

    def score_and_expected_information(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient of the log-likelihood in the free parameters, and its covariance in the model.

        Both are without ridge and prior. The covariance is the Fisher information: the expectation of the
        observed information if the labels follow the model at x, for any x. The cost is one pass over the
        bags.
        """
        theta, rule = self.split(x)
        score, information = self.problem.blocks.total(
            _score_and_expected_information, theta, self.problem.scaling, rule, self._moves(x)
        )
        return score[self.free], information[np.ix_(self.free, self.free)]

    # ------------------------------------------------------------ the model without features

    def score_without_features(self) -> float:
        """Return the score statistic of the hypothesis that no feature has an effect, for a fixed rule."""
        null = fit_null(self.problem, Control(tol=1e-9, max_iter=200))
        score, information = self.score_and_expected_information(null)
        return float(score @ np.linalg.lstsq(information, score, rcond=None)[0])

    def log_likelihood_without_features(self) -> float:
        """Return the maximum log-likelihood of the intercept and a learned rule, without features."""
        null = fit_null(self.problem, Control(tol=1e-9, max_iter=200))
        joint, n = self._joint, self.n_features
        if joint is None:
            return self.problem.point(null).log_likelihood

        def value_and_gradient(v: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = joint.value_and_gradient(np.concatenate([null[:n], v]))
            return value, gradient[n:]

        start = np.concatenate([null[n:], joint.rule.parameters()])
        end = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
        theta, rule = self.split(np.concatenate([null[:n], end.x]))
        return self.problem.with_rule(rule).point(theta).log_likelihood

    # ------------------------------------------------------------ finite differences and original scale

    def _moves(self, x: np.ndarray) -> list[tuple[Rule, Rule, float]]:
        """Return, for each parameter of the rule, the rules after steps up and down, and the step size."""
        moves = []
        for k in range(self.n_features + 1, len(x)):
            step = np.zeros(len(x))
            step[k] = _STEP * max(1.0, abs(x[k]))
            moves.append((self.split(x + step)[1], self.split(x - step)[1], step[k]))
        return moves

    def to_original(self) -> np.ndarray:
        """Return the matrix from free parameters to original coefficients, intercept first: (k, n_free)."""
        scaling, n = self.problem.scaling, self.n_features + 1
        columns = []
        for unit in np.eye(n):
            coef, intercept = scaling.to_original(unit)
            columns.append(np.append(intercept, coef))
        matrix = np.zeros((n, len(self.x)))
        matrix[:, :n] = np.column_stack(columns)
        return matrix[:, self.free] if scaling.fit_intercept else matrix[1:, self.free]


# ---------------------------------------------------------------------- functions of a block


def information_of(block: Block, theta: np.ndarray, scaling: Scaling, rule: Rule) -> np.ndarray:
    """Return the observed information of the bags in a block for coefficients and intercept."""
    log_odds = scaling.dot(theta, block.X)
    columns = scaling.dot(np.eye(len(theta)), block.X)
    curved = np.array([_second_derivative(rule, log_odds, block, v) for v in columns])
    return -scaling.pull_back(block.weight_of_each * curved, block.X)


def _second_derivative(rule: Rule, log_odds: np.ndarray, block: Block, v: np.ndarray) -> np.ndarray:
    """Return the product of v and the Hessian of the log-likelihood in log-odds.

    For rules without latent labels, it is computed by finite differences of the gradient.
    """
    if rule.has_latent_labels:
        return rule.hessian_product(log_odds, block.offsets, block.y, v)
    step = _STEP / max(np.abs(v).max(initial=0.0), np.finfo(float).tiny)
    ahead, back = (rule.gradient(log_odds + s * v, block.offsets, block.y)[1] for s in (step, -step))
    return (ahead - back) / (2 * step)


def _largest_product(block: Block, theta: np.ndarray, scaling: Scaling) -> float:
    return float(np.abs(scaling.dot(theta, block.X)).max(initial=0.0))


def _score_and_expected_information(
    block: Block, theta: np.ndarray, scaling: Scaling, rule: Rule, moves: list[Any]
) -> Sums:
    """Return the score of the bags in a block for all parameters, and its covariance under the model."""
    log_odds = scaling.dot(theta, block.X)
    probability = np.exp(rule.log_proba(log_odds, block.offsets))
    score, information = np.zeros(len(theta) + len(moves)), 0.0
    each = np.arange(block.n_bags)
    for label in (0, 1):
        so_labelled = block._replace(y=np.full(block.n_bags, label, dtype=np.int8))
        scores = _scores(so_labelled, log_odds, scaling, rule, moves, each, block.n_bags)
        score += (block.weight * (block.y == label)) @ scores
        information = information + scores.T @ ((block.weight * probability[:, label])[:, None] * scores)
    return Sums((score, information))


def _scores_of(
    block: Block,
    theta: np.ndarray,
    scaling: Scaling,
    rule: Rule,
    moves: list[Any],
    of_bag: Any,
    n_groups: int,
) -> np.ndarray:
    """Return the weighted scores of the bags in a block, summed by group."""
    log_odds = scaling.dot(theta, block.X)
    return _scores(block, log_odds, scaling, rule, moves, of_bag, n_groups, block.weight)


def _scores(
    block: Block,
    log_odds: np.ndarray,
    scaling: Scaling,
    rule: Rule,
    moves: list[Any],
    group: np.ndarray,
    n_groups: int,
    weight: float | np.ndarray = 1.0,
) -> np.ndarray:
    """Return the weighted scores of bags at these log-odds, summed by group."""
    sizes, weight = np.diff(block.offsets), np.broadcast_to(weight, block.n_bags)
    by_instance = np.repeat(weight, sizes) * rule.gradient(log_odds, block.offsets, block.y)[1]
    of_instance = np.repeat(group, sizes)
    indices = (of_instance, np.arange(len(by_instance)))
    sums = sp.csr_array((by_instance, indices), shape=(n_groups, len(by_instance)))
    total = np.bincount(of_instance, by_instance, n_groups)[:, None]
    raw = sums @ block.X
    by_coef = scaling.factor * (raw.toarray() if sp.issparse(raw) else raw) + scaling.shift * total
    by_rule = np.zeros((n_groups, len(moves)))
    for k, (ahead, back, step) in enumerate(moves):
        up, down = (r.gradient(log_odds, block.offsets, block.y)[0] for r in (ahead, back))
        by_rule[:, k] = np.bincount(group, weight * (up - down) / (2 * step), n_groups)
    return np.hstack([by_coef, total, by_rule])


# ---------------------------------------------------------------------- from a model to its likelihood


def likelihood_of(model: Any, training: Training, selected: np.ndarray) -> FittedLikelihood:
    """Return the likelihood of bags near a model's parameters, with standardized selected features."""
    blocks = training.bags.blocks(training.y, training.weight)
    if getattr(model, "scaler_", None) is not None and not model._has_original_scale:
        blocks = _with_features(blocks, model.scaler_.transform, len(selected))
    if not selected.all():
        blocks = _with_features(blocks, SelectColumns(np.flatnonzero(selected)), int(selected.sum()))
    scaler = fit_scaler("standard" if selected.any() else None, blocks)
    problem = make_problem(blocks, scaler, model.rule_, fit_intercept=model.fit_intercept)
    theta = problem.scaling.from_original(model.coef_[0][selected], model.intercept_[0])
    return FittedLikelihood(problem, theta)


def _with_features(blocks: Blocks, transform: Any, n_features: int) -> Blocks:
    """Transform instances: immediately if they are in memory, otherwise whenever a block is read."""
    if blocks.are_large:
        return TransformedBlocks(blocks, transform, n_features)
    return MemoryBlocks(transform(blocks.whole), blocks.offsets, blocks.y, blocks.weight)
