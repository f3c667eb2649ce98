"""The ``bagwise`` program: a module per subcommand, listed in `parser`.

- Subcommands: `check`, `compare`, `convert`, `demo`, `explain`, `fit`, `plot`, `predict`, `show`.
  `command` defines what a subcommand is.
- `data` reads input files, `saved` model files. `models` has the short names of models, `class_names` the
  names of labels.
- `screen` writes all output, `pages` writes HTML pages, `cluster` connects to Dask.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Sequence

from bagwise.cli.command import CommandError
from bagwise.cli.parser import make_parser
from bagwise.cli.screen import make_screen

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and give its exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments after the program's name; those of the command line by default.

    Returns
    -------
    int
        What the subcommand says, 2 for a mistake of the user's (one sentence on standard error),
        130 after Ctrl-C.
    """
    return run_program(make_parser(), argv)


def run_program(parser: argparse.ArgumentParser, argv: Sequence[str] | None = None) -> int:
    """Parse the arguments, call the function that the parser stores as ``run``, return the exit status."""
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:  # argparse has said what there is to say
        return int(end.code or 0)
    if arguments.run is None:
        parser.print_help()
        return 0
    # What a page says of how it came about.
    arguments.command_line = shlex.join([*parser.prog.split(), *(sys.argv[1:] if argv is None else argv)])
    screen = make_screen(for_scripts=getattr(arguments, "json", False))
    try:
        with screen.progress(1) as begin:  # a second or two, more from a cold disk
            begin("loading")
            from bagwise._core.interrupt import interruptible

        # A fit ends after its present step, anything else at once, and a fit too at the second Ctrl-C.
        with interruptible(at_once=True):
            return int(arguments.run(arguments, screen))
    except CommandError as error:
        screen.error(str(error))
        return 2
    except KeyboardInterrupt:
        screen.error("stopped by Ctrl-C.")
        return 130
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python would complain once more when it flushes the
        # stream at exit, so what is left goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
