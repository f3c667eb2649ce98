"""Some of the bags of other blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.blocks.base import Block, Blocks
from bagwise.blocks.views import BlocksView


class PickedRows:
    """Some rows of a matrix, or some sequences, where they lie; indexing copies what it asks for.

    Attributes
    ----------
    matrix : array of shape (n, n_features), or Sequences
        All rows.
    rows : int64 array
        Which of them are meant.
    """

    def __init__(self, matrix: Any, rows: np.ndarray):
        self.matrix = matrix
        self.rows = rows

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows that are meant, and of columns."""
        return len(self.rows), self.matrix.shape[1]

    @property
    def size(self) -> int:
        """How many numbers or symbols they are."""
        if isinstance(self.matrix, np.ndarray):
            return len(self.rows) * self.matrix.shape[1]
        return int(self.matrix.lengths[self.rows].sum())

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: slice | np.ndarray) -> Any:
        return self.matrix[self.rows[key]]


class SelectedBlocks(BlocksView):
    """Those bags of other blocks that are wanted, picked out of each block as it is read.

    There are as many blocks as before, and one may be left without a bag. Where others lie between the
    instances of a block, they are `PickedRows`: nothing is copied before it is used.

    Parameters
    ----------
    blocks : Blocks
        All bags.
    wanted : bool array of shape (n_bags,)
        Which of them are wanted; they are numbered anew, in the same order.
    """

    def __init__(self, blocks: Blocks, wanted: np.ndarray):
        super().__init__(blocks)
        self._wanted = wanted
        self._new_numbers = np.append(0, np.cumsum(wanted))
        self.offsets = np.append(0, np.cumsum(np.diff(blocks.offsets)[wanted]))
        self.y, self.weight = blocks.y[wanted], blocks.weight[wanted]

    @property
    def whole(self) -> Any:
        """None: there may be others between the instances."""
        return None

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Give ``f(block, *args)`` of every block, in order: one pass."""
        return self._blocks.each(_selected, self._wanted, self._new_numbers, f, *args)

    def total(self, f: Callable[..., Any], *args: Any) -> Any:
        """Sum ``f(block, *args)`` over all blocks: one pass."""
        return self._blocks.total(_selected, self._wanted, self._new_numbers, f, *args)


def _selected(
    block: Block, wanted: np.ndarray, new_numbers: np.ndarray, f: Callable[..., Any], *args: Any
) -> Any:
    chosen = block.part_of(wanted)
    if block.first is not None:
        place: dict[str, Any] = {"first": int(new_numbers[block.first])}
    else:
        place = {"numbers": new_numbers[np.asarray(block.bags)[chosen]]}
    if not chosen.all():
        sizes = np.diff(block.offsets)
        rows = _as_slice(np.flatnonzero(np.repeat(chosen, sizes)))
        place |= {
            "X": _rows_of(block.X, rows),
            "offsets": np.append(0, np.cumsum(sizes[chosen])),
            "y": block.y[chosen],
            "weight": block.weight[chosen],
        }
        for name, which in (("instance_weight", rows), ("instance_y", rows), ("bag_features", chosen)):
            if (values := getattr(block, name)) is not None:
                place[name] = values[which]
    return f(block._replace(**place), *args)


def _rows_of(X: Any, rows: slice | np.ndarray) -> Any:
    if isinstance(rows, slice) or sp.issparse(X):
        return X[rows]
    return PickedRows(X, rows)


def _as_slice(rows: np.ndarray) -> slice | np.ndarray:
    """Write rows that follow each other as a slice, which copies nothing."""
    if len(rows) == 0:
        return slice(0, 0)
    is_run = rows[-1] - rows[0] == len(rows) - 1
    return slice(int(rows[0]), int(rows[-1]) + 1) if is_run else rows
