"""Quadratic models with an L1 norm: coordinate descent, what steps teach, and weighted sums over bags."""

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
def learn_curvature(H, y, found, expected, predicted):
    """Replace the curvature along a step by the one found, in place: H += y y' / found - e e' / predicted.

    `y` (k,) is the change of the gradient along the step s, `expected` e = H s, and the divisors are s'y and
    s'Hs.
    """
    for i in range(len(y)):
        a, b = y[i] / found, expected[i] / predicted
        for j in range(len(y)):
            H[i, j] += a * y[j] - b * expected[j]


@kernel
def gather_weighted(X, columns, rows, weight, out):
    """Fill out[a, i] with weight[i] * X[rows[i], columns[a]], and the last row of `out` with the weights.

    `X` is (n_instances, n_features) in either order; `columns` (k,), `rows` (m,) int64; `out` (k + 1, m),
    whose precision may be less than that of `X`.
    """
    for a in range(len(columns)):
        for i in range(len(rows)):
            out[a, i] = weight[i] * X[rows[i], columns[a]]
    out[-1] = weight


@kernel
def sum_over_bags(X, columns, weight, offsets, bags, out):
    """Fill out[a, i] with sum_j weight_j X[j, columns[a]] over the instances j of bag bags[i].

    The last row of `out` (k + 1, m) gets the sums of the weights. One read of these columns and bags.
    """
    for a in range(len(columns) + 1):
        for i in range(len(bags)):
            total = 0.0
            for j in range(offsets[bags[i]], offsets[bags[i] + 1]):
                total += weight[j] * (X[j, columns[a]] if a < len(columns) else 1.0)
            out[a, i] = total
