"""The dataclass of a subcommand, and the exception for invalid input."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from bagwise.cli.remedies import with_options
from bagwise.cli.screen import Screen


class CommandError(Exception):
    """Invalid input, reported in one sentence; the program exits with status 2."""

    def __init__(self, message: object):
        # Messages of other libraries may have several lines.
        super().__init__(with_options(" ".join(str(message).split())))


@dataclass(frozen=True)
class Command:
    """A subcommand.

    Its module imports no large library at the top level, so that ``bagwise --help`` is fast.

    Attributes
    ----------
    name : str
        The name of the subcommand on the command line.
    summary : str
        Its line in ``bagwise --help``.
    description : str
        The text of ``bagwise NAME --help``.
    add_arguments : callable
        Add the arguments to the parser of the subcommand.
    run : callable
        Run the subcommand with the arguments and the screen, and return the exit status.
    """

    name: str
    summary: str
    description: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Screen], int]
