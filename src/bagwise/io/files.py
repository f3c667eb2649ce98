"""Load and save bags in any format, chosen from the file name or the contents of a folder."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.types import FilePath, Labels
from bagwise.data.bags import Bags
from bagwise.data.description import is_positive_label
from bagwise.io._features import refuse_other_count, wanted_features, with_features
from bagwise.io._label_table import Missing, join_labels, treat_missing
from bagwise.io._rows import TextTable


@dataclass(frozen=True)
class Format:
    """File format.

    Attributes
    ----------
    module : str
        The module of this package that reads and writes the format; imported on first use.
    name : str
        NAME in ``load_NAME`` and ``save_NAME``.
    suffix : str
        Suffix of the files; empty for folders, and for formats that are not chosen by suffix.
    options : tuple of (str, str)
        Keyword arguments that are passed to the writer.
    can_write : bool
        Whether the format can be written.
    """

    module: str
    name: str
    suffix: str = ""
    options: tuple[tuple[str, str], ...] = ()
    can_write: bool = True

    def reader(self) -> Callable[..., tuple[Bags, np.ndarray | None]]:
        """Import and return the function that reads the format."""
        return getattr(import_module(f"bagwise.io.{self.module}"), f"load_{self.name}")

    def writer(self) -> Callable[..., Path]:
        """Import and return the function that writes the format."""
        function = getattr(import_module(f"bagwise.io.{self.module}"), f"save_{self.name}")
        return partial(function, **dict(self.options))


FORMATS = {
    "npz": Format("npz", "npz", ".npz"),
    "parquet": Format("parquet", "parquet", ".parquet"),
    "parquet-long": Format("parquet", "parquet", "", (("layout", "long"),)),
    "csv": Format("csv", "csv", ".csv"),
    "xlsx": Format("xlsx", "xlsx", ".xlsx", (), False),
    "h5": Format("h5", "h5"),
    "npy": Format("npy", "npy"),
    "arff": Format("arff", "arff", ".arff", (), False),
}
_BY_SUFFIX = {about.suffix: name for name, about in FORMATS.items() if about.suffix}
# Suffixes of text tables from other programs; their delimiter is detected from the first line.
_TEXT = (".tsv", ".tab", ".txt")


def load_bags(
    path: FilePath,
    *,
    format: str | None = None,
    features: Sequence[str] | None = None,
    like: Any = None,
    positive: Any = None,
    **options: Any,
) -> tuple[Bags, Labels]:
    """Read bags and their labels from a file or folder in any supported format.

    Parameters
    ----------
    path : path
        A file (.npz, .parquet, .csv, .tsv, .txt, .xlsx, .arff), or a folder with one .h5 or .npy file per
        bag.
    format : {"npz", "parquet", "csv", "xlsx", "arff", "h5", "npy"}, optional
        The file format. By default it is chosen by the suffix, or by the files in the folder.
    features : sequence of str, optional
        The features to read, in this order. They may include numeric bag and instance columns. Other features
        become instance columns. By default all features of the file are read; in tables that bagwise did not
        write, these are all numeric columns that vary within a bag.
    like : fitted estimator, or bags, optional
        Read the features of this model or these bags, in the same order. Use ``like=model`` to read a
        file with a single bag, from which the roles of the columns cannot be inferred.
    positive : optional
        The label of the positive class. If passed, labels are returned as booleans: True for this label,
        False for all others.
    **options
        Passed to the reader: `bag` and `label` (column names) for tables, `encoding` for text tables, `sheet`
        for workbooks. Options that the format does not support raise an error. Every format supports three
        options:

        - ``label=False``: no labels are read;
        - `labels`: a table with one row per bag that contains the labels and further bag columns. `label` is
          then a column of this table, and `encoding` its encoding;
        - `missing`: how to treat bags without a label, as in `load_csv`.

    Returns
    -------
    bags : Bags
        The bags.
    y : array or None
        The labels; None if there are none.

    See Also
    --------
    load_npz, load_parquet, load_csv, load_xlsx, load_h5, load_npy, load_arff : Read one format.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from bagwise import load_bags, make_noisy_or_bags, save_bags
    >>> data = make_noisy_or_bags(5, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bags, y = load_bags(save_bags(pathlib.Path(folder) / "five.csv", data.bags, data.y))
    >>> bags
    Bags(5 bags, 15 instances, 3 features)
    """
    path = Path(path)
    names = wanted_features(features, like)
    name = format_of(path, format)
    takes = inspect.signature(FORMATS[name].reader()).parameters
    is_unlabelled = options.get("label") is False
    table, missing = _take_label_options(options, takes)
    if is_unlabelled and "label" not in takes:
        del options["label"]
    options = {key: value for key, value in options.items() if value is not None}
    unknown = [key for key in options if key not in takes]
    if unknown:
        raise ValueError(f"{str(path)!r} is read as {name}, which has no option {unknown[0]!r}.")
    if names is not None and "features" in takes:
        options["features"] = names
    bags, y = FORMATS[name].reader()(path, **options)
    if table is not None:
        bags, y = join_labels(bags, **table, missing=missing, where=repr(str(path)))
    elif "missing" not in takes:
        bags, y = treat_missing(bags, y, missing, repr(str(path)))
    if names is not None:
        bags = with_features(bags, names, repr(str(path)))
    elif like is not None:
        refuse_other_count(bags, like, repr(str(path)))
    if is_unlabelled:
        y = None
    return bags, y if positive is None else is_positive_label(y, positive, repr(str(path)))


def _take_label_options(
    options: dict[str, Any], takes: Collection[str]
) -> tuple[dict[str, Any] | None, Missing]:
    """Remove label options from `options` that the reader does not support; `load_bags` handles these.

    Returns the arguments `table`, `bag` and `label` of `join_labels`, or None, and the value of `missing`.
    """
    missing: Missing = options.get("missing") or "raise"
    if "missing" not in takes:
        options.pop("missing", None)
    if options.get("labels") is None:
        return None, missing
    if options.get("encoding") is not None:
        options["labels"] = TextTable(options["labels"], options["encoding"])
    if "encoding" not in takes:
        options.pop("encoding", None)
    if "labels" in takes:
        return None, missing
    label = options.pop("label", None)
    table = {"table": options.pop("labels"), "bag": options.get("bag"), "label": label or None}
    if "bag" not in takes:
        options.pop("bag", None)
    if "label" in takes:
        options["label"] = False
    return (None if label is False else table), missing


def format_of(path: Path, format: str | None = None) -> str:
    """Return the format of a file or folder to read: `format` if it is passed, else the detected format."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {str(path)!r}.")
    if format is not None:
        return _checked_format(format)
    if path.is_dir():
        return folder_format(path)
    return "csv" if path.suffix.lower() in _TEXT else _by_name(path)


def save_bags(path: FilePath, bags: Bags, y: ArrayLike | None = None, *, format: str | None = None) -> Path:
    """Write bags and their labels to a file or folder in any supported format.

    Parameters
    ----------
    path : path
        The file to write (.npz, .parquet, .csv), or the folder to create if `format` is "h5" or "npy".
    bags : Bags
        The bags to write.
    y : array of shape (n_bags, ...), optional
        Labels of the bags.
    format : {"npz", "parquet", "parquet-long", "csv", "h5", "npy"}, optional
        The file format. By default it is chosen by the suffix.

    Returns
    -------
    pathlib.Path
        The path of the written file or folder.

    See Also
    --------
    save_npz, save_parquet, save_csv, save_h5, save_npy : Write one format.
    load_bags : Read the file or folder.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bagwise import make_noisy_or_bags, save_bags
    >>> data = make_noisy_or_bags(5, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_bags(pathlib.Path(folder) / "five.npz", data.bags, data.y).name
    ...     save_bags(pathlib.Path(folder) / "five", data.bags, data.y, format="npy").is_dir()
    'five.npz'
    True
    """
    suffix = Path(path).suffix.lower()
    if format is None and suffix in _TEXT:
        raise ValueError(f"{suffix} files can be read but not written; write .parquet, .npz or .csv.")
    name = _checked_format(format) if format is not None else _by_name(Path(path))
    if not FORMATS[name].can_write:
        raise ValueError(f"{name} files can be read but not written; write .parquet, .npz or .csv.")
    return FORMATS[name].writer()(path, bags, y)


def _checked_format(name: str) -> str:
    if name not in FORMATS:
        raise ValueError(f"format is {name!r}; expected one of {', '.join(FORMATS)}.")
    return name


def _by_name(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    if suffix in (".h5", ".npy"):
        raise ValueError(
            f"{str(path)!r}: {suffix} files contain one bag each; pass the folder, with "
            f"format={suffix[1:]!r}."
        )
    raise ValueError(
        f"{str(path)!r} does not end in {', '.join((*_BY_SUFFIX, *_TEXT))}; specify the format: one of "
        f"{', '.join(FORMATS)}."
    )


def folder_format(path: Path) -> str:
    """Return the format of a folder, detected from the files in it."""
    for name, patterns in {"h5": ("*.h5",), "npy": ("*.npy", "features/*.npy")}.items():
        if any(file.is_file() for pattern in patterns for file in path.glob(pattern)):
            return name
    if any(path.glob("*.parquet")):
        raise ValueError(
            f"the folder {str(path)!r} contains Parquet files, but load_bags reads only a single one; "
            "use scan_bags (on the command line: --scan) to read all of them."
        )
    raise ValueError(f"the folder {str(path)!r} contains neither .h5 nor .npy files.")
