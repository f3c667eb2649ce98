"""Blocks of bags in memory: views of the instances, distributed to threads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import scipy.sparse as sp

from bagwise._core.compiled.arrays import readonly
from bagwise._core.precision import computing_dtype, convert_into
from bagwise._core.threads import one_blas_thread
from bagwise.data.blocks.base import Block, Blocks, call, parts_of_block, stack
from bagwise.data.blocks.buffers import Buffers
from bagwise.data.blocks.cutting import block_rows, cut, cut_rows
from bagwise.data.blocks.sharing import n_threads, share_out

# Number of blocks per thread that are computed before their results are passed on.
_AT_A_TIME = 8

# Memory for converted blocks, shared by all objects and freed with the last of them.
_BUFFERS: WeakValueDictionary[str, Buffers] = WeakValueDictionary()


class MemoryBlocks(Blocks):
    """Blocks of bags in memory, without copies of float32 and float64 instances.

    Parameters
    ----------
    X : array, CSR matrix or Sequences
        The instances, in any precision. 16-bit floats and integers are converted block by block, to float32
        and float64.
    offsets, y, weight : arrays
        Start indices, labels and weights of the bags.
    most : int, optional
        Maximum number of instances in a block; a larger bag is a separate block. The default is 8 MB of
        doubles. Sparse and Fortran-ordered instances are one block by default.
    runs : list of slice, optional
        The bags of every block, instead of `most`.
    in_threads : bool
        Whether to compute blocks in several threads.
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
        # The alignment of an array changes the rounding of BLAS.
        is_by_column = isinstance(X, np.ndarray) and X.flags.f_contiguous and not X.flags.c_contiguous
        if isinstance(X, np.ndarray) and not is_by_column:
            X = np.require(X, requirements=["C", "A"])
        self.X = X
        self.offsets, self.y, self.weight = offsets, y, weight
        self.n_features = X.shape[1]
        if most is None:
            # Slices of a sparse matrix are copies, and row slices of a Fortran-ordered array are not
            # contiguous.
            is_whole = sp.issparse(X) or is_by_column
            most = int(offsets[-1]) if is_whole else block_rows(X.size // max(1, X.shape[0]))
        self._runs = cut(offsets, most) if runs is None else runs
        self.n_blocks = len(self._runs)
        self._in_threads = in_threads
        is_array = isinstance(X, np.ndarray) and X.dtype != object
        self._buffers = None
        if is_array and X.dtype not in (np.float32, np.float64):
            self._buffers = _BUFFERS.setdefault("converted", Buffers())

    @property
    def whole(self) -> Any:
        """All instances."""
        return self.X

    @property
    def n_values(self) -> int:
        """The number of values of all instances: stored values if sparse, symbols of sequences."""
        return self.X.nnz if sp.issparse(self.X) else self.X.size

    def block(self, index: int) -> Block:
        """Return the block with this index."""
        bags = self._runs[index]
        rows = slice(int(self.offsets[bags.start]), int(self.offsets[bags.stop]))
        offsets = self.offsets[bags.start : bags.stop + 1] - rows.start
        X = self.X[rows]
        if self._buffers is not None:
            stored, X = X, self._buffers.empty(X.shape, computing_dtype(X.dtype))
            convert_into(X, stored)
            (X,) = readonly(X)  # like stored instances
        return Block(X, offsets, self.y[bags], self.weight[bags], bags.start)

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Yield ``f(block, *args)`` for every block, in order: one pass, computed by several threads."""
        if self.n_blocks == 1:
            yield self.total(f, *args)
            return
        self.n_passes += 1

        def work(index: int) -> Any:
            return call(f, self.block(index), args)

        for batch in cut_rows(self.n_blocks, _AT_A_TIME * n_threads()):
            indices = range(batch.start, batch.stop)
            if len(indices) == 1 or not self._in_threads:
                results = [work(index) for index in indices]
            else:
                with one_blas_thread():
                    results = share_out(work, indices)
            for index, result in zip(indices, results, strict=True):
                if self.on_block is not None:
                    self.on_block(self._runs[index].stop - self._runs[index].start)
                yield result

    def total(self, f: Callable[..., Any], *args: Any) -> Any:
        """Sum ``f(block, *args)`` over all blocks: one pass. With a single block, there is nothing to add."""
        if self.n_blocks != 1:
            return super().total(f, *args)
        self.n_passes += 1
        block = self.block(0)
        result = f(block, *parts_of_block(block, args))
        if self.on_block is not None:
            self.on_block(self.n_bags)
        return result


def sparse_in_parts(blocks: Blocks) -> Blocks:
    """Split sparse instances in memory into blocks of the same size as dense ones; keep other blocks.

    By default, sparse instances are one block, because slices of a sparse matrix are copies. Smaller blocks
    are useful in passes that copy the instances anyway.
    """
    X = blocks.whole
    if not sp.issparse(X):
        return blocks
    runs = cut(X.indptr[blocks.offsets], block_rows(1))
    return MemoryBlocks(X, blocks.offsets, blocks.y, blocks.weight, runs=runs)


def hold(blocks: Blocks, dtype: Any = None, *, recut: bool = False) -> MemoryBlocks:
    """Read blocks into memory in one pass, so that further passes do not read the original blocks.

    The block boundaries are kept, or computed again with `recut`, because a selection can leave many blocks
    with few bags.

    Use this only for blocks that are not large. Bags in memory are copied only if `dtype` differs from their
    data type. Passes over the result do not start threads, because that would take too much of the short time
    of a pass.
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
    # Without bags, the old boundaries are kept, so that there is at least one block.
    runs_or_new = None if recut and len(offsets) > 1 else runs
    return MemoryBlocks(X, offsets, y, weight, runs=runs_or_new, in_threads=False)


def _copied(block: Block) -> Block:
    """Return a copy of a block that does not refer to the original arrays."""
    X = block.X.copy() if isinstance(block.X, np.ndarray) else block.X[:]
    return Block(X, block.offsets.copy(), block.y.copy(), block.weight.copy())
