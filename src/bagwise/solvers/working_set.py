"""Optimality with an elastic net, and the columns that matter for it."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

# So many violators may always enter at a time.
_FEWEST_NEW = 20


class Point(Protocol):
    """What a problem knows at one set of parameters; what else a point holds is the problem's affair."""

    @property
    def x(self) -> np.ndarray:
        """The parameters: a coefficient per column, and a last entry that is free."""

    @property
    def value(self) -> float:
        """The smooth function there."""

    @property
    def gradient(self) -> np.ndarray:
        """Its gradient."""


class ElasticNet(NamedTuple):
    """The penalty ``l1 sum_k |x_k| + l2 / 2 sum_k x_k^2`` of all entries but the last."""

    l1: float
    l2: float = 0.0

    def value(self, x: np.ndarray) -> float:
        """The penalty itself."""
        coef = x[:-1]
        return float(self.l1 * np.abs(coef).sum() + 0.5 * self.l2 * (coef @ coef))

    def objective(self, point: Point) -> float:
        """What is minimised."""
        return point.value + self.value(point.x)

    def gradient(self, point: Point) -> np.ndarray:
        """The gradient of all but the L1 norm."""
        if not self.l2:
            return point.gradient
        gradient = point.gradient.copy()
        gradient[:-1] += self.l2 * point.x[:-1]
        return gradient

    def violation(self, point: Point) -> np.ndarray:
        """How far each entry is from optimal: the distance of zero from the subdifferential."""
        from bagwise._core.compiled.coordinate import violations

        return violations(self.gradient(point), point.x, self.l1)


def working_set(x: np.ndarray, violation: np.ndarray, tol: float) -> np.ndarray:
    """The columns of non-zero entries, and those of the worst violators, not many more than of the others."""
    inside = x[:-1] != 0
    outside = np.flatnonzero(~inside & (violation[:-1] > tol))
    return _with_largest(inside, outside, violation)


def with_likely(point: Point, wanted: np.ndarray, threshold: float) -> np.ndarray:
    """The columns wanted, and those with a gradient above a threshold, no more than of the others."""
    inside = np.zeros(len(point.x) - 1, dtype=bool)
    inside[wanted] = True
    size = np.abs(point.gradient[:-1])
    return _with_largest(inside, np.flatnonzero(~inside & (size > threshold)), size)


def _with_largest(inside: np.ndarray, others: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Join to a set as many others as it has, or a few; the largest come first."""
    if len(others) > _FEWEST_NEW:
        most = max(_FEWEST_NEW, np.count_nonzero(inside))
        others = others[np.argsort(-size[others], kind="stable")[:most]]
    inside[others] = True
    return np.flatnonzero(inside)
