"""Memory that is reused once no array refers to it."""

from __future__ import annotations

import sys
import threading

import numpy as np


class Buffers:
    """Memory pool for many arrays of similar size, only a few of which are in use at a time.

    The pool is used for blocks that are read from files. A piece of memory is reused only once no array
    refers to it. Therefore the values of a block stay valid while the block or a view of it exists.

    Examples
    --------
    >>> from bagwise.data.blocks.buffers import Buffers
    >>> buffers = Buffers()
    >>> kept = buffers.empty((2, 3), float)
    >>> again = buffers.empty((2, 3), float)  # a second piece of memory
    >>> del again
    >>> again = buffers.empty((1, 2), float)  # reuses the second piece
    >>> len(buffers)
    2
    """

    def __init__(self) -> None:
        self._pieces: list[np.ndarray] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._pieces)

    def empty(self, shape: tuple[int, int], dtype: np.dtype | type) -> np.ndarray:
        """Return a C-ordered, aligned array of this shape and dtype with arbitrary values."""
        dtype = np.dtype(dtype)
        n_bytes = shape[0] * shape[1] * dtype.itemsize
        with self._lock:
            return self._free(n_bytes)[:n_bytes].view(dtype).reshape(shape)

    def _free(self, n_bytes: int) -> np.ndarray:
        for i in range(len(self._pieces)):
            # Every array in this piece of memory holds a reference to it.
            if sys.getrefcount(self._pieces[i]) <= _ALONE:
                if len(self._pieces[i]) >= n_bytes:
                    return self._pieces[i]
                del self._pieces[i]  # the memory is too small, and the next blocks will need as much
                break
        self._pieces.append(np.empty(n_bytes, np.uint8))
        return self._pieces[-1]


def _references_to_what_is_alone() -> int:
    pieces = [np.empty(1, np.uint8)]
    return sys.getrefcount(pieces[0])


_ALONE = _references_to_what_is_alone()
