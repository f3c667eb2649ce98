"""Scalar functions that several kernels use."""

from __future__ import annotations

import math

from bagwise._core.compiled.compiling import kernel

# Below this log-odds sigma(eta) = softplus(eta) = exp(eta): the next term of either series is
# smaller by the factor exp(-37) = 8.5e-17, less than half an ulp.
FAINT = -37.0
FAINTEST = math.exp(FAINT)
LOG_2 = math.log(2.0)


@kernel
def log1mexp(s):
    """Return log(1 - exp(-s)) for s >= 0, accurate for small and large s. O(1)."""
    if s < LOG_2:
        return math.log(-math.expm1(-s)) if s > 0.0 else -math.inf
    return math.log1p(-math.exp(-s))


@kernel
def softplus(eta):
    """Return log(1 + exp(eta)), accurate for every eta, including infinities. O(1)."""
    return max(eta, 0.0) + math.log1p(math.exp(-abs(eta)))


@kernel
def sigma(eta, odds):
    """Return sigma(eta), accurate to the last digits, from `odds` = exp(-|eta|). O(1)."""
    return (1.0 if eta > 0.0 else odds) / (1.0 + odds)


@kernel
def both_sigmas(eta):
    """Return sigma(eta) and sigma(-eta), both accurate to the last digits, with one exponential. O(1)."""
    odds = math.exp(-abs(eta))
    likely = 1.0 / (1.0 + odds)
    if eta > 0.0:
        return likely, odds * likely
    return odds * likely, likely


@kernel
def add_compensated(high, low, x):
    """Add x to the sum high + low; low accumulates the rounding error (Knuth's two-sum). O(1)."""
    total = high + x
    if math.isinf(total):  # there is no rounding error, and the code below would compute inf - inf
        return total, 0.0
    part = total - high
    return total, low + ((high - (total - part)) + (x - part))
