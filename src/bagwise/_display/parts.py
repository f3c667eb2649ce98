"""What reports are made of: one type of table, one of figure, and the few things around them.

Plain dataclasses that import nothing heavy. Experiments, inspections, comparisons and explanations give them;
the terminal (`text.py`), Markdown (`reproduction`) and HTML (`bagwise.report`) show them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True)
class Bar:
    """A cell with a number between 0 and 1: the number everywhere, and a small bar behind it in HTML.

    Attributes
    ----------
    share : float
        How long the bar is; NaN means no bar.
    text : str
        What is written; by default the number with three digits, or a dash.
    """

    share: float
    text: str = ""

    def __str__(self) -> str:
        return self.text or ("-" if self.share != self.share else f"{self.share:.3f}")


@dataclass(frozen=True)
class Table:
    r"""A table.

    Attributes
    ----------
    title : str
        Stands above it; may be empty.
    rows : list of dict
        From the names of columns to cells, which are written by ``str``; a key that a row lacks is an empty
        cell. ``\n`` in a name makes a heading taller instead of wider.
    note : str
        What a reader must know; stands below it.
    n_text : int
        How many of the first columns are text, set flush left; the others are numbers.
    has_header : bool
        Whether names of columns are shown.
    """

    kind: ClassVar[str] = "table"

    title: str
    rows: list[dict[str, Any]]
    note: str = ""
    n_text: int = 1
    has_header: bool = True

    @classmethod
    def of(
        cls, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str = "", **how: Any
    ) -> Table:
        """Make a table of the names of columns and of rows of cells."""
        return cls(title, [dict(zip(columns, row, strict=True)) for row in rows], **how)

    @classmethod
    def of_facts(cls, facts: Iterable[Sequence[Any]], *, title: str = "") -> Table:
        """Make a table of names and values, without a header."""
        return cls.of(["what", "value"], facts, title=title, n_text=2, has_header=False)

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in the order in which rows bring them."""
        return list(dict.fromkeys(key for row in self.rows for key in row))

    @property
    def cells(self) -> list[list[Any]]:
        """The cells, row by row."""
        columns = self.columns
        return [[row.get(name, "") for name in columns] for row in self.rows]


@dataclass(frozen=True)
class Figure:
    """A picture.

    Attributes
    ----------
    name : str
        A short one, which becomes part of a file's.
    drawn : matplotlib figure, Display, or function that gives one
        What to show. A function is called when the picture is written: pages draw in their own style.
    title : str
        Stands above it.
    note : str
        Stands below it: what the picture shows, and what it leaves out.
    is_wide : bool
        Whether it takes the whole width of a page; others stand side by side.
    on_paper : bool
        Whether it stays on a light ground where the page is dark: pictures of images and shades.
    """

    kind: ClassVar[str] = "figure"

    name: str
    drawn: Any | Callable[[], Any]
    title: str = ""
    note: str = ""
    is_wide: bool = False
    on_paper: bool = False

    def draw(self) -> Any:
        """Give the matplotlib figure."""
        drawn = self.drawn() if callable(self.drawn) else self.drawn
        return getattr(drawn, "figure_", drawn)


@dataclass(frozen=True)
class Findings:
    """What an inspection found, each with `level` ("ok", "note", "warning"), `topic` and `text`."""

    kind: ClassVar[str] = "findings"

    items: tuple[Any, ...]


@dataclass(frozen=True)
class Code:
    """Lines of code or of a command, to be copied."""

    kind: ClassVar[str] = "code"

    text: str


@dataclass(frozen=True)
class Fold:
    """Parts that a reader opens, such as a bag with its instances.

    Attributes
    ----------
    title : str
        What is seen before: the name.
    summary : str
        And a word on it.
    parts : tuple
        What is seen after.
    mark : {"", "right", "wrong"}
        A colour at its side.
    """

    kind: ClassVar[str] = "fold"

    title: str
    summary: str
    parts: tuple[Any, ...]
    mark: str = ""


@dataclass(frozen=True)
class SideBySide:
    """Parts that stand side by side where there is room."""

    kind: ClassVar[str] = "beside"

    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Section:
    """A part of a page under a heading; parts are paragraphs (str) and anything above."""

    title: str
    parts: tuple[Any, ...]

    @property
    def anchor(self) -> str:
        """The name by which links find it."""
        return "".join(letter if letter.isalnum() else "-" for letter in self.title.lower())


@dataclass(frozen=True)
class Page:
    """A report.

    Attributes
    ----------
    title : str
        Of what it is.
    verdict : str
        What came out, in a sentence.
    sections : tuple of Section
        In the order of reading.
    kicker : str
        A word above the title: the kind of report.
    facts : Mapping
        Few numbers that stand below the verdict, by name: text, or text and a smaller remark.
    footer : str
        Who wrote it, and when.
    """

    title: str
    verdict: str
    sections: tuple[Section, ...]
    kicker: str = ""
    facts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    footer: str = ""
