"""Smooth functions with an L1 norm: optimality, coordinate descent, and what steps teach."""

from __future__ import annotations

import numpy as np

from bagwise._core.compiled.compiling import kernel

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
