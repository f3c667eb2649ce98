"""Results in notebooks and consoles: paragraphs and tables as HTML and as text.

The HTML defines no colors, so that it is readable in light and dark notebooks. All text is escaped.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape
from typing import Any

from bagwise._display.parts import Table
from bagwise._display.text import table_lines

_WIDTH = 80
# Notebooks align cells to the right and leave a large margin below paragraphs.
_TEXT_CELL, _NUMBER_CELL = "text-align:left", "text-align:right"
_PARAGRAPH = "margin:0.3em 0;max-width:50em"
_NOTE = f"{_PARAGRAPH};opacity:0.75;font-size:90%"


class Shown:
    """Base class for results that notebooks show as HTML, and ``repr`` and ``print`` show as text."""

    def _parts(self) -> list[str | Table]:
        """Return the paragraphs and tables to show."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return as_text(self._parts())

    def _repr_html_(self) -> str:
        return as_html(self._parts())


class ShownText(str):
    """A string that notebooks show as lines of text instead of in quotes."""

    def _repr_html_(self) -> str:
        return f'<pre style="overflow-x:auto">{escape(self)}</pre>'


def as_text(parts: Sequence[str | Table]) -> str:
    """Return paragraphs and tables as text, with an empty line between them."""
    texts = []
    for part in parts:
        if isinstance(part, Table):
            table = "\n".join(table_lines(part))
            texts += [text for text in (part.title, table, _wrapped(part.note)) if text]
        else:
            texts.append(_wrapped(part))
    return "\n\n".join(texts)


def as_html(parts: Sequence[str | Table]) -> str:
    """Return paragraphs and tables as HTML; a first paragraph before tables is the title."""
    texts = []
    for i, part in enumerate(parts):
        if isinstance(part, Table):
            texts.append(_html_table(part))
        else:
            is_title = i == 0 and any(isinstance(other, Table) for other in parts)
            text = f"<b>{escape(part)}</b>" if is_title else escape(part)
            texts.append(f'<p style="{_PARAGRAPH}">{text}</p>')
    return f'<div style="overflow-x:auto">{"".join(texts)}</div>'


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _html_table(table: Table) -> str:
    styles = [_TEXT_CELL if i < table.n_text else _NUMBER_CELL for i in range(len(table.columns))]
    title = f'<p style="{_PARAGRAPH}"><b>{escape(table.title)}</b></p>' if table.title else ""
    head = f"<thead>{_html_row('th', table.columns, styles)}</thead>" if table.has_header else ""
    rows = "".join(_html_row("td", cells, styles) for cells in table.cells)
    note = f'<p style="{_NOTE}">{escape(table.note)}</p>' if table.note else ""
    return f"{title}<table>{head}<tbody>{rows}</tbody></table>{note}"


def _html_row(tag: str, cells: Sequence[Any], styles: Sequence[str]) -> str:
    texts = [escape(str(cell)).replace("\n", "<br>") for cell in cells]
    pairs = zip(texts, styles, strict=True)
    return "<tr>" + "".join(f'<{tag} style="{style}">{text}</{tag}>' for text, style in pairs) + "</tr>"
