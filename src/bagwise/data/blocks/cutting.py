"""Block boundaries: the only module that splits items into blocks."""

from __future__ import annotations

import numpy as np

# A block is large enough that the overhead of a call is negligible, and small enough that several blocks fit
# in the last-level cache, and many in memory.
BLOCK_BYTES = 8 * 2**20


def cut(offsets: np.ndarray, most: float) -> list[slice]:
    """Split items into runs of at most `most` units; an item with more units is a separate run.

    ``offsets[i + 1] - offsets[i]`` is the size of item i. The unit of size is arbitrary: bags are split by
    number of instances or by amount of work.

    Examples
    --------
    >>> from bagwise.data.blocks import cut
    >>> cut([0, 2, 4, 9, 10], 4)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    offsets = np.asarray(offsets)
    runs, start, n_items = [], 0, len(offsets) - 1
    while start < n_items:
        stop = int(np.searchsorted(offsets, offsets[start] + most, side="right")) - 1
        stop = max(start + 1, min(stop, n_items))
        runs.append(slice(start, stop))
        start = stop
    return runs


def cut_rows(n_rows: int, most: int) -> list[slice]:
    """Split rows into runs of at most `most` rows."""
    borders = [*range(0, n_rows, most), n_rows]
    return list(map(slice, borders[:-1], borders[1:]))


def block_rows(n_columns: int) -> int:
    """Return the number of rows per block, for rows of `n_columns` doubles."""
    return max(1, BLOCK_BYTES // (8 * max(1, n_columns)))
