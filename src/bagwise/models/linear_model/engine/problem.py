"""The likelihood behind a linear model with a bag rule: values, gradients and curvature for solvers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self, cast

import numpy as np

from bagwise.data.blocks import Block, Blocks, Sums
from bagwise.models.linear_model.engine.design import Scaling
from bagwise.models.linear_model.engine.moments import moments_of
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
        Log-odds, and the derivatives of the log-likelihoods of the bags in them: kept in memory, else empty.
    gradient_error : float
        How far the gradient is likely to be off by rounding, if it was not computed to all digits.
    """

    x: np.ndarray
    value: float
    gradient: np.ndarray
    log_likelihood: float
    log_odds: np.ndarray = field(default_factory=lambda: np.empty(0))
    by_instance: np.ndarray = field(default_factory=lambda: np.empty(0))
    gradient_error: float = 0.0

    @property
    def largest_slope(self) -> float:
        """The largest derivative in a coefficient: zeros stay so under a stronger L1 norm."""
        return float(np.abs(self.gradient[:-1]).max(initial=0.0))

    def without_instances(self) -> BagPoint:
        """The same without what has the size of the data."""
        return replace(self, log_odds=np.empty(0), by_instance=np.empty(0))


# ---------------------------------------------------------------------- functions of a block


class Look(NamedTuple):
    """What one block says at one set of parameters: the sums, and what is known of its instances."""

    log_likelihood: float
    gradient: np.ndarray
    log_odds: np.ndarray
    by_instance: np.ndarray


def look_at(block: Block, x: np.ndarray, scaling: Scaling, rule: Rule) -> Look:
    """Compute the weighted log-likelihood of a block's bags, and its gradient in the parameters."""
    log_odds = scaling.dot(x, block.X)
    by_bag, by_instance = rule.gradient(log_odds, block.offsets, block.y)
    gradient = scaling.pull_back(block.weight_of_each * by_instance, block.X)
    return Look(float(block.weight @ by_bag), gradient, log_odds, by_instance)


def evaluate(block: Block, x: np.ndarray, scaling: Scaling, rule: Rule) -> Sums:
    """The same without what is known of its instances: log-likelihood and gradient, which add up."""
    return Sums(look_at(block, x, scaling, rule)[:2])


def curvature_of(
    block: Block, x: np.ndarray, columns: np.ndarray, scaling: Scaling, rule: Rule, rough: bool
) -> np.ndarray:
    """Curvature of minus a block's log-likelihood in some columns, as they are stored, and the intercept."""
    diagonal, factor = rule.curvature(scaling.dot(x, block.X), block.offsets, block.y)
    weight = block.weight_of_each
    return moments_of(
        block.X, columns, weight * diagonal, np.sqrt(weight) * factor, block.offsets, rough=rough
    )


def hessian_times(block: Block, x: np.ndarray, v: np.ndarray, scaling: Scaling, rule: Rule) -> np.ndarray:
    """Product of the Hessian of a block's log-likelihood with `v`."""
    log_odds, along = scaling.dot(x, block.X), scaling.dot(v, block.X)
    curved = rule.hessian_product(log_odds, block.offsets, block.y, along)
    return scaling.pull_back(block.weight_of_each * curved, block.X)


# ---------------------------------------------------------------------- sums over all blocks


class LinearBagProblem:
    """Likelihood of bags whose instances have linear log-odds, per unit of bag weight, wherever they lie.

    For parameters x = (coef, intercept), log-odds ``eta`` of the scaled instances and bag weights ``w``::

        f(x) = - sum_i w_i log P(y_i | eta_i) / sum_i w_i + ridge / 2 * |coef|^2

    Parameters
    ----------
    blocks : Blocks
        The bags, with labels as the rule reads them and a positive weight per bag.
    scaling : Scaling
        Of the features.
    rule : Rule
        How log-odds make the probability of a bag's label.
    ridge : float
        Strength of the squared norm, per unit of weight; the intercept is free.

    Notes
    -----
    Nothing of the size of the data is kept. Value and gradient together cost one read of the instances. The
    curvature is the rule's: the exact Hessian where it has the form that `Rule.curvature` wants, else
    Fisher's information.
    """

    total: float

    def __init__(self, blocks: Blocks, scaling: Scaling, rule: Rule, *, ridge: float = 0.0):
        self.blocks = blocks
        self.scaling = scaling
        self.rule = rule
        self.ridge = ridge
        self.total = float(blocks.weight.sum())

    @property
    def offsets(self) -> np.ndarray:
        """Where bags begin."""
        return self.blocks.offsets

    @property
    def y(self) -> np.ndarray:
        """The labels of all bags."""
        return self.blocks.y

    @property
    def is_convex(self) -> bool:
        """Whether there is one optimum: with bags of one instance every rule is logistic regression."""
        return bool((np.diff(self.offsets) == 1).all())

    @property
    def has_kinks(self) -> bool:
        """Whether the likelihood is smooth only in pieces."""
        return not self.rule.is_smooth

    @property
    def n_features(self) -> int:
        """The number of coefficients."""
        return self.scaling.n_features

    def _with(self, rule: Rule, ridge: float) -> LinearBagProblem:
        return LinearBagProblem(self.blocks, self.scaling, rule, ridge=ridge)

    def with_rule(self, rule: Rule) -> Self:
        """The problem under another rule."""
        return cast(Self, self._with(rule, self.ridge))

    def without_ridge(self) -> Self:
        """The likelihood alone."""
        return cast(Self, self._with(self.rule, 0.0)) if self.ridge else self

    def over(self, blocks: Blocks) -> LinearBagProblem:
        """The problem on other bags with the same scaling, rule and ridge per unit of weight."""
        return LinearBagProblem(blocks, self.scaling, self.rule, ridge=self.ridge)

    def select(self, columns: np.ndarray) -> LinearBagProblem | None:
        """The likelihood as a function of some coefficients alone; None if that needs too large a copy."""
        return None

    # ------------------------------------------------------------ points and curvature

    def point(self, x: np.ndarray) -> BagPoint:
        """Compute value and gradient in one pass."""
        return self.make_point(x, *self.blocks.total(evaluate, x, self.scaling, self.rule))

    def make_point(
        self, x: np.ndarray, log_likelihood: float, gradient: np.ndarray, **known: Any
    ) -> BagPoint:
        """Put a point together from the weighted log-likelihood of all bags and its gradient."""
        value = float(0.5 * self.ridge * (x[:-1] @ x[:-1]) - log_likelihood / self.total)
        return BagPoint(x, value, self.ridge_gradient(x) - gradient / self.total, log_likelihood, **known)

    def ridge_gradient(self, x: np.ndarray) -> np.ndarray:
        """The gradient of the ridge."""
        return np.append(self.ridge * x[:-1], 0.0)

    def curvature(self, point: BagPoint, columns: np.ndarray, *, rough: bool = False) -> np.ndarray:
        """Curvature in some columns and the intercept, which may be indefinite: shape (k + 1, k + 1).

        `rough` is as in `moments_of`.
        """
        raw = self.blocks.total(curvature_of, point.x, columns, self.scaling, self.rule, rough)
        return self.finish_curvature(self.scaling.scale_moments(raw / self.total, columns))

    def finish_curvature(self, H: np.ndarray) -> np.ndarray:
        """Add the ridge to the curvature of the likelihood, and hold an intercept that is not there."""
        k = len(H) - 1
        H[np.arange(k), np.arange(k)] += self.ridge
        if not self.scaling.fit_intercept:
            H[-1, :] = H[:, -1] = 0.0
            H[-1, -1] = 1.0
        return H

    # ------------------------------------------------------------ for solvers that ask for a vector at a time

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Objective and its gradient."""
        point = self.point(x.copy())
        return point.value, point.gradient

    def hessian_product(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Product of the exact Hessian at `x` with `v`; for rules with latent labels."""
        product = self.blocks.total(hessian_times, x, v, self.scaling, self.rule) / -self.total
        product[:-1] += self.ridge * v[:-1]
        return product

    def log_likelihood(self, x: np.ndarray) -> float:
        """Weighted log-likelihood of all bags, without a penalty."""
        return self.point(x).log_likelihood
