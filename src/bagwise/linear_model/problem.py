"""The likelihood behind a linear model with a bag rule: values, gradients and curvature for solvers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bagwise.linear_model.design import Design


@dataclass(frozen=True)
class Point:
    """What is known at one set of parameters: computed once, read by line search, gradient and curvature."""

    theta: np.ndarray
    log_odds: np.ndarray
    value: float
    log_likelihood: float
    by_instance: np.ndarray


class LinearBagProblem:
    """Likelihood of bags whose instances have linear log-odds, per unit of bag weight.

    For parameters theta = (coef, intercept), log-odds ``eta`` of the scaled instances and bag weights ``w``::

        f(theta) = - sum_i w_i log P(y_i | eta_i) / sum_i w_i + ridge / 2 * |coef|^2

    Parameters
    ----------
    design : Design
        The instances.
    y, weight : arrays of shape (n_bags,)
        Labels 1, 0 or -1 (unknown); a positive weight per bag.
    rule : Rule
        How log-odds make the probability of a bag's label.
    ridge : float
        Strength of the squared norm, per unit of weight; the intercept is free.

    Notes
    -----
    A value costs a product with the instances, and so does a gradient. The curvature is the rule's: the exact
    Hessian where it has the form that `Rule.curvature` wants, else Fisher's information.
    """

    def __init__(self, design: Design, y, weight, rule, *, ridge: float = 0.0):
        self.design = design
        self.y = y
        self.rule = rule
        self.ridge = ridge
        self.total = float(weight.sum())
        self.weight = weight / self.total
        self.instance_weight = np.repeat(self.weight, np.diff(design.offsets))
        self._seen: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def is_convex(self) -> bool:
        """Whether there is one optimum: with bags of one instance every rule is logistic regression."""
        return bool((np.diff(self.design.offsets) == 1).all())

    @property
    def has_kinks(self) -> bool:
        """Whether the likelihood is smooth only in pieces."""
        return not self.rule.is_smooth

    @property
    def n_features(self) -> int:
        """The number of coefficients."""
        return self.design.n_features

    # ------------------------------------------------------------ for solvers that ask for a point at a time

    def log_odds(self, theta: np.ndarray) -> np.ndarray:
        """Log-odds of every instance; the last ones are kept."""
        if self._seen is None or not np.array_equal(self._seen[0], theta):
            self._seen = theta.copy(), self.design.dot(theta)
        return self._seen[1]

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Objective and its gradient."""
        log_likelihood, by_instance = self.rule.gradient(self.log_odds(theta), self.design.offsets, self.y)
        gradient = self.design.pull_back(-self.instance_weight * by_instance)
        gradient[:-1] += self.ridge * theta[:-1]
        return self._value(theta, log_likelihood), gradient

    def hessian_product(self, theta: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Product of the exact Hessian at `theta` with `v`; for rules with latent labels."""
        curved = self.rule.hessian_product(
            self.log_odds(theta), self.design.offsets, self.y, self.design.dot(v)
        )
        product = self.design.pull_back(-self.instance_weight * curved)
        product[:-1] += self.ridge * v[:-1]
        return product

    def log_likelihood(self, theta: np.ndarray) -> float:
        """Weighted log-likelihood of all bags, without a penalty."""
        log_likelihood, _ = self.rule.gradient(self.log_odds(theta), self.design.offsets, self.y)
        return float(self.total * (self.weight @ log_likelihood))

    def _value(self, theta, log_likelihood) -> float:
        return float(0.5 * self.ridge * (theta[:-1] @ theta[:-1]) - self.weight @ log_likelihood)

    # ------------------------------------------------------------ for prox-Newton

    def direction(self, step: np.ndarray) -> np.ndarray:
        """The change of the log-odds along a step of the parameters."""
        return self.design.dot(step)

    def point(self, theta: np.ndarray, log_odds: np.ndarray | None = None) -> Point:
        """Compute value and gradient in the log-odds, which may be known already."""
        if log_odds is None:
            log_odds = self.design.dot(theta)
        log_likelihood, by_instance = self.rule.gradient(log_odds, self.design.offsets, self.y)
        total = float(self.total * (self.weight @ log_likelihood))
        return Point(theta, log_odds, self._value(theta, log_likelihood), total, by_instance)

    def gradient_at(self, point: Point) -> np.ndarray:
        """Gradient in all parameters: one product with the instances."""
        gradient = self.design.pull_back(-self.instance_weight * point.by_instance)
        gradient[:-1] += self.ridge * point.theta[:-1]
        return gradient

    def curvature_at(self, point: Point, columns: np.ndarray) -> np.ndarray:
        """Curvature in some columns and the intercept, which may be indefinite: shape (k + 1, k + 1)."""
        diagonal, factor = self.rule.curvature(point.log_odds, self.design.offsets, self.y)
        weight = self.instance_weight
        H = self.design.curvature(weight * diagonal, np.sqrt(weight) * factor, columns)
        H[np.arange(len(columns)), np.arange(len(columns))] += self.ridge
        if not self.design.fit_intercept:
            H[-1, :] = H[:, -1] = 0.0
            H[-1, -1] = 1.0
        return H
