"""Optimality conditions for an elastic net, and the columns that are relevant to them."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

# Each step may add at least this many violating columns.
_FEWEST_NEW = 20


class Point(Protocol):
    """Smooth function evaluated at one set of parameters. Problems can add their own attributes."""

    @property
    def x(self) -> np.ndarray:
        """Parameters: one coefficient per column, and a last entry without penalty."""

    @property
    def value(self) -> float:
        """Value of the smooth function."""

    @property
    def gradient(self) -> np.ndarray:
        """Gradient of the smooth function."""


class ElasticNet(NamedTuple):
    """Penalty ``l1 sum_k |x_k| + l2 / 2 sum_k x_k^2`` on all entries except the last."""

    l1: float
    l2: float = 0.0

    def value(self, x: np.ndarray) -> float:
        """Return the value of the penalty."""
        coef = x[:-1]
        return float(self.l1 * np.abs(coef).sum() + 0.5 * self.l2 * (coef @ coef))

    def objective(self, point: Point) -> float:
        """Return the minimized objective: the smooth function plus the penalty."""
        return point.value + self.value(point.x)

    def gradient(self, point: Point) -> np.ndarray:
        """Return the gradient of the objective without the L1 norm."""
        if not self.l2:
            return point.gradient
        gradient = point.gradient.copy()
        gradient[:-1] += self.l2 * point.x[:-1]
        return gradient

    def violation(self, point: Point) -> np.ndarray:
        """Return the violation of optimality per entry: the distance of zero from the subdifferential."""
        from bagwise._core.compiled.coordinate import violations

        return violations(self.gradient(point), point.x, self.l1)


def working_set(x: np.ndarray, violation: np.ndarray, tol: float) -> np.ndarray:
    """Return the columns with nonzero coefficients and the columns with the largest violations.

    The number of violating columns is at most the number of nonzero coefficients, or 20 if that is larger.
    """
    inside = x[:-1] != 0
    outside = np.flatnonzero(~inside & (violation[:-1] > tol))
    return _with_largest(inside, outside, violation)


def with_likely(point: Point, wanted: np.ndarray, threshold: float) -> np.ndarray:
    """Return the wanted columns and those with the largest gradients above a threshold.

    The number of added columns is at most the number of wanted columns, or 20 if that is larger.
    """
    inside = np.zeros(len(point.x) - 1, dtype=bool)
    inside[wanted] = True
    size = np.abs(point.gradient[:-1])
    return _with_largest(inside, np.flatnonzero(~inside & (size > threshold)), size)


def _with_largest(inside: np.ndarray, others: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Add the largest of `others` to a set: at most max(set size, `_FEWEST_NEW`)."""
    if len(others) > _FEWEST_NEW:
        most = max(_FEWEST_NEW, np.count_nonzero(inside))
        others = others[np.argsort(-size[others], kind="stable")[:most]]
    inside[others] = True
    return np.flatnonzero(inside)
