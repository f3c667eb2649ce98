"""Instances for a family: as they lie, or in small parts in double precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bagwise._core.compiled.arrays import ALL_ROWS, readonly
from bagwise.data.blocks import PickedRows, cut_rows
from bagwise.families.refusal import rows_named_by

# So many values go through a family that works in double precision at a time: they, and the handful of arrays
# of that size that it makes of them, stay in the processor's cache.
_PART_VALUES = 2**16


def is_matrix(X: Any) -> bool:
    """Whether instances are rows of numbers, and not sequences."""
    return isinstance(X.matrix if isinstance(X, PickedRows) else X, np.ndarray)


def part_rows(X: Any) -> int:
    """How many instances make a part."""
    return max(1, _PART_VALUES * len(X) // max(1, X.size))


def picked(X: np.ndarray | PickedRows, rows: np.ndarray) -> PickedRows:
    """Give some rows where they lie."""
    return PickedRows(X.matrix, X.rows[rows]) if isinstance(X, PickedRows) else PickedRows(X, rows)


def complete_rows(X: np.ndarray | PickedRows) -> tuple[np.ndarray, np.ndarray]:
    """Give the numbers of the instances without a missing value, and of the others."""
    parts = [np.isnan(X[rows]).any(axis=1) for rows in cut_rows(len(X), part_rows(X))]
    missing = np.concatenate([np.zeros(0, dtype=bool), *parts])
    return np.flatnonzero(~missing), np.flatnonzero(missing)


def for_kernels(X: np.ndarray | PickedRows) -> tuple[np.ndarray, np.ndarray]:
    """Give a matrix and its rows that are meant as kernels take them: see `_core.compiled.mixture`.

    Single precision stays as it is; whatever else there is becomes double.
    """
    matrix: Any = X
    rows = ALL_ROWS
    if isinstance(X, PickedRows):
        matrix, rows = (X.matrix, X.rows) if len(X) else (X[:], ALL_ROWS)
    dtype = np.float32 if matrix.dtype == np.float32 else np.float64
    return readonly(matrix, dtype=dtype)[0], readonly(rows)[0]


def parts(family: Any, X: Any) -> Iterator[tuple[slice, Any]]:
    """Give the rows and the instances of every part that a family takes at once.

    These are all instances where the family takes them in any precision (`Family.in_any_precision`), or where
    they are few.
    """
    if family.in_any_precision:
        yield slice(0, X.shape[0]), X
        return
    for rows in cut_rows(len(X), part_rows(X)) or [slice(0, 0)]:
        part = X[rows]
        yield rows, part.astype(np.float64, copy=False) if isinstance(part, np.ndarray) else part


def of_instances(family: Any, method: str, X: Any, *args: Any) -> np.ndarray:
    """Give ``family.method(X, *args)``, a number for every instance."""
    found = [getattr(family, method)(part, *args) for _, part in parts(family, X)]
    return found[0] if len(found) == 1 else np.concatenate(found)


def statistics_of(family: Any, X: Any, weight: np.ndarray, params: Any, prior: Any) -> np.ndarray:
    """Give ``family.statistics(X, weight, params, prior)``."""
    terms = (family.statistics(part, weight[rows], params, prior) for rows, part in parts(family, X))
    return sum(terms, next(terms))


def start_statistics_of(family: Any, X: Any, weight: np.ndarray) -> Any:
    """Give ``family.start_statistics(X, weight)``."""
    terms = (_start_statistics(family, rows, part, weight) for rows, part in parts(family, X))
    return sum(terms, next(terms))


def _start_statistics(family: Any, rows: slice, part: Any, weight: np.ndarray) -> Any:
    with rows_named_by(range(rows.start, rows.stop)):
        return family.start_statistics(part, weight[rows])


def check_all(family: Any, X: Any, params: Any) -> None:
    """Do ``family.check(X, params)``."""
    for rows, part in parts(family, X):
        with rows_named_by(range(rows.start, rows.stop)):
            family.check(part, params)


def sufficient_of(family: Any, X: Any) -> np.ndarray:
    """Give ``family.sufficient(X)``, computed in double precision."""
    if not is_matrix(X):
        return family.sufficient(X)
    out = np.empty(0)
    for rows in cut_rows(len(X), part_rows(X)):
        part = family.sufficient(X[rows].astype(np.float64, copy=False))
        if rows.start == 0:
            out = np.empty((len(X), part.shape[1]))
        out[rows] = part
    return out
