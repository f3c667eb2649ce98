"""Table files: text that represents all dtypes exactly, and a description for restoring the dtypes."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from bagwise._core.files.atomic import holding, replacing
from bagwise._core.files.damage import reading
from bagwise.data.description import check_description, free_name, text_array
from bagwise.io._column_types import ColumnType, as_numeric_texts, cast
from bagwise.io._rows import TableFile, as_table

_BLOCK = 10_000  # rows that are converted to or from text at a time


def metadata_path(path: Any) -> Path:
    """Return the path of the description of a CSV file, named as in the "CSV on the Web" standard.

    If `path` is a symbolic link, the description is next to the linked file, so that it is found through the
    link and through the file.
    """
    file = os.path.realpath(path) if os.path.islink(path) else path
    return Path(f"{file}-metadata.json")


def write_table(
    path: Any, header: Sequence[str], blocks: Iterable[Sequence[np.ndarray]], description: Any
) -> None:
    """Write columns in blocks of rows, and the description file."""
    with ExitStack() as renamed:
        about, part = (renamed.enter_context(replacing(name)) for name in (metadata_path(path), path))
        about.write_text(json.dumps(description), encoding="utf-8")
        with part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            for block in blocks:
                writer.writerows(zip(*map(_texts, block), strict=True))
        with holding(os.path.dirname(os.path.realpath(path)), alone=True):
            renamed.close()


class RowFile:
    """Writer of a .csv or .parquet table, which is written a few rows at a time.

    Writing is atomic, so an incomplete file is never left behind.

    Parameters
    ----------
    path : path
        The file to write.
    """

    def __init__(self, path: Any):
        suffix = Path(path).suffix.lower()
        if suffix not in (".csv", ".parquet"):
            raise ValueError(f"{str(path)!r} ends in {suffix!r}; tables are written to .csv or .parquet.")
        self._stack = ExitStack()
        self._path = path
        self._is_csv = suffix == ".csv"
        self._writer: Any = None

    def __enter__(self) -> RowFile:
        self._part = self._stack.enter_context(replacing(self._path))
        return self

    def __exit__(self, *error: Any) -> bool | None:
        return self._stack.__exit__(*error)

    def write(self, columns: dict[str, np.ndarray]) -> None:
        """Write some rows; all calls must have the same columns."""
        columns = {name: text_array(name, values) for name, values in columns.items()}
        if self._is_csv:
            if self._writer is None:
                file = self._stack.enter_context(self._part.open("w", newline="", encoding="utf-8"))
                self._writer = csv.writer(file)
                self._writer.writerow(columns)
            self._writer.writerows(zip(*map(_texts, columns.values()), strict=True))
            return
        import pyarrow.parquet as pq

        from bagwise.io._arrow import pa, to_arrow

        table = pa.table({name: to_arrow(name, values) for name, values in columns.items()})
        if self._writer is None:
            self._writer = self._stack.enter_context(pq.ParquetWriter(self._part, table.schema))
        self._writer.write_table(table)


def _texts(column: np.ndarray) -> list[str]:
    """Convert values to text that can be converted back to the same dtype without any loss."""
    if column.dtype.kind == "U":
        # The item size is an upper bound for the length. Users can change the limit of the csv module.
        longest, limit = column.dtype.itemsize // 4, csv.field_size_limit()
        if longest > limit and np.char.str_len(column).max(initial=0) > limit:
            raise ValueError(
                f"a column has text of {longest:,} characters, but Python's csv module reads at most "
                f"{limit:,} per cell; shorten the text, or write .npz or .parquet."
            )
        return column.tolist()
    if column.dtype.kind == "M":
        return np.datetime_as_string(column).tolist()
    if column.dtype.kind == "m":
        column = column.astype(np.int64)
    if column.dtype.kind != "f" or column.dtype.itemsize == 8:
        return [repr(value) for value in column.tolist()]
    # Use the shortest text that is unique for the smaller float type. If parsing it as a float64 and rounding
    # to the smaller type returns a different value, use the text of the float64.
    short = [str(value) for value in column]
    exact = cast(short, column.dtype) == column
    values = column.astype(np.float64).tolist()
    return [s if e or v != v else repr(v) for s, e, v in zip(short, exact, values, strict=True)]


def read_description(path: Any) -> dict[str, Any] | None:
    """Read the description of a CSV file; return None if there is none."""
    about = metadata_path(path)
    if not about.exists():
        return None
    with reading(about, "description"):
        description = json.loads(about.read_text(encoding="utf-8"))
        if not isinstance(description, dict) or "bagwise" not in description:
            return None  # written by a different program
        if "rows" not in description:
            raise ValueError("its description is damaged: 'rows' is missing.")
        return check_description(description)


def read_header(path: Any) -> list[str]:
    """Read the column names."""
    header: list[str] = next(as_table(path).rows(), (0, []))[1]
    if not header:
        raise ValueError(f"{str(path)!r} is empty; expected a line with the column names.")
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise ValueError(f"{str(path)!r} has two columns {twice!r}.")
    return header


def read_columns(path: Any, dtypes: dict[str, str | None]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Read some columns of a table.

    Parameters
    ----------
    path : path or TableFile
        The file.
    dtypes : dict of str to str or None
        The columns and their dtypes: None detects the dtype with `ColumnType`; "number" also detects the
        dtype, but rejects text.

    Returns
    -------
    columns : dict of str to array
    lines : array of int
        The line numbers of the rows in the file.
    """
    table = as_table(path)
    column_types = {
        name: ColumnType(table, name, is_feature=dtype == "number")
        for name, dtype in dtypes.items()
        if dtype in (None, "number")
    }
    if column_types:
        for block_lines, block in _blocks(table, list(column_types)):
            for name, column_type in column_types.items():
                column_type.add(block[name], block_lines)
        dtypes = {**dtypes, **{name: column_type.dtype() for name, column_type in column_types.items()}}
    wanted = {name: np.dtype(dtype) for name, dtype in dtypes.items()}
    parts: dict[str, list[np.ndarray]] = {name: [] for name in wanted}
    lines: list[int] = []
    for block_lines, block in _blocks(table, list(wanted)):
        for name, dtype in wanted.items():
            texts = block[name]
            if name in column_types and dtype.kind == "f":
                texts = as_numeric_texts(texts, decimal_commas=table.has_decimal_commas)
            parts[name].append(_values(texts, dtype, table, name, block_lines))
        lines += block_lines
    columns = {
        name: np.concatenate(arrays) if arrays else np.empty(0, dtype=wanted[name])
        for name, arrays in parts.items()
    }
    return columns, np.array(lines, dtype=np.int64)


def read_described(
    path: Any, description: dict[str, Any], kinds: Sequence[dict[str, Any]]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Read the columns listed in a description; check that the columns match and the file is complete.

    Returns the columns (multi-dimensional ones are reassembled) and the line numbers of the rows.
    """
    header = read_header(path)
    # Count the columns before creating their names: a damaged shape may imply a huge number of columns.
    n_columns = sum(math.prod(kind["shape"]) for kind in kinds)
    spread = Spread(kinds) if n_columns == len(header) else None
    if spread is None or spread.header != header:
        raise ValueError(
            f"{str(path)!r} does not have the columns listed in its description; delete "
            f"{str(metadata_path(path))!r} to read the table without it."
        )
    columns, lines = read_columns(path, spread.dtypes)
    with open(path, "rb") as file:
        file.seek(-1, 2)
        ends = file.read() == b"\n"
    if len(lines) != description["rows"] or not ends:
        raise ValueError(
            f"{str(path)!r} has {len(lines)} rows{'' if ends else ', the last one truncated'}, but "
            f"{str(metadata_path(path))!r} lists {description['rows']}: the file was truncated or replaced."
        )
    return spread.back(columns), lines


def _blocks(table: TableFile, names: list[str]) -> Iterator[tuple[list[int], dict[str, Sequence[str]]]]:
    header = read_header(table)
    rows = islice(table.rows(), 1, None)
    while block := list(islice(rows, _BLOCK)):
        for line, row in block:
            if len(row) != len(header):
                raise ValueError(
                    f"{str(table)!r}, {table.row_word} {line}: got {len(row)} values; expected "
                    f"{len(header)}, one per column; is the file truncated?"
                )
        columns = dict(zip(header, zip(*(row for _, row in block), strict=True), strict=True))
        yield [line for line, _ in block], {name: columns[name] for name in names}


def _values(
    texts: Sequence[str], dtype: np.dtype, table: TableFile, name: str, lines: list[int]
) -> np.ndarray:
    try:
        return cast(texts, dtype)
    except (ValueError, OverflowError):
        for text, line in zip(texts, lines, strict=True):
            try:
                cast([text], dtype)
            except (ValueError, OverflowError) as error:
                problem = f"is not a valid {dtype}" if dtype.kind != "U" else f"is not valid text: {error}"
                raise ValueError(
                    f"{str(table)!r}, {table.row_word} {line}: {text!r} in the column {name!r} "
                    f"{problem.rstrip('.')}."
                ) from None
        raise


class Spread:
    """Mapping between multi-dimensional columns and the one-dimensional columns in a file.

    Parameters
    ----------
    kinds : sequence of dict
        The columns: "column" (the name), "dtype" and "shape" (of one row).

    Attributes
    ----------
    header : list of str
        The columns of the file.
    dtypes : dict of str to str
        The dtypes of the columns of the file.
    """

    def __init__(self, kinds: Sequence[dict[str, Any]]):
        taken = {kind["column"] for kind in kinds}
        self.dtypes: dict[str, str | None] = {}
        self.parts: dict[str, list[str]] = {}
        for kind in kinds:
            names = [kind["column"]]
            if kind["shape"]:
                names = [free_name(f"{names[0]}_{i}", taken) for i in range(int(np.prod(kind["shape"])))]
            self.parts[kind["column"]] = names
            self.dtypes |= dict.fromkeys(names, kind["dtype"])
        self.header = list(self.dtypes)

    def names(self, columns: Iterable[str]) -> list[str]:
        """Return the names of the one-dimensional columns for these columns; keep other names."""
        return [part for name in columns for part in self.parts.get(name, [name])]

    def out(self, columns: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Split columns into the one-dimensional columns of the file."""
        flat = []
        for name, column in columns.items():
            flat += [column] if self.parts[name] == [name] else list(column.reshape(len(column), -1).T)
        return flat

    def back(self, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Reassemble the multi-dimensional columns from the columns of the file."""
        return {
            name: columns[name] if parts == [name] else np.column_stack([columns[part] for part in parts])
            for name, parts in self.parts.items()
        }
