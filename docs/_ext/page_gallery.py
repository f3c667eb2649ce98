"""Gallery of result pages, each with its picture, title and source; pages with a figure come first."""

import re
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive


class PageGallery(Directive):
    """Directive that shows all other pages of the same folder as cards."""

    def run(self):
        """Return a container of the cards with pictures, and a container of the other cards."""
        env = self.state.document.settings.env
        index_page = Path(env.doc2path(env.docname))
        cards = {True: [], False: []}
        for page in sorted(index_page.parent.glob("*.md")):
            if page != index_page:
                env.note_dependency(str(page))
                content = read_page(page.read_text())
                document = str(Path(env.docname).with_name(page.stem))
                address = env.app.builder.get_relative_uri(env.docname, document)
                cards[content["picture"] is not None].append(card(address, page.stem, content))
        return [nodes.container("", *group, classes=["page-gallery"]) for group in cards.values() if group]


def read_page(text: str) -> dict[str, str | None]:
    """Return the title of a page (without its name), its source (first paragraph) and its first picture."""
    heading, source = (part.strip() for part in text.split("\n\n", 2)[:2])
    picture = re.search(r"^!\[.*?\]\((.+?)\)", text, re.MULTILINE)
    title = heading.lstrip("# ").partition(": ")[2]
    return {"title": title[:1].upper() + title[1:], "source": source, "picture": picture and picture.group(1)}


def card(address: str, name: str, page: dict[str, str | None]) -> nodes.container:
    """Return a card whose picture and title link to the page."""
    parts = []
    if page["picture"]:
        picture = nodes.image(uri=page["picture"], alt=page["title"])
        parts.append(nodes.paragraph("", "", _link(address, picture), classes=["page-picture"]))
    title = nodes.Text(page["title"])
    parts.append(nodes.paragraph("", "", _link(address, title), classes=["page-title"]))
    parts.append(nodes.paragraph("", "", nodes.literal(text=name), nodes.Text(f" {page['source']}")))
    return nodes.container("", *parts, classes=["page-card"])


def _link(address: str, content: nodes.Node) -> nodes.reference:
    return nodes.reference("", "", content, internal=True, refuri=address)


def setup(app):
    """Make the directive known."""
    app.add_directive("page-gallery", PageGallery)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
