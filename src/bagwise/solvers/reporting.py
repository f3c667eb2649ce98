"""Progress output for ``verbose``: a reporter for all iterative models, with `logging` or a live line."""

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

# The live line of the fit in the main thread, or None. Nested fits use the same line.
_line: PlainLine | RichLine | None = None


class Reporter:
    """Report the progress of a fit.

    With ``verbose=0`` there is no output. With ``verbose=1``, a terminal shows one live line with the current
    step, passes, bags per second, the objective and the time. If standard error is not a terminal, or if
    logging is configured, the output is one line per start instead. With ``verbose=2``, it is one line per
    iteration.

    Lines are sent to the logger "bagwise". If logging is not configured, they are printed to standard error,
    so ``verbose=1`` works without further setup.
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
        """Show the progress of passes over these blocks, if they are large."""
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
        """Print a permanent line, above the live line if there is one."""
        if self._live is not None:
            self._live.log(sentence)
        elif self.verbose >= 1:
            _logger.info("%s: %s", self.name, sentence)

    def doing(self, description: str) -> None:
        """Show the current step of the fit on the live line."""
        if self._live is not None:
            self._live.progress.doing = description
            self._live.show()

    @contextmanager
    def progress(self, n_steps: int) -> Iterator[Callable[[str], None]]:
        """Count steps on the live line; yield a function that announces the next step by a short text."""
        begun = count()
        yield lambda text: self.doing(f"{next(begun)} of {n_steps}" + (f": {text}" if text else ""))

    def step(self, description: str) -> None:
        """Report the next step of the fit: on the live line, or as a separate line."""
        if self._live is not None:
            self.doing(description)
        elif self.verbose >= 1:
            _logger.info("%s: %s", self.name, description)

    def start(self, index: int, of: int, result: Any) -> None:
        """Report the result of one start."""
        if self._live is not None:
            self._live.progress.objective = result.value
            self.doing(f"start {index + 1} of {of}")
        elif self.verbose >= 1:
            _logger.info(
                "%s: start %d of %d: objective %.8g after %d iterations, %s",
                self.name, index + 1, of, result.value, result.n_iter, result.status.name.lower(),
            )  # fmt: skip

    def iteration(self, index: int, value: float) -> None:
        """Report one iteration."""
        if self._live is not None:
            self._live.progress.objective = value
            self._live.show()
        elif self.verbose >= 2:
            _logger.info("%s: iteration %d: objective %.10g", self.name, index, value)

    def fold(self, index: int, of: int, setting: str, values: Any) -> None:
        """Report the held-out scores of a setting in one fold, for every compared penalty."""
        if self._live is not None:
            self.doing(f"{setting}, fold {index + 1} of {of}")
        elif self.verbose >= 1:
            scores = " ".join(f"{value:.4g}" for value in values)
            _logger.info("%s: %s, fold %d of %d: %s", self.name, setting, index + 1, of, scores)


def _begin_line(name: str) -> bool:
    """Return whether a live line is available; start one on an interactive terminal if there is none."""
    global _line
    if threading.current_thread() is not threading.main_thread():
        return _line is not None
    if _line is None and _is_fitting and sys.stderr.isatty() and not _logger.hasHandlers():
        _line = make_line(Progress(name))
    return _line is not None


_is_fitting = False


@contextmanager
def shared_live_line() -> Iterator[None]:
    """Return a context manager that ends the live line after a fit. Nested fits keep the line open."""
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
