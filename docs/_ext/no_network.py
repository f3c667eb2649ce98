"""Pages load nothing from elsewhere: fonts, scripts, styles and pictures lie beside them, or the build ends.

Links that a reader may follow are no matter; what a browser loads by itself is.
"""

import re
from pathlib import Path

from sphinx.errors import ExtensionError

LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|object|embed)\b[^>]*?\b(?:src|srcset|data)=["'](?:https?:)?//[^"']+
    | <link\b(?=[^>]*\brel=["'](?:stylesheet|preload|icon|shortcut)[^>]*)[^>]*?\bhref=["'](?:https?:)?//[^"']+
    | (?:url\(\s*|@import\s+)["']?(?:https?:)?//[^"')]+""",
    re.IGNORECASE | re.VERBOSE,
)


def loaded_from_elsewhere(text: str) -> list[str]:
    """Give what a page or a style sheet loads from other places."""
    return [found.group(0) for found in LOADED.finditer(text)]


def look_through(app, error) -> None:
    """End the build if a page or a style sheet loads anything from another place."""
    if error is None and app.builder.format == "html":
        for path in sorted(Path(app.outdir).rglob("*")):
            if path.suffix in (".html", ".css"):
                for found in loaded_from_elsewhere(path.read_text(encoding="utf-8")):
                    raise ExtensionError(f"{path.relative_to(app.outdir)} loads from elsewhere: {found}")


def setup(app):
    """Look at the very end, after pages of examples were copied."""
    app.connect("build-finished", look_through, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
