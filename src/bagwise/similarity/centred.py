"""Polynomial kernels of rows far from the origin, relative to a reference point among the rows.

Far from the origin, the kernel values of all pairs agree in most digits, and a model depends on the remaining
digits. Scores with a free intercept do not need the shared part, so it can be subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.similarity.instance_distances import middle
from bagwise.similarity.instance_kernels import InstanceKernel

# Rows count as far from the origin if their distance to it exceeds their spread by this factor.
_FAR = 10.0


def far_origin(X: Any) -> np.ndarray | None:
    """Return a central point of rows far from the origin; None for sparse rows and rows near the origin."""
    if sp.issparse(X):
        return None
    centre, few = middle(X)
    spread = np.median(np.abs(few - centre).max(axis=1))
    return centre if np.abs(centre).max() > _FAR * spread else None


@dataclass(frozen=True, eq=False, kw_only=True)
class RisingPolynomial(InstanceKernel):
    """Difference k(x, z) - k(o, z) of the polynomial kernel k, with a reference point o.

    The kernel is k(x, z) = (gamma x'z + coef0) ** degree with an integer degree. The difference is computed
    from x - o, without cancellation. The point o is the attribute `origin`.
    """

    origin: np.ndarray

    def __call__(self, X: Any, Y: Any) -> np.ndarray:
        """Compute the values for all rows of `X` and `Y`: float64, shape (len(X), len(Y))."""
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
