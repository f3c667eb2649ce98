"""Plots as SVG elements of an HTML page: small, self-contained, and in the colors of the page.

matplotlib draws each plot once, with the light palette. The colors are then replaced by variables of the
page's style sheet, which has a light and a dark set. The same plot works in both modes.
"""

from __future__ import annotations

import base64
import re
import warnings
from dataclasses import fields
from io import BytesIO
from typing import Any, NamedTuple
from xml.etree import ElementTree

from bagwise._display.parts import Figure
from bagwise._display.pictures import LIGHT, Palette

_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
# Keep text as text elements, which are small and use the reader's fonts. Names may contain dollar signs.
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 10.0,
    "axes.labelsize": 9.0,
    "axes.titlesize": 9.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "path.simplify_threshold": 0.3,
}
# Characters that are not allowed in XML: control characters, surrogates, and two noncharacters.
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_DECIMAL = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?")
_COLOR = re.compile(r"#[0-9a-f]{6}\b")
_FONT = re.compile(r"font: ((?:[\w-]+ )*)([\d.]+px)[^;]*")
_FAMILY = re.compile(r"font-family: [^;]*;? ?")


def clean(text: str) -> str:
    """Replace characters that are not allowed in XML."""
    return _NO_XML.sub("\ufffd", text)


def color_variables(palette: Palette) -> dict[str, str]:
    """Return the colors of a palette, except for the heat map, by their names in the style sheet."""
    names = [part.name for part in fields(palette) if part.name != "heat"]
    return {f"--{name}": getattr(palette, name) for name in names}


_VARIABLE = {value: f"var({name})" for name, value in color_variables(LIGHT).items()}


class Fineness(NamedTuple):
    """Resolution and maximum size of plots.

    Attributes
    ----------
    dots : int
        Dots per inch of rasterized parts.
    largest : int
        Maximum number of characters of an SVG element. Larger plots are rasterized completely.
    """

    dots: int
    largest: int


def inline_svg(figure: Figure, prefix: str, fineness: Fineness) -> str:
    """Return a figure as an SVG element for an HTML page.

    Parameters
    ----------
    figure : Figure
        The figure to draw.
    prefix : str
        Prefix of the ids of its elements, which must be unique in the page.
    fineness : Fineness
        Resolution and maximum size.

    Returns
    -------
    str
        An ``<svg>`` element that is at most as wide as its container.
    """
    import matplotlib

    with warnings.catch_warnings(), matplotlib.rc_context():
        warnings.filterwarnings("ignore", "Glyph")  # missing in matplotlib's font, but not in the reader's
        warnings.filterwarnings(
            "ignore", "constrained_layout not applied"
        )  # a name is longer than the figure
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE | {"svg.hashsalt": prefix})
        drawn = figure.draw()
        options = {"dpi": fineness.dots, "transparent": not figure.on_paper}
        text = _saved(drawn, "svg", **options).decode("utf-8", "replace")
        root = ElementTree.fromstring(_NO_XML.sub("\ufffd", text))
        written = _small(root, figure, prefix)
        if len(written) <= fineness.largest:
            return written
        pixels = base64.b64encode(_saved(drawn, "png", **options)).decode()
    width, height = root.attrib["viewBox"].split()[2:]
    attributes = {"href": f"data:image/png;base64,{pixels}", "width": width, "height": height}
    kept = root.attrib
    root.clear()
    root.attrib.update(kept)
    ElementTree.SubElement(root, f"{{{_SVG}}}image", attributes)
    return _written(root)


def _saved(drawn: Any, kind: str, **options: Any) -> bytes:
    buffer = BytesIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None} if kind == "svg" else {}
    drawn.savefig(buffer, format=kind, metadata=nothing, **options)
    return buffer.getvalue()


def _small(root: Any, figure: Figure, prefix: str) -> str:
    """Return matplotlib's SVG as a string, without the parts that a page does not need."""
    _drop_foreign_parts(root)
    _rename(root, prefix)
    for element in root.iter():
        _shorten(element, recolor=not figure.on_paper)
        element.tail = None
        if element.text is not None and not element.text.strip():
            element.text = None
    width, height = (float(part) for part in root.attrib["viewBox"].split()[2:])
    root.attrib = {
        "viewBox": f"0 0 {width:g} {height:g}",
        # Convert points to pixels, so that text is as large as in captions. The minimum keeps it readable.
        "style": f"width:{width * 4 / 3:.0f}px;min-width:{width * 0.93:.0f}px",
        "role": "img",
        "aria-label": clean(figure.title or figure.name),
    }
    return _written(root)


def _written(root: Any) -> str:
    ElementTree.register_namespace("", _SVG)
    return ElementTree.tostring(root, encoding="unicode").replace(f' xmlns="{_SVG}"', "")


def _drop_foreign_parts(root: Any) -> None:
    """Remove metadata, and the style element, which would apply to the whole page."""
    for parent in root.iter():
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)


def _rename(root: Any, prefix: str) -> None:
    """Keep only ids that are referenced, and make them unique in the page."""
    text = " ".join(value for element in root.iter() for value in element.attrib.values())
    used = set(re.findall(r"url\(#([^)]+)\)", text))
    used |= {element.attrib[_LINK][1:] for element in root.iter() if _is_inner_link(element)}
    names = {name: f"{prefix}-{index}" for index, name in enumerate(sorted(used))}
    for element in root.iter():
        name = element.attrib.pop("id", None)
        if name in names:
            element.attrib["id"] = names[name]
        for key, value in element.attrib.items():
            if "url(#" in value:
                new_value = re.sub(r"url\(#([^)]+)\)", lambda match: f"url(#{names[match[1]]})", value)
                element.attrib[key] = new_value
        if _LINK in element.attrib:
            link = element.attrib.pop(_LINK)
            element.attrib["href"] = f"#{names[link[1:]]}" if link.startswith("#") else link


def _is_inner_link(element: Any) -> bool:
    return element.attrib.get(_LINK, "").startswith("#")


def _shorten(element: Any, *, recolor: bool) -> None:
    """Round coordinates to hundredths of a point, and replace colors by variables."""
    for key, value in element.attrib.items():
        if key in ("d", "points", "transform", "x", "y", "width", "height"):
            value = _DECIMAL.sub(lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), value)
            value = " ".join(value.split())
        elif key == "style":
            value = _FAMILY.sub("", _FONT.sub(_plain_font, value))
            if recolor:
                value = _COLOR.sub(lambda match: _VARIABLE.get(match[0], match[0]), value)
        element.attrib[key] = value
    if element.tag.endswith("}text") and recolor and "fill" not in element.attrib.get("style", ""):
        element.attrib["style"] = f"fill: var(--ink); {element.attrib.get('style', '')}".strip("; ")


def _plain_font(match: re.Match[str]) -> str:
    """Keep only size, weight and style of a font, so that text uses the fonts of the page."""
    bold = "font-weight: bold; " if "bold" in match[1] or "700" in match[1] else ""
    italic = "font-style: italic; " if "italic" in match[1] else ""
    return f"{bold}{italic}font-size: {match[2]}"
