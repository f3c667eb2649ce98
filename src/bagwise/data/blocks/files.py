"""Bags in files as blocks: read anew for every pass, a little ahead of whoever works on them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from bagwise._core.threads import one_blas_thread
from bagwise.data.blocks.base import Block, Blocks, call
from bagwise.data.blocks.buffers import Buffers
from bagwise.data.blocks.cutting import cut_rows
from bagwise.data.blocks.layout import Layout
from bagwise.data.blocks.sharing import n_threads

if TYPE_CHECKING:
    from bagwise.data.scanned.source import FileSource

# More threads than this would wait for the file, and every one holds a block.
_MOST_WORKERS = 4
# So many blocks are read together where they are wanted in a random order.
_READ_TOGETHER = 8


class FileBlocks(Blocks):
    """Blocks of bags that lie in files: one read ahead, and never more than a few in memory.

    `Layout` says which bags are in which block.

    Parameters
    ----------
    source : FileSource
        Where the bags lie.
    numbers : int64 array of shape (n_bags,)
        Which bags of the source these are, in any order, also several times.
    y, weight : arrays
        Labels and weights of the bags.
    dtype : dtype
        Of the instances that are handed out.
    check : callable, optional
        Called with instances, offsets and ids of every block of the first pass, to refuse what a model
        cannot work on.
    most : int, optional
        The most instances of a block, unless a bag has more.
    """

    def __init__(
        self,
        source: FileSource,
        numbers: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        *,
        dtype: Any,
        check: Callable[..., None] | None = None,
        most: int | None = None,
    ):
        self.layout = Layout.of(source, numbers, most)
        self.dtype = np.dtype(dtype)
        self.check = check
        self._buffers = Buffers()
        self.n_features = source.n_features
        self.y, self.weight = y, weight
        self.offsets = np.append(0, np.cumsum(np.diff(source.offsets)[numbers]))
        self.n_blocks = len(self.layout.runs)

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Give ``f(block, *args)`` of every block, in order: one pass, shared out to a few threads."""
        self.n_passes += 1
        workers = min(n_threads(), self.n_blocks, _MOST_WORKERS)
        with one_blas_thread():
            for n_bags, result in _worked_on(_ahead(self._blocks(self.layout.runs)), f, args, workers):
                if self.on_block is not None:
                    self.on_block(n_bags)
                yield result
        self.check = None  # all is well: the file is refused if it changes

    def shuffled(self, rng: np.random.RandomState) -> Iterator[Block]:
        """Give every block in a random order: one pass.

        A few neighbours are read together, as units of files are larger than blocks.
        """
        self.n_passes += 1
        return _ahead(self._in_random_order(rng))

    def _in_random_order(self, rng: np.random.RandomState) -> Iterator[Block]:
        neighbours = cut_rows(self.n_blocks, _READ_TOGETHER)
        for number in rng.permutation(len(neighbours)):
            blocks = list(self._blocks(self.layout.runs[neighbours[number]]))
            yield from (blocks[place] for place in rng.permutation(len(blocks)))

    def _blocks(self, runs: list[slice]) -> Iterator[Block]:
        for block in self.layout.read(runs, self.dtype, check=self.check, buffers=self._buffers):
            yield block._replace(y=block.part_of(self.y), weight=block.part_of(self.weight))
            del block  # so that its memory may be the next one's


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
    blocks: Generator[Block, None, None], f: Callable[..., Any], args: tuple[Any, ...], workers: int
) -> Iterator[tuple[int, Any]]:
    """Give the number of bags and ``f(block, *args)`` of every block, in order."""
    if workers < 2:
        with closing(blocks):
            for block in blocks:
                yield block.n_bags, call(f, block, args)
        return
    with closing(blocks), ThreadPoolExecutor(workers) as pool:
        waiting: deque[tuple[int, Future[Any]]] = deque()
        for block in blocks:
            waiting.append((block.n_bags, pool.submit(call, f, block, args)))
            del block  # the pool holds on to it until it is done, and nobody longer
            if len(waiting) > workers:
                n_bags, done = waiting.popleft()
                yield n_bags, done.result()
        for n_bags, done in waiting:
            yield n_bags, done.result()
