"""Values of a CSV file: read as a dtype, and what a column holds of which nothing is said."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

import numpy as np

from bagwise.data.bags.parts import as_text
from bagwise.io._rows import Table

# What people and programs write into a cell of numbers that has none; "nan" is a number as it is.
_MISSING = frozenset(("", "na", "n/a", "null", "none", "?", "-"))


def cast(texts: Sequence[str], dtype: np.dtype) -> np.ndarray:
    """Read text as values; Python's own numbers are several times quicker than numpy's casts of text."""
    if dtype.kind in "UM":
        return as_text(texts).astype(dtype, copy=False)
    if dtype.kind == "b":
        if not set(texts) <= {"True", "False"}:
            raise ValueError("neither True nor False")
        return np.array([text == "True" for text in texts], dtype=dtype)
    if any("_" in text for text in texts):
        raise ValueError("a number as Python writes them, but nobody else")
    if dtype.kind == "f":
        return np.array(list(map(float, texts)), dtype=np.float64).astype(dtype)
    wide = np.array(list(map(int, texts)), dtype=np.uint64 if dtype.kind == "u" else np.int64)
    narrow = wide.astype(dtype)
    if dtype.kind in "iu" and (narrow != wide).any():
        raise OverflowError("too large")
    return narrow


# A group of three digits after one that could stand alone: thousands, or decimals.
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*")


def as_numbers(texts: Sequence[str], *, decimal_commas: bool) -> list[str]:
    """Write cells of numbers as Python does: "nan" where there is none, and points for commas."""
    found = ["nan" if _is_missing(text) else text for text in texts]
    return [with_point(text) for text in found] if decimal_commas else found


def with_point(text: str) -> str:
    """Write a number with a point, if it has one comma and no point."""
    return text.replace(",", ".") if text.count(",") == 1 and "." not in text else text


def _is_missing(text: str) -> bool:
    return text.strip().lower() in _MISSING


class ColumnType:
    """The dtype of a column, found from its text, block after block.

    It is the narrowest of truth values, whole numbers, numbers and text. An empty cell, NA, N/A, null, None,
    ? or - among numbers is a missing value, and the column stays one of numbers.

    Parameters
    ----------
    table, name : Table, str
        The file and the column.
    is_feature : bool
        Whether it must be numbers, because someone said that it is a feature.
    """

    def __init__(self, table: Table, name: str, *, is_feature: bool = False):
        self.table, self.name, self.is_feature = table, name, is_feature
        self.where = repr(str(table))
        self._kinds: set[str] = set()
        self._n_numbers = self._n_others = 0
        self._first_other = self._first_group = ""
        self._has_plain_comma = False

    def add(self, texts: Sequence[str], lines: Sequence[int]) -> None:
        """Look at the cells of some rows."""
        for dtype in ("?", "<i8", "<f8"):
            if _is_of_type(texts, dtype):
                self._kinds.add(dtype)
                self._n_numbers += len(texts)
                return
        present = [(text, line) for text, line in zip(texts, lines, strict=True) if not _is_missing(text)]
        if self.table.has_decimal_commas:
            self._look_at_commas(present)
            present = [(with_point(text), line) for text, line in present]
        others = [(text, line) for text, line in present if not _is_of_type([text], "<f8")]
        if others and not self._n_others:
            self._first_other = f"{others[0][0]!r} in {self.table.row_word} {others[0][1]}"
        self._n_numbers += len(present) - len(others)
        self._n_others += len(others)
        self._kinds.add("U" if others else "<f8" if present else "missing")

    def dtype(self) -> str:
        """Give the dtype that holds every cell; where most cells are numbers, text is not taken silently."""
        kinds = self._kinds - {"missing"}
        is_unsure = self.table.may_group_digits and self._first_group and not self._has_plain_comma
        if is_unsure and self._n_others == 0:
            raise ValueError(
                f"{self.where}: {self._first_group} in the column {self.name!r} could be thousands or "
                "decimals, and no other cell of the column tells; write its numbers with a point."
            )
        if self.is_feature and self._n_others:
            raise ValueError(
                f"{self.where}: the column {self.name!r} is a feature, but {self._first_other} is no number; "
                "empty it if the value is missing."
            )
        if self.is_feature and not kinds:
            return "<f8"
        if kinds == {"<f8"} or kinds == {"<i8", "<f8"} or (kinds == {"<i8"} and "missing" in self._kinds):
            return "<f8"
        if self._kinds in ({"?"}, {"<i8"}):
            return next(iter(kinds))
        if self._n_numbers > self._n_others > 0:
            warnings.warn(
                f"{self.where}: the column {self.name!r} is read as text, not as a feature, though most of "
                f"its values are numbers: {self._first_other} is none. Empty it if the value is missing.",
                UserWarning,
                stacklevel=2,
            )
        return "U"

    def _look_at_commas(self, present: list[tuple[str, int]]) -> None:
        """Note whether commas can only be those of decimals."""
        for text, line in present:
            if "," not in text:
                continue
            if _THOUSANDS.fullmatch(text):
                self._first_group = self._first_group or f"{text!r} in {self.table.row_word} {line}"
            else:
                self._has_plain_comma = True


def _is_of_type(texts: Sequence[str], dtype: str) -> bool:
    try:
        cast(texts, np.dtype(dtype))
    except (ValueError, OverflowError):
        return False
    return True
