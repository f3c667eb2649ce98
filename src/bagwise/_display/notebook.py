"""Results in notebooks and consoles: paragraphs and tables as HTML and as text.

The HTML has no colors of its own, so that it is readable in light and dark notebooks. All text is escaped.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape
from typing import Any

from bagwise._display.parts import Bar, Table
from bagwise._display.text import table_lines

_WIDTH = 80
# Notebooks align cells to the right and leave a large margin below paragraphs.
_TEXT_CELL, _NUMBER_CELL = "text-align:left", "text-align:right"
_PARAGRAPH = "margin:0.3em 0;max-width:50em"
_NOTE = f"{_PARAGRAPH};opacity:0.75;font-size:90%"


class Shown:
    """Base class of results: notebooks show it as HTML, ``repr`` and ``print`` as text."""

    def _parts(self) -> list[str | Table]:
        """Return the paragraphs and tables to show."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return as_text(self._parts())

    def _repr_html_(self) -> str:
        return as_html(self._parts())


class ShownText(str):
    """Text that notebooks show as paragraphs and tables. Copies and pickles keep them, model files do not."""

    _html: str

    @classmethod
    def of(cls, parts: Sequence[str | Table]) -> ShownText:
        """Create the text from paragraphs and tables."""
        text = cls(as_text(parts))
        text._html = as_html(parts)
        return text

    def _repr_html_(self) -> str:
        return self._html


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
    """Return paragraphs and tables as HTML; the first paragraph is the title if a table follows."""
    texts = []
    for i, part in enumerate(parts):
        if isinstance(part, Table):
            texts.append(_html_table(part))
        else:
            is_title = i == 0 and len(parts) > 1 and isinstance(parts[1], Table)
            text = f"<b>{escape(part)}</b>" if is_title else escape(part)
            texts.append(f'<p style="{_PARAGRAPH}">{text}</p>')
    return f'<div style="overflow-x:auto">{"".join(texts)}</div>'


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _html_table(table: Table) -> str:
    styles = [_TEXT_CELL if i < table.n_text else _NUMBER_CELL for i in range(len(table.columns))]
    caption = f'<p style="{_PARAGRAPH}"><b>{escape(table.title)}</b></p>' if table.title else ""
    head = "".join(
        f'<th style="{style}">{escape(name).replace(chr(10), "<br>")}</th>'
        for name, style in zip(table.columns, styles, strict=True)
    )
    head = f"<thead><tr>{head}</tr></thead>" if table.has_header else ""
    rows = "".join("<tr>" + "".join(map(_html_cell, cells, styles)) + "</tr>" for cells in table.cells)
    note = f'<p style="{_NOTE}">{escape(table.note)}</p>' if table.note else ""
    return f"{caption}<table>{head}<tbody>{rows}</tbody></table>{note}"


def _html_cell(cell: Any, style: str) -> str:
    if isinstance(cell, Bar) and 0.0 <= cell.share <= 1.0:
        # The bar is drawn in the color of the text, which is legible on light and dark backgrounds.
        shade = "color-mix(in srgb, currentColor 18%, transparent)"
        style += f";background:linear-gradient(90deg,{shade} {cell.share:.1%},transparent 0)"
    return f'<td style="{style}">{escape(str(cell))}</td>'
