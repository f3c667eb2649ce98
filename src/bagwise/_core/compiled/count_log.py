"""Counts of positive instances in the log domain, for the few bags whose label is almost impossible.

Log-odds are sorted, eta_1 >= eta_2 >= ... The most probable way to have n positive instances among the first
i is then that the first n are positive. The recursion stores the log ratio between the probability of all
ways together and that of this one. With e_n(i) the sum of exp(eta_j1 + ... + eta_jn) over all choices of n
among the first i, ::

    log_ratio[n] = log e_n(i) - (eta_1 + ... + eta_n),    from 0 to log C(i, n)
    e_n(i + 1) = e_n(i) + exp(eta_i+1) e_n-1(i)

Log-probabilities would be as large as the log-odds, and so would their rounding errors. In contrast,
log_ratio is at most the size of the bag, and it depends only on differences of log-odds. The backward pass
can use plain probabilities. Given n positive instances among the first i + 1, instance i + 1 is positive with
log-odds theta[n], the log ratio of the two terms above, regardless of the label of the bag. So the
distribution of the count given the label is carried from the whole bag back to its first instance. All terms
are positive, so nothing cancels, and values that underflow are too improbable to matter.

If the labeler is constant from `top` on, entry `top` also includes all larger counts (`absorbs`). An entry
costs three exponentials and two logarithms. Rows are stored at every sqrt(m)-th instance and recomputed in
between, so memory is O(sqrt(m) * top).
"""

from __future__ import annotations

import math

import numpy as np

from bagwise._core.compiled.compiling import kernel
from bagwise._core.compiled.count_leaf import write_prior
from bagwise._core.compiled.scalar import both_sigmas, softplus


@kernel
def add_instance(eta, v, j, top, absorbs, beyond, row, theta):
    """Update a row with instance j, and write theta. O(top).

    row[0] is log_ratio, and row[1] is the expected sum of v_j z_j given the count. An entry that absorbs is
    the probability of `top` or more, relative to that of `top` among the first `top`.
    """
    theta[0] = -math.inf
    absorbing = absorbs and j >= top
    if absorbing:
        row[1, top] += both_sigmas(eta[j])[0] * v[j]
    for n in range(min(j + 1, top), 0, -1):
        if n == j + 1:
            row[0, n], row[1, n], theta[n] = 0.0, row[1, n - 1] + v[j], math.inf
            continue
        step = 0.0 if eta[j] == eta[n - 1] else eta[j] - eta[n - 1]  # 0 if both are infinite
        if absorbing and n == top:
            step -= beyond[j + 1]
        theta[n] = step + row[0, n - 1] - row[0, n]
        row[0, n] += softplus(theta[n])
        share, rest = both_sigmas(theta[n])
        row[1, n] = rest * row[1, n] + share * (row[1, n - 1] + v[j])


@kernel
def take_instance(eta, v, j, top, absorbs, theta, before, proba, after):
    """Remove instance j from P(n | label), in place; return the probabilities of its two labels. O(top).

    Returns P(z_j = 1), P(z_j = 0), and for both labels this probability times the expected sum of v over the
    other positive instances. `before` contains the expected sum over the instances before j, given the count.
    `after` contains that over the instances after j, times `proba`.
    """
    p, q = both_sigmas(eta[j])
    positive, negative, with_it, without_it = 0.0, 0.0, 0.0, 0.0
    for n in range(min(j + 1, top) + 1):
        share, rest = both_sigmas(theta[n])
        present, absent = share * proba[n], rest * proba[n]
        after_present, after_absent = share * after[n], rest * after[n]
        proba[n], after[n] = absent, after_absent
        if n > 0:
            proba[n - 1] += present
            after[n - 1] += after_present + present * v[j]
            positive += present
            with_it += after_present + present * before[n - 1]
        if absorbs and n == top and j >= top:
            after[n] += p * absent * v[j]
            positive, negative = positive + p * absent, negative + q * absent
            with_it += p * (after_absent + absent * before[n])
            without_it += q * (after_absent + absent * before[n])
        elif n <= j:
            negative += absent
            without_it += after_absent + absent * before[n]
    return positive, negative, with_it, without_it


@kernel
def best_ways(eta, log_weight, top, absorbs, beyond):
    """Return log-probabilities of the label and the most probable way to have n positive instances. O(m).

    Returns the largest over n = 0..top, and all values relative to it. Neighboring values differ by one
    log-odds and two weights; using these differences keeps the digits that subtracting two large logarithms
    would lose.
    """
    ways, done, rest = np.empty(top + 1), 0.0, beyond[-1]
    for n in range(top, -1, -1):
        ways[n] = log_weight[n] - (0.0 if absorbs and n == top else rest)
        rest += softplus(eta[n - 1]) if n > 0 else 0.0
    for n in range(top + 1):
        ways[n] -= done
        done += softplus(-eta[n]) if n < top else 0.0
    best = np.argmax(ways)
    largest, relative = ways[best], 0.0
    for n in range(best + 1, top + 1):
        relative += eta[n - 1] + (beyond[-1] if absorbs and n == top else 0.0)
        ways[n] = relative + (log_weight[n] - log_weight[best])
    relative = 0.0
    for n in range(best - 1, -1, -1):
        relative -= eta[n] + (beyond[-1] if absorbs and n + 1 == top else 0.0)
        ways[n] = relative + (log_weight[n] - log_weight[best])
    ways[best] = 0.0
    return largest, ways


@kernel
def improbable_bag(eta, v, log_weight, top, absorbs, proba, of_instance):
    """Return log P(label) of one bag of sorted log-odds; `log_weight` is log P(label | n). O(m * top).

    Writes P(n | label) to `proba`. Writes the posterior, the complement and [Cov(z | label) v]_j of every
    instance to `of_instance`.
    """
    m = len(eta)
    beyond = np.zeros(m + 1)  # cumulative sum of the softplus of the log-odds from `top` on
    for j in range(top, m):
        beyond[j + 1] = beyond[j] + softplus(eta[j])
    largest, ways = best_ways(eta, log_weight, top, absorbs, beyond)
    if largest == -math.inf:
        return largest
    block = math.ceil(math.sqrt(m))
    kept = np.empty(((m + block - 1) // block, 2, top + 1))
    row, theta, before = np.zeros((2, top + 1)), np.empty((block, top + 1)), np.empty((block, top + 1))
    for j in range(m):
        if j % block == 0:
            kept[j // block] = row
        add_instance(eta, v, j, top, absorbs, beyond, row, theta[0])
    ways += row[0]
    peak = ways.max()
    proba[:] = np.exp(ways - peak)
    total = proba.sum()
    proba /= total
    now, after = proba.copy(), np.zeros(top + 1)
    for begin in range((m - 1) // block * block, -1, -block):
        end = min(begin + block, m)
        row[:] = kept[begin // block]
        for j in range(begin, end):
            before[j - begin] = row[1]
            add_instance(eta, v, j, top, absorbs, beyond, row, theta[j - begin])
        for j in range(end - 1, begin - 1, -1):
            positive, negative, with_it, without_it = take_instance(
                eta, v, j, top, absorbs, theta[j - begin], before[j - begin], now, after
            )
            posterior, complement = positive / (positive + negative), negative / (positive + negative)
            apart = 0.0
            if positive > 0.0 and negative > 0.0:
                apart = v[j] + with_it / positive - without_it / negative
            of_instance[0, j], of_instance[1, j] = posterior, complement
            of_instance[2, j] = posterior * complement * apart
    return largest + (peak + math.log(total))


@kernel
def improbable_bags(
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
    out,
):
    """Process the bags in `indices` like `count_leaf.small_bags`; write log P(y_i) to `out`.

    `slope` is the gradient if v has length 0, else the Hessian times v. An impossible label carries no
    information about the instances: their posterior is sigma(eta), and the gradient is 0. The same holds for
    a bag with a NaN, except that the gradient is NaN.
    """
    for i in indices:
        start, stop = offsets[i], offsets[i + 1]
        m, cap, begin = stop - start, last[i, y[i]], first[i, y[i]]
        absorbs = cap < m and log_weight[begin + cap] > -math.inf
        top = m if cap >= m else (cap if absorbs else cap - 1)
        order = np.argsort(-log_odds[start:stop])
        eta = log_odds[start:stop][order]
        direction = v[start:stop][order] if len(v) else np.zeros(m)
        of_instance, proba = np.empty((3, m)), np.empty(top + 1)
        is_nan = np.isnan(eta).any()
        out[i] = math.nan if is_nan else -math.inf
        if top >= 0 and not is_nan:
            weight = log_weight[begin : begin + top + 1]
            out[i] = min(0.0, improbable_bag(eta, direction, weight, top, absorbs, proba, of_instance))
        if not out[i] > -math.inf:
            write_prior(log_odds, start, stop, posterior, complement, slope)
            if is_nan and len(slope):
                slope[start:stop] = math.nan
            continue
        if row[i] >= 0:
            for n in range(top + 1):
                counts[row[i], min(n, counts.shape[1] - 1)] += each[i] * proba[n]
        for k in range(m):
            j = start + order[k]
            p, q = both_sigmas(eta[k])
            if len(posterior):
                posterior[j], complement[j] = of_instance[0, k], of_instance[1, k]
            if len(v):
                slope[j] = of_instance[2, k] - p * q * v[j]
            elif len(slope):
                slope[j] = q * of_instance[0, k] - p * of_instance[1, k]
