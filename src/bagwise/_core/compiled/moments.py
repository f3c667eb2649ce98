"""Weighted products of columns, gathered so that one product of matrices does the rest."""

from __future__ import annotations

import numpy as np

from bagwise._core.compiled.compiling import kernel


@kernel
def gather_pairs(X, columns, above, below, root_above, root_below, sums, differences):
    """Fill row a of `sums` and `differences` with u + v and u - v, where u[i] = root_above[i] * x, v alike.

    x is X[above[i], columns[a]], and 1 in the last row; beyond its end u or v is zero. `X` is (n_instances,
    n_features) in either order; `above` and `below` are int64. `sums` and `differences` are (k + 1, m), m the
    larger number, in the precision of the roots; they may be one array if nothing is `below`.
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

    The last row of `out` (k + 1, m) gets the sums of the weights. One read of these columns and bags.
    """
    for i in range(len(bags)):
        out[-1, i] = weight[offsets[bags[i]] : offsets[bags[i] + 1]].sum()
    for a in range(len(columns)):
        column, filled = X[:, columns[a]], out[a]
        for i in range(len(bags)):
            # Unsigned, so that nothing is looked up from the end: a third of the time otherwise.
            total, j, end = 0.0, np.uint64(offsets[bags[i]]), np.uint64(offsets[bags[i] + 1])
            while j < end:
                total += weight[j] * column[j]
                j += np.uint64(1)
            filled[i] = total
