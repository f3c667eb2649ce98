"""``bagwise explain``: explain the prediction for one bag."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bagwise.cli.command import Command, CommandError
from bagwise.cli.data import KINDS, check_picture, showing_warnings
from bagwise.cli.saved import SavedModel, add_model_arguments, describe_flat, labels_for, open_both
from bagwise.cli.screen import Screen

if TYPE_CHECKING:
    from bagwise.evaluation.explanations import BagExplanation

_DESCRIPTION = f"""\
Explain the prediction of a model for one bag. The command lists the instances, the most positive
first, with the probability (or score) of each instance, its posterior (the probability given the
label of the bag), and the bag's probability with the instance removed. For the first instances, it
also lists the most important features, with the change in log-odds (or score) compared with the
median value of the feature in DATA. With -o, it also draws a plot. If the model predicts several
labels per bag, --label chooses one of them.

{KINDS}

  bagwise explain shapes.bagwise shapes.csv --id 007 -o 007.png

The exit status is 0, or 2 if there is no such bag or the model does not predict instances."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    add_model_arguments(parser, "bags, including the one to explain: a file or folder")
    parser.add_argument("--id", metavar="ID", help="id of the bag; not needed if there is only one")
    parser.add_argument(
        "-k", type=int, default=10, metavar="N", help="number of instances to list (default: 10)"
    )
    parser.add_argument(
        "-o", "--out", type=Path, metavar="FILE", help="also write a plot to this file (.png, .pdf, .svg)"
    )


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    """Load the model and the data, and explain one bag."""
    if arguments.k < 1:
        raise CommandError(f"-k must be at least 1; got {arguments.k}.")
    if arguments.out is not None:
        check_picture(arguments.out, "-o")
    with showing_warnings(screen) as messages, screen.progress(3) as begin:
        saved, bags, y = open_both(arguments, begin, labels=True)
        begin("explaining the bag")
        explanation, flat = _explain(saved, bags, y, arguments)
    _show(explanation, flat, screen)
    if arguments.out is not None:
        explanation.plot().figure_.savefig(arguments.out, dpi=200)
        screen.line(f"written: {arguments.out}")
    if arguments.json:
        features = [
            {"instance": row, "features": [effect._asdict() for effect in effects]}
            for row, effects in explanation.features
        ]
        written = None if arguments.out is None else str(arguments.out)
        screen.data(
            {
                **asdict(explanation),
                "features": features,
                "written": written,
                "flat": bool(flat),
                "warnings": messages,
            }
        )
    return 0


def _explain(
    saved: SavedModel, bags: Any, y: Any, arguments: argparse.Namespace
) -> tuple[BagExplanation, str]:
    """Return the explanation with the original labels, and a warning if all instances have the same value."""
    from bagwise import explain_bag

    model = saved.of_label(arguments.label)
    try:
        labels = labels_for(saved, y)
        explanation = explain_bag(model, bags, arguments.id, y=labels, n_instances=arguments.k)
    except (ValueError, TypeError) as error:
        raise CommandError(error) from error
    index = list(map(str, bags.ids.tolist())).index(str(explanation.bag))
    flat = describe_flat(model, bags[[index]])
    if saved.label_names:
        return replace(explanation, positive=arguments.label), flat
    if saved.class_names is None:
        return explanation, flat
    label = None if explanation.label is None or y[index] is None else str(y[index])
    return replace(explanation, positive=saved.class_names.positive, label=label), flat


def _show(explanation: BagExplanation, flat: str, screen: Screen) -> None:
    screen.title(explanation.sentence())
    if explanation.label is not None:
        screen.line(f"Its label is {explanation.label!r}.")
        screen.line()
    if flat:
        screen.finding("warning", "instances", flat)
        screen.line()
    for table in (explanation.table(), *explanation.feature_tables()):
        screen.table(table)
    quantity = "log-odds" if explanation.instance_kind == "probability" else "score"
    condition = (
        f"the label {explanation.label!r}"
        if explanation.label is not None
        else f"that the bag is {explanation.positive!r}"
    )
    text = "Without: the bag's probability (or score) with the instance removed."
    if "posterior" in explanation.columns:
        text += f" Posterior: the probability that the instance is positive, given {condition}."
    if explanation.features:
        text += f" Features: change in {quantity} compared with the median value of the feature."
    screen.paragraph(text)


COMMAND = Command(
    name="explain",
    summary="explain one bag: its instances and their features",
    description=_DESCRIPTION,
    add_arguments=add_arguments,
    run=run,
)
