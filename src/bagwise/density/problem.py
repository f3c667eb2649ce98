"""The smooth problem behind diverse density: a target point and a scale for every feature."""

from __future__ import annotations

import numpy as np

# An instance on the target itself is positive with probability 1 - exp(-FLOOR), not 1: else a negative
# bag that holds one would be impossible, and the gradient of a positive one undefined.
FLOOR = 1e-9


class DensityProblem:
    """Likelihood of bags whose instances are positive the more, the closer they are to a target.

    With the target t, scales s and the rule's log-likelihood::

        P(z = 1 | x) = exp(-q(x)),  q(x) = sum_k s_k^2 (x_k - t_k)^2,    f = -sum_i w_i log P(y_i | X_i)

    divided by the total weight. Parameters are (t, s) as one vector.

    Parameters
    ----------
    X, offsets, y, weight : arrays
        Instances, where bags start, labels 1 or 0, and a positive weight per bag.
    rule : Rule
        How instance log-odds make the probability of a bag's label.

    Notes
    -----
    A value and gradient cost two passes over the instances.
    """

    def __init__(self, X, offsets, y, weight, rule):
        self.X = X
        self.offsets = offsets
        self.y = y
        self.total = float(weight.sum())
        self.weight = weight / self.total
        self.each = np.repeat(self.weight, np.diff(offsets))
        self.rule = rule

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Objective and its gradient, both per unit of weight."""
        target, scale = np.split(theta, 2)
        U = self.X - target
        squares = np.square(U)
        q = squares @ np.square(scale) + FLOOR
        log_likelihood, by_log_odds = self.rule.gradient(log_odds(q), self.offsets, self.y)
        # d eta / dq = -1 / (1 - exp(-q)); its largest values meet the smallest of the rule's gradient.
        by_q = -self.each * by_log_odds / np.expm1(-q)
        by_target = -2 * scale**2 * (by_q @ U)
        by_scale = 2 * scale * (by_q @ squares)
        return float(-self.weight @ log_likelihood), np.concatenate([by_target, by_scale])


def distance(X, target, scale) -> np.ndarray:
    """Give q of every instance, never quite zero."""
    return np.square(X - target) @ np.square(scale) + FLOOR


def log_odds(q: np.ndarray) -> np.ndarray:
    """Log-odds of a probability exp(-q)."""
    return -q - np.log(-np.expm1(-q))
