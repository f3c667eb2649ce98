"""A number for every instance that depends on nothing but its content."""

from __future__ import annotations

import numpy as np

from bagwise._core.compiled.compiling import kernel


@kernel
def content_keys(words, offsets):
    """Mix the 64-bit words ``words[offsets[i]:offsets[i + 1]]`` into one, for every i: shape (n,).

    Equal words have equal keys, in any place and order of the instances; others are as good as random (the
    finaliser of MurmurHash3, word by word). O(words).
    """
    low, high = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
    half, third = np.uint64(32), np.uint64(29)
    keys = np.empty(len(offsets) - 1, dtype=np.uint64)
    for i in range(len(keys)):
        key = high
        for j in range(offsets[i], offsets[i + 1]):
            key = (key ^ words[j]) * low
            key ^= key >> half
        key = (key ^ (key >> third)) * high
        keys[i] = key ^ (key >> half)
    return keys
