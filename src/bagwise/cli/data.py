"""The data of a command: the arguments that name them, and how they are read."""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bagwise.cli.command import CommandError
from bagwise.cli.screen import Screen

if TYPE_CHECKING:
    import numpy as np

# What the descriptions of commands say of files.
KINDS = """\
DATA is anything that bagwise reads: .npz, .parquet, .csv (cells between commas, semicolons or tabs;
also .tsv, .txt), .xlsx, .arff, or a folder with an .h5 or .npy file for every bag. In tables a row is
an instance. Tables of other origin need --bag, the column that names the bag, and --label, the one
with its label; folders may have their labels in a table elsewhere (--labels)."""


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what says where bags and labels are."""
    parser.add_argument("--bag", metavar="COLUMN", help="the column of a table that names the bag")
    parser.add_argument("--label", metavar="COLUMN", help="the column of a table with the bag's label")
    parser.add_argument("--labels", type=Path, metavar="FILE", help="a table with the labels of a folder")
    parser.add_argument("--sheet", metavar="NAME", help="the sheet of a workbook; the first by default")


def data_path(text: str) -> Any:
    """Read where data lie: a path, or an address such as s3://bucket/bags.parquet."""
    if "://" not in text:
        return Path(text)
    from bagwise.io._remote import RemoteFile

    return RemoteFile(text)


def is_same_file(path: Path, other: Any) -> bool:
    """Whether two names mean one file; an address means none that lies here."""
    return path.exists() and isinstance(other, Path) and other.exists() and path.samefile(other)


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """Add the way for scripts."""
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text, for scripts")


def data_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Give the options of `load_bags` that arguments name."""
    names = ("bag", "label", "labels", "sheet")
    return {name: value for name in names if (value := getattr(arguments, name)) is not None}


@contextmanager
def reading_data(path: Any) -> Iterator[None]:
    """Turn whatever goes wrong with a file into one sentence that names it."""
    try:
        yield
    except Exception as error:
        # Libraries fail in their own ways, many of them not documented; whatever it is, it is the file.
        told = str(error)
        raise CommandError(told if str(path) in told else f"{path}: {told}") from error


@contextmanager
def telling_warnings(screen: Screen) -> Iterator[list[str]]:
    """Collect what is warned of inside the block, each message once, and show it at the end."""
    told: list[str] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield told
    finally:
        told += dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught)
        for message in told:
            screen.finding("warning", "", message)


def find_label(y: np.ndarray, word: str) -> Any:
    """Find the label that ``--positive`` names by a word of the command line: 1, True or active."""
    import numpy as np

    known = np.unique(y).tolist()
    for label in known:
        if str(label) == word:
            return label
    raise CommandError(
        f"--positive {word!r} is no label of the data; the labels are {', '.join(map(repr, known[:8]))}."
    )


def check_picture(path: Path, option: str) -> None:
    """Refuse a path that no picture can be written to, before any work is done."""
    try:
        from bagwise._display.pictures import new_figure

        known = sorted(new_figure(1.0, 1.0).canvas.get_supported_filetypes())
    except ImportError as error:
        raise CommandError(error) from error
    if path.suffix[1:].lower() not in known:
        raise CommandError(f"{option} must end in one of .{', .'.join(known)}; got {str(path)!r}.")
    if not path.parent.is_dir():
        raise CommandError(f"there is no folder {str(path.parent)!r} for the picture.")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise CommandError(f"{str(path)!r} cannot be written.")
