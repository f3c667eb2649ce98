"""Products with a row-major matrix of instances, in single or double precision; sums are in double precision.

`X` is (n_instances, n_features) and C-ordered. A BLAS product would first copy a matrix in single precision
to one in double precision.
"""

from __future__ import annotations

import numpy as np

from bagwise._core.compiled.compiling import kernel


@kernel(reorder=True)
def row_products(X, w, constant, out):
    """Fill out[i] with constant + sum_k X[i, k] w[k]; `X` is read once."""
    n, p = X.shape
    for i in range(n):
        total = constant
        for k in range(p):
            total += X[i, k] * w[k]
        out[i] = total


@kernel(reorder=True)
def column_products(X, v, out):
    """Fill out[k] with sum_i v[i] X[i, k]; `X` is read once, four rows at a time."""
    n, p = X.shape
    out[:] = 0.0
    i = 0
    while i + 4 <= n:
        x0, x1, x2, x3 = X[i], X[i + 1], X[i + 2], X[i + 3]
        v0, v1, v2, v3 = v[i], v[i + 1], v[i + 2], v[i + 3]
        for k in range(p):
            out[k] += (v0 * x0[k] + v1 * x1[k]) + (v2 * x2[k] + v3 * x3[k])
        i += 4
    while i < n:
        x0, v0 = X[i], v[i]
        for k in range(p):
            out[k] += v0 * x0[k]
        i += 1


@kernel(reorder=True)
def column_moments(X, weight, mean, squares, least, largest):
    """Fill in the weighted mean, the sum of squares about it, minimum and maximum of every column.

    `weight` is (n_instances,); its sum must be positive. The results, all (n_features,), contain 0, 0, inf
    and -inf on entry. `X` is read twice.
    """
    n, p = X.shape
    total = 0.0
    for i in range(n):
        total += weight[i]
    for i in range(n):
        x, w = X[i], weight[i] / total
        for k in range(p):
            mean[k] += w * x[k]
    for i in range(n):
        x, w = X[i], weight[i]
        for k in range(p):
            value = np.float64(x[k])
            squares[k] += w * (value - mean[k]) ** 2
            least[k] = min(least[k], value)
            largest[k] = max(largest[k], value)
