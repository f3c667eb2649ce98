"""Scans of Parquet files, one or several, whatever a row is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bagwise._core.files.damage import reading
from bagwise.data.blocks.buffers import Buffers
from bagwise.data.blocks.layout import Piece
from bagwise.data.scanned.source import FileSource, Stamp
from bagwise.io._arrow import BagTables
from bagwise.io._parquet_reader import Reader


@dataclass
class ParquetSource(FileSource):
    """Bags in Parquet files; units are row groups.

    Attributes
    ----------
    groups : list of (int, int)
        The file and the row group of every unit.
    tables : BagTables
        What columns mean.
    """

    groups: list[tuple[int, int]] = field(repr=False)
    tables: BagTables = field(repr=False)

    def _stamps_of(self, units: np.ndarray) -> Iterator[Stamp]:
        return (self.stamps[number] for number in sorted({self.groups[unit][0] for unit in units}))

    def _parts_of_units(self, units: slice) -> dict[str, Any]:
        groups = self.groups[units]
        files = sorted({number for number, _ in groups})
        renumbered = [(files.index(number), group) for number, group in groups]
        return {"groups": renumbered, "stamps": [self.stamps[number] for number in files]}

    def _shown_units(self, units: slice) -> str:
        groups = self.groups[units]
        if not groups:
            return "no file"
        (file, first), (other, last) = groups[0], groups[-1]
        path, end = (repr(str(self.stamps[number].path)) for number in (file, other))
        if file == other:
            return f"{path}, row group {first}" if first == last else f"{path}, row groups {first} to {last}"
        return f"{path}, row group {first} to {end}, row group {last}"

    def _pieces(self, units: np.ndarray, sides: bool) -> Iterator[Piece]:
        buffers = Buffers()
        # Units that follow each other are read together: a batch may begin in one and end in the next.
        for run in np.split(units, np.flatnonzero(np.diff(units) > 1) + 1):
            first = int(self.unit_offsets[run[0]]) if len(run) else 0
            for table in self._batches(run, self._columns(sides)):
                number, _ = self.groups[run[0]]
                with reading(self.stamps[number].path, "Parquet file of bags"):
                    piece = self._piece(first, table, sides, buffers)
                yield piece
                first += piece.n_rows

    def _batches(self, units: np.ndarray, columns: list[str]) -> Iterator[Any]:
        of_file: dict[int, list[int]] = {}
        for unit in units:
            number, group = self.groups[unit]
            of_file.setdefault(number, []).append(group)
        for number, groups in of_file.items():
            reader = Reader(self.stamps[number].path, None, None, streamed=True)
            with reader.file:
                yield from reader.batches(groups, columns, self._rows_at_a_time())

    @abstractmethod
    def _columns(self, sides: bool) -> list[str]:
        """Which columns are to be read."""

    @abstractmethod
    def _rows_at_a_time(self) -> int:
        """How many rows of the table are read at once."""

    @abstractmethod
    def _piece(self, first: int, table: Any, sides: bool, buffers: Buffers) -> Piece:
        """Make instances of some rows of the table."""


def row_groups(readers: Sequence[Reader]) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Give file and number of every row group that has rows, and how many these are."""
    groups, rows = [], []
    for number, reader in enumerate(readers):
        for group in range(reader.file.num_row_groups):
            n = reader.file.metadata.row_group(group).num_rows
            if n:
                groups.append((number, group))
                rows.append(n)
    return groups, np.array(rows, dtype=np.int64)


def refuse_other_columns(first: Reader, other: Reader) -> None:
    """Refuse a file whose columns are not those of the first."""
    ours, theirs = ({f.name: f.type for f in reader.schema} for reader in (first, other))
    for name in [*ours, *theirs]:
        mine, its = (str(types.get(name, "absent")) for types in (ours, theirs))
        if mine != its:
            raise ValueError(
                f"{other.where} has other columns than {first.where}: {name!r} is {its} and was {mine}."
            )
    if other.description != first.description:
        raise ValueError(f"{other.where} describes its bags in another way than {first.where}.")
