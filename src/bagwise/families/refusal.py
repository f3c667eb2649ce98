"""Values that a family cannot have made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np


class RefusedValueError(ValueError):
    """An instance has a value that the family cannot have made.

    Parameters
    ----------
    row, column : int
        Which instance, and which feature.
    value : float
        What it is.
    family, expected : str
        The family, and what it needs.
    """

    def __init__(self, row: int, column: int, value: float, family: str, expected: str):
        super().__init__(row, column, value, family, expected)
        self.row = row

    def __str__(self) -> str:
        row, column, value, family, expected = self.args
        return f"family={family!r} needs {expected}; instance {row} has {value:g} as feature {column}."


def refuse_values(X: np.ndarray, wrong: np.ndarray, family: str, expected: str) -> None:
    """Raise an error that names the first value that a family cannot have made."""
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        raise RefusedValueError(row, column, float(X[row, column]), family, expected)


@contextmanager
def rows_named_by(numbers: Sequence[int] | np.ndarray) -> Iterator[None]:
    """Name the instance of a refusal by its number among all, where a part was looked at.

    ``numbers[i]`` is the number of instance i of the part.
    """
    try:
        yield
    except RefusedValueError as error:
        raise RefusedValueError(int(numbers[error.row]), *error.args[1:]) from None
