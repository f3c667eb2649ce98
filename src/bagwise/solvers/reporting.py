"""What ``verbose`` shows: one reporter for all iterative models, through `logging` or as one live line."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from bagwise._core.live_line import PlainLine, Progress, RichLine, make_line
from bagwise.data.blocks import Blocks

_logger = logging.getLogger("bagwise")

# The line of the fit that runs in the main thread, if it has one; fits inside it write there, too.
_line: PlainLine | RichLine | None = None


class Reporter:
    """Reports the progress of a fit.

    Silent at 0. At 1 one live line on a terminal: what is done, passes, bags a second, the objective and the
    time; where standard error is no terminal, or the program has set up logging, a line per start. At 2 a
    line per iteration.

    Lines go to the logger "bagwise". If the program has set up no logging they appear on standard error,
    so that ``verbose=1`` alone shows something.
    """

    verbose: int

    def __init__(self, name: str, verbose: int = 0):
        self.name = name
        self.verbose = int(verbose)
        if self.verbose == 1 and _begin_line(name):
            return
        if self.verbose and not _logger.hasHandlers():
            handler = logging.StreamHandler(sys.stderr)
            handler.setFormatter(logging.Formatter("%(message)s"))
            _logger.addHandler(handler)
        if self.verbose and not _logger.isEnabledFor(logging.INFO):
            _logger.setLevel(logging.INFO)

    @property
    def _live(self) -> PlainLine | RichLine | None:
        return _line if self.verbose == 1 else None

    def watch(self, blocks: Blocks) -> None:
        """Show passes over these blocks, if they are so many that a pass takes time."""
        live = self._live
        if live is None or not blocks.are_large:
            return
        live.progress.n_bags, live.progress.n_done = blocks.n_bags, 0

        live.progress.n_blocks = blocks.n_blocks

        def on_block(n_bags: int) -> None:
            live.progress.n_workers = blocks.n_workers
            live.progress.bags_done(n_bags)
            live.show()

        blocks.on_block = on_block

    def log(self, sentence: str) -> None:
        """Say something that stays, above the live line where there is one."""
        if self._live is not None:
            self._live.log(sentence)
        elif self.verbose >= 1:
            _logger.info("%s: %s", self.name, sentence)

    def doing(self, what: str) -> None:
        """Say on the live line what the fit is at."""
        if self._live is not None:
            self._live.progress.doing = what
            self._live.show()

    @contextmanager
    def progress(self, n_steps: int) -> Iterator[Callable[[str], None]]:
        """Count steps on the live line. Gives a function to call with a short text when a step begins."""
        begun = count()
        yield lambda text: self.doing(f"{next(begun)} of {n_steps}" + (f": {text}" if text else ""))

    def step(self, what: str) -> None:
        """Say what the fit does next: on the live line, or in a line of its own."""
        if self._live is not None:
            self.doing(what)
        elif self.verbose >= 1:
            _logger.info("%s: %s", self.name, what)

    def start(self, number: int, of: int, result: Any) -> None:
        """Report the end of one start."""
        if self._live is not None:
            self._live.progress.objective = result.value
            self.doing(f"start {number + 1} of {of}")
        elif self.verbose >= 1:
            _logger.info(
                "%s: start %d of %d: objective %.8g after %d iterations, %s",
                self.name, number + 1, of, result.value, result.n_iter, result.status.name.lower(),
            )  # fmt: skip

    def iteration(self, number: int, value: float) -> None:
        """Report one iteration."""
        if self._live is not None:
            self._live.progress.objective = value
            self._live.show()
        elif self.verbose >= 2:
            _logger.info("%s: iteration %d: objective %.10g", self.name, number, value)

    def fold(self, number: int, of: int, setting: str, values: Any) -> None:
        """Report what the held-out bags of one fold say of a setting, for every penalty compared."""
        if self._live is not None:
            self.doing(f"{setting}, fold {number + 1} of {of}")
        elif self.verbose >= 1:
            said = " ".join(f"{value:.4g}" for value in values)
            _logger.info("%s: %s, fold %d of %d: %s", self.name, setting, number + 1, of, said)


def _begin_line(name: str) -> bool:
    """Whether there is a live line to write on: one begins where a terminal is watched, and no other does."""
    global _line
    if threading.current_thread() is not threading.main_thread():
        return _line is not None
    if _line is None and _is_fitting and sys.stderr.isatty() and not _logger.hasHandlers():
        _line = make_line(Progress(name))
    return _line is not None


_is_fitting = False


@contextmanager
def shared_live_line() -> Iterator[None]:
    """Around a fit: its live line, if it begins one, ends with it. Fits inside it change nothing."""
    global _is_fitting, _line
    if _is_fitting or threading.current_thread() is not threading.main_thread():
        yield
        return
    _is_fitting = True
    try:
        yield
    finally:
        _is_fitting = False
        if _line is not None:
            line, _line = _line, None
            line.end()
