"""Which subject a seed is about: a choice that a new subject changes for its own cases only."""

from __future__ import annotations

import zlib

import numpy as np


def chosen(seed: int, names: list[str]) -> str:
    """Give the name that wins for this seed. If a name is added, every other case stays what it was."""
    return max(names, key=lambda name: (zlib.crc32(f"{seed}:{name}".encode()), name))


def generator(kind: str, seed: int) -> np.random.Generator:
    """Make the random numbers of one case."""
    return np.random.default_rng([zlib.crc32(kind.encode()), seed])
