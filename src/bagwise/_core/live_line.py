"""One line on a terminal that says how far a fit has come; by rich where it is installed."""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import dataclass, field
from typing import Any

# A plain line is written no oftener than this, in seconds; rich keeps its own time.
_BETWEEN = 0.1


@dataclass
class Progress:
    """How far a fit has come, in words.

    Attributes
    ----------
    name : str
        Of the estimator.
    doing : str
        What it is at, such as a start or a fold.
    objective : float or None
        The last one heard of.
    n_bags : int
        The bags of a pass; 0 where bags are few, and passes not worth counting.
    n_done, n_passes : int
        Bags done in this pass, and passes done before it.
    n_blocks, n_workers : int
        The blocks of a pass, and the workers of a cluster that do it; 0 where there is none.
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

    def bags_done(self, n: int) -> None:
        """Count bags of the present pass."""
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
        """How much of the present pass is done."""
        return self.n_done / self.n_bags if self.n_bags else 0.0

    def parts(self) -> list[str]:
        """What there is to say, most important first."""
        said = [self.name]
        if self.n_bags:
            said.append(f"pass {self.n_passes + 1}, {self.share:.0%}")
        if self.n_workers:
            workers = "1 worker" if self.n_workers == 1 else f"{self.n_workers} workers"
            said.append(f"{self.blocks_done} of {self.n_blocks} blocks on {workers}")
        said.append(_clock(time.monotonic() - self.began))
        if self.objective is not None:
            said.append(f"objective {self.objective:.7g}")
        if self.doing:
            said.append(self.doing)
        if self.rate:
            said.append(f"{self.rate:,.0f} bags/s")
        if self.rate and self.n_done:
            left = (self.n_bags - self.n_done) / self.rate
            said.append(f"{_clock(left)} left of this pass")
        return said

    def summary(self) -> str:
        """What is left standing when the fit has ended."""
        said = [self.name]
        if self.objective is not None:
            said.append(f"objective {self.objective:.8g}")
        if self.n_passes:
            said.append(f"{self.n_passes} passes over {self.n_bags:,} bags")
        return ", ".join([*said, f"{_clock(time.monotonic() - self.began)}"])


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


class PlainLine:
    """Writes the line over itself, cut to the width of the terminal."""

    def __init__(self, progress: Progress):
        self.progress = progress
        self._written = 0.0

    def show(self) -> None:
        """Write the line anew, unless it was written a moment ago."""
        now = time.monotonic()
        if now - self._written < _BETWEEN:
            return
        self._written = now
        width = max(20, shutil.get_terminal_size().columns - 1)
        # Back to the first column, the words, and clear what is left of longer ones before.
        sys.stderr.write("\r" + " | ".join(self.progress.parts())[:width] + "\x1b[K")
        sys.stderr.flush()

    def log(self, sentence: str) -> None:
        """Write a sentence that stays, above the line."""
        sys.stderr.write("\r" + sentence + "\x1b[K\n")
        sys.stderr.flush()

    def end(self) -> None:
        """Leave the summary standing."""
        sys.stderr.write("\r" + self.progress.summary() + "\x1b[K\n")
        sys.stderr.flush()


class RichLine:
    """The same by rich, with a bar for the present pass."""

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
        """Rich looks by itself, ten times a second."""

    def log(self, sentence: str) -> None:
        """Write a sentence that stays, above the line."""
        self._live.console.print(sentence, highlight=False, markup=False)

    def end(self) -> None:
        """Leave the summary standing."""
        self._live.stop()
        self._live.console.print(self.progress.summary(), highlight=False)


def make_line(progress: Progress) -> PlainLine | RichLine:
    """The prettiest line there is."""
    try:
        return RichLine(progress)
    except ImportError:
        return PlainLine(progress)
