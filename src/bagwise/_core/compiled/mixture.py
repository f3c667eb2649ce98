"""Kernels of mixtures: quadratic forms and moments of rows, and the mixture's part of the log-likelihood.

`X` is (m, d), float32 or float64, without missing values. `rows` (n,) are the indices of the rows to use, or
empty for all rows; then n = m. Vectors over features are (d,), and vectors over instances are (n,). They are
float64, and so are all sums. Each kernel reads its arrays once and allocates no array of the size of `X`. The
cost is O(n d), or O(n d^2) for full covariances; `mixture_remainder` costs O(n). Only `fill_missing` accepts
missing values, in small parts of the rows.
"""

from __future__ import annotations

import math

import numpy as np

from bagwise._core.compiled.compiling import kernel

# The product of this many factors between 1 and 2 does not overflow, so a single logarithm of the product
# replaces the logarithms of the factors.
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

    `whiteners` is (d, 2 d), so that one matrix product is enough for both classes.
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
    """Return the sums over rows of weight u (first row) and weight u u', u = x - origin: shape (d + 1, d).

    If there are missing values, the first row is NaN, and the other sums are incomplete.
    """
    d = X.shape[1]
    sums, part = np.zeros((d + 1, d)), np.empty((d + 1, d))
    U, weighted = np.ones((_ROWS, d + 1)), np.empty((_ROWS, d))
    for begin in range(0, weight.shape[0], _ROWS):
        size = min(_ROWS, weight.shape[0] - begin)
        check = 0.0
        for i in range(size):
            w = weight[begin + i]
            x = X[rows[begin + i] if rows.shape[0] else begin + i]
            for j in range(d):
                u = x[j] - origin[j]
                check += u
                U[i, 1 + j] = u
                weighted[i, j] = w * u
        if math.isnan(check):  # there are missing values; the caller then needs `fill_missing`
            sums[0] = check
            return sums
        np.dot(U[:size].T, weighted[:size], part)
        sums += part
    for i in range(d):  # the product is symmetric up to rounding errors
        for j in range(i):
            sums[1 + i, j] = sums[1 + j, i] = 0.5 * (sums[1 + i, j] + sums[1 + j, i])
    return sums


@kernel(reorder=True)
def _factor(A, index, L):
    """Write the lower Cholesky factor of ``A[index, index]`` to L, and return the sum of log(diagonal).

    The sum is NaN or infinite if the matrix is not numerically positive definite.
    """
    total = 0.0
    for i in range(index.shape[0]):
        a = A[index[i]]
        for j in range(i):
            value = a[index[j]]
            for k in range(j):
                value -= L[i, k] * L[j, k]
            L[i, j] = value / L[j, j]
        value = a[index[i]]
        for k in range(i):
            value -= L[i, k] * L[i, k]
        L[i, i] = math.sqrt(value)
        total += math.log(L[i, i])
    return total


@kernel(reorder=True)
def _solve(L, b):
    """Overwrite b with the solution x of L L' x = b."""
    n = b.shape[0]
    for i in range(n):
        value = b[i]
        for k in range(i):
            value -= L[i, k] * b[k]
        b[i] = value / L[i, i]
    for i in range(n - 1, -1, -1):
        b[i] /= L[i, i]
        for k in range(i):
            b[k] -= L[i, k] * b[i]


@kernel(reorder=True)
def _add_inverse(L, index, weight, V, out):
    """Add weight times the inverse of L L' to the lower triangle of ``out[index, index]``; V is workspace."""
    n = index.shape[0]
    for i in range(n):  # V is the inverse of L
        for j in range(i):
            V[i, j] = 0.0
        for k in range(i):
            for j in range(k + 1):
                V[i, j] -= L[i, k] * V[k, j]
        for j in range(i):
            V[i, j] /= L[i, i]
        V[i, i] = 1.0 / L[i, i]
    for i in range(n):
        for k in range(i):  # row i of L is no longer needed, and collects row i of V' V
            L[i, k] = 0.0
        L[i, i] = 0.0
    for k in range(n):
        for i in range(k + 1):
            for j in range(i + 1):
                L[i, j] += V[k, i] * V[k, j]
    for i in range(n):
        for j in range(i + 1):
            out[index[i], index[j]] += weight * L[i, j]


@kernel(reorder=True)
def fill_missing(U, weight, covariance, precision, order, half_log_det):
    """Replace missing values (NaN) of Gaussian rows by their expectations, given the values in the same row.

    The rows of U (n, d) have mean 0 and the given covariance, with its inverse `precision` and half of its
    log determinant. `order` are the indices of the rows, sorted such that rows with the same missing features
    are adjacent. With H the missing and S the observed features of a row, K the precision and C the
    covariance, there are two ways to compute the expectation, which need the Cholesky factor of a matrix ::

        u_H = -K_HH^-1 K_HS u_S = C_HS C_SS^-1 u_S
        Cov(u_H | u_S) = K_HH^-1 = C_HH - C_HS C_SS^-1 C_SH

    The kernel uses the smaller matrix. With k the smaller number of features, the cost is O(k^3) for each
    pattern of missing features, O(k d) for each row, and O(d^3) in total if any row needs C_SS.

    Returns
    -------
    tuple
        The filled rows; half the log determinant of C_SS for each row (not finite if a matrix is numerically
        singular); and the sum over rows of weight times Cov(u | u_S), (d, d), which is 0 for S.
    """
    n, d = U.shape
    filled, log_root = U.copy(), np.full(n, half_log_det)
    of_missing, of_seen = np.zeros((d, d)), np.zeros((d, d))
    missing, seen = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.int64)
    L, V, b, padded = np.empty((d, d)), np.empty((d, d)), np.empty(d), np.empty(d)
    n_missing, n_seen, weight_seen = 0, d, 0.0
    begin = 0
    while begin < n:
        u = U[order[begin]]
        n_missing = n_seen = 0
        for j in range(d):
            if math.isnan(u[j]):
                missing[n_missing] = j
                n_missing += 1
            else:
                seen[n_seen] = j
                n_seen += 1
        H, S = missing[:n_missing], seen[:n_seen]
        few = n_missing <= n_seen
        value = half_log_det
        if n_missing > 0:
            value = half_log_det + _factor(precision, H, L) if few else _factor(covariance, S, L)
        total, end = 0.0, begin
        while end < n:
            i = order[end]
            same = True
            for j in H:
                same = same and math.isnan(U[i, j])
            for j in S:
                same = same and not math.isnan(U[i, j])
            if not same:
                break
            log_root[i] = value
            total += weight[i]
            end += 1
            if n_missing == 0:
                continue
            u = filled[i]
            if few:
                for j in H:
                    u[j] = 0.0
                for a in range(n_missing):
                    value_a, k = 0.0, precision[H[a]]
                    for j in range(d):
                        value_a -= k[j] * u[j]
                    b[a] = value_a
                _solve(L, b[:n_missing])
                for a in range(n_missing):
                    u[H[a]] = b[a]
            else:
                for a in range(n_seen):
                    b[a] = u[S[a]]
                _solve(L, b[:n_seen])
                for j in range(d):
                    padded[j] = 0.0
                for a in range(n_seen):
                    padded[S[a]] = b[a]
                for j in H:
                    expected, c = 0.0, covariance[j]
                    for a in range(d):
                        expected += c[a] * padded[a]
                    u[j] = expected
        if n_missing > 0 and total > 0.0:
            if few:
                _add_inverse(L, H, total, V, of_missing)
            else:
                _add_inverse(L, S, total, V, of_seen)
                weight_seen += total
        begin = end
    for i in range(d):
        for j in range(i):
            of_missing[j, i] = of_missing[i, j]
            of_seen[j, i] = of_seen[i, j]
    if weight_seen > 0.0:
        of_missing += weight_seen * covariance - np.dot(covariance, np.dot(of_seen, covariance))
    return filled, log_root, of_missing


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
