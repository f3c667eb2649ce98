"""``bagwise check``: look at a data set before anyone fits a model."""

from __future__ import annotations

import argparse
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bagwise.cli.command import Command, CommandError
from bagwise.cli.screen import Screen

_DESCRIPTION = """\
Look at a data set before a model is fitted: sizes and labels, missing values, empty bags,
constant features, repeated rows and bags, leaks from the order or the size of bags, and the
memory that kernel models would need.

FILE is an .npz file with X, offsets and y (as bagwise.save_npz writes it), or a .csv file
with a row per instance, a column that names its bag, and one with the label of the bag.

The exit status is 0 if there is no warning, 1 if there is one, 2 if FILE cannot be read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("file", type=Path, metavar="FILE", help="the data set, .npz or .csv")
    parser.add_argument("--bag", metavar="COLUMN", help="the column of a .csv that names the bag")
    parser.add_argument("--label", metavar="COLUMN", help="the column of a .csv with the bag's label")


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    """Read the file, and show what was found."""
    bags, y = _read(arguments)
    from bagwise.cli.inspection import inspect_bags

    report = inspect_bags(bags, y)
    screen.title(str(arguments.file))
    screen.table(["", ""], report.facts, n_text=2)
    for finding in report.findings:
        screen.finding(finding.level, finding.topic, finding.text)
    n_warnings, n_notes = report.count("warning"), report.count("note")
    screen.line()
    screen.line(
        f"{n_warnings} {'warning' if n_warnings == 1 else 'warnings'}, "
        f"{n_notes} {'note' if n_notes == 1 else 'notes'}."
    )
    return 1 if n_warnings else 0


def _read(arguments: argparse.Namespace) -> tuple[Any, Any]:
    path = arguments.file
    if not path.exists():
        raise CommandError(f"there is no file {str(path)!r}.")
    if path.suffix == ".npz":
        if arguments.bag or arguments.label:
            raise CommandError("--bag and --label name columns of a .csv; an .npz file has its own y.")
        from bagwise.io import load_npz

        reader = load_npz
    elif path.suffix == ".csv":
        if not arguments.bag:
            raise CommandError("a .csv needs --bag COLUMN, the column that says which bag a row is of.")
        reader = lambda path: _read_csv(path, arguments.bag, arguments.label)  # noqa: E731
    else:
        raise CommandError(f"{str(path)!r} is neither .npz nor .csv, the two formats that are read.")
    try:
        return reader(path)
    except CommandError:
        raise
    except Exception as error:
        # Readers fail in their own ways, many of them not documented; whatever it is, it is the file.
        told = str(error)
        raise CommandError(told if str(path) in told else f"{path}: {told}") from error


def _read_csv(path: Path, bag: str, label: str | None) -> tuple[Any, Any]:
    library = next((name for name in ("pandas", "polars") if find_spec(name)), None)
    if library is None:
        raise CommandError(".csv files are read by pandas or polars: pip install pandas")
    frame = import_module(library).read_csv(path)
    for option, column in (("--bag", bag), ("--label", label)):
        if column is not None and column not in frame.columns:
            known = ", ".join(map(repr, list(frame.columns)[:8]))
            more = ", ..." if len(frame.columns) > 8 else ""
            raise CommandError(f"{option} {column!r} is not a column; there are {known}{more}")
    from bagwise.bags import Bags

    bags = Bags.from_frame(frame, bag=bag)
    if label is None:
        return bags, None
    values = frame[label].to_numpy()
    missing = [row for row, value in enumerate(values.tolist()) if value is None or value != value]
    if missing:
        raise CommandError(f"--label {label!r} has no value in row {missing[0]}, counted from 0.")
    return bags, bags.per_bag(values)


COMMAND = Command(
    name="check",
    summary="look at a data set before a model is fitted",
    description=_DESCRIPTION,
    add_arguments=add_arguments,
    run=run,
)
