"""One door for scans of all kinds of files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from glob import has_magic
from pathlib import Path
from typing import Any

from bagwise._core.types import FilePath
from bagwise.data.description import is_positive_label
from bagwise.data.scanned import ScannedBags
from bagwise.data.scanned.source import FileSource, Stamp
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
    """Look through files of bags that may be larger than memory, and leave the instances where they are.

    Ids, sizes, labels and columns of bags are known afterwards. Of Parquet files that bagwise wrote only
    these are read. Of others, those with a row per instance are read once, to find out which columns describe
    bags, unless `features` are named; those with a row per bag are read once for the sizes of bags.

    Parameters
    ----------
    path : path or pattern
        A Parquet file with a row per bag, or with a row per instance, the rows of a bag together and bags
        in any order; a folder of such files, or a pattern such as ``"data/part-*.parquet"`` (in the order
        of their names; where a row is an instance, the last bag of a file may go on in the next), also by an
        address that fsspec knows, such as ``"s3://bucket/bags/*.parquet"``; a folder
        with an .h5 or .npy file for every bag and its table of labels; or an uncompressed .npz file.
    bag, label : str, optional
        The columns with the bags and their labels, where the files are of other origin: by default
        ``bag_id``, ``bag`` or ``slide_id``, and ``y`` or ``label``.
    features : sequence of str, optional
        The columns with the features, where a row is an instance. By default what the file says, else every
        column of numbers that varies inside some bag.
    positive : optional
        The label of the positive class; `y` is then boolean.
    format : {"parquet", "h5", "npy", "npz"}, optional
        The kind of file, where its name does not say.
    labels, missing
        Of folders, as in `load_h5`: the table of labels, and whether files without a label are left out.

    Returns
    -------
    ScannedBags

    See Also
    --------
    load_bags : reads them into memory.

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
    """Find the files, or the folder, and their kind."""
    from bagwise.io.files import folder_format

    if format is not None and format not in _FORMATS:
        raise ValueError(f"format is {format!r}; scan_bags knows {', '.join(_FORMATS)}.")
    if is_address(path):
        if format not in (None, "parquet"):
            raise ValueError(
                f"{str(path)!r} is an address; of files that lie elsewhere scan_bags reads Parquet."
            )
        return find_remote(str(path)), "parquet"
    place = Path(path)
    if place.is_file():
        paths = [place]
    elif place.is_dir():
        paths = sorted(place.glob("*.parquet")) if format in (None, "parquet") else []
        if not paths:
            return [place], format or folder_format(place)
    elif has_magic(str(path)):
        root = Path(place.anchor)
        paths = sorted(root.glob(str(place.relative_to(root) if place.is_absolute() else path)))
        if not paths:
            raise FileNotFoundError(f"there is no file {str(path)!r}.")
    else:
        raise FileNotFoundError(f"there is no file or folder {str(path)!r}.")
    if format is None:
        suffix = paths[0].suffix.lower()
        if suffix not in (".parquet", ".npz"):
            raise ValueError(
                f"{str(paths[0])!r} ends in {suffix!r}; scan_bags expects .parquet, .npz or a folder, or the "
                f"format by name: one of {', '.join(_FORMATS)}."
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
            f"{str(paths[0])!r} is no folder of h5 or npy files, and takes no {next(iter(of_folder))!r}."
        )
    if kind == "parquet":
        return _scan_parquet(paths, bag, label, features)
    _refuse_features(features, repr(str(paths[0])))
    if kind == "npz":
        return _scan_npz(paths, bag or label)
    if not paths[0].is_dir():
        raise ValueError(f"{str(paths[0])!r} is a file; name the folder with a {kind} file for every bag.")
    from bagwise.io.h5 import h5_folder
    from bagwise.io.npy import npy_folder
    from bagwise.io.scan.folder import scan_folder

    find_bags = {"h5": h5_folder, "npy": npy_folder}[kind]
    return scan_folder(*find_bags(paths[0], bag=bag, label=label, **of_folder))


def _scan_npz(paths: list[Path], column: str | None) -> FileSource:
    from bagwise.io.scan.npz import scan_npz

    if len(paths) > 1:
        raise ValueError(f"there are {len(paths)} npz files; scan_bags reads one.")
    if column is not None:
        raise ValueError(f"{str(paths[0])!r} has no columns, and so no {column!r} for bags or labels.")
    return scan_npz(paths[0])


def _scan_parquet(
    paths: list[Path], bag: str | None, label: str | None, features: Sequence[str] | None
) -> FileSource:
    from bagwise.io._parquet_reader import Reader
    from bagwise.io.scan.parquet import refuse_other_columns
    from bagwise.io.scan.parquet_bags import scan_bag_rows
    from bagwise.io.scan.parquet_long import scan_long

    stamps = [Stamp.of(path) for path in paths]
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
            f"{where} has no column for every feature; features= is for tables with a row per instance."
        )
