"""Products with selected columns of a matrix in single precision, without copying the columns.

`columns_of_X`, (n_features, n_instances) float32, has a row for every feature. Unlike BLAS products, these
kernels read only the selected features. They also lose fewer digits, because sums of a few products are added
up in double precision. Memory bandwidth limits their speed.
"""

from __future__ import annotations

import numpy as np

from bagwise._core.compiled.compiling import kernel

# Number of instances per chunk; the sums of a chunk stay in the first-level cache.
CHUNK = 2048


@kernel(reorder=True)
def copy_scaled(X, factor, shift, out):
    """Fill out[k, j] with x = X[j, k] * factor[k] + shift[k]; return max |x|, mean x and mean x^2 over j.

    `X` is (n_instances, n_features), `out` is (n_features, n_instances) in lower precision, and the results
    are (n_features,). `X` is read once, in bands of rows that stay in the cache. A band is scaled row by row,
    which allows vector instructions, and then transposed.
    """
    n, p = X.shape
    largest, total, squares = np.zeros(p), np.zeros(p), np.zeros(p)
    band = np.empty((64, p), dtype=out.dtype)
    for begin in range(0, n, 64):
        height = min(64, n - begin)
        for j in range(height):
            for k in range(p):
                x = X[begin + j, k] * factor[k] + shift[k]
                band[j, k] = x
                largest[k] = abs(x) if abs(x) > largest[k] else largest[k]
                total[k] += x
                squares[k] += x * x
        for k in range(p):
            for j in range(height):
                out[k, begin + j] = band[j, k]
    return largest, total / max(n, 1), squares / max(n, 1)


@kernel(reorder=True)
def add_products(columns_of_X, columns, step, out):
    """Add sum_a step[a] * X[:, columns[a]] to `out`, (n_instances,) float64; `step` is (k,) float32."""
    for begin in range(0, len(out), CHUNK):
        end = min(begin + CHUNK, len(out))
        sums = out[begin:end]
        a = 0
        while a + 8 <= len(columns):
            x0, x1 = columns_of_X[columns[a], begin:end], columns_of_X[columns[a + 1], begin:end]
            x2, x3 = columns_of_X[columns[a + 2], begin:end], columns_of_X[columns[a + 3], begin:end]
            x4, x5 = columns_of_X[columns[a + 4], begin:end], columns_of_X[columns[a + 5], begin:end]
            x6, x7 = columns_of_X[columns[a + 6], begin:end], columns_of_X[columns[a + 7], begin:end]
            s0, s1, s2, s3 = step[a], step[a + 1], step[a + 2], step[a + 3]
            s4, s5, s6, s7 = step[a + 4], step[a + 5], step[a + 6], step[a + 7]
            for j in range(len(sums)):
                first = (s0 * x0[j] + s1 * x1[j]) + (s2 * x2[j] + s3 * x3[j])
                sums[j] += first + ((s4 * x4[j] + s5 * x5[j]) + (s6 * x6[j] + s7 * x7[j]))
            a += 8
        while a < len(columns):
            x0, s0 = columns_of_X[columns[a], begin:end], step[a]
            for j in range(len(sums)):
                sums[j] += s0 * x0[j]
            a += 1


@kernel(reorder=True)
def sum_products(columns_of_X, columns, v, out):
    """Fill out[a], float64, with the sum of v[j] * X[j, columns[a]] over all instances; `v` is float32."""
    out[:] = 0.0
    for begin in range(0, len(v), CHUNK):
        end = min(begin + CHUNK, len(v))
        part = v[begin:end]
        a = 0
        while a + 4 <= len(columns):
            x0, x1 = columns_of_X[columns[a], begin:end], columns_of_X[columns[a + 1], begin:end]
            x2, x3 = columns_of_X[columns[a + 2], begin:end], columns_of_X[columns[a + 3], begin:end]
            t0, t1, t2, t3 = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
            for j in range(len(part)):
                t0 += x0[j] * part[j]
                t1 += x1[j] * part[j]
                t2 += x2[j] * part[j]
                t3 += x3[j] * part[j]
            out[a] += t0
            out[a + 1] += t1
            out[a + 2] += t2
            out[a + 3] += t3
            a += 4
        while a < len(columns):
            x0, t0 = columns_of_X[columns[a], begin:end], np.float32(0)
            for j in range(len(part)):
                t0 += x0[j] * part[j]
            out[a] += t0
            a += 1
