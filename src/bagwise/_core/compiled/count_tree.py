"""Counts of large bags by divide and conquer: distributions go up a binary tree, contexts come down.

A node is a part of the bag. It stores the distribution of its number of positive instances, which is the
convolution of its children's distributions. Its context is the probability of the bag's label given this
number, up to a factor. A child's context is the correlation of its parent's context with its sibling's
distribution. Leaves are processed by `count_leaf`. All sums have positive terms only. Memory is O(m log m),
not O(m^2).

With `drop` > 0, every node removes up to this probability from both ends of its distribution. The remaining
window contains about sqrt(m) counts, so that a bag costs O(m log m) instead of O(m * top). The error of each
likelihood P(y) and P(z_j, y) is then at most `drop` times the number of nodes.
"""

from __future__ import annotations

import math

import numpy as np

from bagwise._core.compiled.bag import largest_size
from bagwise._core.compiled.compiling import kernel
from bagwise._core.compiled.count_leaf import (
    ALIGN,
    BUDGET,
    LOG_STEP,
    SAFE,
    SMALL,
    STEP,
    add_counts,
    backward,
    fill_factors,
    fill_weights,
    find_top,
    forward,
    row_length,
    weigh,
    write_bag,
)

# Columns of the node table: first and last count of a window, and its start in the array that contains all
# windows.
LOW, HIGH, START = 0, 1, 2
# Probability of the counts that may be dropped at a node, and the smallest likelihood of a bag for which the
# resulting error is negligible.
DROP, SAFE_WITHOUT = 1e-30, 1e-10
# Removing the ends is faster for at least this many counts.
MANY = 1024


@kernel
def leaf_size(m, top):
    """Return the size of leaves whose rows fit into BUDGET. O(1)."""
    square = int(math.sqrt(BUDGET)) - 1 - ALIGN
    return min(m, max(square, BUDGET // row_length(top) - 1))


@kernel
def trim(values, node, drop):
    """Shorten a node's window at both ends, by a probability below `drop` each. O(width)."""
    begin, end = node[START], node[START] + node[HIGH] - node[LOW]
    lost = values[begin]
    while lost < drop and begin < end:
        begin += 1
        lost += values[begin]
    lost = values[end]
    while lost < drop and begin < end:
        end -= 1
        lost += values[end]
    node[HIGH] = node[LOW] + end - node[START]
    node[LOW] += begin - node[START]
    node[START] = begin


@kernel
def convolve(x, left, y, right, out, node, top, absorbs):
    """Add the convolution of two children's windows, in `x` and `y`, to the node's in `out`. O(product)."""
    b = y[right[START] : right[START] + right[HIGH] - right[LOW] + 1]
    for s in range(left[LOW], left[HIGH] + 1):
        factor = x[left[START] + s - left[LOW]]
        first = node[START] + s + right[LOW] - node[LOW]
        inside = max(0, min(len(b), top - s - right[LOW] + 1))
        target = out[first : first + inside]
        for t in range(inside):
            target[t] += factor * b[t]
        if absorbs:
            for t in range(inside, len(b)):
                out[node[START] + top - node[LOW]] += factor * b[t]


@kernel(reorder=True)
def correlate(x, of, context, node, out, child, top, absorbs):
    """Add sum_t x(t) context(s + t), t in its sibling's window, to a child's window in `out`. O(product)."""
    for s in range(child[LOW], child[HIGH] + 1):
        first, last = max(of[LOW], node[LOW] - s), min(of[HIGH], node[HIGH] - s)
        total = 0.0
        if first <= last:
            a = x[of[START] + first - of[LOW] : of[START] + last - of[LOW] + 1]
            start = node[START] + s + first - node[LOW]
            c = context[start : start + len(a)]
            for t in range(len(a)):
                total += a[t] * c[t]
        if absorbs and node[HIGH] == top:
            beyond = 0.0
            for t in range(max(of[LOW], top - s + 1), of[HIGH] + 1):
                beyond += x[of[START] + t - of[LOW]]
            total += beyond * context[node[START] + top - node[LOW]]
        out[child[START] + s - child[LOW]] += total


@kernel
def normalise_window(values, slopes, node):
    """Multiply a window and its derivative by STEP until an entry reaches SMALL; return how often.

    A window whose entries are all below SAFE is not changed; see `needs_scaling`.
    """
    begin, end = node[START], node[START] + node[HIGH] - node[LOW] + 1
    largest, times = 0.0, 0
    for k in range(begin, end):
        largest = max(largest, values[k])
    while SAFE < largest < SMALL:
        largest *= STEP
        times += 1
        for k in range(begin, end):
            values[k] *= STEP
            if slopes is not None:
                slopes[k] *= STEP
    return times


@kernel
def plan_tree(m, leaf, top):
    """Return the first node of every level, leaves first, and the length of all windows. O(m / leaf)."""
    levels = np.zeros(66, dtype=np.int64)
    n, n_levels, length, size = (m + leaf - 1) // leaf, 0, 0, leaf
    while True:
        levels[n_levels + 1] = levels[n_levels] + n
        length += n * (min(size, top) + 1)
        n_levels += 1
        if n == 1:
            return levels[: n_levels + 1], length
        n, size = (n + 1) // 2, 2 * size


@kernel
def grow(levels, nodes, values, slopes, scaled, used, top, absorbs, drop):
    """Convolve distributions up to the root; `used` is the total length of the leaves' windows."""
    for level in range(1, len(levels) - 1):
        for i in range(levels[level + 1] - levels[level]):
            node = nodes[levels[level] + i]
            left = levels[level - 1] + 2 * i
            if left + 1 >= levels[level]:  # a node with one child copies it
                for column in range(3):
                    node[column] = nodes[left, column]
                scaled[levels[level] + i] = scaled[left]
                continue
            first, second = nodes[left], nodes[left + 1]
            node[LOW] = min(first[LOW] + second[LOW], top)
            node[HIGH] = min(first[HIGH] + second[HIGH], top)
            node[START] = used
            used += node[HIGH] - node[LOW] + 1
            convolve(values, first, values, second, values, node, top, absorbs)
            if slopes is not None:
                convolve(slopes, first, values, second, slopes, node, top, absorbs)
                convolve(values, first, slopes, second, slopes, node, top, absorbs)
            if drop > 0.0:
                trim(values, node, drop)
            times = normalise_window(values, slopes, node)
            scaled[levels[level] + i] = scaled[left] + scaled[left + 1] + times


@kernel
def descend(levels, nodes, values, slopes, context, bends, top, absorbs):
    """Compute the contexts of all nodes, from the root down to the leaves."""
    for level in range(len(levels) - 2, 0, -1):
        for i in range(levels[level + 1] - levels[level]):
            node = nodes[levels[level] + i]
            left = levels[level - 1] + 2 * i
            if left + 1 >= levels[level]:
                continue  # a single child shares its parent's window
            for side in range(2):
                child, of = nodes[left + side], nodes[left + 1 - side]
                correlate(values, of, context, node, context, child, top, absorbs)
                if slopes is not None:
                    correlate(values, of, bends, node, bends, child, top, absorbs)
                    correlate(slopes, of, context, node, bends, child, top, absorbs)
                normalise_window(context, bends, child)


@kernel
def copy(source, begin, target, at, width):
    """Copy `width` entries. O(width)."""
    for k in range(width):
        target[at + k] = source[begin + k]


@kernel
def large_bag(p, q, d, m, top, absorbs, weight, space, tilted, sums, final, drop):
    """Write the sums of `count_leaf.backward` for a bag of many leaves, unless `sums` has length 0.

    Writes the distribution of the count to `final`, up to a factor. Returns log P(y), relative to the largest
    weight, and the sum over n of `final` times the weights. Returns NaN if underflow may have affected the
    result. O(m * top), or O(m log m) with drop > 0.
    """
    leaf = leaf_size(m, top)
    stride = row_length(min(leaf, top))
    rows = space[: (leaf + 1) * stride].reshape((leaf + 1, stride))
    levels, length = plan_tree(m, leaf, top)
    nodes, scaled = np.zeros((levels[-1], 3), dtype=np.int64), np.zeros(levels[-1], dtype=np.int64)
    values, contexts = np.zeros(length), np.zeros(length)
    if tilted is None:
        slopes = tilts = bends = None
    else:
        slopes = tilted[: (leaf + 1) * stride].reshape((leaf + 1, stride))
        tilts, bends = np.zeros(length), np.zeros(length)
    used = 0
    for i in range(levels[1]):
        begin, end = i * leaf, min((i + 1) * leaf, m)
        high = min(end - begin, top)
        scaled[i] = forward(p, q, d, begin, end, high, absorbs, rows, slopes)
        copy(rows[end - begin], 0, values, used, high + 1)
        if tilted is not None:
            copy(slopes[end - begin], 0, tilts, used, high + 1)  # type: ignore[index]
        nodes[i, HIGH], nodes[i, START] = high, used
        if drop > 0.0:
            trim(values, nodes[i], drop)
        used += high + 1
    grow(levels, nodes, values, tilts, scaled, used, top, absorbs, drop)
    root = nodes[levels[-1] - 1]
    low, width, start = root[LOW], root[HIGH] - root[LOW] + 1, root[START]
    for n in range(top + 1):
        final[n] = 0.0
    copy(values, start, final, low, width)
    total = weigh(final, weight, low, low + width - 1)
    if not total > (SAFE_WITHOUT if drop > 0.0 else SAFE):
        return math.nan, total
    if sums.shape[1]:
        copy(weight, low, contexts, start, width)
        descend(levels, nodes, values, tilts, contexts, bends, top, absorbs)
        context, bend = np.empty(stride), np.empty(stride)
        for i in range(levels[1]):
            begin, end = i * leaf, min((i + 1) * leaf, m)
            high = min(end - begin, top)
            low, width, start = (
                nodes[i, LOW],
                nodes[i, HIGH] + 1 - nodes[i, LOW],
                nodes[i, START],
            )
            for n in range(stride):
                context[n] = bend[n] = 0.0
            copy(contexts, start, context, low, width)
            if tilted is not None:
                copy(bends, start, bend, low, width)
            forward(p, q, d, begin, end, high, absorbs, rows, slopes)
            if not backward(p, q, d, begin, end, high, absorbs, rows, slopes, context, bend, sums) > SAFE:
                return math.nan, total
    return math.log(total) - scaled[-1] * LOG_STEP, total


@kernel
def large_bags(
    log_odds,
    offsets,
    y,
    v,
    log_weight,
    first,
    last,
    indices,
    posterior,
    complement,
    slope,
    counts,
    row,
    each,
    d,
    tilted,
    out,
):
    """Process the bags in `indices` like `count_leaf.small_bags`; write log P(y_i), or NaN, to `out`."""
    size = largest_size(offsets)
    p, q, weight, final = np.empty(size), np.empty(size), np.empty(size + 1), np.empty(size + 1)
    sums = np.empty((3, size if len(posterior) or len(slope) else 0))
    space = np.empty(BUDGET)
    for i in indices:
        start, stop = offsets[i], offsets[i + 1]
        m, cap = stop - start, last[i, y[i]]
        largest = fill_weights(log_weight, first[i, y[i]], min(cap, m), weight)
        if largest == -math.inf:
            continue
        fill_factors(log_odds, start, stop, v, p, q, d)
        value, total = math.nan, 0.0
        # Removing the ends needs distributions that sum to one, so impossible counts are included.
        top, absorbs = min(cap, m), cap < m
        if top >= MANY:
            value, total = large_bag(p, q, d, m, top, absorbs, weight, space, tilted, sums, final, DROP)
        if math.isnan(value):
            top, absorbs = find_top(m, cap, weight)
            value, total = large_bag(p, q, d, m, top, absorbs, weight, space, tilted, sums, final, 0.0)
        if math.isnan(value):
            continue
        if sums.shape[1]:
            write_bag(start, stop, p, q, v, sums, posterior, complement, slope)
        add_counts(final, weight, total, top, each[i], counts, row[i])
        out[i] = min(0.0, largest + value)
