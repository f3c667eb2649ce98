"""Kernels of the mean rule: P(+) = S / m, S = sum_j p_j, p_j = sigma(eta_j), over one bag of m.

Array shapes are the same as in `or_`. The formulas are for positive bags. A negative bag is treated as a
positive bag with mirrored log-odds, with posterior and complement exchanged and the gradient negated.
All kernels cost O(n_instances), one exponential per instance.
"""

from __future__ import annotations

import math

import numpy as np

from bagwise._core.compiled.bag import fill_bag, largest_size, sum_except
from bagwise._core.compiled.compiling import kernel


@kernel
def log_mean(total, shift, q, size):
    """Return log(S / m), S = total exp(shift), computed from sum_j q_j if that is smaller. O(m)."""
    if shift == 0.0 and 2.0 * total > size:
        return math.log1p(-sum_except(q, size, -1) / size)
    return shift + math.log(total / size)


@kernel
def mean_gradient(log_odds, offsets, y):
    """Return the log-likelihood (n_bags,) and its gradient p_j (1 - p_j) / S, (n_instances,)."""
    log_likelihood = np.zeros(y.shape[0])
    gradient = np.zeros(log_odds.shape[0])
    size = largest_size(offsets)
    p, q = np.empty(size), np.empty(size)
    for i in range(y.shape[0]):
        start, stop = offsets[i], offsets[i + 1]
        if y[i] < 0 or start == stop:
            continue
        sign = 1.0 if y[i] == 1 else -1.0
        k, shift = fill_bag(log_odds, start, stop, sign, p, q)
        total = p[k] + sum_except(p, stop - start, k)
        log_likelihood[i] = log_mean(total, shift, q, stop - start)
        for j in range(start, stop):
            gradient[j] = sign * p[j - start] * q[j - start] / total
    return log_likelihood, gradient


@kernel
def mean_log_proba(log_odds, offsets):
    """Return log P(-) and log P(+) of every bag, (n_bags, 2); 0 for empty bags."""
    log_proba = np.zeros((offsets.shape[0] - 1, 2))
    size = largest_size(offsets)
    p, q = np.empty(size), np.empty(size)
    for i in range(len(log_proba)):
        start, stop = offsets[i], offsets[i + 1]
        if start == stop:
            continue
        for label in range(2):
            k, shift = fill_bag(log_odds, start, stop, 1.0 if label == 1 else -1.0, p, q)
            total = p[k] + sum_except(p, stop - start, k)
            log_proba[i, label] = log_mean(total, shift, q, stop - start)
    return log_proba


@kernel
def mean_estep(log_odds, offsets, y):
    """Return the log-likelihood (n_bags,), and posterior and complement (n_instances,).

    With S_-j the sum without p_j, the posterior is p_j (1 + S_-j) / S and the complement (1 - p_j) S_-j / S.
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
        k, shift = fill_bag(log_odds, start, stop, -1.0 if y[i] == 0 else 1.0, p, q)
        scale = math.exp(shift)
        if y[i] < 0:
            for j in range(start, stop):
                posterior[j] = p[j - start] * scale
                complement[j] = q[j - start]
            continue
        rest = sum_except(p, stop - start, k)
        total = p[k] + rest
        log_likelihood[i] = log_mean(total, shift, q, stop - start)
        for j in range(start, stop):
            others = rest if j - start == k else total - p[j - start]
            # a quotient of rounded values may exceed 1 by one ulp
            agree = min(p[j - start] * (1.0 + others * scale) / total, 1.0)
            differ = q[j - start] * others / total
            if y[i] == 1:
                posterior[j], complement[j] = agree, differ
            else:
                posterior[j], complement[j] = differ, agree
    return log_likelihood, posterior, complement


@kernel
def mean_hessian_product(log_odds, offsets, y, v):
    """Return the Hessian of the log-likelihood times v, (n_instances,).

    With the gradient g, this is g_j ((1 - 2 p_j) v_j - sum_i g_i v_i). For k, 1 - 2 p - g may cancel; it is
    replaced by complement - p, and the sum runs over the other instances.
    """
    product = np.zeros(log_odds.shape[0])
    size = largest_size(offsets)
    p, q, pull = np.empty(size), np.empty(size), np.empty(size)
    for i in range(y.shape[0]):
        start, stop = offsets[i], offsets[i + 1]
        if y[i] < 0 or start == stop:
            continue
        k, shift = fill_bag(log_odds, start, stop, 1.0 if y[i] == 1 else -1.0, p, q)
        scale = math.exp(shift)
        rest = sum_except(p, stop - start, k)
        total = p[k] + rest
        for j in range(stop - start):
            pull[j] = p[j] * q[j] / total * v[start + j]
        pull_rest = sum_except(pull, stop - start, k)
        for j in range(stop - start):
            slope = (q[j] - p[j] * scale) * v[start + j] - pull_rest - pull[k]
            product[start + j] = p[j] * q[j] / total * slope
        slope = (q[k] * rest / total - p[k] * scale) * v[start + k] - pull_rest
        product[start + k] = p[k] * q[k] / total * slope
    return product
