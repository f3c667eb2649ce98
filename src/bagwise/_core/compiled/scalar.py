"""Scalar helpers that the kernels share: each formula of one number is written here, once."""

from __future__ import annotations

import math

from bagwise._core.compiled.compiling import kernel

# Below this log-odds sigma(eta) = softplus(eta) = exp(eta): the next term of either series is
# smaller by the factor exp(-37) = 8.5e-17, less than half a unit in the last place.
FAINT = -37.0
FAINTEST = math.exp(FAINT)
LOG_2 = math.log(2.0)


@kernel
def log1mexp(s):
    """log(1 - exp(-s)) for s >= 0, accurate at both ends. O(1)."""
    if s < LOG_2:
        return math.log(-math.expm1(-s)) if s > 0.0 else -math.inf
    return math.log1p(-math.exp(-s))


@kernel
def softplus(eta):
    """log(1 + exp(eta)), accurate for every eta, infinities included. O(1)."""
    return max(eta, 0.0) + math.log1p(math.exp(-abs(eta)))


@kernel
def sigma(eta, odds):
    """sigma(eta) to the last digits, given `odds` = exp(-|eta|). O(1)."""
    return (1.0 if eta > 0.0 else odds) / (1.0 + odds)


@kernel
def both_sigmas(eta):
    """sigma(eta) and sigma(-eta), each to the last digits, by one exponential. O(1)."""
    odds = math.exp(-abs(eta))
    likely = 1.0 / (1.0 + odds)
    if eta > 0.0:
        return likely, odds * likely
    return odds * likely, likely


@kernel
def add_compensated(high, low, x):
    """Add x to the sum high + low; low collects the round-off (Knuth's two-sum). O(1)."""
    total = high + x
    if math.isinf(total):  # has no round-off, but inf - inf below
        return total, 0.0
    part = total - high
    return total, low + ((high - (total - part)) + (x - part))
