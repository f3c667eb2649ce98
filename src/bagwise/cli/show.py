"""``bagwise show``: show the contents of a model file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bagwise._display.parts import Table
from bagwise.cli.command import Command, CommandError
from bagwise.cli.data import add_json_argument
from bagwise.cli.screen import Screen

_DESCRIPTION = """\
Show the contents of a model file that bagwise.save wrote: the class and its parameters, features and
classes, the digest of the training bags (equal for models fitted to the same bags), the versions of
the libraries that wrote it, and the types that must be trusted to load it. The model is not loaded,
no code is executed, and skops is not needed.

  bagwise show model.bagwise

The exit status is 0 if the file is a valid model file, and 2 if it is damaged or not a model file."""

# Maximum number of names of features and classes to show; the others are counted, and --json has all of them.
_MOST_NAMES = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="model file, written by bagwise.save or bagwise fit"
    )
    add_json_argument(parser)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    """Read the file and show its metadata."""
    from bagwise.persist import read_card

    path = arguments.file
    try:
        card = read_card(path)
    except OSError as error:
        raise CommandError(f"cannot read {str(path)!r}: {error.strerror or error}.") from error
    except ValueError as error:
        raise CommandError(error) from error
    try:  # the metadata of a forged file can be any JSON value
        lines = _lines(card)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CommandError(f"{str(path)!r} has metadata that bagwise.save did not write.") from error
    if arguments.json:
        screen.data(card)
        return 0
    screen.title(str(path))
    screen.table(Table.of_facts(lines))
    return 0


def _lines(card: dict[str, Any]) -> list[list[str]]:
    features, classes = card["features"], card["classes"]
    parameters, imputes = _without_imputation(card["parameters"])
    lines = [["class", str(card["class"])]]
    lines += [[f"  {name}", repr(value)] for name, value in parameters.items()]
    lines += [["missing values", "replaced by medians of the training instances"]] * imputes
    shown = "not fitted" if features["number"] is None else f"{features['number']:,}"
    if features["names"] is not None:
        shown += f": {_first_few(features['names'])}"
    lines.append(["features", shown])
    if classes is not None:
        lines.append(["classes", _first_few([repr(label) for label in classes])])
    lines.append(["training bags", str(card["training"]["digest"] or "no digest")])
    lines.append(["written by", ", ".join(f"{name} {release}" for name, release in card["versions"].items())])
    lines.append(["saved", str(card["saved"])])
    lines += [[str(name), _shown(value)] for name, value in card.get("about", {}).items()]
    if card["trusted"]:
        lines.append(["load needs", f"trusted={card['trusted']!r}"])
    return lines


def _without_imputation(parameters: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the parameters of the model after median imputation, and whether there is any."""
    if not str(parameters.get("oninstances__transformer", "")).startswith("SimpleImputer("):
        return parameters, False
    of_pipeline = ("memory", "steps", "transform_input", "verbose", "oninstances")
    names = [name for name in parameters if "__" not in name and name not in of_pipeline]
    prefix = f"{names[0]}__" if names else ""
    kept = {name.removeprefix(prefix): value for name, value in parameters.items() if name.startswith(prefix)}
    return {"model": parameters[names[0]], **kept} if names else parameters, bool(names)


def _shown(value: Any) -> str:
    if isinstance(value, dict) and set(value) == {"value", "low", "high"}:
        return f"{_shown(value['value'])} ({_shown(value['low'])} to {_shown(value['high'])})"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(inside)}" for name, inside in value.items())
    if isinstance(value, list):
        return _first_few([_shown(inside) for inside in value])
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _first_few(names: list[str]) -> str:
    left = len(names) - _MOST_NAMES
    return ", ".join(map(str, names[:_MOST_NAMES])) + (f" and {left:,} more" if left > 0 else "")


COMMAND = Command(
    name="show",
    summary="show the contents of a model file",
    description=_DESCRIPTION,
    add_arguments=add_arguments,
    run=run,
)
