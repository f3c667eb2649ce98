"""All that the program writes: by rich on a terminal if it is installed, else as plain text."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from math import isfinite
from typing import Any, TextIO

from bagwise._display.parts import Table
from bagwise._display.text import table_lines

# Longer lines are hard to read; shorter terminals are respected.
_WIDEST = 100
# The columns of findings.
_MARK, _TOPIC = 10, 19


def make_screen(*, for_scripts: bool = False) -> Screen:
    """Choose the screen: rich where standard output is a terminal that can do it, else plain."""
    if for_scripts:
        return DataScreen(sys.stdout)
    try:
        from rich.console import Console
    except ImportError:
        return Screen(sys.stdout)
    # rich also knows FORCE_COLOR, NO_COLOR and terminals that are dumb.
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal or console.is_dumb_terminal:
        return Screen(sys.stdout)
    return RichScreen(console)


class Screen:
    """Plain text. Without a terminal there are no control characters, and lines are not wrapped.

    Parameters
    ----------
    stream : text stream
        Where to write.
    """

    is_terminal: bool

    def __init__(self, stream: TextIO):
        self.stream = stream
        self.is_terminal = stream.isatty()
        columns = shutil.get_terminal_size().columns
        self.width: int | None = min(columns, _WIDEST) if self.is_terminal else None

    def line(self, text: str = "") -> None:
        """Write one line as it is, never wrapped: paths stay whole."""
        self._write(text + "\n")

    def title(self, text: str) -> None:
        """Write a title and an empty line."""
        self.line(text)
        self.line("=" * len(text))
        self.line()

    def paragraph(self, text: str) -> None:
        """Write a paragraph and an empty line."""
        self.line(textwrap.fill(text, self.width or _WIDEST))
        self.line()

    def finding(self, level: str, topic: str, text: str) -> None:
        """Write one finding: a mark ("ok", "note" or "warning"), its topic, and a text."""
        head = f"{level:<{_MARK}}{topic:<{_TOPIC}}"
        if self.width is not None:
            text = "\n".join(textwrap.wrap(text, max(20, self.width - len(head))))
            text = text.replace("\n", "\n" + " " * len(head))
        self.line(head + text)

    def note(self, text: str) -> None:
        """Write a remark."""
        self.line(textwrap.fill(text, self.width or _WIDEST))

    def table(self, table: Table) -> None:
        """Write a table with its title, an empty line, and its note."""
        if table.title:
            self.line(table.title)
            self.line()
        self._write_table(table)
        self.line()
        if table.note:
            self.paragraph(table.note)

    def _write_table(self, table: Table) -> None:
        for line in table_lines(table):
            self.line(line)

    @contextmanager
    def progress(self, n_steps: int) -> Iterator[Callable[[str], None]]:
        """Show how far along one is, on a terminal only; gone when the block ends.

        Gives a function to call with a short text when a step begins.
        """
        done = -1
        widest = 0

        def begin(text: str) -> None:
            nonlocal done, widest
            done += 1
            line = f"{done:>4} of {n_steps}  {text}"
            widest = max(widest, len(line))
            if self.is_terminal:
                self._write("\r" + line.ljust(widest))

        try:
            yield begin
        finally:
            if self.is_terminal:
                self._write("\r" + " " * widest + "\r")

    def data(self, content: Any) -> None:
        """Write content for scripts, as JSON; NaN and infinities, which JSON lacks, become null."""
        self._write(json.dumps(_plain(content), indent=2, allow_nan=False) + "\n")

    def error(self, text: str) -> None:
        """Write a sentence to standard error."""
        sys.stderr.write(f"bagwise: {text}\n")

    def _write(self, text: str) -> None:
        # Names of bags and columns may hold letters that the stream's encoding lacks.
        encoding = getattr(self.stream, "encoding", None) or "utf-8"
        self.stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        self.stream.flush()


class DataScreen(Screen):
    """Writes data only, and errors to standard error: what scripts read."""

    def __init__(self, stream: TextIO):
        super().__init__(stream)
        self.is_terminal = False

    def line(self, text: str = "") -> None:
        """Write nothing; all but data goes through here."""


def _plain(content: Any) -> Any:
    """Make plain values of numpy's, and null of what JSON has no word for."""
    if isinstance(content, dict):
        return {str(key): _plain(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_plain(value) for value in content]
    if hasattr(content, "tolist"):
        return _plain(content.tolist())
    if isinstance(content, float) and not isfinite(content):
        return None
    return content if content is None or isinstance(content, (bool, int, float, str)) else str(content)


class RichScreen(Screen):
    """A terminal, by rich.

    Parameters
    ----------
    console : rich.console.Console
        Where to write.
    """

    width: int | None

    _STYLES = {"ok": ("✓", "green"), "note": ("•", "cyan"), "warning": ("▲", "bold yellow")}

    def __init__(self, console: Any):
        super().__init__(console.file)
        self.console = console
        self.is_terminal = True
        self.width = min(console.width, _WIDEST)

    def line(self, text: str = "") -> None:
        """Write one line as it is, never wrapped: paths stay whole."""
        self.console.print(text, soft_wrap=True)

    def title(self, text: str) -> None:
        """Write a title and an empty line."""
        self.console.print(text, style="bold")
        self.line()

    def paragraph(self, text: str) -> None:
        """Write a paragraph and an empty line."""
        self.console.print(text, width=self.width)
        self.line()

    def finding(self, level: str, topic: str, text: str) -> None:
        """Write one finding: a mark ("ok", "note" or "warning"), its topic, and a text."""
        from rich.table import Table
        from rich.text import Text

        mark, style = self._STYLES[level]
        grid = Table.grid()
        grid.add_column(width=_MARK)
        grid.add_column(width=_TOPIC)
        grid.add_column(overflow="fold")
        body = "dim" if level == "ok" else ""
        grid.add_row(Text(f"{mark} {level}", style), Text(topic, body or "bold"), Text(text, body))
        self.console.print(grid, width=self.width)

    def note(self, text: str) -> None:
        """Write a remark."""
        self.console.print(text, style="dim", width=self.width)

    def _write_table(self, table: Table) -> None:
        from bagwise._display.text import rich_table

        self.console.print(rich_table(table))

    @contextmanager
    def progress(self, n_steps: int) -> Iterator[Callable[[str], None]]:
        """Show a progress bar, gone when the block ends: see `Screen.progress`."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
        with Progress(*columns, console=self.console, transient=True) as bar:
            task = bar.add_task("", total=n_steps)
            begun = count()
            yield lambda text: bar.update(task, completed=next(begun), description=text)
