"""The pages of docs/reproduction show the code version of their results."""

import re
from pathlib import Path

PAGES = Path(__file__).parents[2] / "docs" / "reproduction"


def test_page_names_the_code_of_its_results():
    pages = set(PAGES.glob("*.md")) - {PAGES / "index.md"}
    assert len(pages) > 20
    version = r"bagwise \d+\.\d+\.\d+(?:\.dev\d+)?, "
    written = rf"{version}code [0-9a-f]{{12}}, "
    added = rf"Computed with {version}commit [0-9a-f]{{7}}\."  # added to older pages
    assert not [page.name for page in sorted(pages) if not re.search(f"{written}|{added}", page.read_text())]
