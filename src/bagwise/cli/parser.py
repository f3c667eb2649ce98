"""The list of subcommands, and the parser of the command line."""

from __future__ import annotations

import argparse
from itertools import groupby
from textwrap import fill
from typing import NoReturn

from bagwise._display.text import printable
from bagwise._version import __version__
from bagwise.cli import check, compare, convert, demo, explain, fit, plot, predict, show
from bagwise.cli.command import Command

COMMANDS: tuple[Command, ...] = (
    demo.COMMAND,
    check.COMMAND,
    convert.COMMAND,
    compare.COMMAND,
    fit.COMMAND,
    predict.COMMAND,
    explain.COMMAND,
    plot.COMMAND,
    show.COMMAND,
)


class Parser(argparse.ArgumentParser):
    """Parser whose errors show the arguments, such as file names, without control characters."""

    def error(self, message: str) -> NoReturn:
        """Print the error and exit."""
        super().error(printable(message))


class Help(argparse.RawDescriptionHelpFormatter):
    """Help formatter that wraps paragraphs at the terminal width and does not change indented lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        filled = []
        for paragraph in text.split("\n\n"):
            runs = groupby(paragraph.split("\n"), key=lambda line: line.startswith("  "))
            for is_kept, lines in runs:
                filled.append(
                    "\n".join(lines) if is_kept else fill(" ".join(lines), width, break_on_hyphens=False)
                )
            filled.append("")
        return "\n".join(filled[:-1])


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the program; ``arguments.run`` is the function of the subcommand, or None."""
    parser = Parser(
        prog="bagwise",
        description="Multiple-instance learning: learn from labeled bags of unlabeled instances.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"bagwise {__version__}")
    parser.set_defaults(run=None)
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        subparser = subparsers.add_parser(
            command.name,
            help=command.summary,
            description=command.description,
            formatter_class=Help,
            allow_abbrev=False,
        )
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser
