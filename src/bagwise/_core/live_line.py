"""Progress of a fit: a line on a terminal (drawn by rich if installed), or one log line per minute."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bagwise._core.compiled.running import COMPILING, compiling

# Minimum number of seconds between two updates of a plain line; rich has its own refresh rate.
_BETWEEN = 0.1
# Share of the expected time for which the expectation counts as much as the steps that were completed.
_TRUST = 0.05
# Number of seconds between two lines if the output is not a terminal, for example a log file.
_MINUTE = 60.0


@dataclass
class Steps:
    """Steps of a task with a known number of steps.

    Attributes
    ----------
    n_steps, n_done : int
        Number of steps, and number of completed steps.
    began, last : float
        Start time of the first step, and end time of the last completed step.
    expected : sequence of float
        Expected seconds of every step; empty if the steps take about equally long.
    """

    n_steps: int
    n_done: int = 0
    began: float = field(default_factory=lambda: time.monotonic())
    last: float = field(default_factory=lambda: time.monotonic())
    expected: Sequence[float] = ()

    def complete(self, n_done: int) -> None:
        """Set the number of completed steps."""
        self.n_done, self.last = n_done, time.monotonic()

    @property
    def left(self) -> str:
        """The estimated remaining time as text; empty if unknown."""
        expected = self.expected or [1.0] * self.n_steps
        n_done = max(self.n_done, 0)
        done, left = sum(expected[:n_done]), sum(expected[n_done:])
        if left <= 0 or not (n_done or self.expected):
            return ""
        # Short first steps are a poor predictor of long steps, so the expected times are used as well.
        prior = _TRUST * (done + left) if self.expected else 0.0
        pace = (self.last - self.began + prior) / (done + prior)
        # The current step may take longer than expected; the following steps are counted in full.
        after = left - expected[n_done]
        seconds = max(pace * left - (time.monotonic() - self.last), pace * after)
        return f"about {_clock(seconds)} left" if seconds >= 1 else ""


@dataclass
class Progress:
    """Progress of a fit.

    Attributes
    ----------
    name : str
        Name of the estimator.
    doing : str
        The current task, such as a start or a fold.
    objective : float or None
        The last reported objective.
    n_bags : int
        Number of bags in a pass; 0 if there are too few bags to show progress within a pass.
    n_done, n_passes : int
        Number of bags done in the current pass, and number of completed passes.
    n_blocks, n_workers : int
        Number of blocks in a pass, and number of cluster workers; 0 without a cluster.
    steps : Steps or None
        The steps of the current task, if their number is known.
    """

    name: str
    doing: str = ""
    objective: float | None = None
    n_bags: int = 0
    n_done: int = 0
    n_passes: int = 0
    n_blocks: int = 0
    n_workers: int = 0
    blocks_done: int = 0
    began: float = field(default_factory=lambda: time.monotonic())
    pass_began: float = field(default_factory=lambda: time.monotonic())
    rate: float = 0.0
    steps: Steps | None = None

    def bags_done(self, n: int) -> None:
        """Add `n` to the number of bags done in the current pass."""
        now = time.monotonic()
        self.n_done += n
        self.blocks_done += 1
        if now > self.pass_began:
            self.rate = self.n_done / (now - self.pass_began)
        if self.n_done >= self.n_bags:
            self.n_done, self.n_passes, self.pass_began = 0, self.n_passes + 1, now
            self.blocks_done = 0

    @property
    def share(self) -> float:
        """Share of the current pass that is done, from 0 to 1."""
        return self.n_done / self.n_bags if self.n_bags else 0.0

    def parts(self) -> list[str]:
        """Return the parts of the progress line, most important first."""
        texts = [self.name]
        if self.n_bags:
            texts.append(f"pass {self.n_passes + 1}, {self.share:.0%}")
        if self.n_workers:
            workers = "1 worker" if self.n_workers == 1 else f"{self.n_workers} workers"
            texts.append(f"{self.blocks_done} of {self.n_blocks} blocks on {workers}")
        texts.append(_clock(time.monotonic() - self.began))
        if self.steps is not None and self.steps.left:
            texts.append(self.steps.left)
        if compiling.is_set():
            texts.append(COMPILING)
        if self.objective is not None:
            texts.append(f"objective {self.objective:.7g}")
        if self.doing:
            texts.append(self.doing)
        if self.rate:
            texts.append(f"{self.rate:,.0f} bags/s")
        if self.rate and self.n_done:
            left = (self.n_bags - self.n_done) / self.rate
            texts.append(f"{_clock(left)} left of this pass")
        return texts

    def summary(self) -> str:
        """Return the line that remains on the terminal after the fit."""
        texts = [self.name]
        if self.objective is not None:
            texts.append(f"objective {self.objective:.8g}")
        if self.n_passes:
            texts.append(f"{self.n_passes} passes over {self.n_bags:,} bags")
        return ", ".join([*texts, f"{_clock(time.monotonic() - self.began)}"])


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


class MinuteLine:
    """Writer of one line per minute, for output that is not a terminal; it skips the first minute.

    A thread writes the lines, because a single step or the compiler may take longer than a minute.

    Parameters
    ----------
    progress : Progress
        The progress to write.
    write : callable
        Called with the text of each line.
    """

    is_live = False

    def __init__(self, progress: Progress, write: Callable[[str], Any]):
        self.progress = progress
        self._write = write
        self._ended = threading.Event()
        threading.Thread(target=self._run, name="bagwise-progress", daemon=True).start()

    def _run(self) -> None:
        while not self._ended.wait(_MINUTE):
            name, *rest = self.progress.parts()
            self._write(f"{name}: {', '.join(rest)}")

    def show(self) -> None:
        """Do nothing: the next line shows the update."""

    def end(self) -> None:
        """Stop writing."""
        self._ended.set()


class PlainLine:
    """Progress line without rich; every update overwrites the line, cut to the terminal width."""

    is_live = True

    def __init__(self, progress: Progress):
        self.progress = progress
        self._written = 0.0

    def show(self) -> None:
        """Update the line, unless the last update was less than 0.1 seconds ago."""
        now = time.monotonic()
        if now - self._written < _BETWEEN:
            return
        self._written = now
        width = max(20, shutil.get_terminal_size().columns - 1)
        # "\r" returns to the first column; "\x1b[K" clears the rest of a longer previous line.
        sys.stderr.write("\r" + " | ".join(self.progress.parts())[:width] + "\x1b[K")
        sys.stderr.flush()

    def log(self, sentence: str) -> None:
        """Write a permanent sentence above the line."""
        sys.stderr.write("\r" + sentence + "\x1b[K\n")
        sys.stderr.flush()

    def end(self) -> None:
        """Replace the line with the summary."""
        sys.stderr.write("\r" + self.progress.summary() + "\x1b[K\n")
        sys.stderr.flush()


class RichLine:
    """Progress line drawn by rich, with a progress bar for the current pass."""

    is_live = True

    def __init__(self, progress: Progress):
        from rich.console import Console
        from rich.live import Live

        self.progress = progress
        self._live: Any = Live(
            get_renderable=self._picture, console=Console(stderr=True), refresh_per_second=10, transient=True
        )
        self._live.start()

    def _picture(self) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        name, *rest = self.progress.parts()
        grid = Table.grid(padding=(0, 1))
        row: list[Any] = [Text(name, style="bold")]
        if self.progress.n_bags:
            row.append(ProgressBar(total=1.0, completed=self.progress.share, width=16))
        row.append(Text(" · ".join(rest), no_wrap=True, overflow="ellipsis"))
        grid.add_row(*row)
        return grid

    def show(self) -> None:
        """Do nothing: rich updates the line automatically, ten times per second."""

    def log(self, sentence: str) -> None:
        """Write a permanent sentence above the line."""
        self._live.console.print(sentence, highlight=False, markup=False)

    def end(self) -> None:
        """Replace the line with the summary."""
        self._live.stop()
        self._live.console.print(self.progress.summary(), highlight=False)


def make_line(progress: Progress) -> PlainLine | RichLine:
    """Return a progress line drawn by rich, or a plain one if rich is not installed."""
    try:
        return RichLine(progress)
    except ImportError:
        return PlainLine(progress)
