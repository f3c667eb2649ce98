"""The ``bagwise`` program. Each subcommand is a module; `parser` lists them.

- Subcommands: `check`, `compare`, `convert`, `demo`, `explain`, `fit`, `plot`, `predict`, `show`.
  `command` defines the dataclass of a subcommand.
- `data` reads input files and `saved` reads model files. `models` has the short names of models and
  `class_names` the names of labels.
- `screen` writes all output, `pages` writes HTML reports, `cluster` connects to Dask.
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
    """Run the program and return its exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments after the name of the program; by default, the arguments of the command line.

    Returns
    -------
    int
        The exit status of the subcommand; 2 if the input is invalid (one sentence on standard error);
        130 after Ctrl-C.
    """
    return run_program(make_parser(), argv)


def run_program(parser: argparse.ArgumentParser, argv: Sequence[str] | None = None) -> int:
    """Parse the arguments, call the function that the parser stores as ``run``, return the exit status."""
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:  # argparse has printed the message
        return int(end.code or 0)
    if arguments.run is None:
        parser.print_help()
        return 0
    # HTML reports show the command that wrote them.
    arguments.command_line = shlex.join([*parser.prog.split(), *(sys.argv[1:] if argv is None else argv)])
    screen = make_screen(for_scripts=getattr(arguments, "json", False))
    try:
        with screen.progress(1) as begin:  # takes a second or two, longer if the files are not cached
            begin("loading")
            from bagwise._core.interrupt import interruptible

        # Ctrl-C stops a fit after its current step, and everything else immediately; a second Ctrl-C stops a
        # fit immediately, too.
        with interruptible(at_once=True):
            return int(arguments.run(arguments, screen))
    except CommandError as error:
        screen.error(str(error))
        return 2
    except KeyboardInterrupt:
        screen.error("stopped by Ctrl-C.")
        return 130
    except BrokenPipeError:
        # The reader (head, less) has closed the pipe. Python would report this again when it flushes the
        # stream at exit, so the remaining output is discarded.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
