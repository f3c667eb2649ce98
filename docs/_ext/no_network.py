"""Check that pages load no external resources: fonts, scripts, styles and pictures must be part of the site.

The build fails otherwise. Links to other sites are allowed, because a browser does not load them
automatically.
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
    """Return the external resources that a page or a style sheet loads."""
    return [match.group(0) for match in LOADED.finditer(text)]


def look_through(app, error) -> None:
    """Raise an error if a page or a style sheet loads external resources."""
    if error is None and app.builder.format == "html":
        for path in sorted(Path(app.outdir).rglob("*")):
            if path.suffix in (".html", ".css"):
                for address in loaded_from_elsewhere(path.read_text(encoding="utf-8")):
                    raise ExtensionError(f"{path.relative_to(app.outdir)} loads from another site: {address}")


def setup(app):
    """Register the check at the end of the build, after the pages of the examples were copied."""
    app.connect("build-finished", look_through, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
