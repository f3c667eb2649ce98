"""Estimators of others that learn from one block of bags after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from bagwise.data.bags import Bags
from bagwise.data.blocks import Block
from bagwise.data.scanned import ScannedBags


def learns_from_scans(estimator: Any) -> bool:
    """Whether an estimator, or every step of a pipeline, passes over blocks."""
    steps = getattr(estimator, "steps", None)
    if steps is not None:
        return all(learns_from_scans(step) for _, step in steps)
    return bool(getattr(estimator, "_streams", False))


def in_files(bags: Bags | ScannedBags) -> bool:
    """Whether the bags of a fit lie in files, and are too large to be held."""
    return isinstance(bags, ScannedBags) and not bags.fits


def in_memory(bags: Bags | ScannedBags) -> Bags:
    """Give the bags of a fit that can be held as what models work on in memory."""
    if isinstance(bags, Bags):
        return bags
    blocks = bags.blocks()  # which checks and converts
    return bags.load().with_instances(blocks.whole)


def passes(estimator: Any, scan: Any, y: np.ndarray, weight: np.ndarray) -> Iterator[Block]:
    """Give the blocks of a scan in a random order, ``max_passes`` times, and set ``n_passes_``."""
    rng = check_random_state(estimator.random_state)
    for number in range(estimator.max_passes):
        yield from scan.shuffled_blocks(rng, y, weight)
        estimator.n_passes_ = number + 1
