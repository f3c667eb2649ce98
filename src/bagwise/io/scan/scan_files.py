"""`scan_bags`: the entry point for scans of all file formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from glob import has_magic
from pathlib import Path
from typing import Any

from bagwise._core.types import FilePath
from bagwise.data.description import is_positive_label
from bagwise.data.scanned import ScannedBags
from bagwise.data.scanned.source import FileSource, FileStamp
from bagwise.io._remote import find_remote, is_address

_FORMATS = ("parquet", "h5", "npy", "npz")


def scan_bags(
    path: FilePath,
    *,
    bag: str | None = None,
    label: str | None = None,
    features: Sequence[str] | None = None,
    positive: Any = None,
    format: str | None = None,
    labels: FilePath | None = None,
    missing: str | None = None,
) -> ScannedBags:
    """Scan files of bags, which can be larger than memory, without loading the instances.

    The scan contains the ids, sizes, labels and columns of the bags. Only these values are read from Parquet
    files that bagwise wrote. Other files with one row per bag are read once to determine the bag sizes. Other
    files with one row per instance are read once to determine which columns describe bags, unless `features`
    is passed.

    Parameters
    ----------
    path : path or pattern
        One of these:

        - a Parquet file with one row per bag, or with one row per instance. In the second case, the rows of a
          bag must be consecutive;
        - a folder of such Parquet files, or a pattern such as ``"data/part-*.parquet"``. The files are sorted
          by name. With one row per instance, the last bag of a file can continue in the next file;
        - a pattern or address that fsspec supports, such as ``"s3://bucket/bags/*.parquet"``;
        - a folder with one .h5 or .npy file per bag and a table of labels;
        - an uncompressed .npz file.
    bag, label : str, optional
        The columns with the bag ids and the labels, for Parquet files that bagwise did not write. The
        defaults are ``bag_id``, ``bag`` or ``slide_id``, and ``y`` or ``label``.
    features : sequence of str, optional
        The feature columns of files with one row per instance. By default they are read from the description
        in the file; without a description, they are the numeric columns that vary inside a bag, including
        columns with a list of values per row (see `load_parquet`).
    positive : optional
        The label of the positive class; `y` is then boolean.
    format : {"parquet", "h5", "npy", "npz"}, optional
        The file format, if the file name does not determine the format.
    labels, missing
        For folders with one file per bag, as in `load_h5`: the label table, and whether to omit files without
        a label.

    Returns
    -------
    ScannedBags

    See Also
    --------
    load_bags : Load bags into memory.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from bagwise import make_noisy_or_bags, save_parquet, scan_bags
    >>> data = make_noisy_or_bags(5, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = save_parquet(pathlib.Path(folder) / "five.parquet", data.bags, data.y, layout="long")
    ...     scan = scan_bags(file)
    >>> scan
    ScannedBags(5 bags, 15 instances, 3 features)
    """
    paths, kind = find_files(path, format)
    of_folder = {
        name: value for name, value in (("labels", labels), ("missing", missing)) if value is not None
    }
    source = _scan(paths, kind, bag, label, features, of_folder)
    if positive is not None:
        source = replace(source, y=is_positive_label(source.y, positive, repr(str(path))))
    return ScannedBags(source)


def find_files(path: FilePath, format: str | None) -> tuple[list[Any], str]:
    """Return the files, or the folder, and their format."""
    from bagwise.io.files import folder_format

    if format is not None and format not in _FORMATS:
        raise ValueError(f"format is {format!r}; expected one of {', '.join(_FORMATS)}.")
    if is_address(path):
        if format not in (None, "parquet"):
            raise ValueError(
                f"{str(path)!r} is an address; for remote files, scan_bags supports only Parquet."
            )
        return find_remote(str(path)), "parquet"
    local_path = Path(path)
    if local_path.is_file():
        paths = [local_path]
    elif local_path.is_dir():
        paths = sorted(local_path.glob("*.parquet")) if format in (None, "parquet") else []
        if not paths:
            return [local_path], format or folder_format(local_path)
    elif has_magic(str(path)):
        root = Path(local_path.anchor)
        paths = sorted(root.glob(str(local_path.relative_to(root) if local_path.is_absolute() else path)))
        if not paths:
            raise FileNotFoundError(f"there is no file {str(path)!r}.")
    else:
        raise FileNotFoundError(f"there is no file or folder {str(path)!r}.")
    if format is None:
        suffix = paths[0].suffix.lower()
        if suffix not in (".parquet", ".npz"):
            raise ValueError(
                f"{str(paths[0])!r} ends in {suffix!r}; expected .parquet, .npz or a folder; otherwise pass "
                f"format=, one of {', '.join(_FORMATS)}."
            )
        format = suffix[1:]
    return paths, format


def _scan(
    paths: list[Path],
    kind: str,
    bag: str | None,
    label: str | None,
    features: Sequence[str] | None,
    of_folder: dict[str, Any],
) -> FileSource:
    if of_folder and kind not in ("h5", "npy"):
        raise ValueError(
            f"{next(iter(of_folder))!r} is only for folders of h5 or npy files; got {str(paths[0])!r}."
        )
    if kind == "parquet":
        return _scan_parquet(paths, bag, label, features)
    _refuse_features(features, repr(str(paths[0])))
    if kind == "npz":
        return _scan_npz(paths, bag or label)
    if not paths[0].is_dir():
        raise ValueError(
            f"{str(paths[0])!r} is a file; expected the folder that contains one {kind} file per bag."
        )
    from bagwise.io.h5 import h5_folder
    from bagwise.io.npy import npy_folder
    from bagwise.io.scan.folder import scan_folder

    find_bags = {"h5": h5_folder, "npy": npy_folder}[kind]
    return scan_folder(*find_bags(paths[0], bag=bag, label=label, **of_folder))


def _scan_npz(paths: list[Path], column: str | None) -> FileSource:
    from bagwise.io.scan.npz import scan_npz

    if len(paths) > 1:
        raise ValueError(f"path matches {len(paths)} npz files; scan_bags supports only one npz file.")
    if column is not None:
        raise ValueError(
            f"{str(paths[0])!r} has no column {column!r}: npz files have no columns; omit bag and label."
        )
    return scan_npz(paths[0])


def _scan_parquet(
    paths: list[Path], bag: str | None, label: str | None, features: Sequence[str] | None
) -> FileSource:
    from bagwise.io._parquet_reader import Reader
    from bagwise.io.scan.parquet import refuse_other_columns
    from bagwise.io.scan.parquet_bags import scan_bag_rows
    from bagwise.io.scan.parquet_long import scan_long

    stamps = [FileStamp.of(path) for path in paths]
    readers = []
    try:
        for path in paths:
            readers.append(Reader(path, bag, label, streamed=True))
            refuse_other_columns(readers[0], readers[-1])
        if readers[0].is_long:
            return scan_long(readers, stamps, features)
        _refuse_features(features, readers[0].where)
        return scan_bag_rows(readers, stamps)
    finally:
        for reader in readers:
            reader.file.close()


def _refuse_features(features: Sequence[str] | None, where: str) -> None:
    if features is not None:
        raise ValueError(
            f"{where} does not have one column per feature; features= requires a table with one row per "
            "instance."
        )
