"""Rows of a table as text, from comma-, semicolon- or tab-separated files and from workbooks."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

DELIMITERS = (",", ";", "\t")


class TableFile(Protocol):
    """File that contains a table.

    Attributes
    ----------
    has_decimal_commas : bool
        Whether 0,5 is a number.
    may_group_digits : bool
        Whether the comma in 1,234 could also separate thousands.
    row_word : str
        The word for a row in error messages: "line" or "row".
    """

    has_decimal_commas: bool
    may_group_digits: bool
    row_word: str

    def __str__(self) -> str:
        """Return the path."""

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows that are not blank, column names first, each with its line or row number."""


class TextTable:
    """Text file with one row per line; the delimiter is detected from the header.

    The delimiter is the one of comma, semicolon and tab that splits the first line into the most cells. Ties
    go to the comma. If the delimiter is not a comma, a comma within a number is a decimal comma, as
    spreadsheet programs write it in many countries.

    Parameters
    ----------
    path : path
        The file, encoded in UTF-8, or in UTF-16 with a byte order mark.
    """

    row_word = "line"

    def __init__(self, path: Any):
        self.path = Path(path)
        with self._opened() as file:
            first = list(islice(_nonblank(file), 1))
        self.delimiter = max(DELIMITERS, key=lambda mark: _n_cells(first, mark))
        self.has_decimal_commas = self.delimiter != ","
        # Semicolons are used as delimiters only where the comma is the decimal mark.
        self.may_group_digits = self.delimiter == "\t"

    def __str__(self) -> str:
        return str(self.path)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows, each with the number of its last line; blank lines are skipped."""
        with self._opened() as file:
            reader = csv.reader(file, strict=True, delimiter=self.delimiter)
            for row in reader:
                if row:
                    yield reader.line_num, row

    def _opened(self) -> Any:
        return _Opened(self.path)


class _Opened:
    """Open text file; errors while reading it are raised as one ValueError with the file name."""

    def __init__(self, path: Path):
        self.path = path

    def __enter__(self) -> Any:
        try:
            with open(self.path, "rb") as raw:
                is_wide = raw.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
            self.file = open(self.path, newline="", encoding="utf-16" if is_wide else "utf-8-sig")
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no file {str(self.path)!r}.") from None
        return self.file

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.file.close()
        if isinstance(error, (csv.Error, UnicodeError)):
            raise ValueError(f"{str(self.path)!r} is not a readable CSV file: {error}") from error


def _nonblank(file: Any) -> Iterator[str]:
    return (line for line in file if line.strip("\r\n"))


def _n_cells(lines: list[str], delimiter: str) -> int:
    # Not strict, because a quoted cell may continue on the next line.
    return max(map(len, csv.reader(lines, delimiter=delimiter)), default=0)


def as_table(path: Any) -> Any:
    """Return the table of a file: a workbook or a text file, depending on the suffix."""
    if hasattr(path, "rows"):
        return path
    if str(path).lower().endswith(".xlsx"):
        from bagwise.io.xlsx import Sheet

        return Sheet(path)
    return TextTable(path)
