"""What a subcommand is, and how it refuses."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from bagwise.cli.screen import Screen


class CommandError(Exception):
    """A mistake of the user's, told in one sentence; the program ends with status 2."""

    def __init__(self, message: object):
        # Messages of other libraries may run over several lines.
        super().__init__(" ".join(str(message).split()))


@dataclass(frozen=True)
class Command:
    """A subcommand.

    Its module imports nothing heavy at the top, so that ``bagwise --help`` stays quick.

    Attributes
    ----------
    name : str
        What the user types.
    summary : str
        One line in ``bagwise --help``.
    description : str
        The text of ``bagwise NAME --help``.
    add_arguments : callable
        Adds the arguments to the subcommand's parser.
    run : callable
        Does the work, given the arguments and the screen, and returns the exit status.
    """

    name: str
    summary: str
    description: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Screen], int]
