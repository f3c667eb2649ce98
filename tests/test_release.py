"""What a release consists of agrees with itself."""

import re
from pathlib import Path

import bagwise

ROOT = Path(__file__).parent.parent


def test_the_version_is_the_same_wherever_it_is_named():
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert cited[1] == bagwise.__version__
    assert newest[1] in (bagwise.__version__, "Unreleased")
