"""Tables in files: exact text for every dtype, and the description that brings the dtype back."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from bagwise._core.files.atomic import holding, replacing
from bagwise._core.files.damage import reading
from bagwise.data.description import check_description, free_name, text_array
from bagwise.io._column_types import ColumnType, as_numbers, cast
from bagwise.io._rows import Table, as_table

_BLOCK = 10_000  # rows that are text at any one time


def metadata_path(path: Any) -> Path:
    """Where the description of a CSV file lies: beside it, as "CSV on the Web" names such files.

    Beside the file itself where `path` is a link to it, so that it is found by either name.
    """
    file = os.path.realpath(path) if os.path.islink(path) else path
    return Path(f"{file}-metadata.json")


def write_table(
    path: Any, header: Sequence[str], blocks: Iterable[Sequence[np.ndarray]], description: Any
) -> None:
    """Write columns, block after block of rows, and the description beside them."""
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
    """A table that is written some rows at a time: .csv or .parquet, complete or absent.

    Parameters
    ----------
    path : path
        Where to write.
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
        """Write some rows; all calls have the same columns."""
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
    """Write values so that reading them as the same dtype gives every bit back."""
    if column.dtype.kind == "U":
        # The width is that of the longest; csv is asked because a program may have changed it.
        longest, limit = column.dtype.itemsize // 4, csv.field_size_limit()
        if longest > limit and np.char.str_len(column).max(initial=0) > limit:
            raise ValueError(
                f"a column has text of {longest:,} characters, but readers of CSV files take {limit:,} in "
                "a cell; shorten it, or write .npz or .parquet."
            )
        return column.tolist()
    if column.dtype.kind == "M":
        return np.datetime_as_string(column).tolist()
    if column.dtype.kind == "m":
        column = column.astype(np.int64)
    if column.dtype.kind != "f" or column.dtype.itemsize == 8:
        return [repr(value) for value in column.tolist()]
    # Shortest text that is unique among the smaller floats; where reading it by way of a float64 would round
    # twice to another value, that float64 itself.
    short = [str(value) for value in column]
    exact = cast(short, column.dtype) == column
    values = column.astype(np.float64).tolist()
    return [s if e or v != v else repr(v) for s, e, v in zip(short, exact, values, strict=True)]


def read_description(path: Any) -> dict[str, Any] | None:
    """Read the description beside a CSV file, or give None."""
    about = metadata_path(path)
    if not about.exists():
        return None
    with reading(about, "description"):
        description = json.loads(about.read_text(encoding="utf-8"))
        if not isinstance(description, dict) or "bagwise" not in description:
            return None  # somebody else's
        if "rows" not in description:
            raise ValueError("its description is damaged: there is no 'rows'.")
        return check_description(description)


def read_header(path: Any) -> list[str]:
    """Read the names of the columns."""
    header: list[str] = next(as_table(path).rows(), (0, []))[1]
    if not header:
        raise ValueError(f"{str(path)!r} is empty; expected a line with the names of the columns.")
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise ValueError(f"{str(path)!r} has two columns {twice!r}.")
    return header


def read_columns(path: Any, dtypes: dict[str, str | None]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Read some columns of a table.

    Parameters
    ----------
    path : path or Table
        The file.
    dtypes : dict of str to str or None
        The columns, and their dtypes; None to take what `ColumnType` finds, "number" to refuse text.

    Returns
    -------
    columns : dict of str to array
    lines : array of int
        The line of the file that each row is on.
    """
    table = as_table(path)
    found_types = {
        name: ColumnType(table, name, is_feature=dtype == "number")
        for name, dtype in dtypes.items()
        if dtype in (None, "number")
    }
    if found_types:
        for numbers, block in _blocks(table, list(found_types)):
            for name, found_type in found_types.items():
                found_type.add(block[name], numbers)
        dtypes = {**dtypes, **{name: found_type.dtype() for name, found_type in found_types.items()}}
    wanted = {name: np.dtype(dtype) for name, dtype in dtypes.items()}
    parts: dict[str, list[np.ndarray]] = {name: [] for name in wanted}
    lines: list[int] = []
    for numbers, block in _blocks(table, list(wanted)):
        for name, dtype in wanted.items():
            texts = block[name]
            if name in found_types and dtype.kind == "f":
                texts = as_numbers(texts, decimal_commas=table.has_decimal_commas)
            parts[name].append(_values(texts, dtype, table, name, numbers))
        lines += numbers
    columns = {
        name: np.concatenate(found) if found else np.empty(0, dtype=wanted[name])
        for name, found in parts.items()
    }
    return columns, np.array(lines, dtype=np.int64)


def read_described(
    path: Any, description: dict[str, Any], kinds: Sequence[dict[str, Any]]
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Read the columns that a description names, and make sure that it is of this file, and the file whole.

    Gives columns, those with several values a row put together, and the line that each row is on.
    """
    header = read_header(path)
    # Counted before names are made: a damaged shape may claim any number of columns.
    n_columns = sum(math.prod(kind["shape"]) for kind in kinds)
    spread = Spread(kinds) if n_columns == len(header) else None
    if spread is None or spread.header != header:
        raise ValueError(
            f"{str(path)!r} has other columns than the description beside it says; remove "
            f"{str(metadata_path(path))!r} to read the table as it is."
        )
    columns, lines = read_columns(path, spread.dtypes)
    with open(path, "rb") as file:
        file.seek(-1, 2)
        ends = file.read() == b"\n"
    if len(lines) != description["rows"] or not ends:
        raise ValueError(
            f"{str(path)!r} has {len(lines)} rows{'' if ends else ', the last of them broken off'}, but "
            f"{str(metadata_path(path))!r} says {description['rows']}: the file is cut off, or another one."
        )
    return spread.back(columns), lines


def _blocks(table: Table, names: list[str]) -> Iterator[tuple[list[int], dict[str, Sequence[str]]]]:
    header = read_header(table)
    rows = islice(table.rows(), 1, None)
    while block := list(islice(rows, _BLOCK)):
        for line, row in block:
            if len(row) != len(header):
                raise ValueError(
                    f"{str(table)!r}, {table.row_word} {line}: {len(row)} values but {len(header)} columns; "
                    "is the file cut off?"
                )
        columns = dict(zip(header, zip(*(row for _, row in block), strict=True), strict=True))
        yield [line for line, _ in block], {name: columns[name] for name in names}


def _values(texts: Sequence[str], dtype: np.dtype, table: Table, name: str, lines: list[int]) -> np.ndarray:
    try:
        return cast(texts, dtype)
    except (ValueError, OverflowError):
        for text, line in zip(texts, lines, strict=True):
            try:
                cast([text], dtype)
            except (ValueError, OverflowError) as error:
                what = f"is not of the type {dtype}" if dtype.kind != "U" else f"is not taken: {error}"
                raise ValueError(
                    f"{str(table)!r}, {table.row_word} {line}: {text!r} in the column {name!r} "
                    f"{what.rstrip('.')}."
                ) from None
        raise


class Spread:
    """Columns with several values a row, written as several columns, and put together again.

    Parameters
    ----------
    kinds : sequence of dict
        The columns: "column" (the name), "dtype" and "shape" (of a row).

    Attributes
    ----------
    header : list of str
        The columns of the file.
    dtypes : dict of str to str
        Their dtypes.
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

    def out(self, columns: dict[str, np.ndarray]) -> list[np.ndarray]:
        """Spread columns into those of the file."""
        flat = []
        for column in columns.values():
            flat += [column] if column.ndim == 1 else list(column.reshape(len(column), -1).T)
        return flat

    def back(self, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Put the columns of the file together."""
        return {
            name: columns[name] if parts == [name] else np.column_stack([columns[part] for part in parts])
            for name, parts in self.parts.items()
        }
