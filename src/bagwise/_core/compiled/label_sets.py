"""Kernel for bags whose labels are the union of their instances' labels.

Every instance has one of the classes 0, 1, ..., n_labels; class 0 is the background. The label set Y of a bag
contains exactly the classes of its instances, without the background. A subset of Y is encoded as an integer:
bit b is set if the subset contains the label at index b of the bag's list of labels.
"""

from __future__ import annotations

import math

import numpy as np

from bagwise._core.compiled.compiling import kernel


@kernel
def log_add(a, b):
    """Return log(exp(a) + exp(b)); one or both can be -inf."""
    high, low = (a, b) if a > b else (b, a)
    if low == -math.inf:
        return high
    return high + math.log1p(math.exp(low - high))


@kernel
def fill_stay(log_p, j, labels, stay):
    """Write stay[S] = log P(class of instance j is the background or in S), for all subsets S."""
    stay[0] = log_p[j, 0]
    for k in range(len(labels)):
        bit = 1 << k
        for S in range(bit):
            stay[bit + S] = log_add(stay[S], log_p[j, labels[k]])


@kernel
def step_forward(log_p, j, labels, stay, before, after):
    """Write after[S] = log P(label set of the instances up to j is S), from that of those before j."""
    for S in range(len(stay)):
        value = before[S] + stay[S]
        for k in range(len(labels)):
            bit = 1 << k
            if S & bit:
                value = log_add(value, before[S ^ bit] + log_p[j, labels[k]])
        after[S] = value


@kernel
def step_backward(log_p, j, labels, stay, after):
    """Update after[S] = log P(Y | label set of the instances up to j is S) to the instances before j."""
    for S in range(len(stay)):  # in place: an entry depends only on itself and on later entries
        value = after[S] + stay[S]
        for k in range(len(labels)):
            bit = 1 << k
            if not S & bit:
                value = log_add(value, after[S | bit] + log_p[j, labels[k]])
        after[S] = value


@kernel
def fill_posterior(log_p, j, labels, before, after, log_likelihood, posterior):
    """Add to posterior[j, c], initially 0, to obtain P(class of instance j is c | Y)."""
    for S in range(len(before)):
        if before[S] == -math.inf:
            continue
        reached = before[S] - log_likelihood
        posterior[j, 0] += math.exp(reached + log_p[j, 0] + after[S])
        for k in range(len(labels)):
            c = labels[k]
            posterior[j, c] += math.exp(reached + log_p[j, c] + after[S | (1 << k)])


@kernel
def label_set_estep(log_p, offsets, starts, labels):
    """Return the log-likelihood of the label set of every bag, and the class posteriors of every instance.

    `log_p` is (n_instances, n_labels + 1) and contains log-probabilities of classes. Bag i has the labels
    labels[starts[i]:starts[i + 1]], indices from 1. This is a forward-backward recursion over the subsets of
    a bag's labels; all terms are positive. It costs O(m 2^k k) time and O(m 2^k) memory for m instances and k
    labels.
    """
    n_bags = len(offsets) - 1
    log_likelihood = np.empty(n_bags)
    posterior = np.zeros(log_p.shape)
    most, widest = 0, 0
    for i in range(n_bags):
        n_sets = 1 << (starts[i + 1] - starts[i])
        most = max(most, (offsets[i + 1] - offsets[i] + 1) * n_sets)
        widest = max(widest, n_sets)
    memory = np.empty(most)
    stay_memory, after_memory = np.empty(widest), np.empty(widest)
    for i in range(n_bags):
        begin, m = offsets[i], offsets[i + 1] - offsets[i]
        bag_labels = labels[starts[i] : starts[i + 1]]
        n_sets = 1 << len(bag_labels)
        forward = memory[: (m + 1) * n_sets].reshape(m + 1, n_sets)
        stay, after = stay_memory[:n_sets], after_memory[:n_sets]
        forward[0, :] = -math.inf
        forward[0, 0] = 0.0
        for j in range(m):
            fill_stay(log_p, begin + j, bag_labels, stay)
            step_forward(log_p, begin + j, bag_labels, stay, forward[j], forward[j + 1])
        log_likelihood[i] = forward[m, n_sets - 1]
        after[:] = -math.inf
        after[n_sets - 1] = 0.0
        for j in range(m - 1, -1, -1):
            fill_posterior(log_p, begin + j, bag_labels, forward[j], after, log_likelihood[i], posterior)
            fill_stay(log_p, begin + j, bag_labels, stay)
            step_backward(log_p, begin + j, bag_labels, stay, after)
    return log_likelihood, posterior
