"""Command-line arguments for input data, and functions that read the data."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bagwise.cli.command import CommandError
from bagwise.cli.remedies import with_options
from bagwise.cli.screen import Screen

if TYPE_CHECKING:
    import numpy as np

# Description of the input files in the help of the commands.
KINDS = """\
DATA is a file or a folder: .npz, .parquet, .csv (separated by commas, semicolons or tabs; also .tsv
and .txt), .xlsx, .arff, or a folder with one .h5 or .npy file per bag. In a table, each row is an
instance. For tables that bagwise did not write, name the column with the bag's id (--bag) and the
column with the bag's label (--label). The labels can be in a separate table (--labels)."""


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that select the columns and files with bags and labels."""
    parser.add_argument("--bag", metavar="COLUMN", help="column of a table with the bag's id")
    parser.add_argument(
        "--label", metavar="COLUMN", help="column with the bag's label; several labels per bag: A,B,..."
    )
    parser.add_argument(
        "--labels", type=Path, metavar="FILE", help="separate table with one row per bag and the labels"
    )
    parser.add_argument(
        "--missing",
        choices=["skip"],
        help="skip bags without a label, and rows of the label table without a bag (default: reject them)",
    )
    parser.add_argument("--sheet", metavar="NAME", help="sheet of a workbook (default: the first)")
    parser.add_argument(
        "--encoding",
        metavar="NAME",
        help="encoding of a text table, such as cp1250 (default: UTF-8, otherwise Windows-1252)",
    )


def join_command(parts: Iterable[str]) -> str:
    """Join the parts of a command line; only those with spaces or special characters are quoted."""
    return " ".join(part if re.fullmatch(r"[\w.,:=+%@/~-]+", part) else shlex.quote(part) for part in parts)


def data_path(text: str) -> Any:
    """Return a path, or a remote file for an address such as s3://bucket/bags.parquet."""
    if "://" not in text:
        return Path(text)
    from bagwise.io._remote import RemoteFile

    return RemoteFile(text)


def is_same_file(path: Path, other: Any) -> bool:
    """Return whether both arguments are the same local file; an address is never a local file."""
    return path.exists() and isinstance(other, Path) and other.exists() and path.samefile(other)


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object instead of text, for scripts"
    )


def data_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `load_bags` that were passed on the command line."""
    names = ("bag", "label", "labels", "sheet", "encoding", "missing")
    return {name: value for name in names if (value := getattr(arguments, name)) is not None}


def load_labelled(
    path: Any, options: dict[str, Any], *, scan: bool = False, like: Any = None
) -> tuple[Any, Any]:
    """Read or scan bags and their labels, which can be missing.

    With several label columns (``--label A,B``), the labels are a matrix. Bags in memory keep the label NaN
    or None if it is missing, unless the options contain `missing`. With `like`, the bags are read with the
    features of that model.
    """
    from bagwise.io import load_bags, scan_bags

    options = dict(options)
    names = [name.strip() for name in (options.get("label") or "").split(",")]
    if len(names) > 1:
        del options["label"]
    with reading_data(path):
        if scan:
            bags: Any = scan_bags(path, **options_of_scan(options))
            y = bags.y
        else:
            bags, y = load_bags(path, **{"missing": "keep", **options}, like=like)
        return (bags, y) if len(names) == 1 else _with_label_matrix(bags, names)


def options_of_scan(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of `scan_bags`; the encoding applies to the label table."""
    options = dict(options)
    if "sheet" in options:
        raise CommandError("--sheet cannot be combined with --scan: a workbook is read into memory.")
    encoding = options.pop("encoding", None)
    if encoding is not None and "labels" in options:
        from bagwise.io._rows import TextTable

        options["labels"] = TextTable(options["labels"], encoding)
    return options


def _with_label_matrix(bags: Any, names: list[str]) -> tuple[Any, Any]:
    """Take label columns from the bag columns; each has two labels, and the larger one is positive."""
    import numpy as np

    columns = []
    for name in names:
        if name not in bags.bag_columns:
            raise CommandError(
                f"--label: {name!r} is not a column with one value per bag; such columns are "
                f"{', '.join(map(repr, bags.bag_columns)) or 'missing'}."
            )
        classes = np.unique(bags.bag_columns[name])
        if len(classes) != 2 or classes.dtype.kind not in "biuf":
            shown = ", ".join(map(repr, classes[:5].tolist()))
            raise CommandError(
                f"--label: with several labels per bag, every column contains 0 and 1; {name!r} has {shown}."
            )
        columns.append((bags.bag_columns[name] == classes[1]).astype(np.int64))
    return bags, np.column_stack(columns)


@contextmanager
def reading_data(path: Any) -> Iterator[None]:
    """Convert any error in the block into a `CommandError` that names the file."""
    try:
        yield
    except CommandError:
        raise
    except Exception as error:
        # Libraries raise many undocumented exceptions for unreadable files, so all of them are caught.
        message = str(error)
        raise CommandError(message if str(path) in message else f"{path}: {message}") from error


@contextmanager
def showing_warnings(screen: Screen) -> Iterator[list[str]]:
    """Collect the warnings of the block without duplicates, and show them at its end."""
    messages: list[str] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield messages
    finally:
        messages += dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught)
        for message in messages:
            screen.finding("warning", "", with_options(message))


def find_label(y: np.ndarray, word: str) -> Any:
    """Return the label whose text is `word`, the value of ``--positive``: for example 1, True or active."""
    import numpy as np

    labels = np.unique(y).tolist()
    for label in labels:
        if str(label) == word:
            return label
    raise CommandError(
        f"--positive {word!r} is not a label in the data; the labels are {', '.join(map(repr, labels[:8]))}."
    )


def check_picture(path: Path, option: str) -> None:
    """Raise an error if a plot cannot be written to a path, before any computation."""
    try:
        from bagwise._display.pictures import new_figure

        suffixes = sorted(new_figure(1.0, 1.0).canvas.get_supported_filetypes())
    except ImportError as error:
        raise CommandError(error) from error
    if path.suffix[1:].lower() not in suffixes:
        raise CommandError(f"{option} must end in one of .{', .'.join(suffixes)}; got {str(path)!r}.")
    if not path.parent.is_dir():
        raise CommandError(f"there is no folder {str(path.parent)!r} for the plot.")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise CommandError(f"{str(path)!r} cannot be written.")
