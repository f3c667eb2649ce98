"""What is known of bags in files without their instances, and how files that changed are noticed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from bagwise.data.blocks.buffers import Buffers
from bagwise.data.blocks.layout import Piece


class Stamp(NamedTuple):
    """A file as it was when it was scanned."""

    path: Any  # Path or RemoteFile
    size: int
    changed: int

    @classmethod
    def of(cls, path: Any) -> Stamp:
        """Look at a file now."""
        about = path.stat()
        return cls(path, about.st_size, about.st_mtime_ns)

    def refuse_change(self) -> None:
        """Refuse the file if it is not what it was."""
        try:
            same = Stamp.of(self.path) == self
        except OSError:
            raise ValueError(f"{str(self.path)!r} is gone since it was scanned; scan it anew.") from None
        if not same:
            raise ValueError(
                f"{str(self.path)!r} has changed since it was scanned; scan it anew: scan_bags(...)."
            )


@dataclass
class FileSource(ABC):
    """Bags in files: all but their instances is in memory.

    Attributes
    ----------
    offsets : int64 array of shape (n_bags + 1,)
        Where bags begin, in the order of the files.
    ids, y : array or None
        Names and labels of the bags.
    bag_columns : dict of str to array
        Side columns with a value per bag.
    feature_names : list of str or None
        Names of the features.
    n_features : int
        How many there are.
    dtype : dtype
        In which the instances lie.
    unit_offsets : int64 array
        Where units of reading begin, such as row groups.
    stamps : list of Stamp
        The files, as they were.
    first_bag : int
        The number of the first bag, where this is a part of another source.
    """

    offsets: np.ndarray
    ids: np.ndarray | None
    y: np.ndarray | None
    bag_columns: dict[str, np.ndarray]
    feature_names: list[str] | None
    n_features: int
    dtype: np.dtype
    unit_offsets: np.ndarray
    stamps: list[Stamp] = field(repr=False)
    first_bag: int = field(default=0, repr=False, kw_only=True)

    def named(self, bags: np.ndarray) -> np.ndarray:
        """Give the ids of some bags; their numbers in the files if they have none."""
        return bags + self.first_bag if self.ids is None else self.ids[bags]

    def part(self, low: int, high: int) -> Self:
        """Give the same source with no more than the units of the bags from `low` to `high`."""
        units = self._units_of(low, high)
        begin, stop = self.unit_offsets[units.start], self.unit_offsets[units.stop]
        # All bags of these units, so that places in a unit can be counted; a bag may begin before the first.
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
        """Which units the bags from `low` to `high` lie in."""
        first = int(np.searchsorted(self.unit_offsets, self.offsets[low], side="right")) - 1
        last = int(np.searchsorted(self.unit_offsets, self.offsets[high], side="left"))
        first = min(first, len(self.unit_offsets) - 2)
        return slice(first, max(first, last))

    def _parts_of_units(self, units: slice) -> dict[str, Any]:
        """What a source has for every unit or file, of some units alone."""
        return {}

    def place(self, bags: np.ndarray) -> str:
        """Say for a reader where some bags, which rise, lie."""
        units = self._units_of(int(bags[0]), int(bags[-1]) + 1) if len(bags) else slice(0, 0)
        return self._shown_units(units)

    def _shown_units(self, units: slice) -> str:
        files = [repr(str(stamp.path)) for stamp in self._stamps_of(np.arange(units.start, units.stop))]
        return shown_run(files)

    def refuse_change(self) -> None:
        """Refuse files that are not what they were."""
        for stamp in self.stamps:
            stamp.refuse_change()

    def pieces(self, units: np.ndarray, *, sides: bool = False) -> Iterator[Piece]:
        """Read some units, whose numbers rise: all their instances, in their order, piece by piece."""
        for stamp in self._stamps_of(units):
            stamp.refuse_change()
        return self._pieces(units, sides)

    def _stamps_of(self, units: np.ndarray) -> Iterable[Stamp]:
        """Which files are read for some units."""
        return self.stamps

    @abstractmethod
    def _pieces(self, units: np.ndarray, sides: bool) -> Iterator[Piece]: ...


def shown_run(files: list[str]) -> str:
    """Show one file, or the first and the last of several."""
    return files[0] if len(files) == 1 else f"{files[0]} to {files[-1]}" if files else "no file"


@dataclass
class MatrixPiece:
    """Instances that lie row by row in an array."""

    first: int
    X: np.ndarray
    columns: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """The number of instances."""
        return len(self.X)

    def copy(self, begin: int, stop: int, out: np.ndarray) -> None:
        """Write the rows from `begin` to `stop` into `out`."""
        out[...] = self.X[begin:stop]

    def take(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Write some rows into `out`."""
        out[...] = self.X[rows]

    def sides(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Give the side columns of some rows."""
        return {name: values[rows] for name, values in self.columns.items()}


class ColumnsPiece:
    """Instances that lie column by column: they are turned into rows as they are copied."""

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
        """Write some rows into `out`: many short runs are not worth a turn each."""
        if self._by_rows is None or self._by_rows.dtype != out.dtype:
            self._by_rows = self._buffers.empty((self.n_rows, len(self._features)), out.dtype)
            self.copy(0, self.n_rows, self._by_rows)
        out[...] = self._by_rows[rows]

    def sides(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Give the side columns of some rows."""
        return {name: values[rows] for name, values in self._columns.items()}
