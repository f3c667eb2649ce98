"""The rows of a table as text, whatever keeps them: text with commas, semicolons or tabs, or a workbook."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

DELIMITERS = (",", ";", "\t")


class Table(Protocol):
    """A file with a table in it.

    Attributes
    ----------
    has_decimal_commas : bool
        Whether 0,5 is a number.
    may_group_digits : bool
        Whether 1,234 could be a thousand as well.
    row_word : str
        What its rows are called where one is named.
    """

    has_decimal_commas: bool
    may_group_digits: bool
    row_word: str

    def __str__(self) -> str:
        """Give the path."""

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Give every row that is not blank, the names of the columns first, with its number in the file."""


class TextTable:
    """A text file whose rows are lines; what parts the cells is seen from the names of the columns.

    It is the one of comma, semicolon and tab that makes the most of the first line, the comma at a tie. Where
    it is not the comma, a comma is the mark of decimals, as spreadsheets write them in half of the world.

    Parameters
    ----------
    path : path
        The file, in UTF-8, or UTF-16 with its mark.
    """

    row_word = "line"

    def __init__(self, path: Any):
        self.path = Path(path)
        with self._opened() as file:
            first = list(islice(_nonblank(file), 1))
        self.delimiter = max(DELIMITERS, key=lambda mark: _n_cells(first, mark))
        self.has_decimal_commas = self.delimiter != ","
        # Nobody takes semicolons but where the comma is for decimals.
        self.may_group_digits = self.delimiter == "\t"

    def __str__(self) -> str:
        return str(self.path)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Give every row with the number of the line it ends on; blank lines are left out."""
        with self._opened() as file:
            reader = csv.reader(file, strict=True, delimiter=self.delimiter)
            for row in reader:
                if row:
                    yield reader.line_num, row

    def _opened(self) -> Any:
        return _Opened(self.path)


class _Opened:
    """A text file, opened; what goes wrong while it is read is one sentence that names it."""

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
    # Not strict: a quoted cell may go on in the next line.
    return max(map(len, csv.reader(lines, delimiter=delimiter)), default=0)


def as_table(path: Any) -> Any:
    """Give the table of a file, by the end of its name: a workbook, or text."""
    if hasattr(path, "rows"):
        return path
    if str(path).lower().endswith(".xlsx"):
        from bagwise.io.xlsx import Sheet

        return Sheet(path)
    return TextTable(path)
