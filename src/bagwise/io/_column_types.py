"""Conversion of CSV text to values, and detection of column dtypes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

import numpy as np

from bagwise.data.bags.parts import as_text
from bagwise.io._rows import TableFile

# Common spellings of a missing value in a numeric column. "nan" is not needed: Python parses it as a float.
_MISSING = frozenset(("", "na", "n/a", "null", "none", "?", "-"))


def cast(texts: Sequence[str], dtype: np.dtype) -> np.ndarray:
    """Convert text to values of a dtype; parsing in Python is several times faster than casting in numpy."""
    if dtype.kind in "UM":
        return as_text(texts).astype(dtype, copy=False)
    if dtype.kind == "b":
        if not set(texts) <= {"True", "False"}:
            raise ValueError("neither True nor False")
        return np.array([text == "True" for text in texts], dtype=dtype)
    if any("_" in text for text in texts):
        raise ValueError("underscores between digits are Python syntax only")
    if dtype.kind == "f":
        return np.array(list(map(float, texts)), dtype=np.float64).astype(dtype)
    wide = np.array(list(map(int, texts)), dtype=np.uint64 if dtype.kind == "u" else np.int64)
    narrow = wide.astype(dtype)
    if dtype.kind in "iu" and (narrow != wide).any():
        raise OverflowError("too large")
    return narrow


# One to three digits followed by groups of three digits: thousands or decimals.
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*")


def as_numeric_texts(texts: Sequence[str], *, decimal_commas: bool) -> list[str]:
    """Rewrite numeric cells in Python syntax: "nan" for missing values, and decimal points for commas."""
    cells = ["nan" if _is_missing(text) else text for text in texts]
    return [with_point(text) for text in cells] if decimal_commas else cells


def with_point(text: str) -> str:
    """Replace a decimal comma by a point, if the text contains exactly one comma and no point."""
    return text.replace(",", ".") if text.count(",") == 1 and "." not in text else text


def _is_missing(text: str) -> bool:
    return text.strip().lower() in _MISSING


class ColumnType:
    """Detector of a column's dtype that processes the text block by block.

    The dtype is the narrowest of boolean, integer, float and text. In a numeric column, an empty cell, NA,
    N/A, null, None, ? or - is a missing value, and the column stays numeric.

    Parameters
    ----------
    table, name : TableFile, str
        The file and the column.
    is_feature : bool
        Whether the column must be numeric because the caller specified it as a feature.
    """

    def __init__(self, table: TableFile, name: str, *, is_feature: bool = False):
        self.table, self.name, self.is_feature = table, name, is_feature
        self.where = repr(str(table))
        self._kinds: set[str] = set()
        self._n_numeric = self._n_others = 0
        self._first_other = self._first_group = ""
        self._has_plain_comma = False

    def add(self, texts: Sequence[str], lines: Sequence[int]) -> None:
        """Process the cells of a block of rows."""
        for dtype in ("?", "<i8", "<f8"):
            if _is_of_type(texts, dtype):
                self._kinds.add(dtype)
                self._n_numeric += len(texts)
                return
        present = [(text, line) for text, line in zip(texts, lines, strict=True) if not _is_missing(text)]
        if self.table.has_decimal_commas:
            self._look_at_commas(present)
            present = [(with_point(text), line) for text, line in present]
        others = [(text, line) for text, line in present if not _is_of_type([text], "<f8")]
        if others and not self._n_others:
            self._first_other = f"{others[0][0]!r} in {self.table.row_word} {others[0][1]}"
        self._n_numeric += len(present) - len(others)
        self._n_others += len(others)
        self._kinds.add("U" if others else "<f8" if present else "missing")

    def dtype(self) -> str:
        """Return the dtype that fits every cell; warn if it is text although most cells are numeric."""
        kinds = self._kinds - {"missing"}
        is_unsure = self.table.may_group_digits and self._first_group and not self._has_plain_comma
        if is_unsure and self._n_others == 0:
            raise ValueError(
                f"{self.where}: {self._first_group} in the column {self.name!r} is ambiguous: its comma "
                "could separate thousands or decimals. Write this column with decimal points."
            )
        if self.is_feature and self._n_others:
            raise ValueError(
                f"{self.where}: the column {self.name!r} is a feature, but {self._first_other} is not a "
                "number. Leave the cell empty if the value is missing."
            )
        if self.is_feature and not kinds:
            return "<f8"
        if kinds == {"<f8"} or kinds == {"<i8", "<f8"} or (kinds == {"<i8"} and "missing" in self._kinds):
            return "<f8"
        if self._kinds in ({"?"}, {"<i8"}):
            return next(iter(kinds))
        if self._n_numeric > self._n_others > 0:
            warnings.warn(
                f"{self.where}: the column {self.name!r} is read as text, not as a feature, although most of "
                f"its values are numeric: {self._first_other} is not a number. Leave the cell empty if the "
                "value is missing.",
                UserWarning,
                stacklevel=2,
            )
        return "U"

    def _look_at_commas(self, present: list[tuple[str, int]]) -> None:
        """Record whether a comma can only be a decimal comma, or could also separate thousands."""
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
