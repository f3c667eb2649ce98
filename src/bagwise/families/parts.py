"""Instances for a family: in their stored form, or in small parts in double precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bagwise._core.compiled.arrays import ALL_ROWS, readonly
from bagwise.data.blocks import PickedRows, cut_rows
from bagwise.families.refusal import rows_named_by

# Maximum number of values in a part for a family that works in double precision. A part and a few arrays of
# the same size then fit in the processor cache.
_PART_VALUES = 2**16


def is_matrix(X: Any) -> bool:
    """Whether instances are rows of a matrix rather than sequences."""
    return isinstance(X.matrix if isinstance(X, PickedRows) else X, np.ndarray)


def part_rows(X: Any) -> int:
    """Return the number of instances in a part."""
    return max(1, _PART_VALUES * len(X) // max(1, X.size))


def picked(X: np.ndarray | PickedRows, rows: np.ndarray) -> PickedRows:
    """Return a selection of rows without copying the matrix."""
    return PickedRows(X.matrix, X.rows[rows]) if isinstance(X, PickedRows) else PickedRows(X, rows)


def complete_rows(X: np.ndarray | PickedRows) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the instances without missing values and of those with missing values."""
    parts = [np.isnan(X[rows]).any(axis=1) for rows in cut_rows(len(X), part_rows(X))]
    missing = np.concatenate([np.zeros(0, dtype=bool), *parts])
    return np.flatnonzero(~missing), np.flatnonzero(missing)


def for_kernels(X: np.ndarray | PickedRows) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix and the indices of its rows, as arguments for `_core.compiled.mixture`.

    The matrix is float32 if it was float32, otherwise float64.
    """
    matrix: Any = X
    rows = ALL_ROWS
    if isinstance(X, PickedRows):
        matrix, rows = (X.matrix, X.rows) if len(X) else (X[:], ALL_ROWS)
    dtype = np.float32 if matrix.dtype == np.float32 else np.float64
    return readonly(matrix, dtype=dtype)[0], readonly(rows)[0]


def parts(family: Any, X: Any) -> Iterator[tuple[slice, Any]]:
    """Yield the rows and the instances of every part for the methods of a family.

    There is a single part if the family accepts any precision (`Family.in_any_precision`) or if there are few
    instances.
    """
    if family.in_any_precision:
        yield slice(0, X.shape[0]), X
        return
    for rows in cut_rows(len(X), part_rows(X)) or [slice(0, 0)]:
        part = X[rows]
        yield rows, part.astype(np.float64, copy=False) if isinstance(part, np.ndarray) else part


def of_instances(family: Any, method: str, X: Any, *args: Any) -> np.ndarray:
    """Return ``family.method(X, *args)``, with one value per instance."""
    values = [getattr(family, method)(part, *args) for _, part in parts(family, X)]
    return values[0] if len(values) == 1 else np.concatenate(values)


def statistics_of(family: Any, X: Any, weight: np.ndarray, params: Any, prior: Any) -> np.ndarray:
    """Return ``family.statistics(X, weight, params, prior)``."""
    terms = (family.statistics(part, weight[rows], params, prior) for rows, part in parts(family, X))
    return sum(terms, next(terms))


def start_statistics_of(family: Any, X: Any, weight: np.ndarray) -> Any:
    """Return ``family.start_statistics(X, weight)``."""
    terms = (_start_statistics(family, rows, part, weight) for rows, part in parts(family, X))
    return sum(terms, next(terms))


def _start_statistics(family: Any, rows: slice, part: Any, weight: np.ndarray) -> Any:
    with rows_named_by(range(rows.start, rows.stop)):
        return family.start_statistics(part, weight[rows])


def check_all(family: Any, X: Any, params: Any) -> None:
    """Call ``family.check(X, params)`` for every part."""
    for rows, part in parts(family, X):
        with rows_named_by(range(rows.start, rows.stop)):
            family.check(part, params)


def sufficient_of(family: Any, X: Any) -> np.ndarray:
    """Return ``family.sufficient(X)``, computed in double precision."""
    if not is_matrix(X):
        return family.sufficient(X)
    out = np.empty(0)
    for rows in cut_rows(len(X), part_rows(X)):
        part = family.sufficient(X[rows].astype(np.float64, copy=False))
        if rows.start == 0:
            out = np.empty((len(X), part.shape[1]))
        out[rows] = part
    return out
