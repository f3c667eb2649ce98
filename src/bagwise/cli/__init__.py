"""The ``bagwise`` program. Each subcommand is a module; `parser` lists them.

- Subcommands: `check`, `compare`, `convert`, `demo`, `explain`, `fit`, `plot`, `predict`, `show`.
  `command` defines the dataclass of a subcommand.
- `data` reads input files and `saved` reads model files. `models` has the short names of models,
  `labels` prepares labels for a fit, and `class_names` has their names.
- `interpretation` explains the scores of a fit, and `remedies` rewrites Python advice as options.
- `screen` writes all output, `pages` writes HTML reports, `cluster` connects to Dask.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence

from bagwise.cli.command import CommandError
from bagwise.cli.data import join_command
from bagwise.cli.parser import make_parser
from bagwise.cli.screen import OutputError, Screen, make_screen, writing_output

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
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller, as by >&- in a shell
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (until exit)
    try:
        status = _run_command(parser, argv)
        with writing_output():
            sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader (head, less) has closed the pipe
        _discard_output()
        return 128 + signal.SIGPIPE
    except OutputError as error:
        _discard_output()
        Screen(sys.stdout).error(str(error))
        return 2


def _discard_output() -> None:
    """Redirect standard output: Python would flush it at exit and report the same error again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run_command(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> int:
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:  # argparse has printed the message
        return int(end.code or 0)
    if arguments.run is None:
        parser.print_help()
        return 0
    # HTML reports show the command that wrote them.
    arguments.command_line = join_command([*parser.prog.split(), *(sys.argv[1:] if argv is None else argv)])
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
