"""The page about positive and unlabeled bags runs as written."""

import re
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_examples_of_the_page_run():
    page = Path(__file__).parents[2] / "docs/pu.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S)
    scope = {}
    for block in blocks:
        exec(block, scope)
    assert scope["model"].score(scope["test"], scope["data"].y_true[260:]) > 0.75
    assert scope["found_by_aware"] > 0.5
