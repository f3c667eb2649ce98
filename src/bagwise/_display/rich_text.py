"""Tables on a terminal, by rich."""

from __future__ import annotations

from typing import Any

from bagwise._display.parts import Table
from bagwise._display.text import one_line


def rich_table(table: Table) -> Any:
    """Make rich's table of ours; cells are text, whatever brackets they hold."""
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
            Text(column),
            justify="left" if i < table.n_text else "right",
            style="cyan" if i == 0 else None,
            vertical="bottom" if table.has_header else "top",
        )
    for row in table.cells:
        drawn.add_row(*(Text(one_line(str(cell))) for cell in row))
    return drawn
