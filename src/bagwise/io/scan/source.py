"""What is known of bags in files without their instances, and how files that changed are noticed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bagwise.blocks.buffers import Buffers
from bagwise.blocks.files import Piece


class Stamp(NamedTuple):
    """A file as it was when it was scanned."""

    path: Path
    size: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> Stamp:
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
