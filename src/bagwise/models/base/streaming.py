"""Third-party estimators that are fitted block by block with ``partial_fit``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from bagwise.data.bags import Bags
from bagwise.data.blocks import Block
from bagwise.data.scanned import ScannedBags


def learns_from_scans(estimator: Any) -> bool:
    """Return whether an estimator, or every step of a pipeline, can be fitted block by block."""
    steps = getattr(estimator, "steps", None)
    if steps is not None:
        return all(learns_from_scans(step) for _, step in steps)
    return bool(getattr(estimator, "_streams", False))


def in_files(bags: Bags | ScannedBags) -> bool:
    """Return whether the training bags are read from files and do not fit in memory."""
    return isinstance(bags, ScannedBags) and not bags.fits


def in_memory(bags: Bags | ScannedBags) -> Bags:
    """Load training bags that fit in memory, in the precision that models use."""
    if isinstance(bags, Bags):
        return bags
    blocks = bags.blocks()  # validates and converts the instances
    return bags.load().with_instances(blocks.whole)


def passes(estimator: Any, scan: Any, y: np.ndarray, weight: np.ndarray) -> Iterator[Block]:
    """Yield the blocks of a scan in a random order, ``max_passes`` times, and set ``n_passes_``."""
    rng = check_random_state(estimator.random_state)
    for i in range(estimator.max_passes):
        yield from scan.shuffled_blocks(rng, y, weight)
        estimator.n_passes_ = i + 1
