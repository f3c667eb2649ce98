"""Kernels of the noisy-OR rule: P(-) = exp(-s), s = sum_j softplus(eta_j), over one bag.

`log_odds` is (n_instances,) float64, `offsets` (n_bags + 1,) int64, `y` (n_bags,) int8; bag i is
log_odds[offsets[i]:offsets[i + 1]]. All kernels cost O(n_instances), one exponential per instance. The
module `bag` explains shift and the instance k that is treated separately.
"""

from __future__ import annotations

import math

import numpy as np

from bagwise._core.compiled.bag import BLOCK, fill_bag, largest_size, sum_except
from bagwise._core.compiled.compiling import kernel
from bagwise._core.compiled.scalar import FAINT, FAINTEST, add_compensated, log1mexp, sigma, softplus


@kernel
def softplus_except(log_odds, start, stop, sign, p, q, k):
    """Return the sum of softplus(eta_j) over j != k, with one logarithm per block of instances. O(m).

    softplus(eta) = max(eta, 0) + log(1 + o), o = exp(-|eta|) = min(p, q) / max(p, q). For each block, the
    product of all 1 + o, minus 1, is computed as a sum of positive terms, so that tiny o are not rounded off.
    """
    high, low = 0.0, 0.0
    for begin in range(start, stop, BLOCK):
        linear, product = 0.0, 0.0
        for j in range(begin, min(begin + BLOCK, stop)):
            if j - start == k:
                continue
            eta = sign * log_odds[j]
            if eta > 0.0:
                linear += eta
                odds = q[j - start] / p[j - start]
            else:
                odds = p[j - start] / q[j - start]
            product += odds + odds * product
        high, low = add_compensated(high, low, linear + math.log1p(product))
    return high + low


@kernel
def fill_or_bag(log_odds, start, stop, sign, p, q):
    """Call `fill_bag`; return k, shift, and softplus(eta_j) exp(-shift) for k and summed over the others."""
    k, shift = fill_bag(log_odds, start, stop, sign, p, q)
    if shift < 0.0:  # softplus(eta) = sigma(eta) = exp(eta)
        return k, shift, p[k], sum_except(p, stop - start, k)
    top = softplus(sign * log_odds[start + k])
    return k, shift, top, softplus_except(log_odds, start, stop, sign, p, q, k)


@kernel
def log_any(total, shift):
    """Return log(1 - exp(-s)), s = total * exp(shift), the log-probability of any positive. O(1)."""
    if shift < 0.0:
        log_s = shift + math.log(total)
        if log_s < FAINT:
            return log_s
    return log1mexp(total * math.exp(shift))


@kernel
def scaled_any(total, shift):
    """Return (1 - exp(-s)) exp(-shift), s = total * exp(shift), this probability on the scale of p_j."""
    if shift == 0.0:
        return -math.expm1(-total)
    s = total * math.exp(shift)
    return total * (-math.expm1(-s) / s) if s > 0.0 else total


@kernel
def softplus_parts(log_odds, odds, offsets, sign):
    """Return the two parts of every bag's sum of softplus(eta_j), which is linear + log(1 + product).

    `odds` is exp(-|log_odds|). Both parts are (n_bags,); `softplus_except` explains the product. If a bag has
    several blocks, `product` refers to the last block, and `linear` includes the other blocks.
    """
    n_bags = offsets.shape[0] - 1
    linear, product = np.empty(n_bags), np.empty(n_bags)
    for i in range(n_bags):
        high, low, straight, curved = 0.0, 0.0, 0.0, 0.0
        full = offsets[i] + BLOCK
        for j in range(offsets[i], offsets[i + 1]):
            if j == full:
                high, low = add_compensated(high, low, straight + math.log1p(curved))
                straight, curved = 0.0, 0.0
                full += BLOCK
            eta = sign * log_odds[j]
            straight += eta if eta > 0.0 else 0.0
            curved += odds[j] + odds[j] * curved
        linear[i], product[i] = straight + (high + low), curved
    return linear, product


@kernel
def or_slopes(log_odds, odds, offsets, y, sign, average, log_rest, total, ratio, log_likelihood):
    """Return the gradient (n_instances,) of the log-likelihood: `ratio` or -1 times sigma_j in bag i.

    `log_rest` is log(1 + product) from `softplus_parts`, `total` is the sum of softplus(eta_j), and `ratio`
    is the odds of no positive against any positive. `log_likelihood` is the log-probability of any positive
    on entry, and is replaced by that of the labels in place. All four are (n_bags,). Bags with one instance
    need separate formulas; faint bags are left to `correct_faint_bags`.
    """
    gradient = np.empty(log_odds.shape[0])
    for j in range(log_odds.shape[0]):  # one loop over all bags, so that vector instructions can be used
        gradient[j] = sigma(sign * log_odds[j], odds[j])
    for i in range(y.shape[0]):
        start, stop = offsets[i], offsets[i + 1]
        is_any = (y[i] == 1) == (sign > 0.0)
        count = float(stop - start) if average else 1.0
        if y[i] < 0 or start == stop:
            log_likelihood[i] = 0.0
            gradient[start:stop] = 0.0
        elif stop - start == 1:  # logistic regression, for both rules
            side = 1.0 if y[i] == 1 else -1.0
            eta = side * log_odds[start]
            log_likelihood[i] = min(eta, 0.0) - log_rest[i]
            gradient[start] = side * sigma(-eta, odds[start])
        else:
            # Both are computed, because the processor cannot predict a branch on the label.
            of_any, of_none = ratio[i], -total[i] / count
            slope = (of_any if is_any else -1.0) * (sign / count)
            log_likelihood[i] = log_likelihood[i] if is_any else of_none
            for j in range(np.uint64(start), np.uint64(stop)):
                gradient[j] *= slope
    return gradient


@kernel
def or_log_proba(log_odds, offsets, sign, average, log_rest, total, log_any_positive):
    """Return the log-probabilities (n_bags, 2) of no positive and of any positive.

    The likelihoods are those of `or_slopes`, for both labels. `log_any_positive` is (n_bags,), the second
    column for bags that are neither faint nor of one instance.
    """
    n_bags = offsets.shape[0] - 1
    log_proba = np.zeros((n_bags, 2))
    size = largest_size(offsets)
    p, q = np.empty(size), np.empty(size)
    for i in range(n_bags):
        start, stop = offsets[i], offsets[i + 1]
        count = float(stop - start) if average else 1.0
        if stop - start == 1:
            eta = sign * log_odds[start]
            log_proba[i, 0], log_proba[i, 1] = min(-eta, 0.0) - log_rest[i], min(eta, 0.0) - log_rest[i]
        elif stop > start and total[i] < FAINTEST:
            _, shift, largest, others = fill_or_bag(log_odds, start, stop, sign, p, q)
            mean = (largest + others) / count
            log_proba[i, 0], log_proba[i, 1] = -math.exp(shift) * mean, log_any(mean, shift)
        elif stop > start:
            log_proba[i, 0], log_proba[i, 1] = -total[i] / count, log_any_positive[i]
    return log_proba


@kernel
def correct_faint_bags(log_odds, offsets, y, sign, average, total, log_likelihood, gradient):
    """Compute the results of `or_slopes` again for faint bags, in place.

    They are rare, so most processes never compile this kernel.
    """
    size = largest_size(offsets)
    p, q = np.empty(size), np.empty(size)
    for i in range(y.shape[0]):
        start, stop = offsets[i], offsets[i + 1]
        if y[i] < 0 or stop - start < 2 or not total[i] < FAINTEST:
            continue
        count = float(stop - start) if average else 1.0
        _, shift, largest, others = fill_or_bag(log_odds, start, stop, sign, p, q)
        mean = (largest + others) / count
        if (y[i] == 1) == (sign > 0.0):
            slope = math.exp(-mean * math.exp(shift)) / scaled_any(mean, shift)
            log_likelihood[i] = log_any(mean, shift)
        else:
            slope = -math.exp(shift)
            log_likelihood[i] = slope * mean
        for j in range(start, stop):
            gradient[j] = slope * sign / count * p[j - start]


@kernel
def or_estep(log_odds, offsets, y):
    """Return the log-likelihood (n_bags,), and posterior and complement (n_instances,).

    Positive bag: posterior sigma_j / P(+), complement (1 - sigma_j) P(+ | the others) / P(+).
    """
    log_likelihood = np.zeros(y.shape[0])
    posterior = np.empty(log_odds.shape[0])
    complement = np.empty(log_odds.shape[0])
    size = largest_size(offsets)
    p, q = np.empty(size), np.empty(size)
    for i in range(y.shape[0]):
        start, stop = offsets[i], offsets[i + 1]
        if start == stop:
            continue
        k, shift, top, rest = fill_or_bag(log_odds, start, stop, 1.0, p, q)
        total, scale = top + rest, math.exp(shift)
        if y[i] == 0:
            log_likelihood[i] = -total * scale
            posterior[start:stop] = 0.0
            complement[start:stop] = 1.0
            continue
        if y[i] < 0:
            for j in range(start, stop):
                posterior[j] = p[j - start] * scale
                complement[j] = q[j - start]
            continue
        log_likelihood[i] = log_any(total, shift)
        any_positive = scaled_any(total, shift)
        for j in range(start, stop):
            # a quotient of rounded values may exceed 1 by one ulp
            posterior[j] = min(p[j - start] / any_positive, 1.0)
            if j - start == k:
                complement[j] = q[k] * scaled_any(rest, shift) / any_positive
            elif posterior[j] <= 0.5 or shift < 0.0:  # in a faint bag only k can exceed one half
                complement[j] = 1.0 - posterior[j]
            else:
                others = total - softplus(log_odds[j]) if total < math.inf else total
                complement[j] = q[j - start] * scaled_any(others, shift) / any_positive
    return log_likelihood, posterior, complement


@kernel
def or_hessian_product(log_odds, offsets, y, v):
    """Return the Hessian of the log-likelihood times v, (n_instances,).

    Positive bag, with posterior mu: exp(-s) mu_j ((1 - sigma_j) v_j - sum_i mu_i v_i). For k, 1 - sigma - mu
    may cancel; it is replaced by complement - sigma, and the sum runs over the other instances.
    Negative bag: -sigma_j (1 - sigma_j) v_j.
    """
    product = np.zeros(log_odds.shape[0])
    size = largest_size(offsets)
    p, q, pull = np.empty(size), np.empty(size), np.empty(size)
    for i in range(y.shape[0]):
        start, stop = offsets[i], offsets[i + 1]
        if y[i] < 0 or start == stop:
            continue
        k, shift, top, rest = fill_or_bag(log_odds, start, stop, 1.0, p, q)
        scale = math.exp(shift)
        if y[i] == 0:
            for j in range(start, stop):
                product[j] = -p[j - start] * scale * q[j - start] * v[j]
            continue
        any_positive = scaled_any(top + rest, shift)
        for j in range(stop - start):
            pull[j] = p[j] / any_positive * v[start + j]
        pull_rest = sum_except(pull, stop - start, k)
        factor = math.exp(-(top + rest) * scale) / any_positive
        for j in range(stop - start):
            product[start + j] = factor * p[j] * (q[j] * v[start + j] - pull_rest - pull[k])
        complement = q[k] * scaled_any(rest, shift) / any_positive
        product[start + k] = factor * p[k] * ((complement - p[k] * scale) * v[start + k] - pull_rest)
    return product
