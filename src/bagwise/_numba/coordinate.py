"""Smooth functions with an L1 norm: optimality, coordinate descent, what steps teach, sums over bags."""

from __future__ import annotations

import numpy as np

from bagwise._numba.compiling import kernel

# Steps of coordinate descent are longer by this factor: below 2 a quadratic still falls.
OVER = 1.3


@kernel
def descend(H, gradient, b, penalty, tol, max_sweeps):
    """Minimise gradient'd + d'Hd/2 + sum_k penalty_k |b_k| in place over b, d its distance from the start.

    `H` is (k, k), symmetric and positive definite; `gradient` and `penalty` are (k,); `b` is (k,), start and
    answer. A coordinate goes beyond its own minimum by `OVER` where it keeps its sign: that halves the
    number of sweeps, and lowers the sum at every step all the same. Sweeps over all coordinates alternate
    with sweeps over those that are not zero until these rest; done when no coordinate of a full sweep changes
    the gradient by more than `tol`. A sweep costs O(k^2) at most, O(k) for each coordinate that moves.

    Returns
    -------
    int
        Sweeps done.
    """
    k = len(b)
    residual = -gradient  # that of the quadratic at b
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
                largest = max(largest, abs(step) * H[i, i])
                further = old + OVER * step
                if penalty[i] == 0.0 or (new * old > 0.0 and further * old > 0.0):
                    new, step = further, OVER * step
                b[i] = new
                for j in range(k):
                    residual[j] -= H[i, j] * step
        if largest <= tol:
            if full:
                break
            full = True
        else:
            full = False
    return sweeps


@kernel
def violations(gradient, x, alpha):
    """Distance of zero from the subdifferential of f(x) + alpha sum_k |x_k|, k < p: shape (p + 1,)."""
    p = len(x) - 1
    violation = np.empty(p + 1)
    for k in range(p):
        if x[k] > 0.0:
            violation[k] = abs(gradient[k] + alpha)
        elif x[k] < 0.0:
            violation[k] = abs(gradient[k] - alpha)
        else:  # also of a gradient that is not a number
            violation[k] = 0.0 if abs(gradient[k]) <= alpha else abs(gradient[k]) - alpha
    violation[p] = abs(gradient[p])
    return violation


@kernel
def learn_curvature(H, y, found, expected, predicted):
    """Replace the curvature along a step by the one found: H + y y' / found - e e' / predicted, (k, k).

    `y` (k,) is the change of the gradient along the step s, `expected` e = H s, and the divisors are s'y and
    s'Hs.
    """
    learned = np.empty_like(H)
    for i in range(len(y)):
        a, b = y[i] / found, expected[i] / predicted
        for j in range(len(y)):
            learned[i, j] = H[i, j] + (a * y[j] - b * expected[j])
    return learned


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
