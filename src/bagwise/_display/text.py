"""Tables on a terminal, as plain text or with rich."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bagwise._display.parts import Table

# These characters are escaped: control characters except newlines (they start escape sequences of terminals),
# characters that change the direction of text or end a line, and surrogates (they cannot be encoded).
_UNPRINTABLE = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    r"""Escape characters that could change the state of a terminal or the order of text; newlines are kept.

    Names and ids come from files that other people may have written. Output files contain the unescaped text.

    Examples
    --------
    >>> print(printable("a\x1b[2J\u202eb"))
    a\x1b[2J\u202eb
    """
    return _UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def table_lines(table: Table) -> list[str]:
    r"""Return the aligned lines of a table: headings, a rule, and one line per row.

    Examples
    --------
    >>> from bagwise._display.parts import Table
    >>> print("\n".join(table_lines(Table.of(["name", "AUC"], [["a", 0.5], ["longer", 12.25]]))))
    name      AUC
    ------  -----
    a         0.5
    longer  12.25
    """
    columns = list(map(printable, table.columns))
    rows = [[printable(join_lines(str(cell))) for cell in row] for row in table.cells]
    height = max((column.count("\n") for column in columns), default=0) + 1
    # Headings with fewer lines than others are aligned at the bottom, next to the rule.
    heads = [[*[""] * height, *column.split("\n")][-height:] for column in columns]
    headings = [list(line) for line in zip(*heads, strict=True)] if table.has_header else []
    widths = [max(map(len, cells)) for cells in zip(*headings, *rows, strict=True)]

    def set_line(cells: Sequence[str]) -> str:
        sides = [str.ljust] * table.n_text + [str.rjust] * (len(cells) - table.n_text)
        parts = (side(cell, width) for side, cell, width in zip(sides, cells, widths, strict=False))
        return "  ".join(parts).rstrip()

    rule = ["  ".join("-" * width for width in widths)] if headings else []
    return [*map(set_line, headings), *rule, *map(set_line, rows)]


def join_lines(text: str) -> str:
    """Join the lines of a cell, because a cell must fit on one line."""
    return " ".join(text.split("\n")) if "\n" in text else text


def rich_table(table: Table) -> Any:
    """Convert a table to a rich table; brackets in cells are not interpreted as markup."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(
        box=box.SIMPLE_HEAD if table.has_header else None,
        show_header=table.has_header,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
    )
    for i, column in enumerate(table.columns):
        drawn.add_column(
            Text(printable(column)),
            justify="left" if i < table.n_text else "right",
            style="cyan" if i == 0 else None,
            vertical="bottom" if table.has_header else "top",
        )
    for row in table.cells:
        drawn.add_row(*(Text(printable(join_lines(str(cell)))) for cell in row))
    return drawn
