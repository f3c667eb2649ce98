"""The kernel of EM-DD, for bags with one instance, which are positive with probability exp(-q).

`X` is (n, d) float64, `y` (n,) int8 with labels 1 and 0, `weight` (n,), `target` and `scale` (d,).
"""

from __future__ import annotations

import math

import numpy as np

from bagwise._core.compiled.compiling import kernel
from bagwise._core.compiled.scalar import log1mexp


@kernel(reorder=True)
def single_density(X, y, weight, target, scale, floor):
    """Return value and gradient of -sum_i w_i log P(y_i).

    P(y = 1) = exp(-q) with q = sum_k s_k^2 (x_k - t_k)^2 + floor. The gradient is with respect to
    (target, scale), (2 d,). One pass over X: O(n d).
    """
    d = X.shape[1]
    curve, first, second = scale * scale, np.zeros(d), np.zeros(d)
    value = 0.0
    for i in range(X.shape[0]):
        q = floor
        for k in range(d):
            u = X[i, k] - target[k]
            q += curve[k] * u * u
        if y[i] == 1:
            value += weight[i] * q
            by_q = weight[i]
        else:
            value -= weight[i] * log1mexp(q)
            by_q = -weight[i] / math.expm1(q)
        for k in range(d):
            u = X[i, k] - target[k]
            first[k] += by_q * u
            second[k] += by_q * u * u
    gradient = np.empty(2 * d)
    for k in range(d):
        gradient[k] = -2.0 * curve[k] * first[k]
        gradient[d + k] = 2.0 * scale[k] * second[k]
    return value, gradient
