"""The building blocks of reports: tables, figures, and the sections and pages that contain them.

These are plain dataclasses that import no large library. Experiments, inspections, comparisons and
explanations return them. `text.py` shows them on a terminal, `reproduction` renders them as Markdown, and
`bagwise.report` as HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True)
class Bar:
    """A table cell with a number between 0 and 1; in HTML it has a small bar behind the number.

    Attributes
    ----------
    share : float
        Length of the bar, between 0 and 1; NaN for no bar.
    text : str
        Text of the cell; by default `share` with three decimals, or a dash for NaN.
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
        Title above the table; may be empty.
    rows : list of dict
        Maps column names to cells, which are formatted by ``str``. A missing key leads to an empty cell.
        ``\n`` in a column name breaks the heading into several lines.
    note : str
        Explanation below the table.
    n_text : int
        Number of leading columns with text, which are aligned left; the other columns are aligned right.
    has_header : bool
        Whether column names are shown.
    """

    kind: ClassVar[str] = "table"

    title: str
    rows: list[dict[str, Any]]
    note: str = ""
    n_text: int = 1
    has_header: bool = True

    @classmethod
    def of(
        cls, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str = "", **options: Any
    ) -> Table:
        """Create a table from column names and rows of cells."""
        return cls(title, [dict(zip(columns, row, strict=True)) for row in rows], **options)

    @classmethod
    def of_facts(cls, facts: Iterable[Sequence[Any]], *, title: str = "") -> Table:
        """Create a table of names and values, without a header."""
        return cls.of(["what", "value"], facts, title=title, n_text=2, has_header=False)

    @property
    def columns(self) -> list[str]:
        """Column names, in the order of their first occurrence in the rows."""
        return list(dict.fromkeys(key for row in self.rows for key in row))

    @property
    def cells(self) -> list[list[Any]]:
        """Cells, row by row."""
        columns = self.columns
        return [[row.get(name, "") for name in columns] for row in self.rows]


@dataclass(frozen=True)
class Figure:
    """A figure in a report.

    Attributes
    ----------
    name : str
        Short name, which becomes part of a file name.
    drawn : matplotlib figure, Display, or function that returns one
        The figure to show. A function is called when the page is written, in the plot style of the page.
    title : str
        Title above the figure.
    note : str
        Note below the figure: what it shows, and what it leaves out.
    is_wide : bool
        Whether the figure takes the whole width of a page; other figures are placed side by side.
    on_paper : bool
        Whether the figure keeps a light background on a dark page, as for images and shading.
    """

    kind: ClassVar[str] = "figure"

    name: str
    drawn: Any | Callable[[], Any]
    title: str = ""
    note: str = ""
    is_wide: bool = False
    on_paper: bool = False

    def draw(self) -> Any:
        """Return the matplotlib figure."""
        drawn = self.drawn() if callable(self.drawn) else self.drawn
        return getattr(drawn, "figure_", drawn)


@dataclass(frozen=True)
class Findings:
    """Findings of an inspection; each item has `level` ("ok", "note" or "warning"), `topic` and `text`."""

    kind: ClassVar[str] = "findings"

    items: tuple[Any, ...]


@dataclass(frozen=True)
class Code:
    """Lines of code or a shell command, for copying."""

    kind: ClassVar[str] = "code"

    text: str


@dataclass(frozen=True)
class Fold:
    """Collapsible parts of a page, such as a bag with its instances.

    Attributes
    ----------
    title : str
        Name, which is always visible.
    summary : str
        Short description next to the title, always visible.
    parts : tuple
        The parts that are visible after the reader opens the fold.
    mark : {"", "right", "wrong"}
        Selects the color of the mark at the side.
    """

    kind: ClassVar[str] = "fold"

    title: str
    summary: str
    parts: tuple[Any, ...]
    mark: str = ""


@dataclass(frozen=True)
class SideBySide:
    """Parts that are shown side by side if the page is wide enough."""

    kind: ClassVar[str] = "beside"

    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Section:
    """A section of a page with a heading; its parts are paragraphs (str) or any of the types above."""

    title: str
    parts: tuple[Any, ...]

    @property
    def anchor(self) -> str:
        """HTML anchor that links to the section use."""
        return "".join(letter if letter.isalnum() else "-" for letter in self.title.lower())


@dataclass(frozen=True)
class Page:
    """A report.

    Attributes
    ----------
    title : str
        Title of the report.
    verdict : str
        Main result, in one sentence.
    sections : tuple of Section
        Sections, in reading order.
    kicker : str
        Kind of report, shown above the title.
    facts : Mapping
        Key figures below the verdict: maps names to a text and a remark in smaller print.
    footer : str
        Author and date.
    """

    title: str
    verdict: str
    sections: tuple[Section, ...]
    kicker: str = ""
    facts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    footer: str = ""
