"""Tests of the table type that is displayed as text, by rich, in Markdown and in HTML."""

import io
import re
from html.parser import HTMLParser

import pytest
from reproduction.markdown import as_markdown

from bagwise._display.parts import Bar, Figure, Page, Section, Table
from bagwise._display.text import table_lines

TABLE = Table(
    "Scores",
    [{"model": "a | b\nc", "AUC": 0.5}, {"model": "<b>", "AUC": Bar(0.25), "seconds": "1,000"}],
    "A note.",
)
CELLS = [["model", "AUC", "seconds"], ["a | b c", "0.5", ""], ["<b>", "0.250", "1,000"]]


def of_text():
    lines = table_lines(TABLE)
    ends = [match.end() for match in re.finditer("-+", lines[1])]
    starts = [0, *(end + 2 for end in ends[:-1])]
    cut = [[line[a:b].strip() for a, b in zip(starts, ends, strict=True)] for line in lines]
    return [cut[0], *cut[2:]]


def of_rich():
    console = pytest.importorskip("rich.console", reason="this is the table by rich")
    from bagwise._display.text import rich_table

    stream = io.StringIO()
    console.Console(file=stream, width=100).print(rich_table(TABLE))
    lines = [line for line in stream.getvalue().splitlines() if line.strip() and "─" not in line]
    starts = [lines[0].index("model"), lines[0].index("AUC") - 2, lines[0].index("seconds")]
    return [[line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)] for line in lines]


def of_markdown():
    lines = as_markdown(TABLE).split("\n")
    cut = [
        [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines
    ]
    return [cut[0], *cut[2:]]


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.rows = []

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1] and self.lasttag in ("td", "th", "button", "b", "i", "span"):
            self.rows[-1][-1] += data


def of_html():
    pytest.importorskip("jinja2", reason="pages need it")
    from bagwise.report.html import page_as_html
    from bagwise.report.svg import Fineness

    text = page_as_html(Page("t", "v", (Section("s", (TABLE,)),)), Fineness(100, 10**6))
    cells = Cells()
    cells.feed(text[text.index("<table") : text.index("</table>")])
    return [[" ".join(cell.split()) for cell in row] for row in cells.rows]


@pytest.mark.parametrize("shown", [of_text, of_rich, of_markdown, of_html], ids=lambda shown: shown.__name__)
def test_every_way_of_showing_a_table_shows_the_same_cells(shown):
    assert shown() == CELLS


def test_tables_of_facts_have_no_header():
    table = Table.of_facts([("bags", 3), ("features", 40)])
    assert table_lines(table) == ["bags      3", "features  40"]


def test_a_bar_without_a_number_is_a_dash():
    assert str(Bar(float("nan"))) == "-" and str(Bar(0.5)) == "0.500" and str(Bar(0.5, "half")) == "half"


def test_a_figure_is_drawn_when_it_is_written():
    calls = []
    figure = Figure("a", lambda: calls.append(1) or "drawn")
    assert not calls and figure.draw() == "drawn" and calls == [1]
    assert Figure("a", "drawn").draw() == "drawn"


def test_tables_are_known_without_loading_anything_heavy():
    import subprocess
    import sys

    code = (
        "import sys, bagwise.report, bagwise._display.text\n"
        "assert not {'numpy', 'matplotlib', 'jinja2', 'rich'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
