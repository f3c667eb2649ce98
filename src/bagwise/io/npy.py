"""Read and write folders with one .npy file per bag."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.files.atomic import replacing_folder
from bagwise._core.files.damage import reading
from bagwise._core.precision import with_dtype
from bagwise._core.types import FilePath, Labels
from bagwise.data.bags import Bags
from bagwise.io._folder import FolderIndex, OpenBag, load_folder, read_index, safe_name, write_labels

# Smaller files are read at once, which is much faster than memory-mapping them.
_SMALL_BYTES = 2**18


def save_npy(folder: FilePath, bags: Bags, y: ArrayLike | None = None) -> Path:
    """Write a folder with one .npy file per bag and a table ``labels.csv``.

    Instances are stored in ``features/BAG.npy``, and every instance column in a separate subfolder. The table
    has the columns ``bag_id`` and ``y`` and the bag columns. A small description file stores names and
    dtypes.

    Parameters
    ----------
    folder : path
        The folder to create; if it exists, it must be empty. Writing is atomic: no incomplete folder is ever
        left behind.
    bags : Bags
        Dense bags with unique ids, which become the file names.
    y : array of shape (n_bags, ...), optional
        Labels of the bags.

    Returns
    -------
    pathlib.Path
        The path of the written folder.

    See Also
    --------
    load_npy : Read the folder.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bagwise import Bags, save_npy
    >>> bags = Bags([[0.5], [0.25], [2.0]], [0, 2, 3], ids=["m1", "m2"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = save_npy(pathlib.Path(folder) / "shapes", bags, [1, 0])
    ...     sorted(file.name for file in (written / "features").iterdir())
    ['m1.npy', 'm2.npy']
    """
    folder = Path(folder)
    with replacing_folder(folder) as part:
        bags, description, names = write_labels(part, bags, y, "npy")
        columns = {"features": bags.instances}
        for name, kind in description["instance_columns"].items():
            columns[safe_name(kind["column"])] = bags.instance_columns[name]
        for column, values in columns.items():
            (part / column).mkdir()
            inside = os.fspath(part / column)
            for i, name in enumerate(names):
                np.save(f"{inside}/{name}.npy", values[bags.offsets[i] : bags.offsets[i + 1]])
    return folder


def load_npy(
    folder: FilePath,
    *,
    labels: FilePath | None = None,
    bag: str | None = None,
    label: str | None = None,
    missing: str = "raise",
) -> tuple[Bags, Labels]:
    """Read bags and their labels from a folder with one .npy file per bag.

    Instances are read from ``FOLDER/features/BAG.npy`` or ``FOLDER/BAG.npy``. Any other subfolder is an
    instance column if it contains a file of the same name for every bag.

    Parameters
    ----------
    folder : path
        The folder.
    labels : path, optional
        A table with one row per bag: its id (the file name without ".npy"), its label, and further columns,
        which become bag columns. By default ``labels.csv`` in the folder. Without a table, there are no
        labels, and the bags are sorted by file name. Every file must be listed in the table, and every listed
        file must exist (see `missing`).
    bag, label : str, optional
        The columns of the table with the ids (by default ``slide_id``, ``bag_id`` or ``bag``) and the
        labels (by default ``y`` or ``label``).
    missing : {"raise", "skip", "keep"}, default="raise"
        How to treat files without a label, and rows of the table without a file: "raise" raises an error;
        "skip" skips them and issues a warning with their number; "keep" reads empty labels as missing (NaN,
        or None among text labels).

    Returns
    -------
    bags : Bags
        The bags.
    y : array or None
        The labels; None if there are none.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from bagwise import load_npy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, size in (("a", 2), ("b", 3)):
    ...         np.save(pathlib.Path(folder) / name, np.zeros((size, 4)))
    ...     bags, y = load_npy(folder)
    >>> bags.ids
    array(['a', 'b'], dtype='<U1')
    """
    return load_folder(*npy_folder(folder, labels=labels, bag=bag, label=label, missing=missing))


def npy_folder(folder: FilePath, **of_index: Any) -> tuple[FolderIndex, OpenBag]:
    """Return the bags of a folder and a function that opens one; arguments are those of `load_npy`."""
    folder = Path(folder)
    inside = folder / "features" if (folder / "features").is_dir() else folder
    index = read_index(folder, ".npy", inside=inside, **of_index)
    wanted = {path.name for path in index.files}
    others = [path for path in sorted(folder.glob("*/")) if path.is_dir() and path != inside]
    columns = [path for path in others if wanted <= set(os.listdir(path))]
    return index, partial(_open_bag, columns=columns)


@contextmanager
def _open_bag(path: Path, *, columns: list[Path], sides: bool = True) -> Iterator[dict[str, Any]]:
    yield {
        "features": _read(path),
        **{column.name: _read(column / path.name) for column in columns if sides},
    }


def _read(path: Path) -> np.ndarray:
    with reading(path, "npy file"):
        with open(path, "rb", buffering=0) as file:
            start = file.read(_SMALL_BYTES)
        if len(start) < _SMALL_BYTES:
            array = _parsed(start)
            if array is not None:
                return array
        # Memory-map the file: numpy compares the declared size with the file size, and the values are copied
        # directly into the matrix of all bags. This branch also reads small files that are damaged or
        # unusual.
        return with_dtype(np.load(path, mmap_mode="r", allow_pickle=False))


def _parsed(whole: bytes) -> np.ndarray | None:
    """Parse the content of an npy file; return None if it is not a plain array of format version 1.0."""
    if whole[:8] != b"\x93NUMPY\x01\x00" or len(whole) < 10:
        return None
    begin = 10 + int.from_bytes(whole[8:10], "little")
    header = _header(whole[:begin])
    if header is None or len(whole) != begin + header[2]:
        return None
    shape, dtype, _ = header
    return with_dtype(np.frombuffer(whole, dtype, offset=begin).reshape(shape))


@lru_cache(maxsize=4096)
def _header(text: bytes) -> tuple[tuple[int, ...], np.dtype, int] | None:
    """Return the shape, dtype and size in bytes of an array in C order; None for other arrays.

    Results are cached because parsing a header is slow and most files have the same headers.
    """
    stream = BytesIO(text)
    np.lib.format.read_magic(stream)
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if fortran or dtype.hasobject or stream.tell() != len(text):
        return None
    return shape, dtype, math.prod(shape) * dtype.itemsize
