"""The version numbers of a release agree, and the wheel contains all files."""

import re
import zipfile
from pathlib import Path

import pytest

import bagwise

ROOT = Path(__file__).parents[2]


def test_the_version_is_the_same_wherever_it_is_named():
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert cited[1] == bagwise.__version__ or bagwise.__version__.endswith(".dev0")  # the last release
    assert newest[1] in (bagwise.__version__, "Unreleased")


def test_the_wheel_is_whole_and_has_no_large_files(tmp_path, monkeypatch):
    build = pytest.importorskip("hatchling.build", reason="hatchling builds the wheel")
    monkeypatch.chdir(ROOT)
    wheel = tmp_path / build.build_wheel(str(tmp_path))
    assert wheel.stat().st_size < 1_500_000  # code only: no data and no pictures
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("bagwise/")}
    ours = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src/bagwise").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == ours
