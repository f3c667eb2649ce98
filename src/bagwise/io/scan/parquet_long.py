"""Scans of Parquet files with one row per instance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from bagwise.data.blocks import block_rows
from bagwise.data.blocks.buffers import Buffers
from bagwise.data.description import restore
from bagwise.data.scanned.source import ColumnsPiece, FileStamp
from bagwise.io._arrow import from_arrow, in_one, is_numeric, pa
from bagwise.io._long import choose_bag_and_label, choose_features, refuse_missing
from bagwise.io._parquet_reader import Reader
from bagwise.io.scan.parquet import ParquetSource, row_groups
from bagwise.io.scan.runs import Runs

# Maximum number of rows per batch when a scan searches for bags.
_ROWS = 2**16


@dataclass
class LongSource(ParquetSource):
    """A source with one row per instance and one column per feature.

    Attributes
    ----------
    features : list of str
        The columns of the features.
    per_instance : dict of str to (str, dict or None)
        The side columns: the column in the file, and the stored description of the column.
    """

    features: list[str] = field(repr=False)
    per_instance: dict[str, tuple[str, dict[str, Any] | None]] = field(repr=False)

    def _columns(self, sides: bool) -> list[str]:
        return [*self.features, *(column for column, _ in self.per_instance.values() if sides)]

    def _rows_at_a_time(self) -> int:
        # Arrow needs several times the memory of the rows that it reads at once.
        return max(1, block_rows(self.n_features) // 2)

    def _piece(self, first: int, table: Any, sides: bool, buffers: Buffers) -> ColumnsPiece:
        side_columns = {}
        for name, (column, kind) in self.per_instance.items() if sides else ():
            values = self.tables.column(column, table[column], first)
            side_columns[name] = values if kind is None else restore(values, kind)
        features = [from_arrow(in_one(table[name])) for name in self.features]
        return ColumnsPiece(first, features, side_columns, buffers)


def scan_long(
    readers: Sequence[Reader], stamps: list[FileStamp], features: Sequence[str] | None
) -> LongSource:
    """Return the source of files with one row per instance, from their description or by inference."""
    if features is None and readers[0].description is not None:
        return _scan_described(readers, stamps, readers[0].description)
    return _scan_inferred(readers, stamps, features)


def _scan_described(readers: Sequence[Reader], stamps: list[FileStamp], about: dict[str, Any]) -> LongSource:
    of_bags = [kind for kind in (about["y"], *about["bag_columns"].values()) if kind is not None]
    kinds = {kind["column"]: kind for kind in (about["bag"], *of_bags)}
    bag, label = about["bag"]["column"], about["y"] and about["y"]["column"]
    constant = [kind["column"] for kind in of_bags]
    numbered = about["bag"]["numbered"]
    runs = Runs(bag, constant, [], numbered=numbered)
    _look_through(readers, runs, bag, label, kinds)
    ids, offsets = runs.ids_and_offsets()
    groups, rows = row_groups(readers)
    return LongSource(
        offsets=offsets,
        ids=None if numbered else ids,
        y=None if label is None else runs.columns[label].values(),
        bag_columns={name: runs.columns[k["column"]].values() for name, k in about["bag_columns"].items()},
        feature_names=about["instances"]["names"],
        n_features=about["instances"]["width"],
        dtype=np.dtype(about["instances"]["dtype"]),
        unit_offsets=np.append(0, np.cumsum(rows)),
        stamps=stamps,
        groups=groups,
        tables=readers[0].tables,
        features=about["instances"]["columns"],
        per_instance={name: (kind["column"], kind) for name, kind in about["instance_columns"].items()},
    )


def _scan_inferred(
    readers: Sequence[Reader], stamps: list[FileStamp], features: Sequence[str] | None
) -> LongSource:
    """Infer column roles in the same way as `infer_long`, from one pass over all columns without a role."""
    first = readers[0]
    names = first.schema.names
    bag, label = choose_bag_and_label(first.bag, first.label, names, first.where)
    dtypes = {name: _dtype_of(readers, name, bag) for name in features or ()}
    others = [name for name in names if name not in (bag, label, *dtypes)]
    runs = Runs(bag, [] if label is None else [label], others)
    _look_through(readers, runs, bag, label, {})
    ids, offsets = runs.ids_and_offsets()
    of_bags = [name for name in others if runs.columns[name].describes_bags]
    if features is None:
        dtypes = {name: runs.columns[name].dtype for name in others}
        one_each = len(ids) == runs.n_rows
        features = choose_features(dtypes, of_bags, bags_of_one=one_each, where=first.where)
    groups, rows = row_groups(readers)
    return LongSource(
        offsets=offsets,
        ids=ids,
        y=None if label is None else runs.columns[label].values(),
        bag_columns={name: runs.columns[name].values() for name in of_bags if name not in features},
        feature_names=list(features),
        n_features=len(features),
        dtype=np.result_type(*(dtypes[name] for name in features)),
        unit_offsets=np.append(0, np.cumsum(rows)),
        stamps=stamps,
        groups=groups,
        tables=first.tables,
        features=list(features),
        per_instance={n: (n, None) for n in others if n not in features and n not in of_bags},
    )


def _look_through(
    readers: Sequence[Reader], runs: Runs, bag: str, label: str | None, kinds: dict[str, dict[str, Any]]
) -> None:
    """Pass the columns that `runs` needs to it, batch by batch."""
    columns, needed = [bag, *runs.columns], (bag, label)
    for reader in readers:
        runs.begin_file(reader.where)
        row = 0
        every = list(range(reader.file.num_row_groups))
        for table in reader.batches(every, columns, min(_ROWS, block_rows(len(columns)))):
            values = {
                name: reader.tables.column(name, table[name], row, complete=name in kinds and name in needed)
                for name in columns
            }
            if not kinds:  # with a description, an empty string is a valid id or label
                refuse_missing(values, bag, label, reader.where, partial(_row_name, row))
            runs.add({n: restore(v, kinds[n]) if n in kinds else v for n, v in values.items()})
            row += len(table)


def _row_name(first: int, row: int) -> str:
    return f"row {first + row}"


def _dtype_of(readers: Sequence[Reader], name: str, bag: str) -> np.dtype:
    """Return the dtype of a column that is used as a feature."""
    where = readers[0].where
    if name not in readers[0].schema.names:
        raise ValueError(
            f"{where} has no column {name!r} for a feature; it has {readers[0].schema.names[:8]}."
        )
    if name == bag:
        raise ValueError(f"{where}: the bag column {bag!r} cannot be a feature as well.")
    kind = readers[0].schema.field(name).type
    if not is_numeric(kind):
        raise ValueError(f"{where}: the column {name!r} has the type {kind}; a feature must be numeric.")
    # Integers with missing values become doubles with NaN.
    exact = pa.types.is_floating(kind) or not any(_may_have_gaps(reader, name) for reader in readers)
    return np.dtype(kind.to_pandas_dtype() if exact else np.float64)


def _may_have_gaps(reader: Reader, name: str) -> bool:
    about = reader.file.metadata
    column = next(j for j in range(about.num_columns) if about.schema.column(j).path == name)
    statistics = [about.row_group(i).column(column).statistics for i in range(about.num_row_groups)]
    return any(s is None or not s.has_null_count or s.null_count > 0 for s in statistics)
