"""``bagwise check``: look at a data set before anyone fits a model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bagwise.cli.command import Command, CommandError
from bagwise.cli.screen import Screen

_DESCRIPTION = """\
Look at a data set before a model is fitted: sizes and labels, missing values, empty bags,
constant features, repeated rows and bags, leaks from the order or the size of bags, and the
memory that kernel models would need.

FILE is anything that bagwise reads: .npz, .parquet, .csv (a row per instance), .arff, or a folder
with an .h5 or .npy file for every bag. Tables of other origin need --bag and --label, the columns
with the bag and its label; folders may have their labels in a CSV file elsewhere (--labels).

The exit status is 0 if there is no warning, 1 if there is one, 2 if FILE cannot be read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("file", type=Path, metavar="FILE", help="the data set: a file or folder")
    parser.add_argument("--bag", metavar="COLUMN", help="the column of a table that names the bag")
    parser.add_argument("--label", metavar="COLUMN", help="the column of a table with the bag's label")
    parser.add_argument("--labels", type=Path, metavar="FILE", help="a CSV file with the labels of a folder")


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    """Read the file, and show what was found."""
    bags, y = _read(arguments)
    from bagwise._inspection import inspect_bags

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
    from bagwise.io import load_bags

    path = arguments.file
    options = {"bag": arguments.bag, "label": arguments.label, "labels": arguments.labels}
    try:
        return load_bags(path, **options)
    except Exception as error:
        # Libraries fail in their own ways, many of them not documented; whatever it is, it is the file.
        told = str(error)
        raise CommandError(told if str(path) in told else f"{path}: {told}") from error


COMMAND = Command(
    name="check",
    summary="look at a data set before a model is fitted",
    description=_DESCRIPTION,
    add_arguments=add_arguments,
    run=run,
)
