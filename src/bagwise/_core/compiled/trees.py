"""Predictions of binary trees that are stored one after another in flat arrays.

Node `n` sends an instance to ``left[n]`` if ``x[feature[n]] <= threshold[n]``, else to ``right[n]``; for
leaves, the feature is -1. The caller ensures that all features exist and that children are stored after their
parents, so that every path ends inside the arrays (`bagwise.models.trees.flat`).
"""

from __future__ import annotations

import numpy as np

from bagwise._core.compiled.compiling import kernel


@kernel
def tree_sums(X, feature, threshold, left, right, value, roots):
    """Return the sum over trees of the values of the leaves that each instance reaches: (n_instances,).

    Costs O(n_instances n_trees depth).
    """
    out = np.zeros(X.shape[0])
    for i in range(X.shape[0]):
        x = X[i]
        total = 0.0
        for root in roots:
            node = root
            while feature[node] >= 0:
                node = left[node] if x[feature[node]] <= threshold[node] else right[node]
            total += value[node]
        out[i] = total
    return out


@kernel
def tree_visits(X, offsets, feature, threshold, left, right, roots):
    """Return the number of instances of every bag that pass each node: shape (n_bags, n_nodes)."""
    counts = np.zeros((offsets.shape[0] - 1, feature.shape[0]))
    for i in range(offsets.shape[0] - 1):
        for j in range(offsets[i], offsets[i + 1]):
            for root in roots:
                node = root
                counts[i, node] += 1.0
                while feature[node] >= 0:
                    node = left[node] if X[j, feature[node]] <= threshold[node] else right[node]
                    counts[i, node] += 1.0
    return counts
