"""Bags in memory as blocks: views of the instances, shared out to threads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._core.threads import one_blas_thread
from bagwise.data.blocks.base import Block, Blocks, call, own_parts, stack
from bagwise.data.blocks.cutting import block_rows, cut, cut_rows
from bagwise.data.blocks.sharing import n_threads, share_out

# So many blocks are computed for each thread before their results are handed on.
_AT_A_TIME = 8


class MemoryBlocks(Blocks):
    """Blocks of bags that lie in memory: nothing is copied.

    Parameters
    ----------
    X : array, CSR matrix or Sequences
        The instances, in any precision.
    offsets, y, weight : arrays
        Where bags begin, their labels and weights.
    most : int, optional
        The most instances of a block, unless a bag has more. By default 8 MB of doubles, or all if they are
        sparse or lie by columns.
    runs : list of slice, optional
        The bags of every block, in place of `most`.
    in_threads : bool
        Whether blocks are shared out to threads.
    """

    def __init__(
        self,
        X: Any,
        offsets: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        *,
        most: int | None = None,
        runs: list[slice] | None = None,
        in_threads: bool = True,
    ):
        # The same numbers at another alignment have other last digits in BLAS.
        is_by_column = isinstance(X, np.ndarray) and X.flags.f_contiguous and not X.flags.c_contiguous
        if isinstance(X, np.ndarray) and not is_by_column:
            X = np.require(X, requirements=["C", "A"])
        self.X = X
        self.offsets, self.y, self.weight = offsets, y, weight
        self.n_features = X.shape[1]
        if most is None:
            # A part of a sparse matrix is a copy, and one of columns is not contiguous.
            is_whole = sp.issparse(X) or is_by_column
            most = int(offsets[-1]) if is_whole else block_rows(X.size // max(1, X.shape[0]))
        self._runs = cut(offsets, most) if runs is None else runs
        self.n_blocks = len(self._runs)
        self._in_threads = in_threads

    @property
    def whole(self) -> Any:
        """All instances at once."""
        return self.X

    @property
    def n_values(self) -> int:
        """How many numbers the instances have; zeros of sparse ones do not count, symbols of sequences do."""
        return self.X.nnz if sp.issparse(self.X) else self.X.size

    def block(self, number: int) -> Block:
        """Give one block."""
        bags = self._runs[number]
        rows = slice(int(self.offsets[bags.start]), int(self.offsets[bags.stop]))
        offsets = self.offsets[bags.start : bags.stop + 1] - rows.start
        return Block(self.X[rows], offsets, self.y[bags], self.weight[bags], bags.start)

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Give ``f(block, *args)`` of every block, in order: one pass, shared out to threads."""
        if self.n_blocks == 1:
            yield self.total(f, *args)
            return
        self.n_passes += 1

        def work(number: int) -> Any:
            return call(f, self.block(number), args)

        for numbers in cut_rows(self.n_blocks, _AT_A_TIME * n_threads()):
            several = range(numbers.start, numbers.stop)
            if len(several) == 1 or not self._in_threads:
                results = [work(number) for number in several]
            else:
                with one_blas_thread():
                    results = share_out(work, several)
            for number, result in zip(several, results, strict=True):
                if self.on_block is not None:
                    self.on_block(self._runs[number].stop - self._runs[number].start)
                yield result

    def total(self, f: Callable[..., Any], *args: Any) -> Any:
        """Sum ``f(block, *args)`` over all blocks: one pass; of a single block, it is what `f` returns."""
        if self.n_blocks != 1:
            return super().total(f, *args)
        self.n_passes += 1
        block = self.block(0)
        result = f(block, *own_parts(block, args))
        if self.on_block is not None:
            self.on_block(self.n_bags)
        return result


def sparse_in_parts(blocks: Blocks) -> Blocks:
    """Cut sparse instances in memory into parts as dense ones are, for passes that copy what they read.

    By themselves they are one block, because a part of a sparse matrix is a copy; all others are as they are.
    """
    X = blocks.whole
    if not sp.issparse(X):
        return blocks
    runs = cut(X.indptr[blocks.offsets], block_rows(1))
    return MemoryBlocks(X, blocks.offsets, blocks.y, blocks.weight, runs=runs)


def hold(blocks: Blocks, dtype: Any = None, *, recut: bool = False) -> MemoryBlocks:
    """Read blocks into memory, cut where they are cut: one pass, and any number over what it gives.

    With `recut` they are cut anew: after a selection, few bags may be left in many blocks.

    Only for blocks that are not large. Bags in memory are not copied, unless `dtype` is another than theirs.
    Later passes do not begin threads, which would take a good part of the time of a pass over so few.
    """
    if isinstance(blocks, MemoryBlocks):
        blocks.n_passes += 1
        X, offsets, y, weight = blocks.X, blocks.offsets, blocks.y, blocks.weight
        runs = blocks._runs
    else:
        parts = list(blocks.each(_copied))
        X = stack([part.X for part in parts])
        y, weight = (np.concatenate([getattr(part, name) for part in parts]) for name in ("y", "weight"))
        offsets = np.append(0, np.cumsum(np.concatenate([np.diff(part.offsets) for part in parts])))
        ends = np.append(0, np.cumsum([part.n_bags for part in parts]))
        runs = [slice(int(begin), int(end)) for begin, end in itertools.pairwise(ends)]
    if isinstance(X, np.ndarray) and dtype is not None:
        X = X.astype(dtype, copy=False)
    # Where no bag is left, there is still a block to look at.
    runs_or_new = None if recut and len(offsets) > 1 else runs
    return MemoryBlocks(X, offsets, y, weight, runs=runs_or_new, in_threads=False)


def _copied(block: Block) -> Block:
    """Give a block that does not refer to where it was read from."""
    X = block.X.copy() if isinstance(block.X, np.ndarray) else block.X[:]
    return Block(X, block.offsets.copy(), block.y.copy(), block.weight.copy())
