"""The likelihood of bags in memory that are not many: what is known of every instance is kept."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from bagwise.data.blocks import Block, MemoryBlocks, Sums, add_up
from bagwise.models.linear_model.engine.design import Design
from bagwise.models.linear_model.engine.moments import moments_of
from bagwise.models.linear_model.engine.problem import BagPoint, LinearBagProblem, look_at
from bagwise.rules import Rule


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
        self._last: BagPoint | None = None

    def _with(self, rule: Rule, ridge: float) -> InMemoryProblem:
        problem = InMemoryProblem(self.design, self.y, self.blocks.weight, rule, ridge=ridge)
        problem.blocks = self.blocks
        return problem

    @cached_property
    def weight(self) -> np.ndarray:
        """The weights of bags, as shares of their sum."""
        return self.blocks.weight / self.total

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
        looks = list(self.blocks.each(look_at, x, self.design, self.rule))
        sums = add_up(Sums(look[:2]) for look in looks)
        log_odds, by_instance = (_joined([look[k] for look in looks]) for k in (2, 3))
        return self.make_point(x, *sums, log_odds=log_odds, by_instance=by_instance)

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
            found = [self.rule.gradient(row, self.offsets, self.y) for row in log_odds]
            slopes = self.design.pull_back(
                np.array([self.instance_weight * by_instance for _, by_instance in found])
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
        return self.ridge_gradient(point.x) - self.design.pull_back(self.instance_weight * point.by_instance)

    def curvature(self, point: BagPoint, columns: np.ndarray, *, rough: bool = False) -> np.ndarray:
        """Curvature in some columns and the intercept, from the log-odds of the point."""
        return self.curvature_from(*self.instance_curvature(point), columns, rough=rough)

    def curvature_from(
        self, diagonal: np.ndarray, factor: np.ndarray, columns: np.ndarray, *, rough: bool = False
    ) -> np.ndarray:
        """Curvature in some columns and the intercept, from that in log-odds (`instance_curvature`)."""
        raw = self.blocks.total(_moments_in, self.blocks.begins, columns, diagonal, factor, rough)
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
            _hessian_in, self.blocks.begins, self._last.log_odds, v, self.design, self.rule
        )
        product /= self.total
        product[:-1] += self.ridge * v[:-1]
        return product


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _moments_in(
    block: Block,
    begins: np.ndarray,
    columns: np.ndarray,
    diagonal: np.ndarray,
    factor: np.ndarray,
    rough: bool,
) -> np.ndarray:
    rows = block.rows(begins)
    return moments_of(block.X, columns, diagonal[rows], factor[rows], block.offsets, rough=rough)


def _hessian_in(
    block: Block, begins: np.ndarray, log_odds: np.ndarray, v: np.ndarray, design: Design, rule: Rule
) -> np.ndarray:
    along = design.dot(v, block.X)
    curved = rule.hessian_product(log_odds[block.rows(begins)], block.offsets, block.y, along)
    return design.pull_back(block.weight_of_each * curved, block.X)
