"""Rendering of pages as self-contained HTML with jinja2: all text is escaped, and no network is needed."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from bagwise._display.parts import Bar, Figure, Page
from bagwise._display.pictures import DARK, LIGHT
from bagwise.report.svg import Fineness, clean, color_variables, inline_svg

_LONGEST = 4000  # maximum number of characters; longer texts are truncated


def page_as_html(page: Page, fineness: Fineness | None) -> str:
    """Return a page as HTML.

    The HTML is self-contained: it includes plots, styles and a short script, and a content security policy
    forbids everything else. All text is escaped.

    Parameters
    ----------
    page : Page
        The page to render.
    fineness : Fineness or None
        Maximum size of the plots; None omits the plots and shows a message instead of each.
    """
    try:
        from jinja2 import Environment
    except ImportError:
        raise ImportError(
            "reports need jinja2, which is not installed: pip install 'bagwise[report]'"
        ) from None
    from markupsafe import Markup

    environment = Environment(autoescape=True, finalize=_cleaned, trim_blocks=True, lstrip_blocks=True)
    counter = iter(range(10**6))

    def draw(figure: Figure) -> Any:
        if fineness is None:
            return "This plot was omitted because the report would be too large."
        return Markup(inline_svg(figure, f"f{next(counter)}", fineness))

    def is_bar(cell: Any) -> bool:
        return isinstance(cell, Bar) and 0.0 <= cell.share <= 1.0

    script = _source("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.from_string(_source("page.html")).render(
        page=page,
        draw=draw,
        is_bar=is_bar,
        parts_in_rows=parts_in_rows,
        script=Markup(script),
        style=Markup(_variables() + _source("page.css")),
        policy=(
            "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
            f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
        ),
    )


def parts_in_rows(parts: tuple[Any, ...]) -> list[list[Any]]:
    """Group consecutive narrow figures into rows; every other part has a separate row."""
    rows: list[list[Any]] = []
    for part in parts:
        is_narrow = isinstance(part, Figure) and not part.is_wide
        last = rows[-1][0] if rows else None
        if is_narrow and isinstance(last, Figure) and not last.is_wide:
            rows[-1].append(part)
        else:
            rows.append([part])
    return rows


def _cleaned(value: Any) -> Any:
    from markupsafe import Markup

    if isinstance(value, Markup):
        return value
    text = str(value)
    return clean(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


def _variables() -> str:
    """Return style sheet variables with the colors of plots, for the light and the dark scheme."""
    light, dark = (
        "".join(f"{name}:{value};" for name, value in color_variables(palette).items() if name != "--ground")
        for palette in (LIGHT, DARK)
    )
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"


def _source(name: str) -> str:
    return files("bagwise.report").joinpath(name).read_text(encoding="utf-8")
