"""The data set that the checks receive: bags, labels, and summaries that are computed once and shared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._core.precision import is_numeric
from bagwise.data.bags import Bags, aligned
from bagwise.data.scanned import ScannedBags

_BLOCK_ELEMENTS = 2**20
# Float labels with more distinct values than this, not all of them integers, are treated as continuous.
_MOST_FRACTIONAL_CLASSES = 20


@dataclass
class FeatureSummary:
    """Summary of the finite values of every feature, and counts of the values that are not finite."""

    low: np.ndarray
    high: np.ndarray
    std: np.ndarray
    n_nan: int
    n_infinite: int
    first_bad: tuple[int, int] | None  # row and feature

    @property
    def constant(self) -> np.ndarray:
        """Whether each feature is constant (or has no finite value)."""
        return self.low >= self.high


class DataSet:
    """Bags and their labels, with cached summaries.

    Parameters
    ----------
    bags : Bags or ScannedBags
        The bags. For a scan, use only the checks that do not read instances.
    y : array of shape (n_bags,) or (n_bags, n_labels), or None
        Class labels, several binary labels per bag, continuous values, or None.
    """

    def __init__(self, bags: Bags | ScannedBags, y: Any = None):
        self.bags: Any = bags
        y = None if y is None else np.asarray(aligned("y", y, bags))
        if y is not None and y.shape[:1] != (len(bags),):
            raise ValueError(f"y has shape {y.shape} but there are {len(bags)} bags.")
        self.y = y[:, 0] if y is not None and y.ndim == 2 and y.shape[1] == 1 else y

    @property
    def is_numeric(self) -> bool:
        """Whether the instances have a real-valued numeric dtype."""
        return is_numeric(self.bags.instances.dtype)

    @property
    def kind(self) -> str:
        """Type of y.

        `"none"`, `"classes"`, `"labels"` (several per bag), `"numbers"` (continuous) or `"other"`.
        """
        if self.y is None:
            return "none"
        if self.y.ndim != 1:
            return "labels" if self.y.ndim == 2 and self.y.dtype.kind in "biuf" else "other"
        if self.y.dtype.kind == "f" and len(self.classes) > _MOST_FRACTIONAL_CLASSES:
            return "classes" if bool((self.classes % 1 == 0).all()) else "numbers"
        return "classes"

    @cached_property
    def _encoded(self) -> tuple[np.ndarray, np.ndarray]:
        y = self.y
        if y.dtype == object:
            y = y.astype(str)  # values of different types cannot be sorted
        classes, codes = np.unique(y, return_inverse=True, axis=None if y.ndim == 1 else 0)
        return classes, codes.ravel()

    @property
    def classes(self) -> np.ndarray:
        """Distinct labels (distinct rows of labels if there are several per bag)."""
        return self._encoded[0]

    @property
    def label_codes(self) -> np.ndarray:
        """Index of every bag's label in `classes`: bags with equal codes have equal labels."""
        return self._encoded[1]

    @property
    def problems(self) -> list[tuple[Any, np.ndarray]]:
        """Binary problems in y, as pairs of a label and a mask of the bags that have it.

        Two classes make one problem, more classes one problem per class, and several labels one per label.
        """
        if self.kind == "labels":
            return [(i, column != 0) for i, column in enumerate(self.y.T)]
        if self.kind != "classes" or len(self.classes) < 2:
            return []
        asked = [1] if len(self.classes) == 2 else range(len(self.classes))
        return [(self.classes[k], self.label_codes == k) for k in asked]

    def feature_name(self, column: int) -> Any:
        """Return the name of a feature, or its index if features have no names."""
        names = self.bags.feature_names
        return column if names is None else names[column]

    def bag_name(self, index: int) -> Any:
        """Return the id of the bag at an index."""
        return self.bags.ids[index]

    @cached_property
    def columns(self) -> FeatureSummary:
        """Summary of the features, computed in one pass over the instances."""
        return _summarise(self.bags.instances)

    @cached_property
    def row_codes(self) -> np.ndarray:
        """Integer code of every instance; equal codes mean equal rows."""
        from bagwise.evaluation.checks.rows import row_codes

        return row_codes(self.bags.instances)


def row_blocks(X: Any) -> Iterator[tuple[int, Any]]:
    """Yield blocks of rows that fit into the CPU cache, each with the index of its first row."""
    step = max(1, _BLOCK_ELEMENTS // max(1, X.shape[1]))
    for start in range(0, X.shape[0], step):
        yield start, X[start : start + step]


def _summarise(X: Any) -> FeatureSummary:
    if sp.issparse(X):
        return _summarise_sparse(X)
    n_features = X.shape[1]
    low, high = np.full(n_features, np.inf), np.full(n_features, -np.inf)
    n, mean, squares = np.zeros(n_features), np.zeros(n_features), np.zeros(n_features)
    n_nan = n_infinite = 0
    first_bad = None
    for start, rows in row_blocks(X):
        block = rows.astype(np.float64)
        finite = np.isfinite(block)
        n_finite = np.full(n_features, float(len(block)))
        is_whole = bool(finite.all())
        if not is_whole:
            if first_bad is None:
                row, column = np.argwhere(~finite)[0]
                first_bad = (start + int(row), int(column))
            nan = int(np.isnan(block).sum())
            n_nan += nan
            n_infinite += int((~finite).sum()) - nan
            n_finite = finite.sum(axis=0).astype(np.float64)
        low = np.minimum(low, block.min(axis=0, where=finite, initial=np.inf))
        high = np.maximum(high, block.max(axis=0, where=finite, initial=-np.inf))
        # Merge the means and sums of squares of two parts (Chan's formula): unlike E[x^2] - E[x]^2, this
        # does not suffer from cancellation.
        block_mean = block.sum(axis=0, where=finite) / np.maximum(n_finite, 1)
        block -= block_mean
        np.square(block, out=block)
        total = np.maximum(n + n_finite, 1)
        step = block_mean - mean
        squares += block.sum(axis=0, where=finite) + step**2 * n * n_finite / total
        mean += step * n_finite / total
        n += n_finite
    return FeatureSummary(low, high, np.sqrt(squares / np.maximum(n, 1)), n_nan, n_infinite, first_bad)


def _summarise_sparse(X: Any) -> FeatureSummary:
    values = X.data.astype(np.float64)
    bad = ~np.isfinite(values)
    first_bad = None
    if bad.any():
        position = int(np.argmax(bad))
        row = int(np.searchsorted(X.indptr, position, side="right")) - 1
        first_bad = (row, int(X.indices[position]))
    n_nan = int(np.isnan(values).sum())
    n_infinite = int(bad.sum()) - n_nan
    n_features = X.shape[1]
    n = X.shape[0] - np.bincount(X.indices[bad], minlength=n_features)
    values, column = values[~bad], X.indices[~bad]
    n_zeros = n - np.bincount(column, minlength=n_features)  # zeros that are not stored
    low, high = np.where(n_zeros > 0, 0.0, np.inf), np.where(n_zeros > 0, 0.0, -np.inf)
    np.minimum.at(low, column, values)
    np.maximum.at(high, column, values)
    mean = np.bincount(column, weights=values, minlength=n_features) / np.maximum(n, 1)
    squares = np.bincount(column, weights=(values - mean[column]) ** 2, minlength=n_features)
    squares += n_zeros * mean**2
    return FeatureSummary(low, high, np.sqrt(squares / np.maximum(n, 1)), n_nan, n_infinite, first_bad)
