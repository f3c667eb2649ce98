"""``bagwise show``: what is in the file of a model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bagwise._display.parts import Table
from bagwise.cli.command import Command, CommandError
from bagwise.cli.data import add_json_argument
from bagwise.cli.screen import Screen

_DESCRIPTION = """\
Show what is in a model that bagwise.save wrote: its class and parameters, features and classes,
the digest of the training bags (equal for models that learned from the same bags), the versions
that wrote it, and the types that bagwise.load wants to have named as trusted. Nothing is restored
or run, and skops is not needed.

  bagwise show model.bagwise

The exit status is 0 if the file is whole, 2 if it is damaged or no model."""

# Names of features and classes beyond these are counted, not shown; --json has them all.
_MOST_NAMES = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("file", type=Path, metavar="FILE", help="the model: a file that bagwise.save wrote")
    add_json_argument(parser)


def run(arguments: argparse.Namespace, screen: Screen) -> int:
    """Read the file, and show its card."""
    from bagwise.persist import read_card

    path = arguments.file
    try:
        card = read_card(path)
    except OSError as error:
        raise CommandError(f"cannot read {str(path)!r}: {error.strerror or error}.") from error
    except ValueError as error:
        raise CommandError(error) from error
    try:  # a forged card may be anything that JSON can say
        lines = _lines(card)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CommandError(f"{str(path)!r} has a card that is not one of bagwise.save.") from error
    if arguments.json:
        screen.data(card)
        return 0
    screen.title(str(path))
    screen.table(Table.of_facts(lines))
    return 0


def _lines(card: dict[str, Any]) -> list[list[str]]:
    features, classes = card["features"], card["classes"]
    lines = [["class", str(card["class"])]]
    lines += [[f"  {name}", repr(value)] for name, value in card["parameters"].items()]
    shown = "not fitted" if features["number"] is None else f"{features['number']:,}"
    if features["names"] is not None:
        shown += f": {_some(features['names'])}"
    lines.append(["features", shown])
    if classes is not None:
        lines.append(["classes", _some([repr(label) for label in classes])])
    lines.append(["training bags", str(card["training"]["digest"] or "no digest")])
    lines.append(["written by", ", ".join(f"{name} {number}" for name, number in card["versions"].items())])
    lines.append(["saved", str(card["saved"])])
    lines += [[str(name), _shown(value)] for name, value in card.get("about", {}).items()]
    if card["trusted"]:
        lines.append(["load needs", f"trusted={card['trusted']!r}"])
    return lines


def _shown(value: Any) -> str:
    if isinstance(value, dict) and set(value) == {"value", "low", "high"}:
        return f"{_shown(value['value'])} ({_shown(value['low'])} to {_shown(value['high'])})"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(inside)}" for name, inside in value.items())
    if isinstance(value, list):
        return _some([_shown(inside) for inside in value])
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _some(names: list[str]) -> str:
    left = len(names) - _MOST_NAMES
    return ", ".join(map(str, names[:_MOST_NAMES])) + (f" and {left:,} more" if left > 0 else "")


COMMAND = Command(
    name="show",
    summary="show what is in the file of a model",
    description=_DESCRIPTION,
    add_arguments=add_arguments,
    run=run,
)
