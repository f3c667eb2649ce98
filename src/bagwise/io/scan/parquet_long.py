"""Scans of Parquet files with one row per instance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from bagwise._core.precision import dtype_of_text
from bagwise.data.blocks import block_rows
from bagwise.data.blocks.buffers import Buffers
from bagwise.data.description import restore
from bagwise.data.scanned.source import ColumnsPiece, FileStamp
from bagwise.io._arrow import BagTables, is_list, is_numeric, pa
from bagwise.io._long import choose_bag_and_label, choose_features, refuse_missing, spread_of
from bagwise.io._parquet_reader import Reader
from bagwise.io._table import Spread
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
    entries : dict of str to (str, int)
        For columns that are list entries in the file: the column with the lists, and the index in the list.
    """

    features: list[str] = field(repr=False)
    per_instance: dict[str, tuple[str, dict[str, Any] | None]] = field(repr=False)
    entries: dict[str, tuple[str, int]] = field(default_factory=dict, repr=False, kw_only=True)

    def _columns(self, sides: bool) -> list[str]:
        names = [*self.features, *(column for column, _ in self.per_instance.values() if sides)]
        return list(dict.fromkeys(self.entries.get(name, (name, 0))[0] for name in names))

    def _rows_at_a_time(self) -> int:
        # Arrow needs several times the memory of the rows that it reads at once.
        return max(1, block_rows(self.n_features) // 2)

    def _piece(
        self, first: int, tables: BagTables, row: int, table: Any, sides: bool, buffers: Buffers
    ) -> ColumnsPiece:
        arrays = {name: tables.column(name, table[name], row) for name in table.column_names}

        def column(name: str) -> np.ndarray:
            if name not in self.entries:
                return arrays[name]
            whole, i = self.entries[name]
            return arrays[whole][:, i]

        side_columns = {}
        for name, (stored, kind) in self.per_instance.items() if sides else ():
            side_columns[name] = column(stored) if kind is None else restore(column(stored), kind)
        return ColumnsPiece(first, [column(name) for name in self.features], side_columns, buffers)


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
        dtype=dtype_of_text(about["instances"]["dtype"]),
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
    spread = _spread_lists(readers, [name for name in names if name not in (bag, label)])
    entries = {
        part: (name, i)
        for name, parts in spread.parts.items()
        for i, part in enumerate(parts)
        if parts != [name]
    }
    dtypes = {
        name: _dtype_of(readers, entries.get(name, (name, 0))[0], bag)
        for name in spread.names(features or ())
    }
    others = [name for name in spread.parts if not dtypes.keys() >= set(spread.parts[name])]
    runs = Runs(bag, [] if label is None else [label], others)
    _look_through(readers, runs, bag, label, {})
    ids, offsets = runs.ids_and_offsets()
    described = {name: runs.columns[name] for name in others if runs.columns[name].describes_bags}
    of_bags = spread.names(described)
    if features is None:
        dtypes = {part: runs.columns[name].dtype for name in others for part in spread.parts[name]}
        one_each = len(ids) == runs.n_rows
        features = choose_features(dtypes, of_bags, bags_of_one=one_each, where=first.where)
    else:
        features = list(dtypes)
    bag_columns = spread.out({name: column.values() for name, column in described.items()})
    groups, rows = row_groups(readers)
    return LongSource(
        offsets=offsets,
        ids=ids,
        y=None if label is None else runs.columns[label].values(),
        bag_columns={n: v for n, v in zip(of_bags, bag_columns, strict=True) if n not in features},
        feature_names=features,
        n_features=len(features),
        dtype=np.result_type(*(dtypes[name] for name in features)),
        unit_offsets=np.append(0, np.cumsum(rows)),
        stamps=stamps,
        groups=groups,
        tables=first.tables,
        features=features,
        per_instance={n: (n, None) for n in spread.names(others) if n not in features and n not in of_bags},
        entries=entries,
    )


def _spread_lists(readers: Sequence[Reader], names: Sequence[str]) -> Spread:
    """Return how columns of lists are split into columns, with the same names as in `infer_long`."""
    first = readers[0]
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(names, ())
    for reader in readers:
        reader.tables.widths = first.tables.widths  # the lists of all files have the same length
    if first.description is None:  # otherwise they are side columns with several values per row
        for name in names:
            if is_list(first.schema.field(name).type):
                shapes[name] = (_length_of_lists(readers, name),)
    return spread_of(shapes)


def _length_of_lists(readers: Sequence[Reader], name: str) -> int:
    """Return the length of the list in the first row of a column; 0 if there are no rows."""
    for reader in readers:
        for table in reader.batches(list(range(reader.file.num_row_groups)), [name], 1):
            return int(reader.tables.column(name, table[name]).shape[1])
    return 0


def _look_through(
    readers: Sequence[Reader], runs: Runs, bag: str, label: str | None, kinds: dict[str, dict[str, Any]]
) -> None:
    """Pass the columns that `runs` needs to it, batch by batch."""
    columns, needed = [bag, *runs.columns], (bag, label)
    for reader in readers:
        runs.begin_file(reader.where)
        row = 0
        every = list(range(reader.file.num_row_groups))
        n_values = len(columns) + sum(reader.tables.widths.values())
        for table in reader.batches(every, columns, min(_ROWS, block_rows(n_values))):
            values = {
                name: (reader.tables.key_column if name in needed else reader.tables.column)(
                    name, table[name], row, complete=name in kinds and name in needed
                )
                for name in columns
            }
            if not kinds:  # if there is a description, an empty string is a valid id or label
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
    while is_list(kind) or pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not is_numeric(kind):
        raise ValueError(f"{where}: the column {name!r} has the type {kind}; a feature must be numeric.")
    # Integers with missing values become doubles with NaN.
    has_gaps = not pa.types.is_floating(kind) and any(_may_have_gaps(reader, name) for reader in readers)
    return np.dtype(np.float64 if has_gaps or pa.types.is_decimal(kind) else kind.to_pandas_dtype())


def _may_have_gaps(reader: Reader, name: str) -> bool:
    about = reader.file.metadata
    paths = [about.schema.column(j).path for j in range(about.num_columns)]
    column = next(j for j, path in enumerate(paths) if path == name or path.startswith(f"{name}."))
    statistics = [about.row_group(i).column(column).statistics for i in range(about.num_row_groups)]
    return any(s is None or not s.has_null_count or s.null_count > 0 for s in statistics)
