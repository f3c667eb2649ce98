"""Tables and figures as Markdown."""

from __future__ import annotations

from typing import Any

from bagwise._display.parts import Figure, Table
from bagwise._display.text import join_lines


def as_markdown(table: Table) -> str:
    r"""Return a table as Markdown without its title and note; vertical bars in cells are escaped.

    Examples
    --------
    >>> from bagwise._display.parts import Table
    >>> from reproduction.markdown import as_markdown
    >>> print(as_markdown(Table("", [{"name": "a|b", "AUC": 0.5}])))
    | name | AUC |
    | --- | --- |
    | a\|b | 0.5 |
    """
    header = [_cell(name) for name in table.columns]
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in table.cells]
    return "\n".join(lines)


def section_lines(table: Table) -> list[str]:
    """Return the lines of a page section: heading, table and note."""
    lines = [f"## {table.title}", "", as_markdown(table), ""]
    return [*lines, table.note, ""] if table.note else lines


def picture_lines(figure: Figure, file: str) -> list[str]:
    """Return the lines of a page that show a figure file and its note."""
    lines = [f"![{figure.title or figure.name}]({file})", ""]
    return [*lines, figure.note, ""] if figure.note else lines


def _cell(cell: Any) -> str:
    return join_lines(str(cell)).replace("|", "\\|")
