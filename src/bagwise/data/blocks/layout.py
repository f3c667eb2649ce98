"""The assignment of bags in files to blocks, and functions that read blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from bagwise._core.compiled.arrays import readonly
from bagwise.data.blocks.base import Block
from bagwise.data.blocks.buffers import Buffers
from bagwise.data.blocks.cutting import block_rows, cut

if TYPE_CHECKING:
    from bagwise.data.scanned.source import FileSource

_NOTHING = np.empty(0)


class Piece(Protocol):
    """Consecutive instances that were read from a file."""

    first: int
    """The index of the first instance in the source."""

    @property
    def n_rows(self) -> int:
        """The number of instances."""

    def copy(self, begin: int, stop: int, out: np.ndarray) -> None:
        """Write the rows from `begin` to `stop` into `out`."""

    def take(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Write the rows with these increasing indices into `out`."""

    def sides(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Return the side columns of the rows with these indices."""


@dataclass(frozen=True)
class Layout:
    """Instructions for reading the bags of every block; contains no instances, labels or weights.

    A block has about 8 MB of doubles, or one bag if that is larger. The block boundaries do not depend on the
    units of the file; they are the same as for bags in memory. Bags that were selected in a different order
    are read in file order, so that a pass reads every unit only once. Each block then contains the indices of
    its bags.

    Attributes
    ----------
    source : FileSource
        The source of the bags.
    bags, times : int64 arrays
        The distinct indices of the selected bags in the source, in file order, and how often each is
        selected.
    indices : int64 array
        The indices of the bags among all selected bags, in file order; a repeated bag has several entries.
    runs : list of slice
        The positions in `bags` of the bags of every block.
    first_index : int
        The position of the first entry of `indices` in the whole layout, if this is a part of a layout.
    """

    source: FileSource
    bags: np.ndarray
    times: np.ndarray
    indices: np.ndarray
    runs: list[slice]
    first_index: int = 0

    @classmethod
    def of(cls, source: FileSource, indices: np.ndarray, most: int | None = None) -> Layout:
        """Split the bags with these indices, in any order and possibly repeated, into blocks."""
        bags, times = np.unique(indices, return_counts=True)
        work = np.append(0, np.cumsum(np.diff(source.offsets)[bags] * times))
        runs = cut(work, block_rows(source.n_features) if most is None else most)
        return cls(source, bags, times, np.argsort(indices, kind="stable"), runs)

    def part(self, begin: int, stop: int) -> Layout:
        """Return the layout of the blocks from `begin` to `stop`, with only their part of the source."""
        bags = slice(self.runs[begin].start, self.runs[stop - 1].stop)
        selected = self.bags[bags].tolist() or [0]
        source = self.source.part(selected[0], selected[-1] + 1)
        runs = [slice(run.start - bags.start, run.stop - bags.start) for run in self.runs[begin:stop]]
        positions = self._positions(bags)
        relative = self.bags[bags] - (source.first_bag - self.source.first_bag)
        first_index = self.first_index + positions.start
        return Layout(source, relative, self.times[bags], self.indices[positions], runs, first_index)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # without cached properties

    def headers(self) -> Iterator[Block]:
        """Yield every block without instances, labels and weights."""
        for run in self.runs:
            yield self._block(run, None)

    def read(
        self,
        runs: list[slice],
        dtype: np.dtype,
        *,
        check: Callable[..., None] | None = None,
        buffers: Buffers | None = None,
    ) -> Iterator[Block]:
        """Read consecutive blocks, without labels and weights.

        Parameters
        ----------
        runs : list of slice
            Consecutive entries of `self.runs`.
        dtype : dtype
            Data type of the instances.
        check : callable, optional
            Function that is called with instances, offsets and ids of every block. It raises an error for
            invalid data.
        buffers : Buffers, optional
            Memory for the instances.
        """
        bags = self.bags[runs[0].start : runs[-1].stop] if runs else self.bags[:0]
        matrices = read_runs(self.source, bags, (self.bags[run] for run in runs), dtype, buffers=buffers)
        for run, (X, _) in zip(runs, matrices, strict=True):
            block = self._block(run, X)
            if check is not None:
                check(block.X, block.offsets, self.source.named(np.repeat(self.bags[run], self.times[run])))
            yield block

    def describe_block(self, run: slice) -> str:
        """Describe the bags of a block and their location, for error messages."""
        bags = self.bags[run]
        ids = self.source.named(bags).tolist()
        shown = (
            f"bag {ids[0]!r}" if len(ids) == 1 else f"bags {ids[0]!r} to {ids[-1]!r}" if ids else "no bags"
        )
        return f"{self.source.describe_location(bags)} ({shown})"

    @cached_property
    def _sizes(self) -> np.ndarray:
        return np.diff(self.source.offsets)[self.bags]

    @cached_property
    def _ends(self) -> np.ndarray:
        return np.append(0, np.cumsum(self.times))

    def _positions(self, run: slice) -> slice:
        """Return the positions in `indices` of the bags of a run."""
        return slice(int(self._ends[run.start]), int(self._ends[run.stop]))

    def _block(self, run: slice, X: np.ndarray | None) -> Block:
        times, sizes = self.times[run], self._sizes[run]
        if (times > 1).any():
            begins = np.append(0, np.cumsum(sizes))[:-1]
            if X is not None:
                X = X[ranges(np.repeat(begins, times), np.repeat(sizes, times))]
            sizes = np.repeat(sizes, times)
        if X is not None:
            (X,) = readonly(X)  # as in blocks in memory
        positions = self._positions(run)
        indices, first = self.indices[positions], self.first_index + positions.start
        block = Block(X, np.append(0, np.cumsum(sizes)), _NOTHING, _NOTHING)
        if (indices == np.arange(first, first + len(indices))).all():
            return block._replace(first=first)
        return block._replace(first=None, indices=indices)


def read_runs(
    source: FileSource,
    bags: np.ndarray,
    runs: Iterable[np.ndarray],
    dtype: np.dtype,
    *,
    sides: bool = False,
    buffers: Buffers | None = None,
) -> Iterator[tuple[np.ndarray, dict[str, list[np.ndarray]]]]:
    """Read runs of bags, each into a separate matrix.

    Parameters
    ----------
    source : FileSource
        The source of the bags.
    bags : int64 array
        The bags of all runs, as increasing indices in the source.
    runs : iterable of int64 arrays
        The same indices, split into runs.
    dtype : dtype
        Data type of the matrices.
    sides : bool
        Whether to read the side columns of the instances as well.
    buffers : Buffers, optional
        Memory for the matrices.

    Yields
    ------
    X : array of shape (n_instances, n_features)
    columns : dict of str to list of arrays
        Side columns, in parts as they were read.
    """
    buffers = Buffers() if buffers is None else buffers
    pieces = source.pieces(_units_of(source, bags), sides=sides)
    piece: Piece | None = None
    sizes = np.diff(source.offsets)
    for run in runs:
        rows = ranges(source.offsets[run], sizes[run])
        X = buffers.empty((len(rows), source.n_features), dtype)
        columns: dict[str, list[np.ndarray]] = {}
        filled = 0
        while filled < len(rows):
            while piece is None or piece.first + piece.n_rows <= rows[filled]:
                piece = next(pieces)
            stop = int(np.searchsorted(rows, piece.first + piece.n_rows))
            inside = rows[filled:stop] - piece.first
            if len(inside) == inside[-1] - inside[0] + 1:
                piece.copy(int(inside[0]), int(inside[-1]) + 1, X[filled:stop])
            else:
                piece.take(inside, X[filled:stop])
            if sides:
                for name, values in piece.sides(inside).items():
                    columns.setdefault(name, []).append(values)
            filled = stop
        yield X, columns
        del X  # delete the reference, so that the next run can reuse the memory


def _units_of(source: FileSource, bags: np.ndarray) -> np.ndarray:
    """Return the indices of the units that contain these bags."""
    begins, stops = source.offsets[bags], source.offsets[bags + 1]
    low = np.searchsorted(source.unit_offsets, begins, side="right") - 1
    high = np.searchsorted(source.unit_offsets, stops, side="left")
    return np.unique(ranges(low, np.where(stops > begins, high - low, 0)))


def ranges(begins: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Concatenate integer ranges that are defined by starts and lengths.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.data.blocks.layout import ranges
    >>> ranges(np.array([10, 3]), np.array([2, 3]))
    array([10, 11,  3,  4,  5])
    """
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(begins - (ends - lengths), lengths)
