"""Progress output for ``verbose``: a reporter for all iterative models, with `logging` or a live line."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bagwise._core.live_line import MinuteLine, PlainLine, Progress, RichLine, Steps, make_line
from bagwise.data.blocks import Blocks

_logger = logging.getLogger("bagwise")

_Line = PlainLine | RichLine | MinuteLine
# The progress line of the fit in the main thread, or None. Nested fits use the same line.
_line: _Line | None = None


class Reporter:
    """Report the progress of a fit.

    With ``verbose=0`` there is no output. With ``verbose=1``, a terminal shows one live line with the current
    step, passes, bags per second, the objective, the time, and the estimated time left if the number of steps
    is known. If standard error is not a terminal, or if logging is configured, the output is one line per
    start instead, and one line per minute. With ``verbose=2``, it is one line per iteration.

    Lines are sent to the logger "bagwise". If logging is not configured, they are printed to standard error,
    so ``verbose=1`` needs no further setup.

    Parameters
    ----------
    name : str
        Name of the estimator.
    verbose : int
        The parameter of the estimator.
    n_rounds : int
        Number of times that all steps of the fit are repeated, for example once per pair of classes.
    """

    verbose: int

    def __init__(self, name: str, verbose: int = 0, *, n_rounds: int = 1):
        self.name = name
        self.verbose = int(verbose)
        self._n_rounds = n_rounds
        self._began = time.monotonic()
        self._n_done = 0
        self._expected: Sequence[float] = ()
        if self.verbose == 1 and _begin_line(name):
            return
        if self.verbose and not _logger.hasHandlers():
            handler = logging.StreamHandler(sys.stderr)
            handler.setFormatter(logging.Formatter("%(message)s"))
            _logger.addHandler(handler)
        if self.verbose and not _logger.isEnabledFor(logging.INFO):
            _logger.setLevel(logging.INFO)

    def _show(
        self, doing: str | None = None, objective: float | None = None, n_done: int = 0, n_steps: int = 0
    ) -> bool:
        """Update the progress line; return whether it is live, so that no other output is needed."""
        line = _line if self.verbose == 1 else None
        if line is None:
            return False
        if doing is not None:
            line.progress.doing = doing
        if objective is not None:
            line.progress.objective = objective
        if n_steps:
            steps = Steps(n_steps * self._n_rounds, n_done, self._began, expected=self._expected)
            line.progress.steps = steps
        line.show()
        return line.is_live

    def watch(self, blocks: Blocks) -> None:
        """Show the progress of passes over these blocks, if they are large."""
        line = _line if self.verbose == 1 else None
        if line is None or not blocks.are_large:
            return
        progress, show = line.progress, line.show
        progress.n_bags, progress.n_done, progress.n_blocks = blocks.n_bags, 0, blocks.n_blocks

        def on_block(n_bags: int) -> None:
            progress.n_workers = blocks.n_workers
            progress.bags_done(n_bags)
            show()

        blocks.on_block = on_block

    def log(self, sentence: str) -> None:
        """Print a permanent line, above the live line if there is one."""
        if self.verbose == 1 and isinstance(_line, (PlainLine, RichLine)):
            _line.log(sentence)
        elif self.verbose >= 1:
            _logger.info("%s: %s", self.name, sentence)

    def doing(self, description: str) -> None:
        """Show the current step of the fit on the progress line."""
        self._show(description)

    @contextmanager
    def progress(self, n_steps: int, expected: Sequence[float] = ()) -> Iterator[Callable[[str], None]]:
        """Count steps on the progress line; yield a function that announces the next step by a short text.

        `expected` are the expected seconds of the steps, if they differ.
        """
        self._began, self._n_done, self._expected = time.monotonic(), -1, expected

        def begin(text: str) -> None:
            self._n_done += 1
            doing = f"{self._n_done} of {n_steps}" + (f": {text}" if text else "")
            self._show(doing, n_done=self._n_done, n_steps=n_steps)

        yield begin

    def step(self, description: str, *, n_steps: int = 0) -> None:
        """Report the next step of the fit, one of `n_steps`: on the live line, or as a separate line."""
        is_live = self._show(description, n_done=self._n_done, n_steps=n_steps)
        self._n_done += bool(n_steps)
        if not is_live and self.verbose >= 1:
            _logger.info("%s: %s", self.name, description)

    def start(self, index: int, of: int, result: Any) -> None:
        """Report the result of one start."""
        self._n_done += 1
        is_live = self._show(f"start {index + 1} of {of}", result.value, self._n_done, of)
        if not is_live and self.verbose >= 1:
            _logger.info(
                "%s: start %d of %d: objective %.8g after %d iterations, %s",
                self.name, index + 1, of, result.value, result.n_iter, result.status.name.lower(),
            )  # fmt: skip

    def iteration(self, index: int, value: float) -> None:
        """Report one iteration."""
        if not self._show(objective=value) and self.verbose >= 2:
            _logger.info("%s: iteration %d: objective %.10g", self.name, index, value)

    def fold(self, index: int, of: int, setting: str, values: Any, *, n_settings: int) -> None:
        """Report the held-out scores of a setting in one fold, for every compared penalty."""
        self._n_done += 1
        is_live = self._show(
            f"{setting}, fold {index + 1} of {of}", n_done=self._n_done, n_steps=of * n_settings
        )
        if not is_live and self.verbose >= 1:
            scores = " ".join(f"{value:.4g}" for value in values)
            _logger.info("%s: %s, fold %d of %d: %s", self.name, setting, index + 1, of, scores)


def _begin_line(name: str) -> bool:
    """Start a progress line if there is none; return whether it is live, as on an interactive terminal."""
    global _line
    if _line is None and _is_fitting and threading.current_thread() is threading.main_thread():
        is_live = sys.stderr.isatty() and not _logger.hasHandlers()
        _line = make_line(Progress(name)) if is_live else MinuteLine(Progress(name), _logger.info)
    return _line is not None and _line.is_live


_is_fitting = False


@contextmanager
def shared_live_line() -> Iterator[None]:
    """Return a context manager that ends the progress line after a fit. Nested fits keep the line open."""
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
