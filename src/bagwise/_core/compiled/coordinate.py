"""Kernels for smooth functions with an L1 norm: optimality, coordinate descent, curvature updates."""

from __future__ import annotations

import numpy as np

from bagwise._core.compiled.compiling import kernel

# Overrelaxation factor of coordinate descent; below 2, every step still decreases a quadratic function.
OVER = 1.3


@kernel
def descend(H, gradient, b, penalty, tol, max_sweeps):
    """Minimize gradient'd + d'Hd/2 + sum_k penalty_k |b_k| over b in place, where d = b - b_initial.

    `H` is (k, k), symmetric and positive definite; `gradient` and `penalty` are (k,). `b` is (k,): the start
    on entry, the solution on return. A step goes beyond the minimum along a coordinate by the factor `OVER`,
    unless the coordinate would change its sign. This halves the number of sweeps, and every step still
    decreases the objective. After a sweep over all coordinates, the nonzero ones are swept until they
    converge. The solver stops when no coordinate of a full sweep changes the gradient by more than `tol`. A
    sweep costs O(k) for each coordinate that changes, so O(k^2) at most.

    Returns
    -------
    int
        Number of sweeps.
    """
    k = len(b)
    residual = -gradient  # the negative gradient of the quadratic part at b
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
    """Return the distance of zero from the subdifferential of f(x) + alpha sum_k |x_k|, k < p: (p + 1,)."""
    p = len(x) - 1
    violation = np.empty(p + 1)
    for k in range(p):
        if x[k] > 0.0:
            violation[k] = abs(gradient[k] + alpha)
        elif x[k] < 0.0:
            violation[k] = abs(gradient[k] - alpha)
        else:  # also true if the gradient is NaN
            violation[k] = 0.0 if abs(gradient[k]) <= alpha else abs(gradient[k]) - alpha
    violation[p] = abs(gradient[p])
    return violation


@kernel
def learn_curvature(H, y, observed, expected, predicted):
    """Return `H` with its curvature along a step replaced by the observed one, (k, k).

    The formula (BFGS) is H + y y' / observed - e e' / predicted. `y` (k,) is the change in the gradient along
    the step s, and `expected` is e = H s. The divisors are `observed` = s'y and `predicted` = s'Hs.
    """
    learned = np.empty_like(H)
    for i in range(len(y)):
        a, b = y[i] / observed, expected[i] / predicted
        for j in range(len(y)):
            learned[i, j] = H[i, j] + (a * y[j] - b * expected[j])
    return learned
