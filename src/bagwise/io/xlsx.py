"""Read spreadsheet workbooks: a sheet with one row per instance."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, Literal

from bagwise._core.files.damage import reading
from bagwise._core.types import FilePath, Labels
from bagwise.data.bags import Bags
from bagwise.io._label_table import Missing

# Limits for the uncompressed size of the members of a workbook (a zip archive), and for the number of cells,
# so that a small file cannot exhaust the memory. Compressed tables have at least 1/30 of the original size,
# and at least one byte per cell. A forged row can have 16,384 cells, although only its last one is stored.
_MOST_OF_A_BYTE = 100
_SMALL_BYTES = 2**24
_MOST_CELLS_OF_A_BYTE = 50
_FEW_CELLS = 2**23
_MOST_ROWS = 2**20


def load_xlsx(
    path: FilePath,
    *,
    sheet: str | None = None,
    bag: str | None = None,
    label: str | Literal[False] | None = None,
    features: Sequence[str] | None = None,
    missing: Missing = "raise",
) -> tuple[Bags, Labels]:
    """Read bags and their labels from a sheet of a workbook (.xlsx) with one row per instance.

    The first row contains the column names. Column roles are inferred as for a CSV file without a
    description: see `load_csv`. For formulas, the values that the spreadsheet program stored are read. For
    large data, use Parquet. Requires openpyxl: ``pip install 'bagwise[excel]'``.

    Parameters
    ----------
    path : path
        The file.
    sheet : str, optional
        The name of the sheet; by default the first sheet.
    bag, label, features, missing
        As in `load_csv`.

    Returns
    -------
    bags : Bags
        The bags.
    y : array or None
        The labels; None if there are none.

    Examples
    --------
    >>> from bagwise import load_xlsx
    >>> bags, y = load_xlsx("shapes.xlsx", bag="molecule", label="active")  # doctest: +SKIP
    """
    from bagwise.io.csv import bags_of_table

    return bags_of_table(Sheet(path, sheet), bag, label, features, missing)


class Sheet:
    """Sheet of a workbook, as rows of text.

    Parameters
    ----------
    path : path
        The workbook.
    name : str, optional
        The name of the sheet; by default the first sheet.
    """

    path: Path
    name: str | None

    has_decimal_commas = may_group_digits = False
    row_word = "row"

    def __init__(self, path: Any, name: str | None = None):
        self.path, self.name = Path(path), name

    def __str__(self) -> str:
        return str(self.path)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows that are not blank, each with its row number; trailing blank columns are dropped."""
        openpyxl = _openpyxl()
        with reading(self.path, "workbook (.xlsx)"), open(self.path, "rb") as file:
            _refuse_false_sizes(file)
            book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
            if not book.worksheets:
                raise ValueError(f"{str(self.path)!r} has no sheet with cells.")
            names = [sheet.title for sheet in book.worksheets]
            if self.name is not None and self.name not in names:
                raise ValueError(
                    f"{str(self.path)!r} has no sheet {self.name!r}; it has {', '.join(map(repr, names))}."
                )
            sheet = book[self.name] if self.name is not None else book.worksheets[0]
            # Some programs store wrong dimensions, and rows outside these dimensions would be skipped.
            sheet.reset_dimensions()
            most_cells = max(_FEW_CELLS, _MOST_CELLS_OF_A_BYTE * self.path.stat().st_size)
            width = n_cells = 0
            for i, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
                if i > _MOST_ROWS:
                    raise ValueError(
                        f"{str(self.path)!r} has a row after row {_MOST_ROWS:,}, but a sheet can have at "
                        "most this many rows."
                    )
                n_cells += max(width, len(cells))
                if n_cells > most_cells:
                    raise ValueError(
                        f"{str(self.path)!r} has more than {most_cells:,} cells up to row {i:,}, which is "
                        "implausible for its size; delete empty rows and columns, or convert it to CSV."
                    )
                row = [_text(cell) for cell in cells]
                if not any(row):
                    continue
                while row and not row[-1] and len(row) > width:
                    row.pop()
                width = width or len(row)
                yield i, row + [""] * (width - len(row))


def _openpyxl() -> Any:
    try:
        import openpyxl
    except ImportError as error:
        raise ImportError("workbooks (.xlsx) need openpyxl: pip install 'bagwise[excel]'") from error
    return openpyxl


def _text(cell: Any) -> str:
    """Convert a cell to text; floats are exact, and integral floats are written without a decimal point."""
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    if isinstance(cell, (date, datetime, time)):
        return cell.isoformat()
    return str(cell)


def _refuse_false_sizes(file: Any) -> None:
    """Raise an error if the declared uncompressed size of a member is implausibly large."""
    with zipfile.ZipFile(file) as archive:
        for part in archive.infolist():
            if part.file_size > max(_SMALL_BYTES, _MOST_OF_A_BYTE * part.compress_size):
                raise ValueError(
                    f"its part {part.filename!r} declares {part.file_size:,} bytes but is stored in only "
                    f"{part.compress_size:,}."
                )
    file.seek(0)
