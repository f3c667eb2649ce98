"""Bags in files as blocks: read anew for every pass, a little ahead of whoever works on them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any, Protocol

import numpy as np

from bagwise._numba.arrays import readonly
from bagwise.blocks.base import Block, Blocks, call
from bagwise.blocks.buffers import Buffers
from bagwise.blocks.cutting import block_rows, cut, cut_rows
from bagwise.blocks.sharing import n_threads
from bagwise.threads import one_blas_thread

# More threads than this would wait for the file, and every one holds a block.
_MOST_WORKERS = 4
# So many blocks are read together where they are wanted in a random order.
_READ_TOGETHER = 8


class Piece(Protocol):
    """Some neighbouring instances, as a file gives them."""

    first: int
    """The number of the first of them in the source."""

    @property
    def n_rows(self) -> int:
        """How many they are."""

    def copy(self, begin: int, stop: int, out: np.ndarray) -> None:
        """Write the rows from `begin` to `stop` into `out`."""

    def take(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Write some rows, which rise, into `out`."""

    def sides(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Give the side columns of some rows."""


class Source(Protocol):
    """Bags in files: where each lies is known, their instances are read in units such as row groups."""

    offsets: np.ndarray
    """Where bags begin, in the order of the files."""
    unit_offsets: np.ndarray
    """Where units begin: int64 of shape (n_units + 1,)."""
    n_features: int

    def pieces(self, units: np.ndarray, *, sides: bool = False) -> Iterator[Piece]:
        """Read some units, whose numbers rise: all their instances, in their order, piece by piece."""


class FileBlocks(Blocks):
    """Blocks of bags that lie in files: one read ahead, and never more than a few in memory.

    A block has about 8 MB of doubles, or one bag if that is larger, whatever the units of the file are; the
    cut is that of the same bags in memory. Bags that were selected in another order than the file's stand in
    the order of the file, each block saying which they are; then every unit is still read once a pass.

    Parameters
    ----------
    source : Source
        Where the bags lie.
    numbers : int64 array of shape (n_bags,)
        Which bags of the source these are, in any order, also several times.
    y, weight : arrays
        Labels and weights of the bags.
    dtype : dtype
        Of the instances that are handed out.
    check : callable, optional
        Called with every block of the first pass, to refuse what a model cannot work on.
    most : int, optional
        The most instances of a block, unless a bag has more.
    """

    def __init__(
        self,
        source: Source,
        numbers: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        *,
        dtype: Any,
        check: Callable[[Block], None] | None = None,
        most: int | None = None,
    ):
        self._source = source
        self._dtype = np.dtype(dtype)
        self._check = check
        self._buffers = Buffers()
        self.n_features = source.n_features
        self.y, self.weight = y, weight
        self._sizes = sizes = np.diff(source.offsets)
        self.offsets = np.append(0, np.cumsum(sizes[numbers]))
        # The bags in the order of the file: each once, how often it is wanted, and by which numbers.
        self._order = np.argsort(numbers, kind="stable")
        self._bags, self._times = np.unique(numbers, return_counts=True)
        self._ends = np.append(0, np.cumsum(self._times))
        work = np.append(0, np.cumsum(sizes[self._bags] * self._times))
        self._runs = cut(work, block_rows(self.n_features) if most is None else most)
        self.n_blocks = len(self._runs)

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Give ``f(block, *args)`` of every block, in order: one pass, shared out to a few threads."""
        self.n_passes += 1
        workers = min(n_threads(), self.n_blocks, _MOST_WORKERS)
        with one_blas_thread():
            for n_bags, result in _worked_on(_ahead(self._blocks(self._runs)), f, args, workers):
                if self.on_block is not None:
                    self.on_block(n_bags)
                yield result
        self._check = None  # all is well: the file is refused if it changes

    def shuffled(self, rng: np.random.RandomState) -> Iterator[Block]:
        """Give every block in a random order: one pass.

        A few neighbours are read together, as units of files are larger than blocks.
        """
        self.n_passes += 1
        return _ahead(self._in_random_order(rng))

    def _in_random_order(self, rng: np.random.RandomState) -> Iterator[Block]:
        neighbours = cut_rows(self.n_blocks, _READ_TOGETHER)
        for number in rng.permutation(len(neighbours)):
            blocks = list(self._blocks(self._runs[neighbours[number]]))
            yield from (blocks[place] for place in rng.permutation(len(blocks)))

    def _blocks(self, runs: list[slice]) -> Iterator[Block]:
        bags = self._bags[runs[0].start : runs[-1].stop] if runs else self._bags[:0]
        by_run = (self._bags[run] for run in runs)
        read = read_runs(self._source, bags, by_run, self._dtype, buffers=self._buffers)
        for run, (X, _) in zip(runs, read, strict=True):
            block = self._block(run, X)
            if self._check is not None:
                self._check(block)
            yield block

    def _block(self, run: slice, X: np.ndarray) -> Block:
        times = self._times[run]
        sizes = self._sizes[self._bags[run]]
        if (times > 1).any():
            begins = np.append(0, np.cumsum(sizes))[:-1]
            X = X[ranges(np.repeat(begins, times), np.repeat(sizes, times))]
            sizes = np.repeat(sizes, times)
        (X,) = readonly(X)  # as in memory
        places = slice(int(self._ends[run.start]), int(self._ends[run.stop]))
        numbers = self._order[places]
        block = Block(X, np.append(0, np.cumsum(sizes)), self.y[numbers], self.weight[numbers])
        if (numbers == np.arange(places.start, places.stop)).all():
            return block._replace(first=places.start)
        return block._replace(first=None, numbers=numbers)


def read_runs(
    source: Source,
    bags: np.ndarray,
    runs: Iterable[np.ndarray],
    dtype: np.dtype,
    *,
    sides: bool = False,
    buffers: Buffers | None = None,
) -> Iterator[tuple[np.ndarray, dict[str, list[np.ndarray]]]]:
    """Read runs of bags one after the other, each into a matrix of its own.

    Parameters
    ----------
    source : Source
        Where they lie.
    bags : int64 array
        The bags of all runs: numbers in the source, which rise.
    runs : iterable of int64 arrays
        The same, run by run.
    dtype : dtype
        Of the matrices.
    sides : bool
        Whether side columns of instances are wanted, too.
    buffers : Buffers, optional
        Where the matrices are to lie.

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
        del X  # so that its memory may be the next one's


def _units_of(source: Source, bags: np.ndarray) -> np.ndarray:
    """Which units hold some bags."""
    begins, stops = source.offsets[bags], source.offsets[bags + 1]
    low = np.searchsorted(source.unit_offsets, begins, side="right") - 1
    high = np.searchsorted(source.unit_offsets, stops, side="left")
    return np.unique(ranges(low, np.where(stops > begins, high - low, 0)))


def ranges(begins: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Join ranges of whole numbers, each by its begin and its length.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.blocks.files import ranges
    >>> ranges(np.array([10, 3]), np.array([2, 3]))
    array([10, 11,  3,  4,  5])
    """
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(begins - (ends - lengths), lengths)


_END: Any = object()


def _ahead(items: Iterator[Any]) -> Generator[Any, None, None]:
    """Give items, the next of which is always being made in a thread."""
    reader = ThreadPoolExecutor(1)
    thread = reader.submit(threading.get_ident).result()
    try:
        coming = reader.submit(next, items, _END)
        while (item := coming.result()) is not _END:
            coming = reader.submit(next, items, _END)
            yield item
    finally:
        # Nobody can wait for himself: what was left half-way may be cleared away in any thread.
        reader.shutdown(wait=threading.get_ident() != thread)


def _worked_on(
    blocks: Generator[Block, None, None], f: Callable[..., Any], args: tuple, workers: int
) -> Iterator[tuple[int, Any]]:
    """Give the number of bags and ``f(block, *args)`` of every block, in order."""
    if workers < 2:
        with closing(blocks):
            for block in blocks:
                yield block.n_bags, call(f, block, args)
        return
    with closing(blocks), ThreadPoolExecutor(workers) as pool:
        waiting: deque[tuple[int, Future]] = deque()
        for block in blocks:
            waiting.append((block.n_bags, pool.submit(call, f, block, args)))
            del block  # the pool holds on to it until it is done, and nobody longer
            if len(waiting) > workers:
                n_bags, done = waiting.popleft()
                yield n_bags, done.result()
        for n_bags, done in waiting:
            yield n_bags, done.result()
