"""Coordinate descent on a quadratic with an L1 norm, and sums of weighted rows over bags."""

from __future__ import annotations

import numpy as np

from bagwise._numba.compiling import kernel


@kernel
def descend(H, linear, b, penalty, tol, max_sweeps):
    """Minimise b'Hb/2 - linear'b + sum_k penalty_k |b_k| in place, one coordinate at a time.

    `H` is (k, k), symmetric and positive definite; `linear` and `penalty` are (k,); `b` is (k,), start and
    answer. Sweeps over all coordinates alternate with sweeps over those that are not zero until these rest;
    done when no coordinate of a full sweep changes the gradient by more than `tol`. A sweep costs O(k^2) at
    most, O(k) for each coordinate that moves.

    Returns
    -------
    int
        Sweeps done.
    """
    k = len(b)
    residual = np.empty(k)  # linear - H b: the negative gradient of the quadratic
    for i in range(k):
        total = linear[i]
        for j in range(k):
            total -= H[i, j] * b[j]
        residual[i] = total
    sweeps = 0
    full = True
    while sweeps < max_sweeps:
        sweeps += 1
        largest = 0.0
        for i in range(k):
            if not full and b[i] == 0.0 and penalty[i] > 0.0:
                continue
            old = b[i]
            pull = residual[i] + H[i, i] * old
            if pull > penalty[i]:
                new = (pull - penalty[i]) / H[i, i]
            elif pull < -penalty[i]:
                new = (pull + penalty[i]) / H[i, i]
            else:
                new = 0.0
            step = new - old
            if step != 0.0:
                b[i] = new
                for j in range(k):
                    residual[j] -= H[i, j] * step
                largest = max(largest, abs(step) * H[i, i])
        if largest <= tol:
            if full:
                break
            full = True
        else:
            full = False
    return sweeps


@kernel
def sum_weighted_rows(X, columns, weight, offsets, first, out):
    """Fill out[i] with sum_j weight_j (x_j[columns], 1) over the instances j of bag first + i.

    `X` is (n_instances, n_features), C-ordered; `columns` (k,) int64; `out` (n_bags, k + 1). One read of the
    rows of these bags.
    """
    k = len(columns)
    out[:] = 0.0
    for i in range(len(out)):
        for j in range(offsets[first + i], offsets[first + i + 1]):
            w = weight[j]
            for a in range(k):
                out[i, a] += w * X[j, columns[a]]
            out[i, k] += w
