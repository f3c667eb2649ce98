"""Scans of folders with one file per bag, and a cached index, so that later scans do not open all files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bagwise._core.cache import cache_folder
from bagwise._core.files.atomic import replacing
from bagwise._core.precision import convert_into, dtype_of_text, dtype_text
from bagwise.data.blocks import block_rows, cut_rows
from bagwise.data.scanned.source import FileSource, FileStamp, shown_run
from bagwise.io._folder import FolderIndex, OpenBag, Shapes, look_at_shapes, read_column, restore_columns


@dataclass
class FolderSource(FileSource):
    """A source with one file per bag; units are files.

    Attributes
    ----------
    open_bag : callable
        Function that opens a file and returns its arrays.
    names : list of str
        Names of the arrays with one value per instance, without the instances.
    description : dict or None
        The stored description of the bags.
    """

    open_bag: OpenBag = field(repr=False)
    names: list[str] = field(repr=False)
    description: dict[str, Any] | None = field(repr=False)

    def _stamps_of(self, units: np.ndarray) -> Iterable[FileStamp]:
        return ()  # check every file when it is opened

    def _shown_units(self, units: slice) -> str:
        files = [repr(str(stamp.path)) for stamp in self.stamps[units]]
        return shown_run(files)

    def _units_of(self, low: int, high: int) -> slice:
        return slice(low, high)  # a bag without instances is also a unit

    def _parts_of_units(self, units: slice) -> dict[str, Any]:
        return {"stamps": self.stamps[units]}

    def _pieces(self, units: np.ndarray, sides: bool) -> Iterator[BagPiece]:
        for unit in units:
            stamp = self.stamps[unit]
            stamp.refuse_change()
            with self.open_bag(stamp.path, sides=sides) as arrays:
                features = arrays["features"]
                size = int(self.offsets[unit + 1] - self.offsets[unit])
                if features.shape[-2:] != (size, self.n_features):
                    with suppress(OSError):
                        _index_path(self.stamps).unlink()  # the next scan opens every file
                    raise ValueError(
                        f"{str(stamp.path)!r} has features of shape {features.shape}, but {size} instances "
                        f"of {self.n_features} features were scanned; scan the folder again."
                    )
                columns = {}
                if sides:
                    columns = {name: read_column(arrays, name, size, stamp.path) for name in self.names}
                    columns = restore_columns(columns, self.description)
                yield BagPiece(int(self.offsets[unit]), features, columns)


class BagPiece:
    """The instances of one bag, in an open file."""

    n_rows: Any

    def __init__(self, first: int, features: Any, columns: dict[str, np.ndarray]):
        self.first = first
        self.n_rows = features.shape[-2]
        self._features = features
        self._columns = columns

    def copy(self, begin: int, stop: int, out: np.ndarray) -> None:
        """Write the rows from `begin` to `stop` into `out`, a few rows at a time."""
        for rows in cut_rows(stop - begin, block_rows(out.shape[1])):
            selected = slice(begin + rows.start, begin + rows.stop)
            is_matrix = len(self._features.shape) == 2
            convert_into(out[rows], self._features[selected] if is_matrix else self._features[0, selected])

    def take(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Write the rows with these indices into `out`."""
        whole = np.empty((self.n_rows, out.shape[1]), out.dtype)
        self.copy(0, self.n_rows, whole)
        out[...] = whole[rows]

    def sides(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Return the side columns of the rows with these indices."""
        return {name: values[rows] for name, values in self._columns.items()}


def scan_folder(index: FolderIndex, open_bag: OpenBag) -> FolderSource:
    """Return the source of a folder, with bag sizes from the cached index or from every file."""
    stamps = [FileStamp.of(path) for path in index.files]
    shapes = _remembered(stamps)
    if shapes is None:
        shapes = look_at_shapes(index, open_bag)
        _remember(stamps, shapes)
    else:  # side columns can be in separate files, which are not part of the index
        with open_bag(index.files[0]) as arrays:
            shapes = shapes._replace(names=[name for name in arrays if name != "features"])
    offsets = np.append(0, np.cumsum(shapes.sizes))
    about = index.description
    return FolderSource(
        offsets=offsets,
        ids=index.ids,
        y=index.y,
        bag_columns=index.bag_columns,
        feature_names=None if about is None else about["instances"]["names"],
        n_features=shapes.n_features,
        dtype=shapes.dtype,
        unit_offsets=offsets,
        stamps=stamps,
        open_bag=open_bag,
        names=shapes.names,
        description=about,
    )


def _index_path(stamps: list[FileStamp]) -> Path:
    folder = stamps[0].path.resolve().parent
    return cache_folder() / "scans" / f"{hashlib.sha256(str(folder).encode()).hexdigest()[:24]}.npz"


def _remembered(stamps: list[FileStamp]) -> Shapes | None:
    """Return the cached shapes of a folder's files, or None if there is no index or a file has changed."""
    try:
        # Open the file first, because np.load does not close damaged files.
        with _index_path(stamps).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            if not all(np.array_equal(file[name], now) for name, now in _as_arrays(stamps).items()):
                return None
            return Shapes(file["sizes"], int(file["n_features"]), dtype_of_text(str(file["dtype"])), [])
    except Exception:  # a damaged index can raise many kinds of errors; the shapes are then read again
        return None


def _remember(stamps: list[FileStamp], shapes: Shapes) -> None:
    path = _index_path(stamps)
    arrays = {"sizes": shapes.sizes, "n_features": shapes.n_features, "dtype": dtype_text(shapes.dtype)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part, part.open("wb") as file:
            np.savez(file, **{**arrays, **_as_arrays(stamps)})  # type: ignore[arg-type]
    except OSError:
        return  # the index is optional: it only saves time


def _as_arrays(stamps: list[FileStamp]) -> dict[str, np.ndarray]:
    return {
        "files": np.array([stamp.path.name for stamp in stamps]),
        "stamps": np.array([stamp[1:4] for stamp in stamps], dtype=np.int64),  # size and times
    }
