"""Statistics of the instances of every bag.

`X` is (n_instances, d), float32 or float64. `offsets` is (n_bags + 1,), and bag i consists of the rows from
offsets[i] to offsets[i + 1]; no bag is empty. Sums are float64.
"""

from __future__ import annotations

import numpy as np

from bagwise._core.compiled.compiling import kernel


@kernel
def bag_moments(X, offsets, columns):
    """Return statistics of every column in every bag, (n_bags, k d), in the precision of `X`.

    `columns` contains the first columns of minimum, maximum, mean and standard deviation in the result, or -1
    for those of the k statistics that are not needed. If a value is NaN, all four statistics are NaN.
    """
    n_bags, d = len(offsets) - 1, X.shape[1]
    out = np.empty((n_bags, d * (columns >= 0).sum()), X.dtype)
    least, largest, center, squares = np.empty(d, X.dtype), np.empty(d, X.dtype), np.empty(d), np.empty(d)
    with_spread = columns[3] >= 0
    with_mean = columns[2] >= 0 or with_spread
    for i in range(n_bags):
        begin, end = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        size = float(end - begin)
        least[:] = np.inf
        largest[:] = -np.inf
        center[:] = 0.0
        for row in range(begin, end):
            x = X[row]
            for j in range(d):
                value = x[j]
                least[j] = value if value < least[j] or value != value else least[j]
                largest[j] = value if value > largest[j] or value != value else largest[j]
            if with_mean:  # another loop: one over all arrays gets no vector instructions
                for j in range(d):
                    center[j] += x[j]
        for j in range(d):
            # Rounding must not move the mean of equal values away from them.
            center[j] = min(max(center[j] / size, np.float64(least[j])), np.float64(largest[j]))
        if with_spread:
            squares[:] = 0.0
            for row in range(begin, end):  # the rows are still in the cache
                x = X[row]
                for j in range(d):
                    u = x[j] - center[j]
                    squares[j] += u * u
            for j in range(d):
                out[i, columns[3] + j] = np.sqrt(squares[j] / size)
        if columns[0] >= 0:
            out[i, columns[0] : columns[0] + d] = least
        if columns[1] >= 0:
            out[i, columns[1] : columns[1] + d] = largest
        if columns[2] >= 0:
            for j in range(d):
                out[i, columns[2] + j] = center[j]
    return out


@kernel(reorder=True)
def standardized_sums(X, offsets, weight, mean, factor):
    """Return sums over every bag of weight u and weight (u^2 - 1), u = (x - mean) * factor: (n_bags, 2 d)."""
    n_bags, d = len(offsets) - 1, X.shape[1]
    sums = np.zeros((n_bags, 2 * d))
    for i in range(n_bags):
        first, second = sums[i, :d], sums[i, d:]
        for row in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
            x, w = X[row], weight[row]
            for j in range(d):
                u = (x[j] - mean[j]) * factor[j]
                first[j] += w * u
                second[j] += w * (u * u - 1.0)
    return sums
