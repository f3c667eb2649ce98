"""Folders with one file per bag and a table of labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

import numpy as np

from bagwise._core.files.damage import reading
from bagwise._core.precision import common_dtype, is_numeric
from bagwise._core.types import FilePath
from bagwise.data.bags import Bags
from bagwise.data.description import (
    BAG_NAMES,
    LABEL_NAMES,
    check_bags,
    choose_column,
    describe,
    join,
    missing_values,
    refuse_duplicates,
    restore,
)
from bagwise.exceptions import warn_user
from bagwise.io._table import Spread, read_columns, read_described, read_description, read_header, write_table

LABELS = "labels.csv"
# Characters that file systems and HDF5 allow in a name; others are percent-encoded as %XX.
_SAFE = " !#$&'()+,;=@[]{}~^"
# File systems limit names to 255 bytes; this leaves room for the suffix.
_LONGEST = 250


def safe_name(name: str) -> str:
    """Encode a name so that file systems and HDF5 accept it."""
    quoted = quote(name, safe=_SAFE)
    if quoted.startswith(".") or quoted.startswith(LABELS):  # hidden file, or label table or its description
        quoted = f"%{ord(quoted[0]):02X}{quoted[1:]}"
    return quoted or "%"


@dataclass
class FolderIndex:
    """Bag files of a folder, in order, with the ids, labels and bag columns from the label table."""

    files: list[Path]
    ids: np.ndarray | None
    y: np.ndarray | None = None
    bag_columns: dict[str, np.ndarray] = field(default_factory=dict)
    description: dict[str, Any] | None = None
    table: Path | None = None

    def only(self, kept: np.ndarray) -> FolderIndex:
        """Select the ids, labels and bag columns of some bags; the files stay unchanged."""
        return replace(
            self,
            ids=None if self.ids is None else self.ids[kept],
            y=None if self.y is None else self.y[kept],
            bag_columns={name: column[kept] for name, column in self.bag_columns.items()},
        )


def write_labels(
    folder: Path, bags: Bags, y: Any, format_name: str
) -> tuple[Bags, dict[str, Any], list[str]]:
    """Write the label table.

    Returns the bags with storable values, the description of the bags, and the file name of every bag.
    """
    bags, y = check_bags(bags, y, format_name)
    description = {**describe(bags, y, instances="features"), "rows": len(bags)}
    spread = Spread(_bag_kinds(description))
    columns = {description["bag"]["column"]: bags.ids}
    if y is not None:
        columns[description["y"]["column"]] = y
    for name, kind in description["bag_columns"].items():
        columns[kind["column"]] = bags.bag_columns[name]
    write_table(folder / LABELS, spread.header, [spread.out(columns)], description)
    return bags, description, [_file_name(str(value)) for value in bags.ids]


def _file_name(name: str) -> str:
    """Return the file name of a bag, without suffix."""
    file_name = safe_name(name)
    if len(file_name) > _LONGEST:
        raise ValueError(
            f"ids: {name[:20]!r}... needs {len(file_name)} characters in a file name, but the limit is "
            f"{_LONGEST}; shorten the id, or write .npz or .parquet."
        )
    return file_name


def _bag_kinds(description: dict[str, Any]) -> list[dict[str, Any]]:
    labels = [description["y"]] if description["y"] else []
    return [description["bag"], *labels, *description["bag_columns"].values()]


def read_index(
    folder: FilePath,
    suffix: str,
    *,
    inside: Path,
    labels: Any = None,
    bag: str | None,
    label: str | None,
    missing: str = "raise",
) -> FolderIndex:
    """Find the bag files and their labels.

    Parameters
    ----------
    folder : path
        The folder that the user passed.
    suffix : str
        Suffix of the bag files.
    inside : path
        The folder that contains the bag files: `folder` or a subfolder.
    labels : path or TableFile, optional
        The table of labels; by default ``labels.csv`` in the folder, if it exists.
    bag, label : str or None
        The columns of the table with the bag ids and the labels.
    missing : {"raise", "skip", "keep"}
        How to treat files that are not in the table, and rows without a file or a label. With "keep", bags
        with an empty label are kept, with the label NaN, or None among text labels.
    """
    if missing not in ("raise", "skip", "keep"):
        raise ValueError(f'missing must be "raise", "skip" or "keep"; got {missing!r}.')
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {str(folder)!r}.")
    with os.scandir(inside) as entries:
        names = sorted(entry.name for entry in entries if entry.name.endswith(suffix) and entry.is_file())
    paths = {name: inside / name for name in names if not name.startswith(".")}
    table: Any = folder / LABELS
    if labels is not None:
        table = labels if hasattr(labels, "rows") else Path(labels)  # a `TableFile`, or a path
    if labels is None and not table.exists():
        if not paths:
            raise ValueError(f"{str(inside)!r} has no {suffix} files.")
        return FolderIndex(list(paths.values()), np.array([p.stem for p in paths.values()]))
    description = None if bag or label or labels else read_description(table)
    if description:
        index, names, lines = _described(table, description)
        unlabelled = np.zeros(len(names), dtype=bool)
    else:
        index, names, lines, unlabelled = read_label_table(table, bag, label)
    if not names:
        raise ValueError(f"{str(table)!r} names no bags.")
    refuse_duplicates(names, repr(str(table)), lambda i: f"line {lines[i]}")
    files = [paths.pop(safe_name(name) + suffix, None) or paths.pop(name + suffix, None) for name in names]
    exists = np.array([path is not None for path in files])
    kept = np.flatnonzero(exists if missing == "keep" else exists & ~unlabelled)
    if missing == "skip":
        _warn_skipped(
            table,
            suffix,
            n_without_label=len(paths) + int((exists & unlabelled).sum()),
            n_without_file=int((~exists).sum()),
        )
    elif not exists.all():
        first = int(np.argmin(exists))
        raise ValueError(
            f"{str(table)!r}, line {lines[first]}: there is no file {names[first] + suffix!r} in "
            f'{str(inside)!r}; pass missing="skip" to skip such lines.'
        )
    elif unlabelled.any() and missing == "raise":
        first = int(np.argmax(unlabelled))
        raise ValueError(
            f'{str(table)!r}, line {lines[first]}: the label is missing; pass missing="skip" to skip bags '
            'without a label, or "keep" to keep them.'
        )
    elif paths:
        raise ValueError(
            f"{str(next(iter(paths.values())))!r} has no label because it is not listed in {str(table)!r}; "
            'pass missing="skip" to skip such files.'
        )
    if not len(kept):
        raise ValueError(f"{str(inside)!r} has no {suffix} file with a label in {str(table)!r}.")
    index = index.only(kept)
    if unlabelled.any() and index.y is not None:
        index.y = with_none(index.y, missing_values(index.y)) if missing == "keep" else whole_labels(index.y)
    index.files.extend(path for k in kept if (path := files[k]) is not None)
    return index


def _warn_skipped(table: Path, suffix: str, *, n_without_label: int, n_without_file: int) -> None:
    """Issue a warning with the number of skipped files and lines."""
    skipped = []
    if n_without_label:
        skipped.append(
            f"{n_without_label:,} {suffix} {'file has' if n_without_label == 1 else 'files have'} no label"
        )
    if n_without_file:
        skipped.append(
            f"{n_without_file:,} {'line has' if n_without_file == 1 else 'lines have'} no {suffix} file"
        )
    if skipped:
        warn_user(f"{str(table)!r}: {' and '.join(skipped)}; skipped.")


def _described(table: Path, description: dict[str, Any]) -> tuple[FolderIndex, list[str], np.ndarray]:
    columns, lines = read_described(table, description, _bag_kinds(description))
    ids = columns[description["bag"]["column"]]

    def side(kind: dict[str, Any]) -> np.ndarray:
        return restore(columns[kind["column"]], kind)

    index = FolderIndex(
        [],
        None if description["bag"]["numbered"] else ids,
        side(description["y"]) if description["y"] else None,
        {name: side(kind) for name, kind in description["bag_columns"].items()},
        description,
        table,
    )
    return index, [str(value) for value in ids], lines


def read_label_table(
    table: Any, bag: str | None, label: str | None
) -> tuple[FolderIndex, list[str], np.ndarray, np.ndarray]:
    """Read a label table without a description.

    Returns the ids, labels and other columns, the ids as text, their line numbers, and a mask of missing
    labels.
    """
    where = repr(str(table))
    header = read_header(table)
    bag = choose_column(bag, ("slide_id", *BAG_NAMES), header, where, "the bag ids")
    if bag is None:
        raise ValueError(
            f"{where} has no column 'slide_id', 'bag_id' or 'bag'; name the column with the bag ids: bag=..."
        )
    label = choose_column(label, LABEL_NAMES, header, where, "the labels")
    columns, lines = read_columns(table, {name: "U" if name == bag else None for name in header})
    nameless = missing_values(columns[bag])
    if nameless.any():
        raise ValueError(f"{where}, line {lines[int(np.argmax(nameless))]}: the bag id is missing.")
    ids = columns.pop(bag)
    y = None if label is None else columns.pop(label)
    unlabelled = np.zeros(len(ids), dtype=bool) if y is None else missing_values(y)
    return FolderIndex([], ids, y, columns), ids.tolist(), lines, unlabelled


def with_none(y: np.ndarray, unlabelled: np.ndarray) -> np.ndarray:
    """Return text labels as objects, with None for missing labels; numeric labels already contain NaN."""
    if y.dtype.kind != "U":
        return y
    labels = y.astype(object)
    labels[unlabelled] = None
    return labels


def whole_labels(y: np.ndarray) -> np.ndarray:
    """Convert labels that were read as floats, only because some labels are missing, to integers."""
    if y.dtype.kind != "f" or not np.isfinite(y).all():
        return y
    whole = y.astype(np.int64)
    return whole if (whole == y).all() else y


# Opens the file of a bag and yields its arrays, or objects that numpy can slice. The instances are called
# "features"; the others are instance columns, which are omitted if ``sides=False``.
OpenBag: TypeAlias = Callable[..., AbstractContextManager[Mapping[str, Any]]]


class Shapes(NamedTuple):
    """Contents of the files in a folder: bag sizes, number of features, dtype, names of other arrays."""

    sizes: np.ndarray
    n_features: int
    dtype: np.dtype
    names: list[str]


def look_at_shapes(index: FolderIndex, open_bag: OpenBag) -> Shapes:
    """Open every file in a folder to read the shape of the instance array."""
    sizes, dtypes, width = [], set(), 0
    names: list[str] = []
    for _, arrays, names in _opened(index, open_bag):  # noqa: B007 (the same for all files)
        features = arrays["features"]
        width = features.shape[-1]
        sizes.append(features.shape[-2])
        dtypes.add(features.dtype)
    return Shapes(np.array(sizes, dtype=np.int64), width, common_dtype(*dtypes), names)


def _opened(index: FolderIndex, open_bag: OpenBag) -> Iterator[tuple[Path, Mapping[str, Any], list[str]]]:
    """Open the files in a folder one by one; yield the path, the arrays and the required array names."""
    first = repr(str(index.files[0]))
    names: list[str] | None = None
    for path in index.files:
        with open_bag(path) as arrays:
            features = arrays["features"]
            shape = features.shape
            _check_features(shape, features.dtype, path)
            if names is None:
                width, names = shape[-1], [name for name in arrays if name != "features"]
            if shape[-1] != width:
                raise ValueError(f"{str(path)!r} has {shape[-1]} features, but {first} has {width}.")
            absent = [name for name in names if name not in arrays]
            if absent:
                raise ValueError(f"{str(path)!r} has no array {absent[0]!r}, but {first} has one.")
            yield path, arrays, names


class _GrowingMatrix:
    """Matrix to which rows are appended, without a second copy in memory.

    It is resized in place by at least 50 % at a time; unwritten rows take no physical memory.
    """

    def __init__(self, first: np.ndarray):
        self._rows = np.empty((max(1024, len(first)), first.shape[1]), dtype=first.dtype)
        self._n = 0
        self.append(first)

    def append(self, rows: np.ndarray) -> None:
        """Append rows; if the dtypes differ, the matrix is converted to their common dtype."""
        if rows.dtype != self._rows.dtype:
            self._rows = self._rows.astype(common_dtype(rows.dtype, self._rows.dtype))
        end = self._n + len(rows)
        if end > len(self._rows):
            self._rows.resize((max(end, 3 * len(self._rows) // 2), rows.shape[1]), refcheck=False)
        self._rows[self._n : end] = rows
        self._n = end

    def whole(self) -> np.ndarray:
        """Return the matrix; no rows may be appended afterwards."""
        self._rows.resize((self._n, self._rows.shape[1]), refcheck=False)
        return self._rows


def load_folder(index: FolderIndex, open_bag: OpenBag) -> tuple[Bags, np.ndarray | None]:
    """Read all bags of a folder into one matrix, without a second copy in memory."""
    X: _GrowingMatrix | None = None
    sizes: list[int] = []
    parts: dict[str, list[np.ndarray]] = {}
    for path, arrays, names in _opened(index, open_bag):
        features = arrays["features"]
        size, width = features.shape[-2:]
        values = features[()].reshape(size, width)
        if X is None:
            X = _GrowingMatrix(values)
        else:
            X.append(values)
        sizes.append(size)
        for name in names:
            parts.setdefault(name, []).append(read_column(arrays, name, size, path))
    assert X is not None  # an index contains at least one bag
    offsets = np.append(0, np.cumsum(sizes, dtype=np.int64))
    about = index.description
    with reading(index.table or index.files[0].parent, "folder of bags"):
        bags = Bags(
            X.whole(),
            offsets,
            ids=index.ids,
            feature_names=None if about is None else about["instances"]["names"],
            instance_columns=restore_columns({name: join(columns) for name, columns in parts.items()}, about),
            bag_columns=index.bag_columns,
        )
    return bags, index.y


def read_column(arrays: Mapping[str, Any], name: str, size: int, path: Path) -> np.ndarray:
    """Read an instance column, which must have `size` values."""
    values = np.array(arrays[name])
    if len(values) != size:
        raise ValueError(f"{str(path)!r} has {len(values)} values of {name!r}, but {size} instances.")
    return values


def restore_columns(
    columns: dict[str, np.ndarray], description: dict[str, Any] | None
) -> dict[str, np.ndarray]:
    """Restore the names, dtypes and shapes of instance columns from a description."""
    if description is None:
        return columns
    kinds = description["instance_columns"]
    absent = [kind["column"] for kind in kinds.values() if safe_name(kind["column"]) not in columns]
    if absent:
        raise ValueError(f"the description lists a column {absent[0]!r}, which is not in any file.")
    return {name: restore(columns[safe_name(kind["column"])], kind) for name, kind in kinds.items()}


def _check_features(shape: tuple[int, ...], dtype: np.dtype, path: Path) -> None:
    # Some programs that write slides add a batch dimension of size 1.
    if len(shape) != 2 and not (len(shape) == 3 and shape[0] == 1):
        raise ValueError(
            f"{str(path)!r} has features of shape {shape}; expected shape (n_instances, n_features)."
        )
    if not is_numeric(dtype):
        raise ValueError(f"{str(path)!r} has features of dtype {dtype}; expected a numeric dtype.")
