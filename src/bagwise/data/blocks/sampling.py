"""Bags and instances drawn at random: some bags that stand for all, and a single instance."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise.data.blocks.base import Blocks
from bagwise.data.blocks.memory import MemoryBlocks

# A sample has at least so many bags of every class, if there are so many.
_FEWEST = 500


def sample_bags(
    blocks: Blocks, n_instances: int, rng: np.random.RandomState
) -> tuple[MemoryBlocks, np.ndarray]:
    """Draw bags with about so many instances in all, in memory, weighted to stand for all bags: one pass.

    Classes are drawn in proportion to their numbers, but rare ones more often; bags without weight are left
    out. A bag's weight is divided by the share that was drawn of its class, so that sums over the sample
    estimate those over all bags; the weights add up to those of all.

    Returns
    -------
    MemoryBlocks, array of int
        The bags, with double precision, and their numbers among all, which rise. Which they are does not
        depend on how the bags are cut into blocks.
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
    numbers = np.sort(np.concatenate(kept))
    begin, sizes = blocks.offsets[numbers], np.diff(blocks.offsets)[numbers]
    offsets = np.append(0, np.cumsum(sizes))
    rows = np.arange(offsets[-1]) + np.repeat(begin - offsets[:-1], sizes)
    X = blocks.take(rows, np.float64).astype(np.float64, copy=False)
    return MemoryBlocks(X, offsets, blocks.y[numbers], weight[numbers]), numbers


def pick_instance(X: Any, weight: Any, rng: np.random.RandomState) -> int:
    """Draw the number of an instance by weight, in a way that depends on no order."""
    place = rng.random_sample()
    order = np.argsort(_keys(X, rng))  # instances with equal keys are equal: which comes first is all one
    reached = np.cumsum(weight[order])
    return int(order[min(int(np.searchsorted(reached, place * reached[-1])), len(order) - 1)])


def _keys(X: Any, rng: np.random.RandomState) -> np.ndarray:
    """Give every instance a number that depends on nothing but the instance (and the seed)."""
    if hasattr(X, "project"):
        return X.project(rng)
    return np.where(np.isnan(X), 0.0, X) @ rng.standard_normal(X.shape[1])
