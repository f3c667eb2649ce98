"""Kernels of the links without latent labels: softmax and maximum.

Array shapes are the same as in `or_`. As in `mean`, the formulas are for positive bags, and a negative bag is
treated as a positive bag with mirrored log-odds. All kernels cost O(n_instances).
"""

from __future__ import annotations

import math

import numpy as np

from bagwise._core.compiled.bag import fill_bag, largest_size, sum_except
from bagwise._core.compiled.compiling import kernel
from bagwise._core.compiled.scalar import softplus


@kernel
def softmax_gradient(log_odds, offsets, y, sharpness):
    """Return the log-likelihood (n_bags,) of S = sum_j w_j p_j, and its gradient (n_instances,).

    w = softmax(a p) with a = sharpness, or -sharpness if mirrored. The gradient of log S is
    w_j p_j (1 - p_j) (1 + a (p_j - S)) / S. The shares w_j p_j / S are the softmax of a p_j + log p_j, so
    they are accurate for every sharpness. Three exponentials per instance.
    """
    log_likelihood = np.zeros(y.shape[0])
    gradient = np.zeros(log_odds.shape[0])
    size = largest_size(offsets)
    p, q, weight, share = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    for i in range(y.shape[0]):
        start, stop = offsets[i], offsets[i + 1]
        if y[i] < 0 or start == stop:
            continue
        sign = 1.0 if y[i] == 1 else -1.0
        slope = sign * sharpness
        k, shift = fill_bag(log_odds, start, stop, sign, p, q)
        heaviest = p[k]  # p_j of the instance with the largest weight
        if slope < 0.0:
            for j in range(stop - start):
                heaviest = min(heaviest, p[j])
        top_share = -math.inf
        for j in range(stop - start):
            log_weight = slope * math.exp(shift) * (p[j] - heaviest)
            weight[j] = math.exp(log_weight)
            share[j] = log_weight + (math.log(p[j]) if p[j] > 0.0 else -math.inf)
            top_share = max(top_share, share[j])
        for j in range(stop - start):
            share[j] = math.exp(share[j] - top_share)
        total_weight = sum_except(weight, stop - start, -1)
        total_share = sum_except(share, stop - start, -1)
        for j in range(stop - start):
            weight[j] *= q[j]
        miss = sum_except(weight, stop - start, -1) / total_weight
        if miss < 0.5:  # S is near 1; use S = 1 - sum_j w_j q_j
            log_likelihood[i] = math.log1p(-miss)
        else:
            log_likelihood[i] = shift + top_share + math.log(total_share / total_weight)
        for j in range(stop - start):
            factor = q[j] * (1.0 + slope * (miss - q[j]))  # miss - q_j = p_j - S
            gradient[start + j] = sign * share[j] / total_share * factor
    return log_likelihood, gradient


@kernel
def max_log_proba(log_odds, offsets):
    """Return log P(-) and log P(+) of every bag, (n_bags, 2); 0 for empty bags."""
    log_proba = np.zeros((offsets.shape[0] - 1, 2))
    for i in range(len(log_proba)):
        top = -math.inf
        for j in range(offsets[i], offsets[i + 1]):
            if not log_odds[j] <= top:  # also true for NaN
                top = log_odds[j]
        if offsets[i] < offsets[i + 1]:
            log_proba[i, 0], log_proba[i, 1] = -softplus(top), -softplus(-top)
    return log_proba


@kernel
def max_gradient(log_odds, offsets, y):
    """Return the log-likelihood (n_bags,) of P(+) = max_j p_j, and a subgradient (n_instances,).

    The derivative is divided equally among instances that tie for the largest log-odds.
    """
    log_likelihood = np.zeros(y.shape[0])
    gradient = np.zeros(log_odds.shape[0])
    for i in range(y.shape[0]):
        start, stop = offsets[i], offsets[i + 1]
        if y[i] < 0 or start == stop:
            continue
        top, ties = -math.inf, 0
        for j in range(start, stop):
            if log_odds[j] == top:
                ties += 1
            elif not log_odds[j] <= top:  # also true for NaN, which must propagate to the result
                top, ties = log_odds[j], 1
        sign = 1.0 if y[i] == 1 else -1.0
        log_likelihood[i] = -softplus(-sign * top)
        # d log sigma(x) / dx = sigma(-x) = exp(-softplus(x))
        derivative = sign * math.exp(-softplus(sign * top)) / ties
        for j in range(start, stop):
            if log_odds[j] == top:
                gradient[j] = derivative
    return log_likelihood, gradient
