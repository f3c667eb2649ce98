"""Forward and backward recursion over the number of positive instances: P(y | z) = phi(n), n = sum_j z_j.

Row i of the forward recursion contains P(n positive among the first i instances), n = 0..top. If the labeler
is constant from `top` on, entry `top` also includes all larger counts (`absorbs`). If larger counts are
impossible for the bag's label, they are left out. Rows are multiplied by powers of two to prevent underflow.

The backward recursion starts from `context`: the probability of the bag's label, times any factor, for n
positive instances in this part of the bag. All terms are positive, so nothing cancels. An underflow can be
detected from the likelihood, which is then tiny compared with the largest entries of rows and context.

If a direction v of the log-odds is passed, all quantities are computed together with their derivatives in
this direction. The derivative of p_j is d_j = p_j q_j v_j, and that of q_j is -d_j. numba compiles separate
versions for v = None.

`log_odds` is (n_instances,) float64, `offsets` (n_bags + 1,) int64, `y` (n_bags,) int8. The labeler is passed
as log_weight[first[i, label] + n] = log P(y_i = label | n), n = 0..last[i, label]; the last entry also
applies to larger n.
"""

from __future__ import annotations

import math

import numpy as np

from bagwise._core.compiled.bag import largest_size
from bagwise._core.compiled.compiling import kernel
from bagwise._core.compiled.scalar import both_sigmas

# Rows are checked every EVERY instances, and multiplied by STEP if all entries are below SMALL.
EVERY, SMALL, STEP = 8, 2.0**-256, 2.0**256
LOG_STEP = math.log(STEP)
# A likelihood below this, on the scale of rows and context, may be affected by underflow.
SAFE = 1e-250
# Maximum number of entries in the rows of a leaf: 256 KiB, which fit into the second-level cache.
BUDGET = 2**15
# The length of a row is a multiple of this many entries, so that vector loads do not cross cache lines.
ALIGN = 4


# ---------------------------------------------------------------------- the recursions


@kernel
def row_length(top):
    """Return the length of a row: 0..top, one entry for larger counts, up to ALIGN - 1 of padding. O(1)."""
    return (top + 1 + ALIGN) // ALIGN * ALIGN


@kernel
def needs_scaling(row, width):
    """Return whether all entries of row[:width] are below SMALL, but at least one is above SAFE.

    A row that falls below SAFE between two checks may have lost its digits. It is left unscaled, so that the
    likelihood reveals it. O(width), mostly O(1).
    """
    largest = 0.0
    for k in range(width):
        if row[k] >= SMALL:
            return False
        largest = max(largest, row[k])
    return largest > SAFE


@kernel(reorder=True)
def forward(p, q, d, begin, end, top, absorbs, rows, slopes):
    """Fill rows[i, n], i = 0..end - begin, and derivatives; return how often STEP was applied. O(m * top).

    The left neighbor of an entry is kept in a variable and not loaded again: a load that overlaps two
    vectors stored just before would wait until both are in the cache.
    """
    scaled = 0
    rows[0, 0] = 1.0
    if slopes is not None:
        slopes[0, 0] = 0.0
    for i in range(end - begin):
        pi, qi = p[begin + i], q[begin + i]
        old, new = rows[i], rows[i + 1]
        left = 0.0
        for k in range(min(i, top) + 1):
            current = old[k]
            new[k] = qi * current + pi * left
            left = current
        if slopes is not None:
            di, left, left_slope = d[begin + i], 0.0, 0.0
            for k in range(min(i, top) + 1):
                current, slope = old[k], slopes[i, k]
                slopes[i + 1, k] = qi * slope + pi * left_slope + di * (left - current)
                left, left_slope = current, slope
        if i < top:
            new[i + 1] = pi * old[i]
            if slopes is not None:
                slopes[i + 1, i + 1] = pi * slopes[i, i] + di * old[i]
        elif absorbs:
            new[top] = old[top] + (pi * old[top - 1] if top > 0 else 0.0)
            if slopes is not None:
                moved = pi * slopes[i, top - 1] + di * old[top - 1] if top > 0 else 0.0
                slopes[i + 1, top] = slopes[i, top] + moved
        elif i % EVERY == 0 and needs_scaling(new, top + 1):
            scaled += 1
            for k in range(top + 1):
                new[k] *= STEP
                if slopes is not None:
                    slopes[i + 1, k] *= STEP
    return scaled


@kernel(reorder=True)
def backward(p, q, d, begin, end, top, absorbs, rows, slopes, context, bends, sums):
    """Write sums over all paths through instance j: sums[0, j] with z_j = 1, sums[1, j] with z_j = 0.

    The sums do not include the factors p_j and q_j. The context, (top + 2,), is overwritten; its last entry,
    for larger counts, is set by this function. The sums of an instance share a scale factor, which differs
    between instances. sums[2] is the derivative of sums[0] - sums[1], and `bends` is that of the context.
    Returns the minimum of p_j sums[0, j] + q_j sums[1, j], the likelihood on that scale. O(m * top).
    """
    least = np.inf
    context[top + 1] = 0.0
    if slopes is not None:
        bends[top + 1] = 0.0
    for i in range(end - begin - 1, -1, -1):
        pi, qi = p[begin + i], q[begin + i]
        row = rows[i]
        positive, negative = 0.0, 0.0
        width = min(i, top) + (0 if absorbs and i >= top else 1)
        if slopes is not None:
            di, moved = d[begin + i], 0.0
            for k in range(width):
                rise = context[k + 1] - context[k]
                moved += slopes[i, k] * rise + row[k] * (bends[k + 1] - bends[k])
                bends[k] = qi * bends[k] + pi * bends[k + 1] + di * rise
            sums[2, begin + i] = moved
        for k in range(width):
            negative += row[k] * context[k]
            positive += row[k] * context[k + 1]
            context[k] = qi * context[k] + pi * context[k + 1]
        if absorbs and i >= top:
            negative += row[top] * context[top]
            positive += row[top] * context[top]
        elif i % EVERY == 0 and needs_scaling(context, width):
            for k in range(width):
                context[k] *= STEP
                if slopes is not None:
                    bends[k] *= STEP
        sums[0, begin + i], sums[1, begin + i] = positive, negative
        least = min(least, pi * positive + qi * negative)
    return least


# ---------------------------------------------------------------------- bags


@kernel
def fill_factors(log_odds, start, stop, v, p, q, d):
    """Write sigma(eta_j), sigma(-eta_j) and d_j of one bag. O(m), one exponential per instance."""
    for j in range(stop - start):
        p[j], q[j] = both_sigmas(log_odds[start + j])
        if v is not None:
            d[j] = p[j] * q[j] * v[start + j]


@kernel
def fill_weights(log_weight, begin, last, weight):
    """Write P(label | n) / largest, n = 0..last; return log(largest), which may be -inf. O(last)."""
    largest = -math.inf
    for n in range(last + 1):
        largest = max(largest, log_weight[begin + n])
    for n in range(last + 1):
        weight[n] = math.exp(log_weight[begin + n] - largest) if largest > -math.inf else 0.0
    return largest


@kernel
def find_top(m, cap, weight):
    """Return `top` and `absorbs`, which the module's docstring explains. O(1)."""
    absorbs = cap < m and weight[cap] > 0.0
    return (m if cap >= m else (cap if absorbs else cap - 1)), absorbs


@kernel(reorder=True)
def weigh(row, weight, first, last):
    """Return the sum of P(n) P(label | n) over n = first..last. O(width)."""
    total = 0.0
    for n in range(first, last + 1):
        total += row[n] * weight[n]
    return total


@kernel
def add_counts(row, weight, total, top, factor, counts, at):
    """Add factor * P(n | y) to counts[at, n]; larger counts are added to the last entry. O(top)."""
    if at >= 0:
        for n in range(top + 1):
            counts[at, min(n, counts.shape[1] - 1)] += factor * row[n] * weight[n] / total


@kernel
def write_bag(start, stop, p, q, v, sums, posterior, complement, slope):
    """Write posterior, complement and slope from the sums of `backward`; skip those of length 0. O(m)."""
    pull = 0.0
    for j in range(stop - start):
        agree, differ = p[j] * sums[0, j], q[j] * sums[1, j]
        total = agree + differ
        if len(posterior):
            posterior[start + j], complement[start + j] = agree / total, differ / total
        if len(slope):
            slope[start + j] = p[j] * q[j] * (sums[0, j] - sums[1, j]) / total
        if v is not None:
            pull += slope[start + j] * v[start + j]
    if v is not None:
        for j in range(stop - start):
            bent = p[j] * q[j] * sums[2, j] / (p[j] * sums[0, j] + q[j] * sums[1, j])
            slope[start + j] = slope[start + j] * ((q[j] - p[j]) * v[start + j] - pull) + bent


@kernel
def write_prior(log_odds, start, stop, posterior, complement, slope):
    """Write posterior sigma(eta_j) and slope 0, for a bag with an unknown or impossible label. O(m)."""
    for j in range(start, stop):
        if len(posterior):
            posterior[j], complement[j] = both_sigmas(log_odds[j])
        if len(slope):
            slope[j] = 0.0


@kernel
def small_bags(
    log_odds,
    offsets,
    y,
    v,
    log_weight,
    first,
    last,
    posterior,
    complement,
    slope,
    counts,
    row,
    each,
    d,
    tilted,
):
    """Process the bags whose rows fit into BUDGET; return log P(y_i), 0 if unlabeled, NaN if not processed.

    Writes posterior and complement, and to `slope` the gradient, or the Hessian times v if v is passed. All
    are (n_instances,), or of length 0 to skip them. Adds each[i] * P(n | y_i) to counts[row[i], n] if
    row[i] >= 0. `d` and `tilted` are work space of the lengths `largest_size` and BUDGET, or None without v.
    O(sum_i m_i top_i).
    """
    log_likelihood = np.full(y.shape[0], math.nan)
    size = largest_size(offsets)
    p, q, weights, sums = np.empty(size), np.empty(size), np.empty((2, size + 1)), np.empty((3, size))
    # Allocate no more than needed: the first access to new memory is slow.
    space = np.empty(min(BUDGET, (size + 1) * row_length(size)))
    context, bends = np.empty(size + 2), np.empty(size + 2)
    # Bags of the same size and label share their weights. For each label, these are the start and the last
    # count of the current weights, and the logarithm of the largest.
    begun, ended, scale = np.full(2, -1), np.full(2, -1), np.empty(2)
    for i in range(y.shape[0]):
        start, stop = offsets[i], offsets[i + 1]
        m = stop - start
        if y[i] < 0 or m == 0:
            log_likelihood[i] = 0.0
            write_prior(log_odds, start, stop, posterior, complement, slope)
            continue
        label, cap = y[i], last[i, y[i]]
        weight = weights[label]
        if begun[label] != first[i, label] or ended[label] != min(cap, m):
            begun[label], ended[label] = first[i, label], min(cap, m)
            scale[label] = fill_weights(log_weight, begun[label], ended[label], weight)
        top, absorbs = find_top(m, cap, weight)
        width = row_length(top)
        if scale[label] == -math.inf or (m + 1) * width > BUDGET:
            continue
        fill_factors(log_odds, start, stop, v, p, q, d)
        rows = space[: (m + 1) * width].reshape((m + 1, width))
        slopes = None if v is None else tilted[: (m + 1) * width].reshape((m + 1, width))
        scaled = forward(p, q, d, 0, m, top, absorbs, rows, slopes)
        total = weigh(rows[m], weight, 0, top)
        if not total > SAFE:
            continue
        if len(posterior) or len(slope):
            for n in range(top + 1):
                context[n], bends[n] = weight[n], 0.0
            if not backward(p, q, d, 0, m, top, absorbs, rows, slopes, context, bends, sums) > SAFE:
                continue
            write_bag(start, stop, p, q, v, sums, posterior, complement, slope)
        add_counts(rows[m], weight, total, top, each[i], counts, row[i])
        # rounding must not lead to a probability above 1
        log_likelihood[i] = min(0.0, scale[label] + math.log(total) - scaled * LOG_STEP)
    return log_likelihood
