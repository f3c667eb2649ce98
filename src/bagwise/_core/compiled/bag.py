"""What every kernel does first with a bag: probabilities, on a scale where they do not underflow.

Inside a kernel a bag is `log_odds[start:stop]`, of m instances, seen through a `sign`: -1 mirrors
the log-odds, which exchanges the two labels, so that each formula is written for one label only.
The work arrays p and q, of length m or more, hold the bag's probabilities while it is in cache.

A bag is *faint* when all its log-odds are below -37. Its p are then kept as exp(eta_j - shift),
with shift the largest log-odds of the bag, and its true probabilities are p * exp(shift); any other
bag has shift 0. Ratios of probabilities, which are all that a posterior needs, so stay exact down
to the smallest float, and it still costs one exponential per instance.

Sums leave out the instance k with the largest log-odds and add it at the end. The sum over the
others is what the leave-one-out formulas need for k, where subtraction would cancel; every other
instance holds at most half of the total, and may be subtracted from it.
"""

from __future__ import annotations

import math

from bagwise._core.compiled.compiling import kernel
from bagwise._core.compiled.scalar import FAINT, add_compensated, both_sigmas

# A plain sum of this many terms errs by 64 units in the last place at worst, and the sums of the
# blocks are compensated: 1e-12 holds for bags of any size, at the speed of a plain sum.
BLOCK = 64


@kernel
def largest_size(offsets):
    """Size of the largest bag, at least 1: the length of the work arrays. O(n_bags)."""
    size = 1
    for i in range(offsets.shape[0] - 1):
        size = max(size, offsets[i + 1] - offsets[i])
    return size


@kernel
def fill_bag(log_odds, start, stop, sign, p, q):
    """Write p_j = sigma(eta_j) exp(-shift) and q_j = sigma(-eta_j) of one bag; return k and shift.

    eta_j = sign * log_odds[start + j]; k is the (first) index of the largest eta. If all eta are
    -inf, the p_j are 1: the limit of equal log-odds. O(m), one exponential per instance.
    """
    k, top = 0, -math.inf
    for j in range(stop - start):
        eta = sign * log_odds[start + j]
        if not eta <= top:  # also true of a NaN, which must reach the result and not hide in it
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
    """Sum of values[:size] without values[k]; k = -1 leaves out nothing. O(size), compensated."""
    high, low = 0.0, 0.0
    for begin in range(0, size, BLOCK):
        part = 0.0
        for j in range(begin, min(begin + BLOCK, size)):
            if j != k:
                part += values[j]
        high, low = add_compensated(high, low, part)
    return high + low
