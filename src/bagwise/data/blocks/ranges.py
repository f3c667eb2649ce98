"""Smallest and largest value of every feature, in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import min_max_axis

from bagwise.data.blocks.base import Block


@dataclass(frozen=True)
class ColumnRanges:
    """Minimum and maximum of every feature; adding two objects returns the ranges of the combined data.

    NaN is ignored. The range of a feature without values is NaN.
    """

    least: np.ndarray
    largest: np.ndarray

    @classmethod
    def of(cls, block: Block) -> Self:
        """Compute the ranges of a block, over the instances of bags with a positive weight."""
        X = block.X
        if not block.weight.all():
            X = X[block.weight_of_each > 0]
        if X.dtype.kind != "f":
            X = X.astype(np.float64)
        least = largest = np.full(X.shape[1], np.nan)
        if not sp.issparse(X):
            least, largest = (
                np.fmin.reduce(X, axis=0, initial=np.nan),
                np.fmax.reduce(X, axis=0, initial=np.nan),
            )
        elif X.shape[0]:
            least, largest = min_max_axis(X, axis=0, ignore_nan=True)
        return cls(least.astype(np.float64), largest.astype(np.float64))

    def __add__(self, other: ColumnRanges) -> ColumnRanges:
        return ColumnRanges(np.fmin(self.least, other.least), np.fmax(self.largest, other.largest))
