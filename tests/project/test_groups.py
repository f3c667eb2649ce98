"""Every test is run by exactly one of the recipes of `make test`, `make test-all` and `make test-studies`."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def recipes():
    """Return the command of every test target in the Makefile, and the markers that it selects."""
    text = (ROOT / "Makefile").read_text()
    matches = re.findall(r"^(test\S*):.*\n\t(.*) -m \"([^\"]+)\" (.*)$", text, flags=re.M)
    return {name: (f"{before} {after}", markers) for name, before, markers, after in matches}


def groups_of(markers):
    """Return the names of the targets that run a test with these markers."""
    is_marked = {name: name in markers for name in ("slow", "study")}
    return [group for group, (_, selected) in recipes().items() if eval(selected, {}, is_marked)]


def test_the_recipes_differ_only_in_the_markers_that_they_select():
    assert list(recipes()) == ["test", "test-all", "test-studies"]
    assert len({command for command, _ in recipes().values()}) == 1


@pytest.mark.parametrize(
    ("markers", "group"),
    [
        (set(), "test"),
        ({"slow"}, "test-all"),
        ({"slow", "study"}, "test-studies"),
        ({"study"}, "test-studies"),
    ],
)
def test_markers_say_which_group_a_test_is_in(markers, group):
    assert groups_of(markers) == [group]


def test_every_test_is_in_one_group(collected):
    by_markers = {}
    for item in collected:
        markers = frozenset(marker.name for marker in item.iter_markers())
        by_markers.setdefault(markers & {"slow", "study"}, []).append(item.nodeid)
    assert not {str(set(m)): names for m, names in by_markers.items() if len(groups_of(m)) != 1}
    assert frozenset({"study"}) not in by_markers, "studies count as slow"


def test_tests_are_only_in_files_that_pytest_collects():
    others = [path for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_")]
    assert not [str(path) for path in others if re.search(r"^ *def test_", path.read_text(), flags=re.M)]
