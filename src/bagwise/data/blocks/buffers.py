"""Memory that is used again as soon as nobody refers to it."""

from __future__ import annotations

import sys
import threading

import numpy as np


class Buffers:
    """Arrays of similar size, one after the other, in a few pieces of memory.

    Blocks that come from a file are many, and only a few are in use at any time. A piece of memory is given
    out again when no array refers to it any more: whoever keeps a block, or a part of it, keeps its numbers.

    Examples
    --------
    >>> from bagwise.data.blocks.buffers import Buffers
    >>> buffers = Buffers()
    >>> kept = buffers.empty((2, 3), float)
    >>> again = buffers.empty((2, 3), float)  # not the same
    >>> del again
    >>> again = buffers.empty((1, 2), float)  # the one that was let go
    >>> len(buffers)
    2
    """

    def __init__(self) -> None:
        self._pieces: list[np.ndarray] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._pieces)

    def empty(self, shape: tuple[int, int], dtype: np.dtype | type) -> np.ndarray:
        """Give an array of a shape and dtype, C-ordered and aligned; its values are arbitrary."""
        dtype = np.dtype(dtype)
        n_bytes = shape[0] * shape[1] * dtype.itemsize
        with self._lock:
            return self._free(n_bytes)[:n_bytes].view(dtype).reshape(shape)

    def _free(self, n_bytes: int) -> np.ndarray:
        for number in range(len(self._pieces)):
            # Arrays that lie in it refer to it.
            if sys.getrefcount(self._pieces[number]) <= _ALONE:
                if len(self._pieces[number]) >= n_bytes:
                    return self._pieces[number]
                del self._pieces[number]  # too small: others will be, too
                break
        self._pieces.append(np.empty(n_bytes, np.uint8))
        return self._pieces[-1]


def _references_to_what_is_alone() -> int:
    pieces = [np.empty(1, np.uint8)]
    return sys.getrefcount(pieces[0])


_ALONE = _references_to_what_is_alone()
