"""One door for all kinds of files: chosen by the name, or by what a folder holds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
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


@dataclass(frozen=True)
class Format:
    """A kind of file.

    Attributes
    ----------
    module : str
        The module of this package that reads and writes it; loaded when it is used.
    name : str
        As in ``load_NAME`` and ``save_NAME``.
    suffix : str
        How its files end; empty for folders.
    options : dict
        What is passed when writing.
    can_write : bool
        Whether it is written at all.
    """

    module: str
    name: str
    suffix: str = ""
    options: tuple[tuple[str, str], ...] = ()
    can_write: bool = True

    def reader(self) -> Callable[..., tuple[Bags, np.ndarray | None]]:
        """Load the function that reads it."""
        return getattr(import_module(f"bagwise.io.{self.module}"), f"load_{self.name}")

    def writer(self) -> Callable[..., Path]:
        """Load the function that writes it."""
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
# Text that other programs write; what parts its cells is seen from its first line.
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
    """Read bags, and their labels or None, from any kind of file that bagwise knows.

    Parameters
    ----------
    path : path
        A file (.npz, .parquet, .csv, .tsv, .txt, .xlsx, .arff), or a folder with an .h5 or .npy file for
        every bag.
    format : {"npz", "parquet", "csv", "xlsx", "arff", "h5", "npy"}, optional
        The kind of file, where its name does not say.
    features : sequence of str, optional
        The features to read, in this order; also columns that describe bags or instances, if they are
        numbers. Other features become columns of instances. By default all that the file has; where it is a
        table of other origin, all numbers that vary inside some bag.
    like : fitted estimator, or bags, optional
        What has the features to read: with ``like=model`` a file with a single bag, of which nothing can be
        told from what varies, gives the features that the model knows, whatever their order in the file.
    positive : optional
        The label of the positive class; labels are then True for it and False for any other.
    **options
        Passed on to the reader: `bag` and `label` (names of columns) for tables, `labels` (a table) for
        folders, `sheet` for workbooks. An option that the format does not have is refused. ``label=False``:
        labels are not read, in any format.

    Returns
    -------
    bags : Bags
    y : array or None

    See Also
    --------
    load_npz, load_parquet, load_csv, load_xlsx, load_h5, load_npy, load_arff : the readers.

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
    if is_unlabelled and "label" not in takes:
        del options["label"]
    options = {key: value for key, value in options.items() if value is not None}
    unknown = [key for key in options if key not in takes]
    if unknown:
        raise ValueError(f"{str(path)!r} is read as {name}, which has no option {unknown[0]!r}.")
    if names is not None and "features" in takes:
        options["features"] = names
    bags, y = FORMATS[name].reader()(path, **options)
    if names is not None:
        bags = with_features(bags, names, repr(str(path)))
    elif like is not None:
        refuse_other_count(bags, like, repr(str(path)))
    if is_unlabelled:
        y = None
    return bags, y if positive is None else is_positive_label(y, positive, repr(str(path)))


def format_of(path: Path, format: str | None = None) -> str:
    """Find the kind of a file or folder that is to be read, unless it is given."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {str(path)!r}.")
    if format is not None:
        return _known(format)
    if path.is_dir():
        return folder_format(path)
    return "csv" if path.suffix.lower() in _TEXT else _by_name(path)


def save_bags(path: FilePath, bags: Bags, y: ArrayLike | None = None, *, format: str | None = None) -> Path:
    """Write bags, and their labels, to any kind of file that bagwise knows.

    Parameters
    ----------
    path : path
        Where to write: a file (.npz, .parquet, .csv), or a new folder if `format` is "h5" or "npy".
    bags : Bags
        What to write.
    y : array of shape (n_bags, ...), optional
        Labels of the bags.
    format : {"npz", "parquet", "parquet-long", "csv", "h5", "npy"}, optional
        The kind of file, where its name does not say.

    Returns
    -------
    pathlib.Path
        The file or folder written.

    See Also
    --------
    save_npz, save_parquet, save_csv, save_h5, save_npy : the writers.
    load_bags : read it back.

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
        raise ValueError(f"{suffix} files are read but not written; write .parquet, .npz or .csv.")
    name = _known(format) if format is not None else _by_name(Path(path))
    if not FORMATS[name].can_write:
        raise ValueError(f"{name} files are read but not written; write .parquet, .npz or .csv.")
    return FORMATS[name].writer()(path, bags, y)


def _known(name: str) -> str:
    if name not in FORMATS:
        raise ValueError(f"format is {name!r}; expected one of {', '.join(FORMATS)}.")
    return name


def _by_name(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    if suffix in (".h5", ".npy"):
        raise ValueError(
            f"{str(path)!r}: {suffix} files hold one bag each; name the folder, and format={suffix[1:]!r}."
        )
    raise ValueError(
        f"{str(path)!r} does not end in {', '.join((*_BY_SUFFIX, *_TEXT))}; say its format: one of "
        f"{', '.join(FORMATS)}."
    )


def folder_format(path: Path) -> str:
    """Find the format of a folder by the files in it."""
    for name, patterns in {"h5": ("*.h5",), "npy": ("*.npy", "features/*.npy")}.items():
        if any(found.is_file() for pattern in patterns for found in path.glob(pattern)):
            return name
    if any(path.glob("*.parquet")):
        raise ValueError(
            f"the folder {str(path)!r} has Parquet files in it, which scan_bags takes together (the program "
            "with --scan); load_bags reads one."
        )
    raise ValueError(f"the folder {str(path)!r} has neither .h5 nor .npy files in it.")
