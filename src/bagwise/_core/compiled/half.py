"""Conversion of float16 to float32; numpy converts value by value, which takes several times as long."""

from __future__ import annotations

import numpy as np

from bagwise._core.compiled.compiling import kernel

# Number of values per chunk; a chunk stays in the first-level cache.
CHUNK = 2048


@kernel
def half_to_single(half, bits, out):
    """Fill `out`, float32, with the values whose float16 bits are in `half`; `bits` is `out` as integers.

    The bits are shifted to their position in float32. A product with 2^112 then changes the bias of the
    exponent from 15 to 127, even for subnormal values. Before the product, the exponent of infinity and NaN
    is set to the largest one. The loop has no branches, so that the compiler uses vector instructions.
    """
    for begin in range(0, len(half), CHUNK):
        chunk = slice(begin, begin + CHUNK)
        source, target, values = half[chunk], bits[chunk], out[chunk]
        for i in range(len(source)):
            size = np.uint32(source[i]) & np.uint32(0x7FFF)
            is_not_finite = (size + np.uint32(0x400)) >> np.uint32(15)  # 0 or 1
            sign = (np.uint32(source[i]) & np.uint32(0x8000)) << np.uint32(16)
            target[i] = (size << np.uint32(13)) | (is_not_finite * np.uint32(0x7F800000)) | sign
        for i in range(len(values)):
            values[i] *= np.float32(2.0**112)
