"""Bags in memory as blocks: views of the instances, shared out to threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.blocks.base import Block, Blocks
from bagwise.blocks.cutting import block_rows, cut, cut_rows
from bagwise.blocks.sharing import n_threads, share_out
from bagwise.threads import one_blas_thread

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
    extras : dict, optional
        `instance_weight`, `instance_y`, `bag_features`, for all bags.
    """

    def __init__(
        self,
        X: Any,
        offsets: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        *,
        most: int | None = None,
        extras: dict[str, np.ndarray] | None = None,
    ):
        # The same numbers at another alignment have other last digits in BLAS.
        is_by_column = isinstance(X, np.ndarray) and X.flags.f_contiguous and not X.flags.c_contiguous
        if isinstance(X, np.ndarray) and not is_by_column:
            X = np.require(X, requirements=["C", "A"])
        self.X = X
        self.offsets, self.y, self.weight = offsets, y, weight
        self.n_features = X.shape[1]
        self._extras = extras or {}
        if most is None:
            # A part of a sparse matrix is a copy, and one of columns is not contiguous.
            is_whole = sp.issparse(X) or is_by_column
            most = int(offsets[-1]) if is_whole else block_rows(self.n_features)
        self._runs = cut(offsets, most)
        self.n_blocks = len(self._runs)

    @property
    def whole(self) -> Any:
        """All instances at once."""
        return self.X

    @property
    def n_values(self) -> int:
        """How many numbers the instances have; zeros of sparse ones do not count."""
        return self.X.nnz if sp.issparse(self.X) else super().n_values

    def block(self, number: int) -> Block:
        """Give one block."""
        bags = self._runs[number]
        rows = slice(int(self.offsets[bags.start]), int(self.offsets[bags.stop]))
        extras = {
            name: values[bags if name == "bag_features" else rows] for name, values in self._extras.items()
        }
        offsets = self.offsets[bags.start : bags.stop + 1] - rows.start
        return Block(self.X[rows], offsets, self.y[bags], self.weight[bags], bags.start, **extras)

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Give ``f(block, *args)`` of every block, in order: one pass, shared out to threads."""
        self.n_passes += 1

        def work(number: int) -> Any:
            return f(self.block(number), *args)

        for numbers in cut_rows(self.n_blocks, _AT_A_TIME * n_threads()):
            several = range(numbers.start, numbers.stop)
            if len(several) == 1:
                results = [work(number) for number in several]
            else:
                with one_blas_thread():
                    results = share_out(work, several)
            for number, result in zip(several, results, strict=True):
                if self.on_block is not None:
                    self.on_block(self._runs[number].stop - self._runs[number].start)
                yield result
