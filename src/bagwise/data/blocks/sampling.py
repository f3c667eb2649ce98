"""Random samples of weighted bags that represent all bags, and of single instances."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise.data.blocks.base import Blocks
from bagwise.data.blocks.memory import MemoryBlocks

# Minimum number of sampled bags per class; smaller classes are used completely.
_FEWEST = 500


def sample_bags(
    blocks: Blocks, n_instances: int, rng: np.random.RandomState
) -> tuple[MemoryBlocks, np.ndarray]:
    """Draw bags with about `n_instances` instances in total, weighted to represent all bags: one pass.

    Classes are sampled in proportion to their frequency, except that rare classes are oversampled. Bags with
    zero weight are left out. The weight of a bag is divided by the sampling rate of its class, so that sums
    over the sample estimate sums over all bags. Finally, the weights are scaled to the total weight of all
    bags.

    Returns
    -------
    MemoryBlocks, array of int
        The sampled bags in double precision, and their indices among all bags in increasing order. The
        sample does not depend on how the bags are split into blocks.
    """
    share = min(1.0, n_instances / max(1, blocks.n_instances))
    classes = np.zeros(blocks.n_bags, dtype=np.int64)
    if blocks.y.ndim == 1 and blocks.y.dtype.kind == "i":
        classes = np.unique(blocks.y, return_inverse=True)[1]
    shuffled = rng.permutation(blocks.n_bags)
    shuffled = shuffled[blocks.weight[shuffled] > 0]
    weight, kept = np.zeros(blocks.n_bags), []
    for label in range(classes.max() + 1):
        of_class = shuffled[classes[shuffled] == label]
        n = min(len(of_class), max(_FEWEST, round(share * len(of_class))))
        if n == 0:
            continue
        kept.append(of_class[:n])
        weight[of_class[:n]] = blocks.weight[of_class[:n]] * len(of_class) / n
    weight *= blocks.weight.sum() / weight.sum()
    indices = np.sort(np.concatenate(kept))
    begin, sizes = blocks.offsets[indices], np.diff(blocks.offsets)[indices]
    offsets = np.append(0, np.cumsum(sizes))
    rows = np.arange(offsets[-1]) + np.repeat(begin - offsets[:-1], sizes)
    X = blocks.take(rows, np.float64).astype(np.float64, copy=False)
    return MemoryBlocks(X, offsets, blocks.y[indices], weight[indices]), indices


def pick_instance(X: Any, weight: Any, rng: np.random.RandomState) -> int:
    """Draw the index of an instance with probability proportional to its weight, for any instance order."""
    quantile = rng.random_sample()
    order = np.argsort(_keys(X, rng))  # instances with equal keys are equal, so their order does not matter
    reached = np.cumsum(weight[order])
    return int(order[min(int(np.searchsorted(reached, quantile * reached[-1])), len(order) - 1)])


def _keys(X: Any, rng: np.random.RandomState) -> np.ndarray:
    """Return a sort key per instance, which depends only on its values and the seed."""
    if hasattr(X, "project"):
        return X.project(rng)
    return np.where(np.isnan(X), 0.0, X) @ rng.standard_normal(X.shape[1])
