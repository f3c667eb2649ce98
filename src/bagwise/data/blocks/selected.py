"""Some of the bags of other blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.data.blocks.base import Block, Blocks, PerBlock, with_parts
from bagwise.data.blocks.views import BlocksView


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

    offsets: np.ndarray
    y: np.ndarray
    weight: np.ndarray

    def __init__(self, blocks: Blocks, wanted: np.ndarray):
        super().__init__(blocks)
        self._choice = _Choice(wanted)
        self.offsets = np.append(0, np.cumsum(np.diff(blocks.offsets)[wanted]))
        self.y, self.weight = blocks.y[wanted], blocks.weight[wanted]

    @property
    def whole(self) -> Any:
        """None: there may be others between the instances."""
        return None

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Give ``f(block, *args)`` of every block, in order: one pass."""
        return self._blocks.each(_selected, self._choice, f, *self._renumbered(args))

    def total(self, f: Callable[..., Any], *args: Any) -> Any:
        """Sum ``f(block, *args)`` over all blocks: one pass."""
        return self._blocks.total(_selected, self._choice, f, *self._renumbered(args))

    def _renumbered(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments of which every block gets its part, by the numbers that bags have here."""
        return with_parts(args, lambda argument: _OfChosen(argument, self._choice))


class _Choice(PerBlock):
    """Which bags of a block are wanted, and their numbers among all that are wanted."""

    def __init__(self, wanted: np.ndarray):
        self._wanted = wanted
        self._new_numbers = np.append(0, np.cumsum(wanted))

    def part(self, block: Block) -> tuple[np.ndarray, dict[str, Any]]:
        chosen = block.part_of(self._wanted)
        if block.first is not None:
            return chosen, {"first": int(self._new_numbers[block.first])}
        return chosen, {"numbers": self._new_numbers[np.asarray(block.bags)[chosen]]}


class _OfChosen(PerBlock):
    """An argument of which every block gets its part, where some of its bags have been chosen."""

    def __init__(self, argument: PerBlock, choice: _Choice):
        self._argument = argument
        self._choice = choice

    def part(self, block: Block) -> Any:
        chosen, place = self._choice.part(block)
        offsets = np.append(0, np.cumsum(np.diff(block.offsets)[chosen]))
        return self._argument.part(block._replace(X=None, offsets=offsets, **place))


def _selected(
    block: Block, choice: tuple[np.ndarray, dict[str, Any]], f: Callable[..., Any], *args: Any
) -> Any:
    chosen, place = choice
    if not chosen.all():
        sizes = np.diff(block.offsets)
        rows = _as_slice(np.flatnonzero(np.repeat(chosen, sizes)))
        place = place | {
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
