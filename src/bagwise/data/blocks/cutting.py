"""Where blocks begin and end: the one place that cuts."""

from __future__ import annotations

import numpy as np

# A block is read once or a few times: so large that a call costs nothing beside it, and so small that several
# fit into the processor's last cache, or many into memory.
BLOCK_BYTES = 8 * 2**20


def cut(offsets: np.ndarray, most: float) -> list[slice]:
    """Cut items into runs of at most `most` units, or of one item where that has more.

    `offsets` says where items begin and end, in whatever unit is counted: ``offsets[i + 1] - offsets[i]`` is
    the size of item i. So bags are cut by their instances, and bags with unequal work by that.

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
    """Cut rows into runs of at most `most`."""
    borders = [*range(0, n_rows, most), n_rows]
    return list(map(slice, borders[:-1], borders[1:]))


def block_rows(n_columns: int) -> int:
    """How many rows of so many doubles make a block."""
    return max(1, BLOCK_BYTES // (8 * max(1, n_columns)))
