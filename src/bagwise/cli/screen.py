"""Output of the program: with rich on a terminal if it is installed, otherwise plain text.

All text is escaped by `printable`, because names and ids come from files; `json` escapes JSON output.
"""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import isfinite
from typing import Any, TextIO

from bagwise._core.live_line import MinuteLine, Progress, Steps
from bagwise._display.parts import Table
from bagwise._display.text import printable, table_lines

# Longer lines are hard to read. On narrower terminals, lines are shorter.
_WIDEST = 100
# Widths of the first two columns of findings.
_MARK, _TOPIC = 10, 19


class OutputError(Exception):
    """Standard output cannot be written, for example because the disk is full."""


@contextmanager
def writing_output() -> Iterator[None]:
    """Convert errors of standard output to an `OutputError`, except when the reader has closed the pipe."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"standard output cannot be written: {error.strerror or error}.") from error


def make_screen(*, for_scripts: bool = False) -> Screen:
    """Return a rich screen if standard output is a terminal that supports it, otherwise a plain one."""
    if for_scripts:
        return DataScreen(sys.stdout)
    try:
        from rich.console import Console
    except ImportError:
        return Screen(sys.stdout)
    # rich also handles FORCE_COLOR, NO_COLOR and dumb terminals.
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal or console.is_dumb_terminal:
        return Screen(sys.stdout)
    return RichScreen(console)


class Screen:
    """Plain text output. Without a terminal, there are no control characters and findings are not wrapped.

    Parameters
    ----------
    stream : text stream
        Stream to write to.
    """

    is_terminal: bool

    def __init__(self, stream: TextIO):
        self.stream = stream
        self.is_terminal = stream.isatty()
        columns = shutil.get_terminal_size().columns
        self.width: int | None = min(columns, _WIDEST) if self.is_terminal else None

    def line(self, text: str = "") -> None:
        """Write one line without wrapping it, so that paths are not broken."""
        self._write(printable(text) + "\n")

    def title(self, text: str) -> None:
        """Write a title and an empty line."""
        text = printable(text)
        self.line(text)
        self.line("=" * len(text))
        self.line()

    def paragraph(self, text: str) -> None:
        """Write a paragraph and an empty line."""
        self.line(textwrap.fill(text, self.width or _WIDEST))
        self.line()

    def finding(self, level: str, topic: str, text: str) -> None:
        """Write one finding: its level ("ok", "note" or "warning"), its topic and its text."""
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
    def progress(self, n_steps: int, expected: Sequence[float] = ()) -> Iterator[Callable[[str], None]]:
        """Show progress on a terminal until the block ends; otherwise write a line per minute.

        These lines are written to standard error. Yields a function to call with a short text at the start
        of each step. `expected` are the expected seconds of the steps, if they differ.
        """
        if not self.is_terminal:
            with _a_line_per_minute(n_steps, expected) as begin:
                yield begin
            return
        steps = Steps(n_steps, -1, expected=expected)
        widest = 0

        def begin_on_terminal(text: str) -> None:
            nonlocal widest
            steps.complete(steps.n_done + 1)
            left = f", {steps.left}" if steps.left else ""
            line = f"{steps.n_done:>4} of {n_steps}  {printable(text)}{left}"
            widest = max(widest, len(line))
            self._write("\r" + line.ljust(widest))

        try:
            yield begin_on_terminal
        finally:
            self._write("\r" + " " * widest + "\r")

    def data(self, content: Any) -> None:
        """Write content as JSON, for scripts; NaN and infinity, which JSON does not support, become null."""
        self._write(json.dumps(_plain(content), indent=2, allow_nan=False) + "\n")

    def error(self, text: str) -> None:
        """Write a sentence to standard error."""
        with suppress(OSError):  # the exit status reports the error as well
            sys.stderr.write(f"bagwise: {printable(text)}\n")
            sys.stderr.flush()

    def _write(self, text: str) -> None:
        # Names of bags and columns may have characters that the encoding of the stream does not support.
        encoding = getattr(self.stream, "encoding", None) or "utf-8"
        with writing_output():
            self.stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
            self.stream.flush()


@contextmanager
def _a_line_per_minute(n_steps: int, expected: Sequence[float]) -> Iterator[Callable[[str], None]]:
    steps = Steps(n_steps, -1, expected=expected)
    progress = Progress("bagwise", steps=steps)

    def begin(text: str) -> None:
        steps.complete(steps.n_done + 1)
        progress.doing = f"{steps.n_done} of {n_steps}" + (f": {printable(text)}" if text else "")

    def write(text: str) -> None:
        with suppress(OSError):  # standard error may be closed
            sys.stderr.write(f"{text}\n")

    line = MinuteLine(progress, write)
    try:
        yield begin
    finally:
        line.end()


class DataScreen(Screen):
    """Output for scripts: only JSON on standard output, and errors on standard error."""

    def __init__(self, stream: TextIO):
        super().__init__(stream)
        self.is_terminal = False

    def line(self, text: str = "") -> None:
        """Write nothing; all output except JSON uses this method."""


def _plain(content: Any) -> Any:
    """Convert NumPy values to Python values, and values that JSON does not support to None or text."""
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
    """Output on a terminal with rich.

    Parameters
    ----------
    console : rich.console.Console
        Console to write to.
    """

    width: int | None

    _STYLES = {"ok": ("✓", "green"), "note": ("•", "cyan"), "warning": ("▲", "bold yellow")}

    def __init__(self, console: Any):
        super().__init__(console.file)
        self.console = console
        self.is_terminal = True
        self.width = min(console.width, _WIDEST)

    def line(self, text: str = "") -> None:
        """Write one line without wrapping it, so that paths are not broken."""
        self._print(text, soft_wrap=True)

    def title(self, text: str) -> None:
        """Write a title and an empty line."""
        self._print(text, style="bold")
        self.line()

    def paragraph(self, text: str) -> None:
        """Write a paragraph and an empty line."""
        self._print(text, width=self.width)
        self.line()

    def finding(self, level: str, topic: str, text: str) -> None:
        """Write one finding: its level ("ok", "note" or "warning"), its topic and its text."""
        from rich.table import Table
        from rich.text import Text

        mark, style = self._STYLES[level]
        grid = Table.grid()
        grid.add_column(width=_MARK)
        grid.add_column(width=_TOPIC)
        grid.add_column(overflow="fold")
        body = "dim" if level == "ok" else ""
        topic, text = printable(topic), printable(text)
        grid.add_row(Text(f"{mark} {level}", style), Text(topic, body or "bold"), Text(text, body))
        self.console.print(grid, width=self.width)

    def note(self, text: str) -> None:
        """Write a remark."""
        self._print(text, style="dim", width=self.width)

    def _write_table(self, table: Table) -> None:
        from bagwise._display.text import rich_table

        self.console.print(rich_table(table))

    @contextmanager
    def progress(self, n_steps: int, expected: Sequence[float] = ()) -> Iterator[Callable[[str], None]]:
        """Show a progress bar until the block ends: see `Screen.progress`."""
        from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn
        from rich.progress import Progress as RichProgress
        from rich.text import Text

        steps = Steps(n_steps, -1, expected=expected)

        class TimeLeftColumn(ProgressColumn):
            def render(self, task: Any) -> Any:
                return Text(steps.left, style="dim")

        def begin(text: str) -> None:
            steps.complete(steps.n_done + 1)
            bar.update(task, completed=steps.n_done, description=printable(text))

        described = TextColumn("{task.description}", markup=False)
        columns = (BarColumn(), MofNCompleteColumn(), TimeLeftColumn(), described)
        with RichProgress(*columns, console=self.console, transient=True) as bar:
            task = bar.add_task("", total=n_steps)
            yield begin

    def _print(self, text: str, **options: Any) -> None:
        self.console.print(printable(text), **options)
