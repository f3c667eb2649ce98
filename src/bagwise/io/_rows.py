"""Rows of a table as text, from comma-, semicolon- or tab-separated files and from workbooks."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

DELIMITERS = (",", ";", "\t")

# Line that some programs write before the header to specify the delimiter for Excel: sep=;
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?[\r\n]*', flags=re.IGNORECASE)
_BYTES = 1 << 20  # read at a time to detect the encoding
# Control characters that text tables do not contain: all except tab, line feed, form feed and carriage
# return.
_CONTROL = bytes(code for code in range(32) if code not in (9, 10, 12, 13))


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
        """Yield the rows that are not blank, each with its line or row number; column names come first."""


class TextTable:
    """Text file with one row per line; the delimiter is detected from the header.

    The delimiter is the comma, semicolon or tab, whichever splits the first line into the most cells. Ties
    go to the comma. If the file starts with a line such as ``sep=;``, this line specifies the delimiter and
    is not a row. If the delimiter is not a comma, a comma within a number is a decimal comma, which
    spreadsheet programs use in many countries.

    Parameters
    ----------
    path : path
        The file.
    encoding : str, optional
        Encoding of the text, by default that of `detect_encoding`.
    """

    row_word = "line"

    def __init__(self, path: Any, encoding: str | None = None):
        self.path = Path(path)
        self.encoding = detect_encoding(self.path) if encoding is None else _checked_encoding(encoding)
        with self._opened() as file:
            first = list(islice(_nonblank(file), 1))
        separator = _SEPARATOR_LINE.fullmatch(first[0]) if first else None
        self._has_separator_line = separator is not None
        if separator is not None:
            self.delimiter = separator[1]
        else:
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
            rows = ((reader.line_num, row) for row in reader if row)
            yield from islice(rows, int(self._has_separator_line), None)

    def _opened(self) -> Any:
        return _Opened(self.path, self.encoding)


def detect_encoding(path: Path) -> str:
    """Return the encoding of a text file: UTF-16 with a byte order mark, UTF-8 or Windows-1252 (cp1252).

    Excel writes plain CSV files in Windows-1252 in many countries. This encoding is assumed if the file is
    not valid UTF-8 and contains no control characters.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_utf8 = is_text = True
    try:
        with open(path, "rb") as raw:
            part = raw.read(_BYTES)
            if part.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                return "utf-16"
            while part and is_text:
                is_text = len(part.translate(None, _CONTROL)) == len(part)
                try:
                    if is_utf8:
                        decoder.decode(part)
                except UnicodeDecodeError:
                    is_utf8 = False
                part = raw.read(_BYTES)
            try:
                decoder.decode(b"", final=is_utf8)
            except UnicodeDecodeError:
                is_utf8 = False
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {str(path)!r}.") from None
    return "cp1252" if is_text and not is_utf8 else "utf-8-sig"


def _checked_encoding(name: str) -> str:
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        raise ValueError(
            f"unknown encoding {name!r}; pass, for example, 'utf-8', 'cp1252' (Western Europe), 'cp1250' "
            "(Central Europe) or 'mac-roman'."
        ) from None
    return "utf-8-sig" if codec == "utf-8" else codec


class _Opened:
    """An open text file; errors while reading are raised as a ValueError with the file name."""

    def __init__(self, path: Path, encoding: str):
        self.path = path
        self.encoding = encoding

    def __enter__(self) -> Any:
        self.file = open(self.path, newline="", encoding=self.encoding)
        return self.file

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.file.close()
        if isinstance(error, UnicodeError):
            raise ValueError(
                f"{str(self.path)!r} is not valid {self.encoding} text: {error}. Pass the encoding "
                "of the program that wrote the file, such as 'cp1252' or 'mac-roman', or write it as UTF-8."
            ) from error
        if isinstance(error, csv.Error):
            raise ValueError(f"{str(self.path)!r} is not a readable CSV file: {error}") from error


def _nonblank(file: Any) -> Iterator[str]:
    return (line for line in file if line.strip("\r\n"))


def _n_cells(lines: list[str], delimiter: str) -> int:
    # The parser is not strict, because a quoted cell may continue on the next line.
    return max(map(len, csv.reader(lines, delimiter=delimiter)), default=0)


def as_table(path: Any) -> Any:
    """Return the table of a file: a workbook or a text file, depending on the suffix."""
    if hasattr(path, "rows"):
        return path
    if str(path).lower().endswith(".xlsx"):
        from bagwise.io.xlsx import Sheet

        return Sheet(path)
    return TextTable(path)
