"""The likelihood behind a linear model with a bag rule: values, gradients and curvature for solvers.

The formulas are functions of a block. `LinearBagProblem` sums them over blocks in any location;
`InMemoryProblem` does the same for few bags, and keeps the log-odds of every instance between calls.
`make_problem` chooses between them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, cast

import numpy as np

from bagwise.data.blocks import Block, Blocks, MemoryBlocks, Sums
from bagwise.models.linear_model.engine.design import Design, Scaling, make_design, scaled_blocks
from bagwise.models.linear_model.engine.moments import moments_of
from bagwise.rules import Rule


def make_problem(
    blocks: Blocks, scaler: Any, rule: Rule, *, ridge: float = 0.0, fit_intercept: bool = True
) -> LinearBagProblem:
    """Set up the likelihood of bags: with all that makes it fast where they are few, else from blocks."""
    if not blocks.are_large:
        design = make_design(blocks.whole, blocks.offsets, scaler, fit_intercept=fit_intercept)
        problem = InMemoryProblem(design, blocks.y, blocks.weight, rule, ridge=ridge)
        problem.blocks.n_passes = blocks.n_passes  # one count of the passes before and after
        return problem
    blocks, scaling = scaled_blocks(blocks, scaler, fit_intercept=fit_intercept)
    return LinearBagProblem(blocks, scaling, rule, ridge=ridge)


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
    """What one block says at one set of parameters: sums, and values of its instances, which are joined."""

    log_likelihood: float
    gradient: np.ndarray
    log_odds: np.ndarray
    by_instance: np.ndarray

    def __add__(self, other: Any) -> Any:
        return Look(
            self.log_likelihood + other.log_likelihood,
            self.gradient + other.gradient,
            np.concatenate([self.log_odds, other.log_odds]),
            np.concatenate([self.by_instance, other.by_instance]),
        )


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

    def __init__(self, blocks: Blocks, scaling: Scaling, rule: Rule, *, ridge: float = 0.0):
        self.blocks = blocks
        self.scaling = scaling
        self.rule = rule
        self.ridge = ridge
        self.offsets, self.y = blocks.offsets, blocks.y
        self.total = float(blocks.weight.sum())
        self.n_features = scaling.n_features
        self.has_kinks = not rule.is_smooth

    @property
    def is_convex(self) -> bool:
        """Whether there is one optimum: with bags of one instance every rule is logistic regression."""
        return bool((np.diff(self.offsets) == 1).all())

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


# ---------------------------------------------------------------------- few bags in memory


class InMemoryProblem(LinearBagProblem):
    """`LinearBagProblem` of instances in memory, whose points hold the log-odds of every instance.

    So curvature, Hessian products and points nearby need one product less with the instances.

    Parameters
    ----------
    design : Design
        The instances.
    y, weight : arrays of shape (n_bags,)
        Labels as the rule reads them; a positive weight per bag.
    rule, ridge
        As in `LinearBagProblem`.
    """

    def __init__(self, design: Design, y: np.ndarray, weight: np.ndarray, rule: Rule, *, ridge: float = 0.0):
        super().__init__(MemoryBlocks(design.X, design.offsets, y, weight), design, rule, ridge=ridge)
        self.design = design
        # Weights of bags as shares of their sum.
        self.weight = weight / self.total
        self._last: BagPoint | None = None

    def _with(self, rule: Rule, ridge: float) -> InMemoryProblem:
        problem = InMemoryProblem(self.design, self.y, self.blocks.weight, rule, ridge=ridge)
        problem.blocks = self.blocks
        return problem

    @cached_property
    def instance_weight(self) -> np.ndarray:
        """The weights of the bags of instances, as shares of the bags' sum."""
        return np.repeat(self.weight, np.diff(self.offsets))

    @cached_property
    def weight_norm(self) -> float:
        """The Euclidean norm of the weights of instances."""
        return float(np.linalg.norm(self.instance_weight))

    def select(self, columns: np.ndarray) -> InMemoryProblem | None:
        """The likelihood as a function of some coefficients alone; None if that needs too large a copy."""
        design = self.design.select(columns)
        if design is None:
            return None
        return InMemoryProblem(design, self.y, self.blocks.weight, self.rule, ridge=self.ridge)

    def point(self, x: np.ndarray) -> BagPoint:
        """Compute value and gradient in one read of the instances."""
        look = self.blocks.total(look_at, x, self.design, self.rule)
        return self.make_point(
            x, look.log_likelihood, look.gradient, log_odds=look.log_odds, by_instance=look.by_instance
        )

    def points(self, xs: list[np.ndarray]) -> list[BagPoint]:
        """Compute several points, with two products of matrices for all of them.

        What is held beside the instances has a row of these for each point: so no more points than features
        are computed at a time.
        """
        points: list[BagPoint] = []
        most = max(1, self.n_features)
        for begin in range(0, len(xs), most):
            some = np.array(xs[begin : begin + most])
            log_odds = self.design.dot(some, self.design.X)
            found = [self.rule.gradient(row, self.offsets, self.y) for row in log_odds]
            slopes = self.design.pull_back(
                np.array([self.instance_weight * by_instance for _, by_instance in found]), self.design.X
            )
            for x, row, (by_bag, by_instance), slope in zip(some, log_odds, found, slopes, strict=True):
                points.append(self.near_point(x, row, by_bag, by_instance, self.ridge_gradient(x) - slope))
        return points

    def near_point(
        self,
        x: np.ndarray,
        log_odds: np.ndarray,
        by_bag: np.ndarray,
        by_instance: np.ndarray,
        gradient: np.ndarray,
        gradient_error: float = 0.0,
    ) -> BagPoint:
        """Put a point together from what is known of bags and instances, and the objective's gradient."""
        log_likelihood = float(self.weight @ by_bag)
        value = float(0.5 * self.ridge * (x[:-1] @ x[:-1]) - log_likelihood)
        total = self.total * log_likelihood
        return BagPoint(x, value, gradient, total, log_odds, by_instance, gradient_error)

    def gradient_of(self, point: BagPoint) -> np.ndarray:
        """The gradient from what is known of every instance at a point: one product with the instances."""
        slope = self.design.pull_back(self.instance_weight * point.by_instance, self.design.X)
        return self.ridge_gradient(point.x) - slope

    def curvature(self, point: BagPoint, columns: np.ndarray, *, rough: bool = False) -> np.ndarray:
        """Curvature in some columns and the intercept, from the log-odds of the point."""
        return self.curvature_from(*self.instance_curvature(point), columns, rough=rough)

    def curvature_from(
        self, diagonal: np.ndarray, factor: np.ndarray, columns: np.ndarray, *, rough: bool = False
    ) -> np.ndarray:
        """Curvature in some columns and the intercept, from that in log-odds (`instance_curvature`)."""
        raw = self.blocks.total(_moments_in, self.offsets, columns, diagonal, factor, rough)
        return self.finish_curvature(self.design.scale_moments(raw, columns))

    def instance_curvature(self, point: BagPoint) -> tuple[np.ndarray, np.ndarray]:
        """Diagonal and factor of the curvature in log-odds, with the weights of the bags."""
        diagonal, factor = self.rule.curvature(point.log_odds, self.offsets, self.y)
        return self.instance_weight * diagonal, np.sqrt(self.instance_weight) * factor

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Objective and its gradient; the point is kept for Hessian products there."""
        self._last = self.point(x.copy())
        return self._last.value, self._last.gradient

    def hessian_product(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Product of the exact Hessian at `x` with `v`; for rules with latent labels."""
        if self._last is None or not np.array_equal(self._last.x, x):
            self._last = self.point(x.copy())
        product = -self.blocks.total(
            _hessian_in, self.offsets, self._last.log_odds, v, self.design, self.rule
        )
        product /= self.total
        product[:-1] += self.ridge * v[:-1]
        return product


def _moments_in(
    block: Block,
    offsets: np.ndarray,
    columns: np.ndarray,
    diagonal: np.ndarray,
    factor: np.ndarray,
    rough: bool,
) -> np.ndarray:
    rows = block.rows(offsets[block.first :])
    return moments_of(block.X, columns, diagonal[rows], factor[rows], block.offsets, rough=rough)


def _hessian_in(
    block: Block, offsets: np.ndarray, log_odds: np.ndarray, v: np.ndarray, design: Design, rule: Rule
) -> np.ndarray:
    along, rows = design.dot(v, block.X), block.rows(offsets[block.first :])
    curved = rule.hessian_product(log_odds[rows], block.offsets, block.y, along)
    return design.pull_back(block.weight_of_each * curved, block.X)
