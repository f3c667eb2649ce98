"""Choose the tested object of a seed; a new object changes only the cases that are assigned to it."""

from __future__ import annotations

import zlib

import numpy as np


def chosen(seed: int, names: list[str]) -> str:
    """Return the name with the largest hash for this seed; adding a name changes no other assignments."""
    return max(names, key=lambda name: (zlib.crc32(f"{seed}:{name}".encode()), name))


def generator(kind: str, seed: int) -> np.random.Generator:
    """Return the random generator of one case."""
    return np.random.default_rng([zlib.crc32(kind.encode()), seed])
