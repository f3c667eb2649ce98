"""The likelihood of a linear model with a bag rule: values, gradients and curvature for solvers.

The formulas are functions of a block. `LinearBagProblem` sums them over blocks in memory, in files or on a
cluster. `InMemoryProblem` is for bags in memory and stores the log-odds of all instances between calls.
`make_problem` chooses between them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, cast

import numpy as np
import scipy.sparse as sp

from bagwise.data.blocks import Block, Blocks, MemoryBlocks, SelectColumns, Sums
from bagwise.models.linear_model.engine.design import (
    Design,
    Scaling,
    log_odds_of,
    make_design,
    scaled_blocks,
    sums_over_instances,
)
from bagwise.models.linear_model.engine.moments import moments_of
from bagwise.rules import Rule

# With more features, the curvature in all pairs of features costs more than many evaluations.
_FEW_FEATURES = 64
# The size of a copy of some features of large data is limited to that of the instances divided by this
# number.
_MOST_COPIED = 5


def make_problem(
    blocks: Blocks, scaler: Any, rule: Rule, *, ridge: float = 0.0, fit_intercept: bool = True
) -> LinearBagProblem:
    """Return the likelihood of bags: an `InMemoryProblem`, or a `LinearBagProblem` for large data."""
    if not blocks.are_large:
        design = make_design(blocks.whole, blocks.offsets, scaler, fit_intercept=fit_intercept)
        problem = InMemoryProblem(design, blocks.y, blocks.weight, rule, ridge=ridge)
        problem.blocks.n_passes = blocks.n_passes  # continue counting passes
        return problem
    blocks, scaling = scaled_blocks(blocks, scaler, fit_intercept=fit_intercept)
    return LinearBagProblem(blocks, scaling, rule, ridge=ridge)


@dataclass(frozen=True)
class BagPoint:
    """Values of the objective at one set of parameters, from one pass over the instances.

    Attributes
    ----------
    x : array of shape (n_features + 1,)
        Coefficients of the scaled features, and the intercept.
    value, gradient : float, array of shape (n_features + 1,)
        Objective and gradient per unit of bag weight.
    log_likelihood : float
        Weighted log-likelihood of all bags.
    log_odds, by_instance : arrays of shape (n_instances,)
        Log-odds of the instances, and derivatives of the bags' log-likelihoods in them; empty for large data.
    gradient_error : float
        Estimated rounding error of the gradient, if it was computed approximately.
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
        """Largest absolute derivative in a coefficient; zeros remain optimal under a stronger L1 norm."""
        return float(np.abs(self.gradient[:-1]).max(initial=0.0))

    def without_instances(self) -> BagPoint:
        """Return the point without the arrays of instances, to save memory."""
        return replace(self, log_odds=np.empty(0), by_instance=np.empty(0))


# ---------------------------------------------------------------------- functions of a block


class Look(NamedTuple):
    """Result for one block at one set of parameters; ``+`` adds the sums and joins the instance values.

    `by_column` and `slope` are the derivatives of the log-likelihood in the coefficients of the stored
    features and in a constant.
    """

    log_likelihood: float
    by_column: np.ndarray
    slope: float
    log_odds: np.ndarray
    by_instance: np.ndarray

    def __add__(self, other: Any) -> Any:
        return Look(
            self.log_likelihood + other.log_likelihood,
            self.by_column + other.by_column,
            self.slope + other.slope,
            np.concatenate([self.log_odds, other.log_odds]),
            np.concatenate([self.by_instance, other.by_instance]),
        )


def look_at(block: Block, coef: np.ndarray, constant: np.ndarray, rule: Rule) -> Look:
    """Return the weighted log-likelihood of a block, its derivatives, and the values of the instances."""
    log_odds = log_odds_of(block.X, coef, constant)
    by_bag, by_instance = rule.gradient(log_odds, block.offsets, block.y)
    weighted = block.weight_of_each * by_instance
    by_column = sums_over_instances(weighted, block.X)
    return Look(float(block.weight @ by_bag), by_column, weighted.sum(), log_odds, by_instance)


def evaluate(block: Block, coef: np.ndarray, constant: np.ndarray, rule: Rule) -> Sums:
    """Return the weighted log-likelihood of a block and its derivatives, without values of instances."""
    return Sums(look_at(block, coef, constant, rule)[:3])


def curvature_of(
    block: Block, x: np.ndarray, columns: np.ndarray, scaling: Scaling, rule: Rule, rough: bool
) -> np.ndarray:
    """Return the curvature of a block's negative log-likelihood in columns as stored, and the intercept."""
    diagonal, factor = rule.curvature(scaling.dot(x, block.X), block.offsets, block.y)
    weight = block.weight_of_each
    return moments_of(
        block.X, columns, weight * diagonal, np.sqrt(weight) * factor, block.offsets, rough=rough
    )


def _columns_in(block: Block, columns: np.ndarray) -> np.ndarray:
    return SelectColumns(columns)(block.X.toarray() if sp.issparse(block.X) else block.X)


def hessian_times(block: Block, x: np.ndarray, v: np.ndarray, scaling: Scaling, rule: Rule) -> np.ndarray:
    """Return the product of the Hessian of a block's log-likelihood with `v`."""
    log_odds, along = scaling.dot(x, block.X), scaling.dot(v, block.X)
    curved = rule.hessian_product(log_odds, block.offsets, block.y, along)
    return scaling.pull_back(block.weight_of_each * curved, block.X)


# ---------------------------------------------------------------------- sums over all blocks


class LinearBagProblem:
    """Negative log-likelihood of bags with linear log-odds of instances, per unit of bag weight.

    For parameters x = (coef, intercept), log-odds ``eta`` of the scaled instances and bag weights ``w``::

        f(x) = - sum_i w_i log P(y_i | eta_i) / sum_i w_i + ridge / 2 * |coef|^2

    Parameters
    ----------
    blocks : Blocks
        The bags, with labels in the encoding of the rule and a positive weight per bag. They can be in
        memory, in files or on a cluster.
    scaling : Scaling
        Scaling of the features.
    rule : Rule
        The rule that maps log-odds to the probability of a bag label.
    ridge : float
        Strength of the squared norm, per unit of weight; the intercept is not penalized.

    Notes
    -----
    No array of the size of the data is stored. Value and gradient together cost one pass over the instances.
    The curvature is that of `Rule.curvature`: the exact Hessian if it has the required form, otherwise the
    Fisher information.
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
    def has_few_features(self) -> bool:
        """Whether the curvature in all pairs of features is cheap to compute."""
        return self.n_features <= _FEW_FEATURES

    @property
    def is_convex(self) -> bool:
        """Whether all bags have one instance, so that every rule is (convex) logistic regression."""
        return bool((np.diff(self.offsets) == 1).all())

    def _with(self, rule: Rule, ridge: float) -> LinearBagProblem:
        return LinearBagProblem(self.blocks, self.scaling, rule, ridge=ridge)

    def with_rule(self, rule: Rule) -> Self:
        """Return the problem with another rule."""
        return cast(Self, self._with(rule, self.ridge))

    def without_ridge(self) -> Self:
        """Return the problem without the ridge penalty."""
        return cast(Self, self._with(self.rule, 0.0)) if self.ridge else self

    def over(self, blocks: Blocks) -> LinearBagProblem:
        """Return the problem for other bags, with the same scaling, rule and ridge per unit of weight."""
        return LinearBagProblem(blocks, self.scaling, self.rule, ridge=self.ridge)

    def select(self, columns: np.ndarray) -> LinearBagProblem | None:
        """Return the problem restricted to these coefficients; None if the copy would be too large.

        The features are copied into memory, in one pass. With few features, the vectors with a value for
        every instance would need more memory than the copy.
        """
        if self.has_few_features or _MOST_COPIED * len(columns) > self.n_features:
            return None
        factor, shift = self.scaling.factor[columns], self.scaling.shift[columns]
        design = Design(
            self.blocks.joined(_columns_in, columns),
            self.offsets,
            factor=factor,
            shift=shift,
            fit_intercept=self.scaling.fit_intercept,
        )
        return InMemoryProblem(design, self.y, self.blocks.weight, self.rule, ridge=self.ridge)

    # ------------------------------------------------------------ points and curvature

    def point(self, x: np.ndarray) -> BagPoint:
        """Compute value and gradient in one pass over the bags."""
        log_likelihood, *derivatives = self.blocks.total(evaluate, *self.scaling.for_stored(x), self.rule)
        return self.make_point(x, log_likelihood, self.scaling.gradient_of(*derivatives))

    def make_point(
        self, x: np.ndarray, log_likelihood: float, gradient: np.ndarray, **fields: Any
    ) -> BagPoint:
        """Return a point from the weighted log-likelihood of all bags and its gradient."""
        value = float(0.5 * self.ridge * (x[:-1] @ x[:-1]) - log_likelihood / self.total)
        return BagPoint(x, value, self.ridge_gradient(x) - gradient / self.total, log_likelihood, **fields)

    def ridge_gradient(self, x: np.ndarray) -> np.ndarray:
        """Return the gradient of the ridge penalty."""
        return np.append(self.ridge * x[:-1], 0.0)

    def curvature(self, point: BagPoint, columns: np.ndarray, *, rough: bool = False) -> np.ndarray:
        """Return the curvature in these columns and the intercept, shape (k + 1, k + 1).

        It may be indefinite. `rough` is as in `moments_of`.
        """
        raw = self.blocks.total(curvature_of, point.x, columns, self.scaling, self.rule, rough)
        return self.finish_curvature(self.scaling.scale_moments(raw / self.total, columns))

    def finish_curvature(self, H: np.ndarray) -> np.ndarray:
        """Add the ridge to the curvature of the likelihood, and fix the intercept if it is not fitted."""
        k = len(H) - 1
        H[np.arange(k), np.arange(k)] += self.ridge
        if not self.scaling.fit_intercept:
            H[-1, :] = H[:, -1] = 0.0
            H[-1, -1] = 1.0
        return H

    # ------------------------------------------------------------ for solvers with Hessian-vector products

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient."""
        point = LinearBagProblem.point(self, x)  # without values of instances
        return point.value, point.gradient

    def hessian_product(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the product of the exact Hessian at `x` with `v`, for rules with latent labels."""
        product = self.blocks.total(hessian_times, x, v, self.scaling, self.rule) / -self.total
        product[:-1] += self.ridge * v[:-1]
        return product


# ---------------------------------------------------------------------- few bags in memory


class InMemoryProblem(LinearBagProblem):
    """`LinearBagProblem` for instances in memory, whose points store the log-odds of all instances.

    Curvature and nearby points then need one product fewer with the instances.

    Parameters
    ----------
    design : Design
        The instances.
    y, weight : arrays of shape (n_bags,)
        Labels in the encoding of the rule, and a positive weight per bag.
    rule, ridge
        As in `LinearBagProblem`.
    """

    def __init__(self, design: Design, y: np.ndarray, weight: np.ndarray, rule: Rule, *, ridge: float = 0.0):
        super().__init__(MemoryBlocks(design.X, design.offsets, y, weight), design, rule, ridge=ridge)
        self.design = design
        # Bag weights, normalized to the sum 1.
        self.weight = weight / self.total

    def _with(self, rule: Rule, ridge: float) -> InMemoryProblem:
        problem = InMemoryProblem(self.design, self.y, self.blocks.weight, rule, ridge=ridge)
        problem.blocks = self.blocks
        return problem

    @cached_property
    def instance_weight(self) -> np.ndarray:
        """Weight of each instance's bag, relative to the sum over bags."""
        return np.repeat(self.weight, np.diff(self.offsets))

    @cached_property
    def weight_norm(self) -> float:
        """Euclidean norm of the instance weights."""
        return float(np.linalg.norm(self.instance_weight))

    def select(self, columns: np.ndarray) -> InMemoryProblem | None:
        """Return the problem restricted to these coefficients; None if the copy would be too large."""
        design = self.design.select(columns)
        if design is None:
            return None
        return InMemoryProblem(design, self.y, self.blocks.weight, self.rule, ridge=self.ridge)

    def point(self, x: np.ndarray) -> BagPoint:
        """Compute value and gradient in one pass over the instances."""
        look = self.blocks.total(look_at, *self.design.for_stored(x), self.rule)
        gradient = self.design.gradient_of(look.by_column, look.slope)
        return self.make_point(
            x, look.log_likelihood, gradient, log_odds=look.log_odds, by_instance=look.by_instance
        )

    def points(self, xs: list[np.ndarray]) -> list[BagPoint]:
        """Compute several points with two matrix products for all of them.

        The products have one value per instance and point. At most n_features points are therefore computed
        at once, so that the products need no more memory than the instances.
        """
        points: list[BagPoint] = []
        most = max(1, self.n_features)
        for begin in range(0, len(xs), most):
            batch = np.array(xs[begin : begin + most])
            log_odds = self.design.dot(batch, self.design.X)
            gradients = [self.rule.gradient(row, self.offsets, self.y) for row in log_odds]
            slopes = self.design.pull_back(
                np.array([self.instance_weight * by_instance for _, by_instance in gradients]), self.design.X
            )
            for x, row, (by_bag, by_instance), slope in zip(batch, log_odds, gradients, slopes, strict=True):
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
        """Return a point from log-odds, log-likelihoods with derivatives, and the objective's gradient."""
        log_likelihood = float(self.weight @ by_bag)
        value = float(0.5 * self.ridge * (x[:-1] @ x[:-1]) - log_likelihood)
        total = self.total * log_likelihood
        return BagPoint(x, value, gradient, total, log_odds, by_instance, gradient_error)

    def gradient_of(self, point: BagPoint) -> np.ndarray:
        """Return the gradient from the derivatives stored in a point, by one product with the instances."""
        slope = self.design.pull_back(self.instance_weight * point.by_instance, self.design.X)
        return self.ridge_gradient(point.x) - slope

    def curvature(self, point: BagPoint, columns: np.ndarray, *, rough: bool = False) -> np.ndarray:
        """Return the curvature in these columns and the intercept, from the log-odds of the point."""
        return self.curvature_from(*self.instance_curvature(point), columns, rough=rough)

    def curvature_from(
        self, diagonal: np.ndarray, factor: np.ndarray, columns: np.ndarray, *, rough: bool = False
    ) -> np.ndarray:
        """Return the curvature in these columns and the intercept, given that of `instance_curvature`."""
        raw = self.blocks.total(_moments_in, self.offsets, columns, diagonal, factor, rough)
        return self.finish_curvature(self.design.scale_moments(raw, columns))

    def instance_curvature(self, point: BagPoint) -> tuple[np.ndarray, np.ndarray]:
        """Return diagonal and factor of the curvature in log-odds, weighted by the bag weights."""
        diagonal, factor = self.rule.curvature(point.log_odds, self.offsets, self.y)
        return self.instance_weight * diagonal, np.sqrt(self.instance_weight) * factor


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
