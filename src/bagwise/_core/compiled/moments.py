"""Weighted columns and sums, gathered so that a single matrix product yields the weighted moments."""

from __future__ import annotations

import numpy as np

from bagwise._core.compiled.compiling import kernel


@kernel
def gather_pairs(X, columns, above, below, root_above, root_below, sums, differences):
    """Fill row a of `sums` and `differences` with u + v and u - v.

    u[i] = root_above[i] * X[above[i], columns[a]], and v[i] is the same for `below`. The shorter of u and v
    is padded with zeros. In the last row, the entries of `X` are replaced by 1. `X` is (n_instances,
    n_features) in C or Fortran order; `above` and `below` are int64. `sums` and `differences` are (k + 1, m),
    where m is the larger of both lengths, in the precision of the roots. They may be the same array if
    `below` is empty.
    """
    n_both = min(len(above), len(below))
    for a in range(len(columns)):
        column, plus, minus = X[:, columns[a]], sums[a], differences[a]
        for i in range(n_both):
            u, v = root_above[i] * column[above[i]], root_below[i] * column[below[i]]
            plus[i], minus[i] = u + v, u - v
        for i in range(n_both, len(above)):
            plus[i] = minus[i] = root_above[i] * column[above[i]]
        for i in range(n_both, len(below)):
            v = root_below[i] * column[below[i]]
            plus[i], minus[i] = v, -v
    for i in range(sums.shape[1]):
        u = root_above[i] if i < len(above) else 0.0
        v = root_below[i] if i < len(below) else 0.0
        sums[-1, i], differences[-1, i] = u + v, u - v


@kernel(reorder=True)
def sum_over_bags(X, columns, weight, offsets, bags, out):
    """Fill out[a, i] with sum_j weight_j X[j, columns[a]] over the instances j of bag bags[i].

    The last row of `out` (k + 1, m) is filled with the sums of the weights. Columns and bags are read once.
    """
    for i in range(len(bags)):
        weights = 0.0
        for row in range(offsets[bags[i]], offsets[bags[i] + 1]):
            weights += weight[row]
        out[-1, i] = weights
    for a in range(len(columns)):
        column, filled = X[:, columns[a]], out[a]
        for i in range(len(bags)):
            # Unsigned indices, because the loop takes a third less time without code for negative indices.
            total, j, end = 0.0, np.uint64(offsets[bags[i]]), np.uint64(offsets[bags[i] + 1])
            while j < end:
                total += weight[j] * column[j]
                j += np.uint64(1)
            filled[i] = total
