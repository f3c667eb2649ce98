"""Metadata of bags in files, without their instances, and detection of changed files."""

from __future__ import annotations

import platform
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from bagwise._core.precision import convert_into
from bagwise.data.blocks.buffers import Buffers
from bagwise.data.blocks.layout import Piece


class FileStamp(NamedTuple):
    """State of a file when it was scanned.

    Attributes
    ----------
    path : Path or RemoteFile
        The file.
    size, modified : int
        Its size, and its modification time in nanoseconds.
    status_changed : int
        The time of its last status change (ctime) in nanoseconds, which programs that keep the modification
        time (``cp -p``, ``rsync -t``) cannot set. This time also changes if the file is replaced. The inode
        number is not compared, because it is not constant on some network file systems.
    host : str
        The machine that scanned the file. A worker of a cluster can have a copy of the file, with a different
        time of the status change.
    """

    path: Any
    size: int
    modified: int
    status_changed: int
    host: str

    @classmethod
    def of(cls, path: Any) -> FileStamp:
        """Record the current state of a file."""
        about = path.stat()
        return cls(path, about.st_size, about.st_mtime_ns, about.st_ctime_ns, platform.node())

    def refuse_change(self) -> None:
        """Raise an error if the file has changed since it was scanned."""
        try:
            now = FileStamp.of(self.path)
        except OSError:
            raise ValueError(f"{str(self.path)!r} no longer exists; scan the files again.") from None
        if now.host != self.host:
            now = now._replace(status_changed=self.status_changed, host=self.host)
        if now != self:
            raise ValueError(
                f"{str(self.path)!r} has changed since it was scanned; scan it again: scan_bags(...)."
            )


@dataclass
class FileSource(ABC):
    """Base class of bags in files. Everything except the instances is in memory.

    Attributes
    ----------
    offsets : int64 array of shape (n_bags + 1,)
        The start index of each bag, in the order of the files, and the end of the last bag.
    ids, y : array or None
        Ids and labels of the bags.
    bag_columns : dict of str to array
        Side columns with a value per bag.
    feature_names : list of str or None
        Names of the features.
    n_features : int
        Number of features.
    dtype : dtype
        The dtype of the instances in the files.
    unit_offsets : int64 array
        Instance index at which each unit of reading begins, such as a row group, and the end of the last.
    stamps : list of FileStamp
        The files, with their state when they were scanned.
    first_bag : int
        If this is a part of another source, the index of the first bag there.
    """

    offsets: np.ndarray
    ids: np.ndarray | None
    y: np.ndarray | None
    bag_columns: dict[str, np.ndarray]
    feature_names: list[str] | None
    n_features: int
    dtype: np.dtype
    unit_offsets: np.ndarray
    stamps: list[FileStamp] = field(repr=False)
    first_bag: int = field(default=0, repr=False, kw_only=True)

    def named(self, bags: np.ndarray) -> np.ndarray:
        """Return the ids of these bags, or their indices in the files if the bags have no ids."""
        return bags + self.first_bag if self.ids is None else self.ids[bags]

    def part(self, low: int, high: int) -> Self:
        """Return a source restricted to the units that contain the bags from `low` to `high`."""
        units = self._units_of(low, high)
        begin, stop = self.unit_offsets[units.start], self.unit_offsets[units.stop]
        # Keep all bags of these units, so that row positions within a unit stay correct.
        # The first bag may begin in an earlier unit.
        low = min(low, int(np.searchsorted(self.offsets, begin)))
        high = max(high, int(np.searchsorted(self.offsets, stop, side="right")) - 1)
        return replace(
            self,
            offsets=self.offsets[low : high + 1],
            ids=None if self.ids is None else self.ids[low:high],
            y=None if self.y is None else self.y[low:high],
            bag_columns={name: values[low:high] for name, values in self.bag_columns.items()},
            unit_offsets=self.unit_offsets[units.start : units.stop + 1],
            first_bag=self.first_bag + low,
            **self._parts_of_units(units),
        )

    def _units_of(self, low: int, high: int) -> slice:
        """Return the slice of units that contain the bags from `low` to `high`."""
        first = int(np.searchsorted(self.unit_offsets, self.offsets[low], side="right")) - 1
        last = int(np.searchsorted(self.unit_offsets, self.offsets[high], side="left"))
        first = min(first, len(self.unit_offsets) - 2)
        return slice(first, max(first, last))

    def _parts_of_units(self, units: slice) -> dict[str, Any]:
        """Return the fields that a subclass stores per unit or file, restricted to these units."""
        return {}

    def describe_location(self, bags: np.ndarray) -> str:
        """Return a description of the location of these bags (increasing indices), for messages."""
        units = self._units_of(int(bags[0]), int(bags[-1]) + 1) if len(bags) else slice(0, 0)
        return self._shown_units(units)

    def _shown_units(self, units: slice) -> str:
        files = [repr(str(stamp.path)) for stamp in self._stamps_of(np.arange(units.start, units.stop))]
        return shown_run(files)

    def refuse_change(self) -> None:
        """Raise an error if a file has changed since it was scanned."""
        for stamp in self.stamps:
            stamp.refuse_change()

    def pieces(self, units: np.ndarray, *, sides: bool = False) -> Iterator[Piece]:
        """Read all instances of these units (increasing indices) in order, piece by piece."""
        for stamp in self._stamps_of(units):
            stamp.refuse_change()
        return self._pieces(units, sides)

    def _stamps_of(self, units: np.ndarray) -> Iterable[FileStamp]:
        """Return the files that contain these units."""
        return self.stamps

    @abstractmethod
    def _pieces(self, units: np.ndarray, sides: bool) -> Iterator[Piece]: ...


def shown_run(files: list[str]) -> str:
    """Format one file name, or the first and last of several file names."""
    return files[0] if len(files) == 1 else f"{files[0]} to {files[-1]}" if files else "no file"


@dataclass
class MatrixPiece:
    """Instances that are stored row by row in an array."""

    first: int
    X: np.ndarray
    columns: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """The number of instances."""
        return len(self.X)

    def copy(self, begin: int, stop: int, out: np.ndarray) -> None:
        """Write the rows from `begin` to `stop` into `out`."""
        convert_into(out, self.X[begin:stop])

    def take(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Write these rows into `out`."""
        convert_into(out, self.X[rows])

    def sides(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Return the side columns of these rows."""
        return {name: values[rows] for name, values in self.columns.items()}


class ColumnsPiece:
    """Instances that are stored column by column and transposed when they are copied."""

    n_rows: int

    def __init__(
        self, first: int, features: list[np.ndarray], columns: dict[str, np.ndarray], buffers: Buffers
    ):
        self.first = first
        self.n_rows = len(features[0])
        self._features = features
        self._columns = columns
        self._buffers = buffers
        self._by_rows: np.ndarray | None = None

    def copy(self, begin: int, stop: int, out: np.ndarray) -> None:
        """Write the rows from `begin` to `stop` into `out`."""
        together = self._buffers.empty((len(self._features), stop - begin), out.dtype)
        np.stack([column[begin:stop] for column in self._features], out=together, casting="unsafe")
        out[...] = together.T

    def take(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Write these rows into `out`.

        The first call transposes all rows, because this is faster than many short copies.
        """
        if self._by_rows is None or self._by_rows.dtype != out.dtype:
            self._by_rows = self._buffers.empty((self.n_rows, len(self._features)), out.dtype)
            self.copy(0, self.n_rows, self._by_rows)
        out[...] = self._by_rows[rows]

    def sides(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Return the side columns of these rows."""
        return {name: values[rows] for name, values in self._columns.items()}
