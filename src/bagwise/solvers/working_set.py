"""Optimality with an L1 norm, and the columns that matter for it."""

from __future__ import annotations

import numpy as np

# So many violators may always enter at a time.
_FEWEST_NEW = 20


def kkt_violation(gradient: np.ndarray, x: np.ndarray, alpha: float) -> np.ndarray:
    """How far each entry is from optimal: the distance of zero from the subdifferential."""
    from bagwise._numba.coordinate import violations

    return violations(gradient, x, alpha)


def working_set(x: np.ndarray, violation: np.ndarray, tol: float) -> np.ndarray:
    """The non-zero entries and the worst violators, not many more of these than of the others."""
    inside = x[:-1] != 0
    outside = np.flatnonzero(~inside & (violation[:-1] > tol))
    return _with_largest(inside, outside, violation)


def with_likely(point, wanted: np.ndarray, threshold: float) -> np.ndarray:
    """The columns wanted, and those with a gradient above a threshold, no more than of the others."""
    inside = np.zeros(len(point.theta) - 1, dtype=bool)
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
