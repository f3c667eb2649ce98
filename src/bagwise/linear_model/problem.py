"""The likelihood behind a linear model with a bag rule: values, gradients and curvature for solvers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bagwise.linear_model.design import Design
from bagwise.rules import Rule


@dataclass(frozen=True)
class BagPoint:
    """What is known at one set of parameters, after one read of the instances.

    Attributes
    ----------
    x : array of shape (n_features + 1,)
        The parameters: coefficients of the scaled features, and the intercept.
    value, gradient : float, array of shape (n_features + 1,)
        The objective there, per unit of bag weight.
    log_likelihood : float
        The weighted log-likelihood of all bags.
    log_odds, by_instance : arrays of shape (n_instances,)
        Log-odds, and the derivatives of the log-likelihoods of the bags in them.
    gradient_error : float
        How far the gradient is likely to be off by rounding, if it was not computed to all digits.
    """

    x: np.ndarray
    value: float
    gradient: np.ndarray
    log_likelihood: float
    log_odds: np.ndarray
    by_instance: np.ndarray
    gradient_error: float = 0.0

    def without_instances(self) -> BagPoint:
        """The same without what has the size of the data."""
        return replace(self, log_odds=np.empty(0), by_instance=np.empty(0))


class LinearBagProblem:
    """Likelihood of bags whose instances have linear log-odds, per unit of bag weight.

    For parameters x = (coef, intercept), log-odds ``eta`` of the scaled instances and bag weights ``w``::

        f(x) = - sum_i w_i log P(y_i | eta_i) / sum_i w_i + ridge / 2 * |coef|^2

    Parameters
    ----------
    design : Design
        The instances.
    y, weight : arrays of shape (n_bags,)
        Labels as the rule reads them; a positive weight per bag.
    rule : Rule
        How log-odds make the probability of a bag's label.
    ridge : float
        Strength of the squared norm, per unit of weight; the intercept is free.

    Notes
    -----
    Value and gradient together cost one read of the instances. The curvature is the rule's: the exact Hessian
    where it has the form that `Rule.curvature` wants, else Fisher's information.
    """

    def __init__(self, design: Design, y: np.ndarray, weight: np.ndarray, rule: Rule, *, ridge: float = 0.0):
        self.design = design
        self.y = y
        self.rule = rule
        self.ridge = ridge
        self.total = float(weight.sum())
        self.weight = weight / self.total
        self.instance_weight = np.repeat(self.weight, np.diff(design.offsets))
        self._last: BagPoint | None = None

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

    def select(self, columns: np.ndarray) -> LinearBagProblem | None:
        """The likelihood as a function of some coefficients alone; None if that needs too large a copy."""
        design = self.design.select(columns)
        if design is None:
            return None
        return LinearBagProblem(design, self.y, self.weight * self.total, self.rule, ridge=self.ridge)

    def with_rule(self, rule: Rule) -> LinearBagProblem:
        """The problem under another rule."""
        return LinearBagProblem(self.design, self.y, self.weight * self.total, rule, ridge=self.ridge)

    def without_ridge(self) -> LinearBagProblem:
        """The likelihood alone."""
        if not self.ridge:
            return self
        return LinearBagProblem(self.design, self.y, self.weight * self.total, self.rule)

    @cached_property
    def weight_norm(self) -> float:
        """The Euclidean norm of the weights of instances."""
        return float(np.linalg.norm(self.instance_weight))

    def point(self, x: np.ndarray) -> BagPoint:
        """Compute value and gradient in one read of the instances, a block of bags after the other."""
        log_odds = np.empty(self.design.X.shape[0])
        by_instance = np.empty_like(log_odds)
        log_likelihood, gradient = 0.0, self._ridge_gradient(x)
        for bags, rows, X, offsets in self.design.blocks:
            log_odds[rows] = self.design.dot(x, X)
            by_bag, by_instance[rows] = self.rule.gradient(log_odds[rows], offsets, self.y[bags])
            log_likelihood += self.weight[bags] @ by_bag
            gradient -= self.design.pull_back(self.instance_weight[rows] * by_instance[rows], X)
        return self.make_point(x, log_odds, by_instance, log_likelihood, gradient)

    def points(self, xs: list[np.ndarray]) -> list[BagPoint]:
        """Compute several points, with two products of matrices for all of them.

        What is held beside the instances has a row of these for each point: so no more points than features
        are computed at a time.
        """
        points: list[BagPoint] = []
        most = max(1, self.n_features)
        for begin in range(0, len(xs), most):
            some = np.array(xs[begin : begin + most])
            log_odds = self.design.dot(some)
            found = [self.rule.gradient(row, self.design.offsets, self.y) for row in log_odds]
            slopes = self.design.pull_back(
                np.array([self.instance_weight * by_instance for _, by_instance in found])
            )
            for x, row, (by_bag, by_instance), slope in zip(some, log_odds, found, slopes, strict=True):
                gradient = self._ridge_gradient(x) - slope
                points.append(self.make_point(x, row, by_instance, self.weight @ by_bag, gradient))
        return points

    def make_point(
        self,
        x: np.ndarray,
        log_odds: np.ndarray,
        by_instance: np.ndarray,
        log_likelihood: float,
        gradient: np.ndarray,
        gradient_error: float = 0.0,
    ) -> BagPoint:
        """Put a point together; `log_likelihood` is per unit of weight."""
        value = float(0.5 * self.ridge * (x[:-1] @ x[:-1]) - log_likelihood)
        total = float(self.total * log_likelihood)
        return BagPoint(x, value, gradient, total, log_odds, by_instance, gradient_error)

    def gradient_of(self, point: BagPoint) -> np.ndarray:
        """The gradient from what is known of every instance at a point: one product with the instances."""
        return self._ridge_gradient(point.x) - self.design.pull_back(self.instance_weight * point.by_instance)

    def _ridge_gradient(self, x: np.ndarray) -> np.ndarray:
        return np.append(self.ridge * x[:-1], 0.0)

    def curvature(self, point: BagPoint, columns: np.ndarray, *, rough: bool = False) -> np.ndarray:
        """Curvature in some columns and the intercept, which may be indefinite: shape (k + 1, k + 1).

        `rough` is as in `Design.curvature`.
        """
        return self.finish_curvature(
            self.design.curvature(*self.instance_curvature(point), columns, rough=rough)
        )

    def instance_curvature(self, point: BagPoint) -> tuple[np.ndarray, np.ndarray]:
        """Diagonal and factor of the curvature in log-odds, with the weights of the bags."""
        diagonal, factor = self.rule.curvature(point.log_odds, self.design.offsets, self.y)
        return self.instance_weight * diagonal, np.sqrt(self.instance_weight) * factor

    def finish_curvature(self, H: np.ndarray) -> np.ndarray:
        """Add the ridge to the curvature of the likelihood, and hold an intercept that is not there."""
        k = len(H) - 1
        H[np.arange(k), np.arange(k)] += self.ridge
        if not self.design.fit_intercept:
            H[-1, :] = H[:, -1] = 0.0
            H[-1, -1] = 1.0
        return H

    # ------------------------------------------------------------ for solvers that ask for a vector at a time

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Objective and its gradient; the point is kept for Hessian products there."""
        self._last = self.point(x.copy())
        return self._last.value, self._last.gradient

    def hessian_product(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Product of the exact Hessian at `x` with `v`; for rules with latent labels."""
        if self._last is None or not np.array_equal(self._last.x, x):
            self._last = self.point(x.copy())
        product = np.zeros(len(v))
        for bags, rows, X, offsets in self.design.blocks:
            along = self.design.dot(v, X)
            curved = self.rule.hessian_product(self._last.log_odds[rows], offsets, self.y[bags], along)
            product -= self.design.pull_back(self.instance_weight[rows] * curved, X)
        product[:-1] += self.ridge * v[:-1]
        return product

    def log_likelihood(self, x: np.ndarray) -> float:
        """Weighted log-likelihood of all bags, without a penalty."""
        return self.point(x).log_likelihood
