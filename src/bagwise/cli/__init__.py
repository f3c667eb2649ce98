"""The ``bagwise`` program. Every subcommand is a file of its own, listed in `bagwise.cli.parser`."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

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
    parser = make_parser()
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:  # argparse has said what there is to say
        return int(end.code or 0)
    if arguments.command is None:
        parser.print_help()
        return 0
    screen = make_screen()
    try:
        with _ctrl_c_ends_the_program():
            return arguments.command.run(arguments, screen)
    except CommandError as error:
        screen.error(str(error))
        return 2
    except (_Interrupted, KeyboardInterrupt):
        screen.error("stopped by Ctrl-C.")
        return 130
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python would complain once more when it flushes the
        # stream at exit, so what is left goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


class _Interrupted(BaseException):
    """Ctrl-C. Not a KeyboardInterrupt: a solver catches that, to keep the best parameters so far."""


@contextmanager
def _ctrl_c_ends_the_program() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield
        return

    def stop(number, frame):
        raise _Interrupted

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
