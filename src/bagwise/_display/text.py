"""Tables as plain text, for terminals without rich and for ``print``."""

from __future__ import annotations

from collections.abc import Sequence

from bagwise._display.parts import Table


def table_lines(table: Table) -> list[str]:
    r"""Align a table: headings at the bottom of their line, a rule, and a line for every row.

    Examples
    --------
    >>> from bagwise._display.parts import Table
    >>> print("\n".join(table_lines(Table.of(["name", "AUC"], [["a", 0.5], ["longer", 12.25]]))))
    name      AUC
    ------  -----
    a         0.5
    longer  12.25
    """
    columns = table.columns
    rows = [[one_line(str(cell)) for cell in row] for row in table.cells]
    height = max((column.count("\n") for column in columns), default=0) + 1
    # Short headings stand at the bottom, next to the rule.
    heads = [[*[""] * height, *column.split("\n")][-height:] for column in columns]
    headings = [list(line) for line in zip(*heads, strict=True)] if table.has_header else []
    widths = [max(map(len, cells)) for cells in zip(*headings, *rows, strict=True)]

    def set_line(cells: Sequence[str]) -> str:
        sides = [str.ljust] * table.n_text + [str.rjust] * (len(cells) - table.n_text)
        parts = (side(cell, width) for side, cell, width in zip(sides, cells, widths, strict=False))
        return "  ".join(parts).rstrip()

    rule = ["  ".join("-" * width for width in widths)] if headings else []
    return [*map(set_line, headings), *rule, *map(set_line, rows)]


def one_line(text: str) -> str:
    """Join lines: a cell is one."""
    return " ".join(text.split("\n")) if "\n" in text else text
