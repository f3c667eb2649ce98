"""Blocks of bags in files, which are read again in every pass, one block in advance."""

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

# More threads would only wait for the file, and every thread keeps one block in memory.
_MOST_WORKERS = 4
# Number of consecutive blocks that are read together if blocks are requested in random order.
_READ_TOGETHER = 8


class FileBlocks(Blocks):
    """Blocks of bags in files. The next block is read in advance, and only a few blocks are in memory.

    `Layout` defines which bags are in which block.

    Parameters
    ----------
    source : FileSource
        The source of the bags.
    indices : int64 array of shape (n_bags,)
        Indices of the bags in the source, in any order and possibly repeated.
    y, weight : arrays
        Labels and weights of the bags.
    dtype : dtype
        Data type of the instances that the blocks contain.
    check : callable, optional
        Function that is called with instances, offsets and ids of every block of the first pass. It raises
        an error for invalid data.
    most : int, optional
        Maximum number of instances in a block. A larger bag is a separate block.
    """

    def __init__(
        self,
        source: FileSource,
        indices: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        *,
        dtype: Any,
        check: Callable[..., None] | None = None,
        most: int | None = None,
    ):
        self.layout = Layout.of(source, indices, most)
        self.dtype = np.dtype(dtype)
        self.check = check
        self._buffers = Buffers()
        self.n_features = source.n_features
        self.y, self.weight = y, weight
        self.offsets = np.append(0, np.cumsum(np.diff(source.offsets)[indices]))
        self.n_blocks = len(self.layout.runs)

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Yield ``f(block, *args)`` for every block, in order: one pass, computed by a few threads."""
        self.n_passes += 1
        workers = min(n_threads(), self.n_blocks, _MOST_WORKERS)
        with one_blas_thread():
            for n_bags, result in _worked_on(_ahead(self._blocks(self.layout.runs)), f, args, workers):
                if self.on_block is not None:
                    self.on_block(n_bags)
                yield result
        self.check = None  # no second check is needed, because a changed file is an error

    def shuffled(self, rng: np.random.RandomState) -> Iterator[Block]:
        """Yield the blocks in random order: one pass.

        A few consecutive blocks are read together, because file units are larger than blocks.
        """
        self.n_passes += 1
        return _ahead(self._in_random_order(rng))

    def _in_random_order(self, rng: np.random.RandomState) -> Iterator[Block]:
        neighbours = cut_rows(self.n_blocks, _READ_TOGETHER)
        for group in rng.permutation(len(neighbours)):
            blocks = list(self._blocks(self.layout.runs[neighbours[group]]))
            yield from (blocks[i] for i in rng.permutation(len(blocks)))

    def _blocks(self, runs: list[slice]) -> Iterator[Block]:
        for block in self.layout.read(runs, self.dtype, check=self.check, buffers=self._buffers):
            yield block._replace(y=block.part_of(self.y), weight=block.part_of(self.weight))
            del block  # delete the reference, so that the next block can reuse the memory


_END: Any = object()


def _ahead(items: Iterator[Any]) -> Generator[Any, None, None]:
    """Yield items while a thread prepares the next item."""
    reader = ThreadPoolExecutor(1)
    thread = reader.submit(threading.get_ident).result()
    try:
        coming = reader.submit(next, items, _END)
        while (item := coming.result()) is not _END:
            coming = reader.submit(next, items, _END)
            yield item
    finally:
        # A thread cannot wait for itself, and an unfinished generator can be closed in any thread.
        reader.shutdown(wait=threading.get_ident() != thread)


def _worked_on(
    blocks: Generator[Block, None, None], f: Callable[..., Any], args: tuple[Any, ...], workers: int
) -> Iterator[tuple[int, Any]]:
    """Yield the number of bags and ``f(block, *args)`` for every block, in order."""
    if workers < 2:
        with closing(blocks):
            for block in blocks:
                yield block.n_bags, call(f, block, args)
        return
    with closing(blocks), ThreadPoolExecutor(workers) as pool:
        waiting: deque[tuple[int, Future[Any]]] = deque()
        for block in blocks:
            waiting.append((block.n_bags, pool.submit(call, f, block, args)))
            del block  # delete the reference: the pool then frees the memory after processing
            if len(waiting) > workers:
                n_bags, done = waiting.popleft()
                yield n_bags, done.result()
        for n_bags, done in waiting:
            yield n_bags, done.result()
