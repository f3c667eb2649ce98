"""A copy of the instances in single precision, for steps: half to read, and its errors are accounted for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

# Beyond this size in double precision products are what a step costs, and the copy saves half of it.
_WORTH_BYTES = 2**20
# Columns whose largest value is within these bounds have squares that single precision holds.
_SMALLEST, _LARGEST = 1e-12, 1e12
# Sums lose few digits of a column whose largest value and mean are not more standard deviations than these
# from zero. Away from zero, rounding errors would not be of either sign.
_FARTHEST, _CENTRE = 100.0, 0.5
_EPS = float(np.finfo(np.float32).eps)
# The error of a sum of products is taken for so many units in the last place of the norm of its terms, until
# it is seen, and then for so many times what was seen, never less than a quarter of before. A run stops by
# it; what it gives is computed again to all digits, and goes on if it was off by more.
_UNSEEN, _SEEN, _LESS = 4.0, 1.5, 0.25


@dataclass(frozen=True)
class SingleCopy:
    """Scaled features in single precision, by columns.

    Attributes
    ----------
    matrix : array of shape (n_all_features, n_instances), float32
        A row for every feature.
    columns : array of int, shape (n_features,)
        The rows that are meant.
    reach : float
        How large the values are: the largest root mean square of a feature.
    """

    matrix: np.ndarray
    columns: np.ndarray
    reach: float

    @classmethod
    def of(cls, X: np.ndarray, factor: np.ndarray, shift: np.ndarray) -> SingleCopy | None:
        """Copy ``X * factor + shift``; None, if a column would lose its digits. One read of `X`."""
        from bagwise._numba.single import copy_scaled

        scaled = np.empty(X.shape[::-1], dtype=np.float32)
        largest, mean, mean_square = copy_scaled(X, np.array(factor), np.array(shift), scaled)
        with np.errstate(invalid="ignore", over="ignore"):
            deviation = np.sqrt(np.maximum(mean_square - np.square(mean), 0.0))
            is_centred = (largest <= _FARTHEST * deviation) & (np.abs(mean) <= _CENTRE * deviation)
            keeps_digits = are_moderate(largest) & is_centred
        if not keeps_digits.all():
            return None
        return cls(scaled, np.arange(len(scaled)), float(np.sqrt(mean_square.max(initial=0.0))))

    def narrowed(self, columns) -> SingleCopy:
        """Some of the features, without a copy."""
        return replace(self, columns=self.columns[columns])

    @property
    def is_worth_steps(self) -> bool:
        """Whether steps are faster with it; a small matrix in double precision stays in the cache anyway."""
        return 8 * len(self.columns) * self.matrix.shape[1] >= _WORTH_BYTES

    def moved(self, log_odds: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Log-odds after a step of coefficients and intercept; features that do not move are not read."""
        from bagwise._numba.single import add_products

        moved, which = log_odds + step[-1], np.flatnonzero(step[:-1])
        add_products(self.matrix, self.columns[which], step[which].astype(np.float32), moved)
        return moved

    def pull_back(self, weight, now: np.ndarray, before: np.ndarray) -> tuple[np.ndarray, float]:
        """Turn a change of weighted derivatives in log-odds into one in parameters; give its norm, too."""
        from bagwise._numba.single import sum_products, weigh_change

        change, by_parameter = np.empty(len(now), dtype=np.float32), np.empty(len(self.columns) + 1)
        by_parameter[-1], squares = weigh_change(weight, now, before, change)
        sum_products(self.matrix, self.columns, change, by_parameter[:-1])
        return by_parameter, sqrt(squares)


class Rounding:
    """How large the errors of products with a `SingleCopy` are: assumed, then seen."""

    def __init__(self):
        self._units = _UNSEEN

    def of(self, terms: float) -> float:
        """The error of a sum whose terms have a norm."""
        return self._units * _EPS * terms

    def see(self, part: float) -> None:
        """Learn that errors were this part of what they were taken for; little by little, if less."""
        self._units *= max(_SEEN * part, _LESS)


def are_moderate(largest: np.ndarray) -> np.ndarray:
    """Whether single precision holds the squares of columns with these largest absolute values."""
    return (largest == 0) | ((largest > _SMALLEST) & (largest < _LARGEST))
