"""``bagwise predict``: predict new bags with a saved model."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bagwise._display.parts import Table
from bagwise.cli.cluster import add_dask_argument, open_cluster
from bagwise.cli.command import Command, CommandError
from bagwise.cli.data import KINDS, is_same_file, showing_warnings
from bagwise.cli.saved import SavedModel, add_model_arguments, open_both
from bagwise.cli.screen import Screen

_DESCRIPTION = f"""\
Predict new bags with a model that bagwise fit saved. The output contains one row per bag: its id,
the predicted label, and the probability or score of the positive class. With --instances, it
contains one row per instance: its index in the bag, its probability or score, and its rank.

Features are matched by name, in any order, and other columns are ignored. The bag column is the same
as in bagwise fit, unless --bag specifies a different one.

{KINDS}

  bagwise predict shapes.bagwise new.csv -o predictions.csv

The exit status is 0 if all bags were predicted, and 2 otherwise."""

_MOST_ROWS = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    add_model_arguments(parser, "new bags: a file or folder")
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="FILE",
        help="output file: .csv or .parquet, or a folder with --dask (default: print the first rows)",
    )
    parser.add_argument("--instances", action="store_true", help="predict instances instead of bags")
    parser.add_argument(
        "--scan", action="store_true", help="read instances from their files when needed, for large data"
    )
    add_dask_argument(parser)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    """Load the model, read the bags, and write or show the predictions."""
    _check_out(arguments)
    with open_cluster(arguments) as move_to_cluster:
        return _run(arguments, screen, move_to_cluster)


def _run(arguments: argparse.Namespace, screen: Screen, move_to_cluster: Callable[[Any], Any]) -> int:
    with showing_warnings(screen) as messages, screen.progress(3) as begin:
        saved, bags, _ = open_both(arguments, begin, labels=False, scan=arguments.scan)
        begin("predicting")
        try:
            predictions = _predict(saved, move_to_cluster(bags), arguments)
        except (ValueError, TypeError, OSError, ImportError) as error:
            raise CommandError(error) from error
    if arguments.out is None:
        _show(predictions, screen)
    else:
        screen.line(f"written: {arguments.out}  {len(bags):,} {'bag' if len(bags) == 1 else 'bags'}")
    if arguments.json:
        content: dict[str, Any] = {"bags": len(bags), "warnings": messages}
        if arguments.out is None:
            names, values = list(predictions), [column.tolist() for column in predictions.values()]
            content["predictions"] = [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]
        else:
            content["written"] = str(arguments.out)
        screen.data(content)
    return 0


def _check_out(arguments: argparse.Namespace) -> None:
    """Raise an error if predictions cannot be written to a path, before any computation."""
    out = arguments.out
    if out is None:
        return
    is_folder = arguments.dask is not None and not out.suffix
    if out.suffix.lower() not in (".csv", ".parquet") and not is_folder:
        raise CommandError(
            f"-o must end in .csv or .parquet, or name a folder with --dask; got {str(out)!r}."
        )
    from bagwise._core.files.atomic import refuse_other_than_file, refuse_unwritable_folder

    try:
        refuse_unwritable_folder(out)
        if not is_folder:
            refuse_other_than_file(out)
    except OSError as error:
        raise CommandError(error) from error
    if any(is_same_file(out, path) for path in (arguments.file, arguments.model)):
        raise CommandError(f"-o {str(out)!r} is an input file and would be overwritten; choose another file.")


def _predict(saved: SavedModel, bags: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the columns of the predictions; an empty dictionary if they were written to a file."""
    from bagwise import instance_frame, predict_frame

    destination: dict[str, Any] = {"backend": dict} if arguments.out is None else {"path": arguments.out}
    if arguments.instances:
        predictions = instance_frame(saved.model, bags, **destination)
    else:
        predictions = predict_frame(saved.with_class_names, bags, **destination)
    return predictions if arguments.out is None else {}


def _show(predictions: dict[str, Any], screen: Screen) -> None:
    names = list(predictions)
    n_text = sum(column.dtype.kind not in "biuf" or name == "bag" for name, column in predictions.items())
    names.sort(key=lambda name: predictions[name].dtype.kind in "biuf" and name != "bag")
    n_rows = len(predictions["bag"])
    rows = [[_cell(predictions[name][row]) for name in names] for row in range(min(n_rows, _MOST_ROWS))]
    screen.table(Table.of(names, rows, n_text=n_text))
    if n_rows > _MOST_ROWS:
        screen.line(f"and {n_rows - _MOST_ROWS:,} more rows; use -o FILE to write all of them.")


def _cell(value: Any) -> str:
    return (
        f"{value:.4g}"
        if getattr(value, "dtype", None) is not None and value.dtype.kind == "f"
        else str(value)
    )


COMMAND = Command(
    name="predict",
    summary="predict new bags, or their instances, with a saved model",
    description=_DESCRIPTION,
    add_arguments=add_arguments,
    run=run,
)
