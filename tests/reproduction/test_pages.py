"""The pages of docs/reproduction say which code their numbers are from."""

import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "reproduction"


@pytest.mark.parametrize(
    "page", sorted(set(PAGES.glob("*.md")) - {PAGES / "index.md"}), ids=lambda page: page.stem
)
def test_a_page_says_which_code_its_numbers_are_from(page):
    version = r"bagwise \d+\.\d+\.\d+(?:\.dev\d+)?, "
    written = rf"{version}code [0-9a-f]{{12}}, "
    added = rf"Numbers of {version}commit [0-9a-f]{{7}}\."  # to pages that are older than that
    assert re.search(f"{written}|{added}", page.read_text())
