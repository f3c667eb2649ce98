"""The smooth problem behind a linear model with a bag rule: value, gradient and curvature."""

from __future__ import annotations

import numpy as np


class LinearBagProblem:
    """Penalised likelihood of bags whose instances have linear log-odds.

    For parameters (coef, intercept), log-odds ``eta = X coef + intercept`` and bag weights ``w``::

        f = - sum_i w_i log P(y_i | eta_i) + alpha / 2 * |coef|^2

    divided by the total weight, so that a tolerance means the same for few bags and for many.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_instances, n_features), float64
    offsets, y, weight : arrays
        Where bags start; labels 1, 0 or -1 (unknown); a positive weight per bag.
    rule : Rule
        How log-odds make the probability of a bag's label.
    alpha : float
        The strength of the ridge penalty; the intercept is free.
    fit_intercept : bool
        Without it the parameters are the coefficients alone.

    Notes
    -----
    A value and gradient cost one product with X and one with its transpose, and so does a Hessian product
    (the log-odds of the present point are kept).
    """

    def __init__(self, X, offsets, y, weight, rule, *, alpha: float, fit_intercept: bool = True):
        self.X = X
        self.offsets = offsets
        self.y = y
        self.weight = weight
        self.rule = rule
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.total = float(weight.sum())
        self.instance_weight = np.repeat(weight / self.total, np.diff(offsets))
        self._seen: tuple[np.ndarray, np.ndarray] | None = None

    def split(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        """Give coefficients and intercept of a parameter vector."""
        return (theta[:-1], theta[-1]) if self.fit_intercept else (theta, 0.0)

    def log_odds(self, theta: np.ndarray) -> np.ndarray:
        """Log-odds of every instance; the last ones are kept."""
        if self._seen is None or not np.array_equal(self._seen[0], theta):
            coef, intercept = self.split(theta)
            self._seen = theta.copy(), self.X @ coef + intercept
        return self._seen[1]

    def _pull_back(self, by_instance: np.ndarray) -> np.ndarray:
        """Turn a derivative in the log-odds into one in the parameters."""
        by_coef = self.X.T @ by_instance
        return np.append(by_coef, by_instance.sum()) if self.fit_intercept else by_coef

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Objective and its gradient, both per unit of weight."""
        log_likelihood, by_instance = self.rule.gradient(self.log_odds(theta), self.offsets, self.y)
        coef, _ = self.split(theta)
        ridge = self.alpha / self.total
        value = 0.5 * ridge * (coef @ coef) - (self.weight @ log_likelihood) / self.total
        gradient = self._pull_back(-self.instance_weight * by_instance)
        gradient[: len(coef)] += ridge * coef
        return float(value), gradient

    def hessian_product(self, theta: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Product of the Hessian at `theta` with `v`, per unit of weight."""
        along, intercept = self.split(v)
        along_instances = self.X @ along + intercept
        curved = self.rule.hessian_product(self.log_odds(theta), self.offsets, self.y, along_instances)
        product = self._pull_back(-self.instance_weight * curved)
        product[: len(along)] += (self.alpha / self.total) * along
        return product
