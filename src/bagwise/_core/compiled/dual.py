"""Kernels of the dual solver: pairwise steps on a working set, and operations on the kernel matrix.

The problem is min u'Ku/2 + q'u subject to lower <= u <= upper and a fixed sum of u. Variable k belongs to
row `point[k]` of the kernel matrix, so several variables may share a row.
"""

from __future__ import annotations

import math

from bagwise._core.compiled.compiling import kernel

# Curvature assumed for a pair of identical points, relative to their diagonal; the step then reaches a bound.
FLAT = 1e-12


@kernel
def pair_steps(rows, point, diagonal, lower, upper, u, gradient, eps, max_steps):
    """Decrease the objective by steps in pairs of variables; return the number of steps.

    A step increases u_i and decreases u_j by the same t. Among the variables that can increase, i has the
    smallest gradient. Among those that can decrease, j leads to the largest decrease in the objective,
    (g_j - g_i)^2 / (2 (K_ii + K_jj - 2 K_ij)). Stops when no pair has a slope g_j - g_i above eps. `u` and
    `gradient` are updated in place. A step costs O(n), n = len(u).
    """
    n = u.shape[0]
    i, least = -1, math.inf
    for k in range(n):
        if gradient[k] < least and u[k] < upper[k]:
            i, least = k, gradient[k]
    for step in range(max_steps):
        if i < 0:
            return step
        row_i = rows[point[i]]
        diagonal_i = diagonal[point[i]]
        j, slope, gain, curvature = -1, 0.0, 0.0, 1.0
        for k in range(n):
            if u[k] > lower[k]:
                rise = gradient[k] - least
                if rise > 0.0:
                    slope = max(slope, rise)
                    p = point[k]
                    along = max(diagonal_i + diagonal[p] - 2.0 * row_i[p], FLAT * (diagonal_i + diagonal[p]))
                    # the same as rise^2 / along > gain / curvature, but without a division
                    if rise * rise * curvature > gain * along or j < 0:
                        j, gain, curvature = k, rise * rise, along
        if slope <= eps:
            return step
        row_j = rows[point[j]]
        room_i, room_j = upper[i] - u[i], u[j] - lower[j]
        t = min(room_i, room_j)
        if gradient[j] - least < t * curvature:
            t = (gradient[j] - least) / curvature
        # A variable that reaches its bound is set to it exactly.
        u[i] = upper[i] if t >= room_i else u[i] + t
        u[j] = lower[j] if t >= room_j else u[j] - t
        i, least = -1, math.inf
        for k in range(n):
            p = point[k]
            gradient[k] += t * (row_i[p] - row_j[p])
            if gradient[k] < least and u[k] < upper[k]:
                i, least = k, gradient[k]
    return max_steps


@kernel
def gather_square(matrix, index, out):
    """Write out[a, b] = matrix[index[a], index[b]]. O(len(index)^2)."""
    for a in range(index.shape[0]):
        row = matrix[index[a]]
        for b in range(index.shape[0]):
            out[a, b] = row[index[b]]


@kernel
def add_rows(matrix, index, factor, out):
    """Add sum_a factor[a] matrix[index[a]] to out. O(len(index) len(out))."""
    for a in range(index.shape[0]):
        row, by = matrix[index[a]], factor[a]
        for k in range(out.shape[0]):
            out[k] += by * row[k]


@kernel
def mirror_upper(matrix, n):
    """Write matrix[j, i] = matrix[i, j] for i < j < n. O(n^2), in tiles that fit into the cache."""
    tile = 32
    for top in range(0, n, tile):
        for left in range(top, n, tile):
            for i in range(top, min(top + tile, n)):
                for j in range(max(left, i + 1), min(left + tile, n)):
                    matrix[j, i] = matrix[i, j]
