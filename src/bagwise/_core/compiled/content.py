"""Hash keys of instances, which depend only on their content."""

from __future__ import annotations

import numpy as np

from bagwise._core.compiled.compiling import kernel


@kernel
def content_keys(values, offsets):
    """Return a 64-bit hash of ``values[offsets[i]:offsets[i + 1]]`` for every instance i: shape (n,).

    Instances with equal content have equal keys, independent of their position. Keys of different content are
    practically random (the finalizer of MurmurHash3, applied word by word). O(number of words).
    """
    low, high = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
    half, third = np.uint64(32), np.uint64(29)
    keys = np.empty(len(offsets) - 1, dtype=np.uint64)
    for i in range(len(keys)):
        key = high
        for j in range(offsets[i], offsets[i + 1]):
            key = (key ^ values[j]) * low
            key ^= key >> half
        key = (key ^ (key >> third)) * high
        keys[i] = key ^ (key >> half)
    return keys
