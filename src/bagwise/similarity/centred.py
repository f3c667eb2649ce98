"""Polynomial kernels of rows that lie far from the origin, counted from a place amid the rows.

There the values of all pairs agree in most of their digits, and a model looks at what is left. A score with a
free intercept does not need what they share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.similarity.instance_distances import middle
from bagwise.similarity.instance_kernels import InstanceKernel

# Rows are far from the origin where it is this many times as far away as they are from each other.
_FAR = 10.0


def far_origin(X: Any) -> np.ndarray | None:
    """Give a place amid rows that lie far from the origin, None if they do not (or are sparse)."""
    if sp.issparse(X):
        return None
    place, few = middle(X)
    spread = np.median(np.abs(few - place).max(axis=1))
    return place if np.abs(place).max() > _FAR * spread else None


@dataclass(frozen=True, eq=False, kw_only=True)
class RisingPolynomial(InstanceKernel):
    """The polynomial k(x, z) = (gamma x'z + coef0) ** degree less its value k(o, z) at an origin o.

    Computed from differences to the origin, without cancellation. The degree is a whole number.
    """

    origin: np.ndarray

    def __call__(self, X: Any, Y: Any) -> np.ndarray:
        """Values of the rows of `X` and of `Y`: float64, shape (len(X), len(Y))."""
        start = self.gamma * (Y @ self.origin) + self.coef0
        step = self.gamma * ((X - self.origin) @ Y.T)
        end = start + step
        # (a^d - b^d) / (a - b) is a sum of products of powers, by Horner's scheme.
        total, power = np.ones_like(end), np.ones_like(start)
        for _ in range(int(self.degree) - 1):
            power *= start
            total *= end
            total += power
        total *= step
        return total
