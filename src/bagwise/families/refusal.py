"""Errors for values that are impossible under a family."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np


class RefusedValueError(ValueError):
    """Error for an instance with a value that is impossible under the family.

    Parameters
    ----------
    row, column : int
        Indices of the instance and the feature.
    value : float
        The invalid value.
    family, expected : str
        Name of the family, and a description of valid values.
    """

    def __init__(self, row: int, column: int, value: float, family: str, expected: str):
        super().__init__(row, column, value, family, expected)
        self.row = row

    def __str__(self) -> str:
        row, column, value, family, expected = self.args
        return f"family={family!r} needs {expected}; instance {row} has {value:g} in feature {column}."


class RefusedFeatureError(ValueError):
    """Error for a feature that the family cannot describe: "feature {column} {reason}"."""

    def __init__(self, column: int, reason: str):
        super().__init__(column, reason)
        self.column = column

    def __str__(self) -> str:
        return f"feature {self.column} {self.args[1]}"


def refuse_values(X: np.ndarray, wrong: np.ndarray, family: str, expected: str) -> None:
    """Raise an error that reports the first invalid value."""
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        raise RefusedValueError(row, column, float(X[row, column]), family, expected)


@contextmanager
def rows_named_by(indices: Sequence[int] | np.ndarray) -> Iterator[None]:
    """Replace the index of an instance within a part by its index among all instances in errors.

    ``indices[i]`` is the index of instance i of the part among all instances.
    """
    try:
        yield
    except RefusedValueError as error:
        raise RefusedValueError(int(indices[error.row]), *error.args[1:]) from None


@contextmanager
def columns_named_by(indices: np.ndarray | None) -> Iterator[None]:
    """Replace the index of a feature among selected ones by its index among all features in errors.

    ``indices`` are the indices of the selected features; None if all are selected.
    """
    try:
        yield
    except RefusedFeatureError as error:
        if indices is None:
            raise
        raise RefusedFeatureError(int(indices[error.column]), error.args[1]) from None
    except RefusedValueError as error:
        if indices is None:
            raise
        row, column, *others = error.args
        raise RefusedValueError(row, int(indices[column]), *others) from None
