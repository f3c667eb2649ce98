"""A copy of the instances by columns and in single precision, for steps: a fraction to read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from bagwise.models.linear_model.engine.design import COPY_BYTES, Design
from bagwise.models.linear_model.engine.moments import (
    Moments,
    are_moderate,
    diagonal_where_alone,
    negligible_weight,
)

# Beyond this size products are what a step costs, and the copy saves most of it; a smaller matrix stays in
# the processor's cache anyway.
_WORTH_BYTES = 2**20
# Sums lose few digits of a column whose largest value and mean are not more standard deviations than these
# from zero. Away from zero, rounding errors would not be of either sign.
_LARGEST_VALUE, _LARGEST_MEAN = 100.0, 0.5
# The error of a sum of products, relative to the norm of its terms: 1 to 9 units in the last place were seen
# over many kinds of features.
_ROUNDING = 3 * float(np.finfo(np.float32).eps)


@dataclass(frozen=True)
class ColumnCopy:
    """Scaled features in single precision, by columns: `matrix` has a row for every feature.

    `columns` are the rows that are meant, and `rms` is the largest root mean square of a feature.
    """

    matrix: np.ndarray
    columns: np.ndarray
    rms: float
    moments: Moments = field(default_factory=Moments)

    @classmethod
    def of(cls, design: Design) -> ColumnCopy | None:
        """Copy the scaled instances of a design: one read of them.

        None, if they are sparse, too large or too small to be worth it, or a column would lose its digits.
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
        """Some of the features, without another copy."""
        return replace(self, columns=self.columns[columns])

    def moved(self, log_odds: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Log-odds after a step of coefficients and intercept; features that do not move are not read."""
        from bagwise._core.compiled.single import add_products

        moved, which = log_odds + step[-1], np.flatnonzero(step[:-1])
        add_products(self.matrix, self.columns[which], step[which].astype(np.float32), moved)
        return moved

    def pull_back(self, weight: np.ndarray, now: np.ndarray, before: np.ndarray) -> tuple[np.ndarray, float]:
        """Turn a change of weighted derivatives in log-odds into one in parameters; give its norm, too."""
        from bagwise._core.compiled.single import sum_products

        change, by_parameter = weight * (now - before), np.empty(len(self.columns) + 1)
        sum_products(self.matrix, self.columns, change.astype(np.float32), by_parameter[:-1])
        by_parameter[-1] = change.sum()
        return by_parameter, float(np.linalg.norm(change))

    def curvature(
        self, diagonal: np.ndarray, factor: np.ndarray, columns: np.ndarray, offsets: np.ndarray
    ) -> np.ndarray:
        """Carry curvature in the log-odds over to some of the parameters, to two digits."""
        diagonal, factor = diagonal_where_alone(diagonal, factor, offsets)
        return self.moments.sum(
            self.matrix.T,
            self.columns[columns],
            diagonal,
            factor,
            offsets,
            dtype=np.float32,
            negligible=negligible_weight(diagonal),
        )

    def rounding(self, norm: float) -> float:
        """How far a sum of products of a feature with numbers of this norm is likely to be off."""
        return _ROUNDING * self.rms * norm
