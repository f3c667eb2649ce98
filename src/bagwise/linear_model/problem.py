"""The likelihood behind a linear model with a bag rule: values, gradients and curvature for solvers."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from math import hypot

import numpy as np
from numpy.linalg import norm

from bagwise.linear_model.design import Design
from bagwise.linear_model.single import Rounding, SingleCopy


@dataclass(frozen=True)
class Point:
    """What is known at one set of parameters, after one read of the instances.

    `drift` is how far the gradient is likely to be off after steps in single precision.
    """

    theta: np.ndarray
    log_odds: np.ndarray
    value: float
    gradient: np.ndarray
    log_likelihood: float
    by_instance: np.ndarray
    drift: float = 0.0


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
    Value and gradient together cost one read of the instances. The curvature is the rule's: the exact Hessian
    where it has the form that `Rule.curvature` wants, else Fisher's information.
    """

    def __init__(self, design: Design, y, weight, rule, *, ridge: float = 0.0):
        self.design = design
        self.y = y
        self.rule = rule
        self.ridge = ridge
        self.total = float(weight.sum())
        self.weight = weight / self.total
        self.instance_weight = np.repeat(self.weight, np.diff(design.offsets))
        self._weight_norm = float(norm(self.instance_weight))
        self._rounding = Rounding()
        self._last: Point | None = None

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

    # ------------------------------------------------------------ for prox-Newton

    def point(self, theta: np.ndarray, near: Point | None = None) -> Point:
        """Compute value and gradient in one read of the instances, a block of bags after the other.

        From a point that is `near` only the differences are computed, in single precision where the instances
        have a copy in it: the shorter the step, the more digits are right.
        """
        if near is not None and (single := self._single_for_steps()) is not None:
            return self._point_near(theta, near, single)
        log_odds = np.empty(self.design.X.shape[0])
        by_instance = np.empty_like(log_odds)
        log_likelihood, gradient = 0.0, self._ridge_gradient(theta)
        for bags, rows, X, offsets in self.design.blocks:
            log_odds[rows] = self.design.dot(theta, X)
            by_bag, by_instance[rows] = self.rule.gradient(log_odds[rows], offsets, self.y[bags])
            log_likelihood += self.weight[bags] @ by_bag
            gradient -= self.design.pull_back(self.instance_weight[rows] * by_instance[rows], X)
        return self._make_point(theta, log_odds, gradient, log_likelihood, by_instance)

    def _single_for_steps(self) -> SingleCopy | None:
        single = self.design.single
        return single if single is not None and single.is_worth_steps else None

    def _point_near(self, theta: np.ndarray, near: Point, single: SingleCopy) -> Point:
        step = theta - near.theta
        log_odds = single.moved(near.log_odds, step)
        by_bag, by_instance = self.rule.gradient(log_odds, self.design.offsets, self.y)
        gradient, change = self._gradient_near(step, by_instance, near, single)
        # Rounding of both products; the curvature of a log-likelihood is about 1/4 at most.
        moved = 0.25 * single.reach * self._weight_norm * float(norm(step)) + change
        drift = hypot(near.drift, self._rounding.of(single.reach * moved))
        return self._make_point(theta, log_odds, gradient, self.weight @ by_bag, by_instance, drift)

    def _gradient_near(
        self, step: np.ndarray, by_instance: np.ndarray, near: Point, single: SingleCopy
    ) -> tuple[np.ndarray, float]:
        """Gradient a step away from a point, by the change of the derivatives alone; and the norm of that."""
        change, size = single.pull_back(self.instance_weight, by_instance, near.by_instance)
        gradient = near.gradient - change
        if not self.design.fit_intercept:
            gradient[-1] = 0.0
        if self.ridge:
            gradient[:-1] += self.ridge * step[:-1]
        return gradient, size

    def sharpened(self, point: Point) -> Point:
        """Compute a point anew, to all digits; from how far it was off, that of others is learned."""
        sharp = self.point(point.theta)
        self._see(point, sharp.gradient)
        return sharp

    def _see(self, point: Point, gradient: np.ndarray) -> None:
        if point.drift > 0:
            self._rounding.see(float(np.abs(gradient - point.gradient).max()) / point.drift)

    def _make_point(self, theta, log_odds, gradient, log_likelihood, by_instance, drift=0.0) -> Point:
        value = float(0.5 * self.ridge * (theta[:-1] @ theta[:-1]) - log_likelihood)
        total = float(self.total * log_likelihood)
        return Point(theta, log_odds, value, gradient, total, by_instance, drift)

    def _ridge_gradient(self, theta: np.ndarray) -> np.ndarray:
        return np.append(self.ridge * theta[:-1], 0.0)

    def in_double(self) -> LinearBagProblem:
        """The same function, all of whose points are computed in double precision."""
        double = copy(self)
        double.design, double._last = self.design.in_double(), None
        return double

    def narrowed(self, columns) -> LinearBagProblem:
        """The likelihood as a function of some coefficients alone, the others zero; itself, if of most."""
        design = self.design.narrowed(columns)
        if design is self.design:
            return self
        narrow = copy(self)
        narrow.design, narrow._last = design, None
        return narrow

    def narrow(self, point: Point, entries: np.ndarray) -> Point:
        """What a problem narrowed to these entries knows at a point whose other coefficients are zero."""
        return replace(point, theta=point.theta[entries], gradient=point.gradient[entries])

    def widen(
        self,
        point: Point,
        entries: np.ndarray,
        near: Point | None = None,
        *,
        alpha: float = 0.0,
        drift: float = np.inf,
    ) -> Point:
        """What this problem knows at a point of a narrowed one: one product with the instances.

        From a point of this problem that is `near` the product is that of the difference, in single
        precision, if then all derivatives but those of the `entries` surely are within +-`alpha`. A point
        with more than the given `drift` is computed anew, to all digits.
        """
        theta = np.zeros(self.n_features + 1)
        theta[entries] = point.theta
        if point.drift > drift:
            sharp = self.point(theta)
            self._see(point, sharp.gradient[entries])
            return sharp
        if near is not None and (single := self._single_for_steps()) is not None:
            gradient, change = self._gradient_near(theta - near.theta, point.by_instance, near, single)
            moved = hypot(point.drift, near.drift, self._rounding.of(single.reach * change))
            gradient[entries] = 0.0
            if np.abs(gradient).max() + moved <= alpha:
                gradient[entries] = point.gradient
                return replace(point, theta=theta, gradient=gradient, drift=moved)
        gradient = self._ridge_gradient(theta)
        gradient -= self.design.pull_back(self.instance_weight * point.by_instance)
        return replace(point, theta=theta, gradient=gradient)

    def curvature_at(self, point: Point, columns: np.ndarray, *, rough: bool = False) -> np.ndarray:
        """Curvature in some columns and the intercept, which may be indefinite: shape (k + 1, k + 1).

        `rough` is as in `Design.curvature`.
        """
        diagonal, factor = self.rule.curvature(point.log_odds, self.design.offsets, self.y)
        weight = self.instance_weight
        H = self.design.curvature(weight * diagonal, np.sqrt(weight) * factor, columns, rough=rough)
        H[np.arange(len(columns)), np.arange(len(columns))] += self.ridge
        if not self.design.fit_intercept:
            H[-1, :] = H[:, -1] = 0.0
            H[-1, -1] = 1.0
        return H

    # ------------------------------------------------------------ for solvers that ask for a vector at a time

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Objective and its gradient; the point is kept for Hessian products there."""
        self._last = self.point(theta.copy())
        return self._last.value, self._last.gradient

    def hessian_product(self, theta: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Product of the exact Hessian at `theta` with `v`; for rules with latent labels."""
        if self._last is None or not np.array_equal(self._last.theta, theta):
            self._last = self.point(theta.copy())
        product = np.zeros(len(v))
        for bags, rows, X, offsets in self.design.blocks:
            along = self.design.dot(v, X)
            curved = self.rule.hessian_product(self._last.log_odds[rows], offsets, self.y[bags], along)
            product -= self.design.pull_back(self.instance_weight[rows] * curved, X)
        product[:-1] += self.ridge * v[:-1]
        return product

    def log_likelihood(self, theta: np.ndarray) -> float:
        """Weighted log-likelihood of all bags, without a penalty."""
        return self.point(theta).log_likelihood

    def likelihoods(self, thetas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`log_likelihood` of several parameters, (n, n_features + 1), and gradients of f without its ridge.

        Two products with the instances for all; no more parameters at a time than there are features.
        """
        values, gradients = [], []
        for some in np.array_split(thetas, -(-len(thetas) // max(1, self.n_features))):
            by_instance = self.design.dot(some)
            for log_odds in by_instance:
                by_bag, slopes = self.rule.gradient(log_odds, self.design.offsets, self.y)
                values.append(self.total * (self.weight @ by_bag))
                np.multiply(self.instance_weight, slopes, out=log_odds)
            gradients.append(-self.design.pull_back(by_instance))
        return np.array(values), np.concatenate(gradients)
