"""Interface of a linear bag model for the L1 solver: points, exact points, curvature, and fewer columns.

Instances of 1 to 64 MB are copied by columns, scaled and in single precision (`ColumnCopy`). A point is
computed by an update of the previous one. It is recomputed from all instances if the estimated rounding error
is too large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import hypot
from typing import Any

import numpy as np
from numpy.linalg import norm

from bagwise.models.linear_model.engine.design import COPY_BYTES, Design
from bagwise.models.linear_model.engine.moments import CurvatureMoments, are_moderate
from bagwise.models.linear_model.engine.problem import BagPoint, InMemoryProblem, LinearBagProblem

# Above this size, products dominate the cost of a step, and the copy saves most of it. Smaller matrices stay
# in the processor's cache.
_WORTH_BYTES = 2**20
# Limits for the largest value and the mean of a column, in standard deviations from zero. Within them, sums
# lose few digits. With a larger mean, the rounding errors would mostly have the same sign.
_LARGEST_VALUE, _LARGEST_MEAN = 100.0, 0.5
# Error of a sum of products, relative to the norm of its terms. For many kinds of features, measured errors
# were 1 to 9 times the machine epsilon.
_ROUNDING = 3 * float(np.finfo(np.float32).eps)
# Largest error of a gradient as a fraction of the fit's tolerance. A step is short if the error that it adds
# is at most the second value times the first.
_LARGEST_ERROR, _SHORT = 0.8, 0.1


class LassoProblem:
    """The likelihood of a `LinearBagProblem` as an `L1Problem`.

    With a `ColumnCopy`, a point is computed from a previous one by the *difference* of the parameters, in
    single precision and from the changed features only. The shorter the step, the more accurate the result.
    The errors of successive points add up, and their sum is estimated. Once steps are short, a point whose
    error is too large for the tolerance is computed from all instances. Because the estimate is not a bound,
    the solver finally requests `exact` points. Without a copy, all points are exact.

    Parameters
    ----------
    bags : LinearBagProblem
        The likelihood, with a ridge of zero because the solver adds the penalties.
    copy : ColumnCopy or None
        A copy of the instances.
    tol : float
        The tolerance of the fit.
    whole, entries : LassoProblem, array of int
        For a problem with fewer columns: the problem with all columns, and the indices of the parameters in
        it.
    """

    def __init__(
        self,
        bags: LinearBagProblem,
        copy: ColumnCopy | None,
        *,
        tol: float,
        whole: LassoProblem | None = None,
        entries: np.ndarray | None = None,
    ):
        self.bags: Any = bags  # with a copy, an InMemoryProblem
        self._copy = copy
        self._tol = tol
        self._whole = whole
        self._entries = entries
        self.n_features = bags.n_features if entries is None else len(entries) - 1
        self.has_kinks = bags.has_kinks

    # ------------------------------------------------------------ points

    def point(self, x: np.ndarray, base: BagPoint | None = None) -> BagPoint:
        """Compute value and gradient; with a copy, from those at the point `base`."""
        copy = self._copy
        if base is None or copy is None:
            return self._compute_exactly(x)
        step = x - base.x
        # Effect of rounding errors in the log-odds. The curvature of a log-likelihood is at most about 1/4.
        error = copy.rounding(0.25 * copy.rms * self.bags.weight_norm * float(norm(step)))
        if base.gradient_error > _LARGEST_ERROR * self._tol and error <= _SHORT * _LARGEST_ERROR * self._tol:
            return self._compute_exactly(x)
        log_odds = copy.moved(base.log_odds, step)
        by_bag, by_instance = self.bags.rule.gradient(log_odds, self.bags.offsets, self.bags.y)
        gradient, more = self._gradient_from(base, by_instance)
        error = hypot(base.gradient_error, error + more)
        return self.bags.near_point(x, log_odds, by_bag, by_instance, gradient, error)

    def exact(self, points: Sequence[BagPoint]) -> list[BagPoint]:
        """Recompute all inexact points from all instances, in one batch."""
        if self._copy is None:
            return list(points)
        inexact = [point for point in points if point.gradient_error]
        if len(inexact) < 2 or self._whole is not None:
            return [self._compute_exactly(point.x) if point.gradient_error else point for point in points]
        exact_points = iter(self.bags.points([point.x for point in inexact]))
        return [next(exact_points) if point.gradient_error else point for point in points]

    def _compute_exactly(self, x: np.ndarray) -> BagPoint:
        if self._whole is None or self._copy is None:
            return self.bags.point(x)
        # With a `ColumnCopy`, there is no copy of fewer columns in double precision.
        return self.enter(self._whole.bags.point(self._scattered(x)))

    def _gradient_from(self, base: BagPoint, by_instance: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the gradient, from the change in derivatives since a point, and the error of the change."""
        assert self._copy is not None
        change, size = self._copy.pull_back(self.bags.instance_weight, by_instance, base.by_instance)
        gradient = base.gradient - change
        if not self.bags.scaling.fit_intercept:
            gradient[-1] = 0.0
        return gradient, self._copy.rounding(size)

    def curvature(self, point: BagPoint, columns: np.ndarray) -> np.ndarray:
        """Return the curvature in k columns and the intercept, to two digits: shape (k + 1, k + 1)."""
        if self._copy is None:
            return self.bags.curvature(point, columns, rough=True)
        diagonal, factor = self.bags.instance_curvature(point)
        H = self._copy.curvature(diagonal, factor, columns, self.bags.offsets)
        return self.bags.finish_curvature(H)

    # ------------------------------------------------------------ fewer columns

    def restrict(self, columns: np.ndarray) -> LassoProblem:
        """Return the likelihood restricted to some coefficients.

        Return the problem itself if these are most of the coefficients, or if a copy would be too large.
        """
        if 2 * len(columns) > self.n_features:
            return self
        copy = None if self._copy is None else self._copy.select(columns)
        bags = self.bags.select(columns) if copy is None else self.bags
        if bags is None:
            return self
        entries = np.append(columns, self.n_features)
        return LassoProblem(bags, copy, tol=self._tol, whole=self, entries=entries)

    def enter(self, point: BagPoint) -> BagPoint:
        """Convert a point of the whole problem, whose other coefficients are zero, to this problem."""
        if self._entries is None or self._whole is None:
            return point
        if not isinstance(self._whole.bags, InMemoryProblem):
            return self.bags.point(point.x[self._entries])
        return replace(point, x=point.x[self._entries], gradient=point.gradient[self._entries])

    def lift(self, point: BagPoint, base: BagPoint) -> BagPoint:
        """Convert a point of this problem to the whole problem; compute the gradient in all columns."""
        if self._whole is None:
            return point
        x = self._scattered(point.x)
        if not isinstance(self._whole.bags, InMemoryProblem):
            return self._whole.bags.point(x)
        if self._copy is None:
            wide = replace(point, x=x)
            return replace(wide, gradient=self._whole.bags.gradient_of(wide))
        gradient, more = self._whole._gradient_from(base, point.by_instance)
        error = hypot(point.gradient_error, base.gradient_error, more)
        if error > _LARGEST_ERROR * self._tol:
            return self._whole.bags.point(x)
        gradient[self._entries] = point.gradient
        return replace(point, x=x, gradient=gradient, gradient_error=error)

    def _scattered(self, x: np.ndarray) -> np.ndarray:
        assert self._whole is not None
        whole = np.zeros(self._whole.n_features + 1)
        whole[self._entries] = x
        return whole


# ---------------------------------------------------------------------- a copy in single precision


@dataclass(frozen=True)
class ColumnCopy:
    """Scaled features in single precision, stored by columns: `matrix` has a row for every feature.

    `columns` contains the indices of the copied features, and `rms` is the largest root mean square of a
    feature.
    """

    matrix: np.ndarray
    columns: np.ndarray
    rms: float
    moments: CurvatureMoments = field(default_factory=CurvatureMoments)

    @classmethod
    def of(cls, design: Design) -> ColumnCopy | None:
        """Copy the scaled instances of a design in one pass.

        Return None if the instances are sparse, too large, or too small to benefit from a copy, or if a
        column would lose too much precision.
        """
        from bagwise._core.compiled.single import copy_scaled

        if design.is_sparse or not _WORTH_BYTES <= design.X.nbytes <= COPY_BYTES:
            return None
        scaled = np.empty(design.X.shape[::-1], dtype=np.float32)
        largest, mean, mean_square = copy_scaled(
            design.X, np.array(design.factor), np.array(design.shift), scaled
        )
        with np.errstate(invalid="ignore", over="ignore"):
            deviation = np.sqrt(np.maximum(mean_square - np.square(mean), 0.0))
            is_centred = (largest <= _LARGEST_VALUE * deviation) & (np.abs(mean) <= _LARGEST_MEAN * deviation)
            keeps_digits = are_moderate(largest) & is_centred
        if not keeps_digits.all():
            return None
        return cls(scaled, np.arange(len(scaled)), float(np.sqrt(mean_square.max(initial=0.0))))

    def select(self, columns: np.ndarray) -> ColumnCopy:
        """Select some of the features, without another copy."""
        return replace(self, columns=self.columns[columns])

    def moved(self, log_odds: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return the log-odds after a step of the parameters; only the changed features are read."""
        from bagwise._core.compiled.single import add_products

        moved, indices = log_odds + step[-1], np.flatnonzero(step[:-1])
        add_products(self.matrix, self.columns[indices], step[indices].astype(np.float32), moved)
        return moved

    def pull_back(self, weight: np.ndarray, now: np.ndarray, before: np.ndarray) -> tuple[np.ndarray, float]:
        """Convert a change of weighted derivatives in log-odds to parameters; also return its norm."""
        from bagwise._core.compiled.single import sum_products

        change, by_parameter = weight * (now - before), np.empty(len(self.columns) + 1)
        sum_products(self.matrix, self.columns, change.astype(np.float32), by_parameter[:-1])
        by_parameter[-1] = change.sum()
        return by_parameter, float(np.linalg.norm(change))

    def curvature(
        self, diagonal: np.ndarray, factor: np.ndarray, columns: np.ndarray, offsets: np.ndarray
    ) -> np.ndarray:
        """Convert curvature in log-odds to curvature in some of the parameters, to two digits."""
        return self.moments.sum(
            self.matrix.T, self.columns[columns], diagonal, factor, offsets, dtype=np.float32, rough=True
        )

    def rounding(self, norm: float) -> float:
        """Estimate the rounding error of a feature's product with a vector of this norm."""
        return _ROUNDING * self.rms * norm
