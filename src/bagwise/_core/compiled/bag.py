"""The first step of every kernel: the probabilities of a bag, on a scale where they do not underflow.

Inside a kernel a bag is `log_odds[start:stop]`, with m instances and a `sign`. The sign -1 mirrors the
log-odds, which exchanges the two labels, so that each formula is written for one label only. The work arrays
p and q, of length m or more, contain the bag's probabilities while it is in the processor's cache.

A bag is *faint* if all its log-odds are below -37. Its p are then stored as exp(eta_j - shift), where shift
is the largest log-odds of the bag, and its true probabilities are p * exp(shift). Any other bag has shift 0.
A posterior needs only ratios of probabilities, so it is exact down to the smallest float. The cost is still
one exponential per instance.

Sums leave out the instance k with the largest log-odds and add it at the end. For k, the leave-one-out
formulas need the sum over the other instances, where a subtraction would cause cancellation. Every other
instance contributes at most half of the total, so it can be subtracted safely.
"""

from __future__ import annotations

import math

from bagwise._core.compiled.compiling import kernel
from bagwise._core.compiled.scalar import FAINT, add_compensated, both_sigmas

# The rounding error of a plain sum of this many terms is at most 64 ulps, and the sum over blocks is
# compensated. The error is therefore below 1e-12 for bags of any size, at the speed of a plain sum.
BLOCK = 64


@kernel
def largest_size(offsets):
    """Return the size of the largest bag, at least 1, as the length of the work arrays. O(n_bags)."""
    size = 1
    for i in range(offsets.shape[0] - 1):
        size = max(size, offsets[i + 1] - offsets[i])
    return size


@kernel
def fill_bag(log_odds, start, stop, sign, p, q):
    """Write p_j = sigma(eta_j) exp(-shift) and q_j = sigma(-eta_j) of one bag; return k and shift.

    eta_j = sign * log_odds[start + j], and k is the (first) index of the largest eta. If all eta are
    -inf, the p_j are 1, which is the limit for equal log-odds. O(m), one exponential per instance.
    """
    k, top = 0, -math.inf
    for j in range(stop - start):
        eta = sign * log_odds[start + j]
        if not eta <= top:  # also true for NaN, which must propagate to the result
            k, top = j, eta
    if top < FAINT:
        for j in range(stop - start):
            p[j] = math.exp(sign * log_odds[start + j] - top) if top > -math.inf else 1.0
            q[j] = 1.0
        return k, top
    for j in range(stop - start):
        p[j], q[j] = both_sigmas(sign * log_odds[start + j])
    return k, 0.0


@kernel
def sum_except(values, size, k):
    """Return the compensated sum of values[:size] without values[k]; k = -1 leaves out nothing. O(size)."""
    high, low = 0.0, 0.0
    for begin in range(0, size, BLOCK):
        part = 0.0
        for j in range(begin, min(begin + BLOCK, size)):
            if j != k:
                part += values[j]
        high, low = add_compensated(high, low, part)
    return high + low
