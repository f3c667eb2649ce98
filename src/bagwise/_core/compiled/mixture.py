"""Kernels of mixtures: quadratic forms and moments of rows, and the mixture's part of the log-likelihood.

`X` is (m, d), float32 or float64, without missing values. `rows` (n,) are the indices of the rows to use, or
empty for all rows; then n = m. Vectors over features are (d,), and vectors over instances are (n,). They are
float64, and so are all sums. Each kernel reads its arrays once and allocates no array of the size of `X`. The
cost is O(n d), or O(n d^2) for full covariances; `mixture_remainder` costs O(n).
"""

from __future__ import annotations

import math

import numpy as np

from bagwise._core.compiled.compiling import kernel

# The product of this many factors between 1 and 2 does not overflow, so one logarithm replaces this many.
_BLOCK = 64

# Number of rows per matrix product. The rows and their products stay in the fastest cache. Their memory need
# not be requested from the operating system, which would make two threads wait for each other.
_ROWS = 256


@kernel(reorder=True)
def diagonal_form(X, rows, center, slope, curve, constant):
    """Return constant + sum_j u_j (slope_j + curve_j u_j), u = x - center, for every row x."""
    out = np.empty(rows.shape[0] or X.shape[0])
    for i in range(out.shape[0]):
        total = 0.0
        x = X[rows[i] if rows.shape[0] else i]
        for j in range(X.shape[1]):
            u = x[j] - center[j]
            total += u * (slope[j] + curve[j] * u)
        out[i] = total + constant
    return out


@kernel
def diagonal_moments(X, rows, weight, origin):
    """Return the sums over rows of weight, weight u and weight u^2, u = x - origin: shape (3, d)."""
    sums = np.zeros((3, X.shape[1]))
    first, second = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    total = 0.0
    for i in range(weight.shape[0]):
        w = weight[i]
        total += w
        x = X[rows[i] if rows.shape[0] else i]
        for j in range(X.shape[1]):
            u = x[j] - origin[j]
            first[j] += w * u
            second[j] += w * u * u
    sums[0] = total
    sums[1] = first
    sums[2] = second
    return sums


@kernel(reorder=True)
def whitened_odds(X, rows, center, whiteners, shift, constant):
    """Return constant + (|z-|^2 - |z+ - shift|^2) / 2, (z-, z+) = (x - center) @ whiteners, for every row x.

    `whiteners` is (d, 2 d), so that one product serves both classes.
    """
    n, d = rows.shape[0] or X.shape[0], X.shape[1]
    out = np.empty(n)
    U, Z = np.empty((_ROWS, d)), np.empty((_ROWS, 2 * d))
    for begin in range(0, n, _ROWS):
        size = min(_ROWS, n - begin)
        for i in range(size):
            x = X[rows[begin + i] if rows.shape[0] else begin + i]
            for j in range(d):
                U[i, j] = x[j] - center[j]
        np.dot(U[:size], whiteners, Z[:size])
        for i in range(size):
            total = 0.0
            for j in range(d):
                total += Z[i, j] * Z[i, j]
            for j in range(d):
                z = Z[i, d + j] - shift[j]
                total -= z * z
            out[begin + i] = constant + 0.5 * total
    return out


@kernel(reorder=True)
def second_moments(X, rows, weight, origin):
    """Return the sums over rows of weight u (first row) and weight u u', u = x - origin: shape (d + 1, d)."""
    d = X.shape[1]
    sums, part = np.zeros((d + 1, d)), np.empty((d + 1, d))
    U, weighted = np.ones((_ROWS, d + 1)), np.empty((_ROWS, d))
    for begin in range(0, weight.shape[0], _ROWS):
        size = min(_ROWS, weight.shape[0] - begin)
        for i in range(size):
            w = weight[begin + i]
            x = X[rows[begin + i] if rows.shape[0] else begin + i]
            for j in range(d):
                u = x[j] - origin[j]
                U[i, 1 + j] = u
                weighted[i, j] = w * u
        np.dot(U[:size].T, weighted[:size], part)
        sums += part
    for i in range(d):  # the product is symmetric up to rounding errors
        for j in range(i):
            sums[1 + i, j] = sums[1 + j, i] = 0.5 * (sums[1 + i, j] + sums[1 + j, i])
    return sums


@kernel
def mixture_remainder(log_odds, offsets, weight, posterior, complement):
    """Return the sum over instances of weight * (log(1 + exp(eta)) - posterior * eta), and class weights.

    The mixture's log-likelihood log(exp(a) + exp(b)), eta = a - b, is posterior * a + complement * b plus
    this remainder, for any posterior. It is computed from |eta|, so no digits are lost if a class is almost
    certain. `weight` is per bag. Returns (remainder, weight of positives, weight of negatives).
    """
    remainder, positive, negative = 0.0, 0.0, 0.0
    for i in range(weight.shape[0]):
        bag, bag_positive, bag_negative = 0.0, 0.0, 0.0
        product, factors = 1.0, 0
        for j in range(offsets[i], offsets[i + 1]):
            size = abs(log_odds[j])
            share = complement[j] if log_odds[j] > 0.0 else posterior[j]
            if share > 0.0:  # a class that is ruled out by an infinite log-odds has share 0
                bag += size * share
            product *= 1.0 + math.exp(-size)
            factors += 1
            if factors == _BLOCK:
                bag += math.log(product)
                product, factors = 1.0, 0
            bag_positive += posterior[j]
            bag_negative += complement[j]
        remainder += weight[i] * (bag + math.log(product))
        positive += weight[i] * bag_positive
        negative += weight[i] * bag_negative
    return remainder, positive, negative
