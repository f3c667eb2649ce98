"""npy in and out: a folder with an .npy file for every bag."""

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
from bagwise._core.types import FilePath, Labels
from bagwise.data.bags import Bags
from bagwise.io._folder import FolderIndex, OpenBag, load_folder, read_index, safe_name, write_labels

# Files of less are read at once, which is much quicker than to map them.
_SMALL_BYTES = 2**18


def save_npy(folder: FilePath, bags: Bags, y: ArrayLike | None = None) -> Path:
    """Write a folder with an .npy file for every bag, and ``labels.csv``.

    Instances are in ``features/BAG.npy``, and every column of instances in a folder of its own; the table
    has ``bag_id``, ``y`` and the columns of bags. A small description beside it keeps names and dtypes.

    Parameters
    ----------
    folder : path
        Where to write: a folder that does not exist yet, or is empty. It is complete or absent.
    bags : Bags
        Dense bags with different ids, which become the names of the files.
    y : array of shape (n_bags, ...), optional
        Labels of the bags.

    Returns
    -------
    pathlib.Path
        The folder written.

    See Also
    --------
    load_npy : read it back.

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
    """Read a folder with an .npy file for every bag, and their labels or None.

    Instances are in ``FOLDER/features/BAG.npy``, or in ``FOLDER/BAG.npy``. Every other folder in it with a
    file of the same name for every bag is a column of instances.

    Parameters
    ----------
    folder : path
        The folder.
    labels : path, optional
        A CSV file with a row per bag: its name (without ".npy"), its label, and what else is known of it.
        By default ``labels.csv`` in the folder; without it there are no labels, and bags come in the order
        of their names. Every file must be named, and every name have its file (see `missing`).
    bag, label : str, optional
        The columns of the table with the names (by default ``slide_id``, ``bag_id`` or ``bag``) and the
        labels (``y`` or ``label``).
    missing : {"raise", "skip"}, default="raise"
        What happens to files without a label and to lines of the table without a file: an error, or they are
        left out, and a warning counts them.

    Returns
    -------
    bags : Bags
    y : array or None

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
    """Find the bags of a folder, and how one is opened; arguments are those of `load_npy`."""
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
            found = _parsed(start)
            if found is not None:
                return found
        # Mapped, not read: sizes are compared with the file's, and values go straight into the matrix of all
        # bags. Whatever is unusual about a small file, it says.
        return np.load(path, mmap_mode="r", allow_pickle=False)


def _parsed(whole: bytes) -> np.ndarray | None:
    """The array of a whole npy file; None if there is anything unusual about it."""
    if whole[:8] != b"\x93NUMPY\x01\x00" or len(whole) < 10:
        return None
    begin = 10 + int.from_bytes(whole[8:10], "little")
    header = _header(whole[:begin])
    if header is None or len(whole) != begin + header[2]:
        return None
    shape, dtype, _ = header
    return np.frombuffer(whole, dtype, offset=begin).reshape(shape)


@lru_cache(maxsize=4096)
def _header(text: bytes) -> tuple[tuple[int, ...], np.dtype, int] | None:
    """Shape, dtype and bytes of plain values in C order; headers are few, and slow to read."""
    stream = BytesIO(text)
    np.lib.format.read_magic(stream)
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if fortran or dtype.hasobject or stream.tell() != len(text):
        return None
    return shape, dtype, math.prod(shape) * dtype.itemsize
