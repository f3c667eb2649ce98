"""``bagwise explain``: why a bag is what a model says it is."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bagwise.cli.command import Command, CommandError
from bagwise.cli.data import KINDS, check_picture, telling_warnings
from bagwise.cli.saved import SavedModel, add_model_arguments, labels_for, open_both
from bagwise.cli.screen import Screen

if TYPE_CHECKING:
    from bagwise.evaluation.explanations import BagExplanation

_DESCRIPTION = f"""\
Explain what a model says of one bag: its instances, the most positive first, each with its
probability (or score), its posterior (the probability given the label of the bag) and what the bag's
probability would be without it; and for the leading instances the features that matter, by what
the log-odds (or score) of the instance would lose if the feature had its usual value, the median
over all bags in DATA. With -o a picture, too.

{KINDS}

  bagwise explain shapes.bagwise shapes.csv --id 007 -o 007.png

The exit status is 0, or 2 if there is no such bag or the model says nothing of instances."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    add_model_arguments(parser, "bags with the one to explain: a file or folder")
    parser.add_argument("--id", metavar="ID", help="the id of the bag; not needed if there is one only")
    parser.add_argument("-k", type=int, default=10, metavar="N", help="instances to list (default: 10)")
    parser.add_argument(
        "-o", "--out", type=Path, metavar="FILE", help="where a picture goes: .png, .pdf, .svg"
    )


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    """Load, find the bag, explain it."""
    if arguments.k < 1:
        raise CommandError(f"-k must be at least 1; got {arguments.k}.")
    if arguments.out is not None:
        check_picture(arguments.out, "-o")
    with telling_warnings(screen) as told, screen.progress(3) as begin:
        saved, bags, y = open_both(arguments, begin, labels=True)
        begin("the explanation")
        found = _explain(saved, bags, y, arguments)
    _show(found, screen)
    if arguments.out is not None:
        found.plot().figure_.savefig(arguments.out, dpi=200)
        screen.line(f"written: {arguments.out}")
    if arguments.json:
        features = [
            {"instance": row, "features": [effect._asdict() for effect in effects]}
            for row, effects in found.features
        ]
        written = None if arguments.out is None else str(arguments.out)
        screen.data({**asdict(found), "features": features, "written": written, "warnings": told})
    return 0


def _explain(saved: SavedModel, bags: Any, y: Any, arguments: argparse.Namespace) -> BagExplanation:
    from bagwise import explain_bag

    try:
        labels = labels_for(saved, y)
        found = explain_bag(saved.model, bags, arguments.id, y=labels, n_instances=arguments.k)
    except (ValueError, TypeError) as error:
        told = str(error).replace("say which to explain by its id", "say which to explain by --id")
        raise CommandError(told) from error
    if saved.class_names is None:
        return found
    label = None if found.label is None else str(y[list(map(str, bags.ids.tolist())).index(str(found.bag))])
    return replace(found, positive=saved.class_names.positive, label=label)


def _show(found: BagExplanation, screen: Screen) -> None:
    screen.title(found.sentence())
    if found.label is not None:
        screen.line(f"Its label is {found.label!r}.")
        screen.line()
    for table in (found.table(), *found.feature_tables()):
        screen.table(table)
    what = "log-odds" if found.instance_kind == "probability" else "score"
    given = f"the label {found.label!r}" if found.label is not None else f"that the bag is {found.positive!r}"
    text = "Without: what would be said of the bag without the instance."
    if "posterior" in found.columns:
        text += f" Posterior: the probability that the instance is positive, given {given}."
    if found.features:
        text += f" Of features: what the {what} of the instance would lose with the usual value instead."
    screen.paragraph(text)


COMMAND = Command(
    name="explain",
    summary="why a bag is what a model says: its instances, their features",
    description=_DESCRIPTION,
    add_arguments=add_arguments,
    run=run,
)
