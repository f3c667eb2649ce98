"""Scans of npz files with uncompressed instances."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from bagwise._core.precision import is_numeric, with_dtype
from bagwise.data.blocks import block_rows
from bagwise.data.blocks.buffers import Buffers
from bagwise.data.scanned.source import FileSource, FileStamp, MatrixPiece
from bagwise.io.npz import bags_of_arrays, read_arrays


@dataclass
class NpzSource(FileSource):
    """A source with one contiguous matrix in a file; units are runs of a few rows.

    Attributes
    ----------
    begin : int
        Start of the matrix in the file, in bytes.
    per_instance : dict of str to array
        The side columns, which are in memory.
    """

    begin: int = field(repr=False)
    per_instance: dict[str, np.ndarray] = field(repr=False)

    def _parts_of_units(self, units: slice) -> dict[str, Any]:
        rows = slice(*(self.unit_offsets[[units.start, units.stop]] - self.unit_offsets[0]).tolist())
        return {"per_instance": {name: values[rows] for name, values in self.per_instance.items()}}

    def _pieces(self, units: np.ndarray, sides: bool) -> Iterator[MatrixPiece]:
        buffers = Buffers()
        width = self.n_features * self.dtype.itemsize
        first = int(self.unit_offsets[0])  # not 0 if this is a part of another source
        with self.stamps[0].path.open("rb") as file:
            for unit in units:
                rows = slice(*self.unit_offsets[unit : unit + 2].tolist())
                X = buffers.empty((rows.stop - rows.start, self.n_features), self.dtype)
                file.seek(self.begin + rows.start * width)
                if file.readinto(X.view(np.uint8).data) != X.nbytes:
                    raise ValueError(
                        f"{str(self.stamps[0].path)!r} is truncated: it ends before its last instance."
                    )
                mine = slice(rows.start - first, rows.stop - first)
                columns = {name: values[mine] for name, values in self.per_instance.items()}
                yield MatrixPiece(rows.start, X, columns if sides else {})


def scan_npz(path: Path) -> NpzSource:
    """Return the source of a file: read all arrays except the instances, and locate the instances."""
    stamp = FileStamp.of(path)
    arrays = read_arrays(path, but=("X",))
    if "X_data" in arrays:
        raise ValueError(
            f"{str(path)!r} has sparse instances, which cannot be scanned; load the file with load_npz."
        )
    if "X" not in arrays:
        raise ValueError(f"{str(path)!r} has no array 'X'; it has {sorted(arrays)}.")
    begin, shape, dtype = _find_matrix(path)
    names = arrays.pop("feature_names", None)
    # Build bags without features, so that ids, labels and columns are read as in load_npz.
    bags, y = bags_of_arrays({**arrays, "X": np.empty((shape[0], 0))}, path)
    return NpzSource(
        offsets=np.asarray(bags.offsets),
        ids=bags._ids,
        y=y,
        bag_columns=dict(bags.bag_columns),
        feature_names=None if names is None else names.tolist(),
        n_features=shape[1],
        dtype=dtype,
        unit_offsets=np.append(np.arange(0, shape[0], block_rows(shape[1])), shape[0]),
        stamps=[stamp],
        begin=begin,
        per_instance=dict(bags.instance_columns),
    )


def _find_matrix(path: Path) -> tuple[int, tuple[int, int], np.dtype]:
    """Return the start of the array `X` in the file, its shape and its dtype."""
    where = repr(str(path))
    with zipfile.ZipFile(path) as archive:
        about = archive.getinfo("X.npy")
        if about.compress_type != zipfile.ZIP_STORED:
            raise ValueError(
                f"{where} is compressed and cannot be scanned; load it with load_npz, or convert it with "
                "bagwise convert SRC DST.parquet."
            )
    with path.open("rb") as file:
        # The lengths in the local header can differ from the lengths in the directory of the archive.
        file.seek(about.header_offset + 26)
        name_length, extra_length = np.frombuffer(file.read(4), dtype="<u2").tolist()
        file.seek(about.header_offset + 30 + name_length + extra_length)
        version = npy_format.read_magic(file)
        read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
        shape, by_columns, dtype = read(file)
        dtype = with_dtype(np.empty(0, dtype)).dtype
        if len(shape) != 2 or by_columns or not is_numeric(dtype):
            raise ValueError(
                f"{where} has instances of shape {shape} and type {dtype}"
                f"{', in Fortran order' if by_columns else ''}; a scan needs a numeric matrix in C order."
            )
        return file.tell(), shape, dtype
