"""Squared distances from instances to the nearest instances of other bags.

Distances are computed from differences, so nothing cancels. A distance depends only on its two rows, not on
other rows of the matrices. `offsets` are the offsets of the bags of `X`, and `others` those of the bags of
`Z`. The kernels fill `near` (n_rows, n_other_bags) and `back` (n_other_rows, n_bags). Tiles are small, so
that the rows and the bag that they are compared with stay in the cache.
"""

from __future__ import annotations

import numpy as np

from bagwise._core.compiled.compiling import kernel


@kernel(reorder=True)
def nearest_of_dense(X, offsets, Z, others, near, back):
    """Compare rows of two C-ordered matrices with the same number of columns."""
    p = X.shape[1]
    back[:] = np.inf
    for b in range(len(others) - 1):
        for a in range(len(offsets) - 1):
            for i in range(offsets[a], offsets[a + 1]):
                x = X[i]
                least = np.inf
                for j in range(others[b], others[b + 1]):
                    z = Z[j]
                    total = 0.0
                    for k in range(p):
                        total += (x[k] - z[k]) ** 2
                    least = min(least, total)
                    back[j, a] = min(back[j, a], total)
                near[i, b] = least


@kernel
def nearest_of_sparse(X, columns, rows, offsets, Z, other_columns, other_rows, others, near, back):
    """Compare rows of two CSR matrices, passed as data, indices (sorted within each row) and indptr."""
    back[:] = np.inf
    for b in range(len(others) - 1):
        for a in range(len(offsets) - 1):
            for i in range(offsets[a], offsets[a + 1]):
                least = np.inf
                for j in range(others[b], others[b + 1]):
                    total = 0.0
                    k, end = rows[i], rows[i + 1]
                    m, other_end = other_rows[j], other_rows[j + 1]
                    while k < end and m < other_end:
                        if columns[k] == other_columns[m]:
                            total += (X[k] - Z[m]) ** 2
                            k += 1
                            m += 1
                        elif columns[k] < other_columns[m]:
                            total += X[k] ** 2
                            k += 1
                        else:
                            total += Z[m] ** 2
                            m += 1
                    while k < end:
                        total += X[k] ** 2
                        k += 1
                    while m < other_end:
                        total += Z[m] ** 2
                        m += 1
                    least = min(least, total)
                    back[j, a] = min(back[j, a], total)
                near[i, b] = least
