"""Optimization problem of diverse density (a target and a scale for every feature), and its optima."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bagwise._core.compiled.arrays import ALL_ROWS, readonly, refuse_other_widths
from bagwise.rules import Rule
from bagwise.solvers.result import SolverResult

# An instance exactly on the target is positive with probability exp(-FLOOR) instead of 1. Otherwise a
# negative bag with such an instance would have probability 0, and the gradient of a positive bag would be
# undefined.
FLOOR = 1e-9
# Two optima count as the same if each assigns the other's target at least this positive probability.
_SAME_PROBABILITY = 0.95


class DensityProblem:
    """Likelihood of bags whose instances are more likely to be positive the closer they are to a target.

    With a target t, scales s and the rule's log-likelihood, the objective f is::

        P(z = 1 | x) = exp(-q(x)),  q(x) = sum_k s_k^2 (x_k - t_k)^2,    f = -sum_i w_i log P(y_i | X_i)

    divided by the total weight. The parameters are the vector (t, s).

    Parameters
    ----------
    X, offsets, y, weight : arrays
        Instances, starts of the bags, labels 1 or 0, and a positive weight per bag.
    rule : Rule
        Rule that computes the probability of a bag's label from the log-odds of its instances.

    Notes
    -----
    Computing a value with its gradient takes two passes over the instances.
    """

    weight: np.ndarray
    total: float
    each: np.ndarray

    def __init__(self, X: np.ndarray, offsets: np.ndarray, y: np.ndarray, weight: np.ndarray, rule: Rule):
        (self.X,) = readonly(X, dtype=np.float64)
        self.offsets = offsets
        self.y = y
        self.total = float(weight.sum())
        self.weight = weight / self.total
        self.each = np.repeat(self.weight, np.diff(offsets))
        self.rule = rule

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient, both per unit of weight."""
        from bagwise._core.compiled.mixture import diagonal_moments

        target, scale = halves(theta)
        q = distance(self.X, target, scale)
        negative = -np.expm1(-q)
        log_likelihood, by_log_odds = self.rule.gradient(-q - np.log(negative), self.offsets, self.y)
        # d eta / dq = -1 / (1 - exp(-q)); where this is largest, the rule's gradient is smallest.
        by_q = self.each * by_log_odds / negative
        _, first, second = diagonal_moments(self.X, ALL_ROWS, *readonly(by_q, target, dtype=np.float64))
        gradient = np.concatenate([-2 * scale**2 * first, 2 * scale * second])
        return float(-self.weight @ log_likelihood), gradient


class NearestProblem:
    """`DensityProblem` for bags of one instance: the same for any rule, and computed in one pass.

    Parameters
    ----------
    X, y, weight : arrays
        One instance per bag, labels 1 or 0, and weights with sum 1.
    """

    weight: np.ndarray

    def __init__(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray):
        self.X, self.weight = readonly(X, weight, dtype=np.float64)
        self.y = y

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient."""
        from bagwise._core.compiled.density import single_density

        return single_density(self.X, self.y, self.weight, *readonly(*halves(theta), dtype=np.float64), FLOOR)


def halves(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split the parameter vector of the solvers into target and scales."""
    middle = len(theta) // 2
    return theta[:middle], theta[middle:]


def distance(X: np.ndarray, target: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return q for every instance; it is at least `FLOOR`."""
    from bagwise._core.compiled.mixture import diagonal_form

    refuse_other_widths(X, target, scale)
    X, *vectors = readonly(X, target, np.zeros(len(scale)), np.square(scale), dtype=np.float64)
    return diagonal_form(X, ALL_ROWS, *vectors, FLOOR)


def log_odds(q: np.ndarray) -> np.ndarray:
    """Return the log-odds of a probability exp(-q)."""
    return -q - np.log(-np.expm1(-q))


def distinct_optima(results: Sequence[SolverResult]) -> tuple[np.ndarray, np.ndarray]:
    """Select the distinct better optima from the results of all starts, best first.

    An optimum is left out if its objective is above the midpoint of the best and the worst objective. It is
    also left out if it and a better optimum assign each other's targets a positive probability of 0.95 or
    more.

    Returns
    -------
    optima : array of shape (n_optima, 2, n_features)
        Targets, and absolute scales.
    objectives : array of shape (n_optima,)
    """
    finite = [result for result in results if np.isfinite(result.value)] or list(results)
    ends = sorted(finite, key=lambda result: result.value)
    highest = 0.5 * (ends[0].value + ends[-1].value)
    kept: list[np.ndarray] = []
    objectives = []
    for end in ends:
        if end.value > highest and kept:
            break
        target, scales = halves(end.x)
        if not any(_are_same((target, scales), other) for other in kept):
            kept.append(np.stack([target, np.abs(scales)]))
            objectives.append(end.value)
    return np.stack(kept), np.asarray(objectives)


def _are_same(optimum: Any, other: Any) -> bool:
    """Whether two targets with their scales are the same optimum, up to the accuracy of the search."""
    farthest = -np.log(_SAME_PROBABILITY)
    return all(distance(a[0][None], *b)[0] <= farthest for a, b in ((optimum, other), (other, optimum)))
