"""Read and write folders with one HDF5 file per bag, the format in which CLAM and TRIDENT write slides."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.files.atomic import replacing_folder
from bagwise._core.files.damage import reading
from bagwise._core.precision import bfloat16, is_bfloat16
from bagwise._core.types import FilePath, Labels
from bagwise.data.bags import Bags
from bagwise.io._folder import FolderIndex, OpenBag, load_folder, read_index, safe_name, write_labels

# Limits for the declared size of a dataset, because compression ratios cannot be arbitrarily high.
_SMALL_BYTES, _MOST_OF_A_BYTE = 2**24, 10_000


def save_h5(folder: FilePath, bags: Bags, y: ArrayLike | None = None) -> Path:
    """Write a folder with one .h5 file per bag and a table ``labels.csv``.

    Each file has a dataset ``features`` and one dataset per instance column. The table has the columns
    ``bag_id`` and ``y`` and the bag columns. A small description file stores names and dtypes.

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
    load_h5 : Read the folder.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bagwise import Bags, save_h5
    >>> bags = Bags([[0.5], [0.25], [2.0]], [0, 2, 3], ids=["m1", "m2"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = save_h5(pathlib.Path(folder) / "shapes", bags, [1, 0])
    ...     sorted(file.name for file in written.rglob("*.h5"))
    ['m1.h5', 'm2.h5']
    """
    h5py = _h5py()
    folder = Path(folder)
    with replacing_folder(folder) as part:
        bags, description, names = write_labels(part, bags, y, "HDF5")
        kinds = description["instance_columns"]
        for i, name in enumerate(names):
            rows = slice(bags.offsets[i], bags.offsets[i + 1])
            with h5py.File(part / f"{name}.h5", "w") as file:
                _write_features(file, bags.instances[rows])
                for column, kind in kinds.items():
                    file[safe_name(kind["column"])] = _storable(bags.instance_columns[column][rows])
    return folder


def load_h5(
    folder: FilePath,
    *,
    labels: FilePath | None = None,
    bag: str | None = None,
    label: str | None = None,
    key: str = "features",
    missing: str = "raise",
) -> tuple[Bags, Labels]:
    """Read bags and their labels from a folder with one .h5 file per bag.

    Reads folders written by `save_h5`, CLAM and TRIDENT: datasets ``features`` and ``coords`` of shape
    (n, ...) or (1, n, ...). Other datasets with one value per instance become instance columns.

    Parameters
    ----------
    folder : path
        The folder.
    labels : path, optional
        A table with one row per bag: its id (the file name without ".h5"), its label, and further columns,
        which become bag columns. By default ``labels.csv`` in the folder. Without a table, there are no
        labels, and the bags are sorted by file name. Every file must be listed in the table, and every listed
        file must exist (see `missing`).
    bag, label : str, optional
        The columns of the table with the ids (by default ``slide_id``, ``bag_id`` or ``bag``) and the
        labels (by default ``y`` or ``label``).
    key : str, default="features"
        The dataset with the instances.
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
    >>> from bagwise import load_h5, make_noisy_or_bags, save_h5
    >>> data = make_noisy_or_bags(5, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bags, y = load_h5(save_h5(pathlib.Path(folder) / "slides", data.bags, data.y))
    >>> bags
    Bags(5 bags, 15 instances, 3 features)
    """
    return load_folder(*h5_folder(folder, labels=labels, bag=bag, label=label, key=key, missing=missing))


def h5_folder(folder: FilePath, *, key: str = "features", **of_index: Any) -> tuple[FolderIndex, OpenBag]:
    """Return the bags of a folder and a function that opens one; arguments are those of `load_h5`."""
    _h5py()
    return read_index(folder, ".h5", inside=Path(folder), **of_index), partial(_open_bag, key=key)


@contextmanager
def _open_bag(path: Path, *, key: str, sides: bool = True) -> Iterator[dict[str, Any]]:
    with reading(path, "HDF5 file"), _h5py().File(path, "r") as file:
        if not file.id.links.exists(key.encode()):
            raise ValueError(f"{str(path)!r} has no dataset {key!r}; it has {sorted(file)}.")
        features = _own_dataset(file, key)
        if features is None:
            raise ValueError(f"{str(path)!r}: {key!r} is a group; expected a dataset.")
        if features.shape is None:
            raise ValueError(
                f"{str(path)!r}: {key!r} has no values; expected shape (n_instances, n_features)."
            )
        is_all = not sides or file.id.get_num_objs() == 1
        arrays = {"features": features} if is_all else _datasets(file, key, features)
        yield {**arrays, "features": _BFloat16Dataset(features)} if _is_bfloat16(features) else arrays


def _write_features(file: Any, X: np.ndarray) -> None:
    """Write the instances of a bag; bfloat16 is stored as an HDF5 float type with the same bit layout."""
    if not is_bfloat16(X.dtype):
        file["features"] = X
        return
    h5py = _h5py()
    kind = _bfloat16_type()
    dataset = h5py.h5d.create(file.id, b"features", kind, h5py.h5s.create_simple(X.shape))
    dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(X).view(np.uint16), kind)


def _bfloat16_type() -> Any:
    """Return the HDF5 type of bfloat16: the upper half of a float32."""
    kind = _h5py().h5t.IEEE_F32LE.copy()
    kind.set_fields(15, 7, 8, 0, 7)  # positions and sizes of sign, exponent and fraction
    kind.set_size(2)
    kind.set_ebias(127)
    return kind


def _is_bfloat16(dataset: Any) -> bool:
    """Return whether a dataset is bfloat16, as a float type or as 2 bytes, as h5py writes it."""
    if dataset.dtype == np.dtype("V2"):
        return True
    return dataset.dtype == np.float32 and bool(dataset.id.get_type() == _bfloat16_type())


class _BFloat16Dataset:
    """A dataset of bfloat16 values, which are read without HDF5's conversion to float32."""

    def __init__(self, dataset: Any):
        self._dataset = dataset
        self.shape = dataset.shape
        self.dtype = bfloat16()

    def __getitem__(self, key: Any) -> np.ndarray:
        """Return rows: ``dataset[()]``, ``dataset[begin:stop]``, or ``dataset[0, begin:stop]``."""
        h5py = _h5py()
        *batch, n_rows, width = self.shape
        begin, stop, _ = (key[-1] if isinstance(key, tuple) and key else key or slice(None)).indices(n_rows)
        bits = np.empty((stop - begin, width), np.uint16)
        if bits.size:
            space = self._dataset.id.get_space()
            space.select_hyperslab((*(0 for _ in batch), begin, 0), (*batch, *bits.shape))
            kind = self._dataset.id.get_type()
            self._dataset.id.read(h5py.h5s.create_simple(bits.shape), space, bits, kind)
        return bits.view(self.dtype)


def _own_dataset(file: Any, name: str) -> Any:
    """Return a dataset that is stored in this file with a plausible size; None for a group.

    Links to other files and externally stored data are rejected; otherwise, a file could expose the contents
    of any readable file as features. The low-level API is used because creating the high-level objects of
    h5py takes longer than reading a small bag.
    """
    h5py = _h5py()
    if file.id.links.get_info(name.encode()).type == h5py.h5l.TYPE_EXTERNAL:
        link = file.get(name, getlink=True)
        raise ValueError(f"{file.filename!r}: {name!r} is a link to another file, {link.filename!r}.")
    dataset = h5py.h5o.open(file.id, name.encode())
    if not isinstance(dataset, h5py.h5d.DatasetID):
        return None
    properties = dataset.get_create_plist()
    is_external = properties.get_external_count() or properties.get_layout() == h5py.h5d.VIRTUAL
    if is_external or h5py.h5f.get_name(dataset) != h5py.h5f.get_name(file.id):
        raise ValueError(f"{file.filename!r}: the values of {name!r} are stored in another file.")
    shape, stored = dataset.shape, dataset.get_storage_size()
    claimed = math.prod(shape or ()) * dataset.dtype.itemsize
    if claimed > _SMALL_BYTES + _MOST_OF_A_BYTE * stored:
        raise ValueError(
            f"{file.filename!r}: {name!r} has shape {shape}, which needs {claimed:,} bytes, but only "
            f"{stored:,} bytes are stored."
        )
    return h5py.Dataset(dataset)


def _h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise ImportError("HDF5 files need h5py: pip install 'bagwise[h5]'") from error
    return h5py


def _storable(column: np.ndarray) -> np.ndarray:
    """Convert text to UTF-8 bytes and times to integers, because HDF5 stores neither."""
    if column.dtype.kind == "U":
        # Versions of numpy before 2 encode an empty array as a float array without the original shape.
        return np.char.encode(column, "utf-8") if column.size else np.empty(column.shape, dtype="S1")
    return column.astype(np.int64) if column.dtype.kind in "Mm" else column


def _datasets(file: Any, key: str, features: Any) -> dict[str, Any]:
    """Return the unread dataset of the instances, and the values of the instance columns."""
    arrays: dict[str, Any] = {"features": features}
    size = features.shape[-2] if len(features.shape) > 1 else -1
    for name in file:
        if name in (key, "features"):
            continue
        dataset = _own_dataset(file, name)
        shape = None if dataset is None else dataset.shape
        if not shape:
            continue
        if shape[0] == 1 and size != 1 and len(shape) > 1 and shape[1] == size:
            values = dataset[0]
        elif shape[0] == size:
            values = dataset[()]
        else:
            continue
        if values.dtype.kind in "SO":
            text = values.astype(np.bytes_)
            values = np.char.decode(text, "utf-8") if text.size else np.empty(text.shape, dtype="U1")
        arrays[name] = values
    return arrays
