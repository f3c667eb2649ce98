"""Scans of one or more Parquet files: code for both layouts, one row per bag or one row per instance."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bagwise._core.files.damage import reading
from bagwise.data.blocks.buffers import Buffers
from bagwise.data.blocks.layout import Piece
from bagwise.data.scanned.source import FileSource, FileStamp
from bagwise.io._arrow import BagTables
from bagwise.io._parquet_reader import Reader


@dataclass
class ParquetSource(FileSource):
    """Base class of sources in Parquet files; units are row groups.

    Attributes
    ----------
    groups : list of (int, int)
        The file index and the row group index of every unit.
    tables : BagTables
        The conversion of columns to bags.
    """

    groups: list[tuple[int, int]] = field(repr=False)
    tables: BagTables = field(repr=False)

    def _stamps_of(self, units: np.ndarray) -> Iterator[FileStamp]:
        return (self.stamps[file] for file in sorted({self.groups[unit][0] for unit in units}))

    def _parts_of_units(self, units: slice) -> dict[str, Any]:
        groups = self.groups[units]
        files = sorted({file for file, _ in groups})
        renumbered = [(files.index(file), group) for file, group in groups]
        return {"groups": renumbered, "stamps": [self.stamps[file] for file in files]}

    def _shown_units(self, units: slice) -> str:
        groups = self.groups[units]
        if not groups:
            return "no file"
        (file, first), (other, last) = groups[0], groups[-1]
        path, end = (repr(str(self.stamps[i].path)) for i in (file, other))
        if file == other:
            return f"{path}, row group {first}" if first == last else f"{path}, row groups {first} to {last}"
        return f"{path}, row group {first} to {end}, row group {last}"

    def _pieces(self, units: np.ndarray, sides: bool) -> Iterator[Piece]:
        buffers = Buffers()
        # Consecutive units are read together, because a batch can contain rows of two units.
        for run in np.split(units, np.flatnonzero(np.diff(units) > 1) + 1):
            first = int(self.unit_offsets[run[0]]) if len(run) else 0
            for reader, row, table in self._batches(run, self._columns(sides)):
                with reading(reader.path, "Parquet file of bags"):
                    piece = self._piece(first, self.tables.of_file(reader.where), row, table, sides, buffers)
                yield piece
                first += piece.n_rows

    def _batches(self, units: np.ndarray, columns: list[str]) -> Iterator[tuple[Reader, int, Any]]:
        """Yield tables of consecutive rows, with the reader of the file and the first row in the file."""
        of_file: dict[int, list[int]] = {}
        for unit in units:
            file, group = self.groups[unit]
            of_file.setdefault(file, []).append(group)
        for file, groups in of_file.items():
            reader = Reader(self.stamps[file].path, None, None, streamed=True)
            with reader.file:
                about = reader.file.metadata
                row = sum(about.row_group(group).num_rows for group in range(groups[0]))
                for table in reader.batches(groups, columns, self._rows_at_a_time()):
                    yield reader, row, table
                    row += len(table)

    @abstractmethod
    def _columns(self, sides: bool) -> list[str]:
        """Return the names of the columns to read."""

    @abstractmethod
    def _rows_at_a_time(self) -> int:
        """Return the number of table rows to read at once."""

    @abstractmethod
    def _piece(
        self, first: int, tables: BagTables, row: int, table: Any, sides: bool, buffers: Buffers
    ) -> Piece:
        """Convert a table to instances.

        `first` is the index of its first instance in the scan, and `row` the index of its first row in the
        file, for errors. `tables` is `self.tables` for this file.
        """


def row_groups(readers: Sequence[Reader]) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Return the file index, group index and number of rows of every row group that is not empty."""
    groups, rows = [], []
    for file, reader in enumerate(readers):
        for group in range(reader.file.num_row_groups):
            n = reader.file.metadata.row_group(group).num_rows
            if n:
                groups.append((file, group))
                rows.append(n)
    return groups, np.array(rows, dtype=np.int64)


def refuse_other_columns(first: Reader, other: Reader) -> None:
    """Raise an error if the columns of a file differ from those of the first file."""
    ours, theirs = ({f.name: f.type for f in reader.schema} for reader in (first, other))
    for name in [*ours, *theirs]:
        mine, its = (str(types.get(name, "absent")) for types in (ours, theirs))
        if mine != its:
            raise ValueError(
                f"the columns of {other.where} and {first.where} differ: {name!r} is {its} instead of {mine}."
            )
    if other.description != first.description:
        raise ValueError(f"the descriptions of the bags in {other.where} and {first.where} differ.")
