"""Docstrings of public names and their methods pass numpydoc's checks; `pyproject.toml` lists exceptions."""

from __future__ import annotations

import importlib
import inspect
import re
import tomllib
from pathlib import Path

from numpydoc.validate import ERROR_MSGS, validate

import bagwise

SETTINGS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["tool"]
OFF = set(SETTINGS["numpydoc_validation"]["checks"]) - {"all"}

# Classes that users do not construct; their docstrings list attributes instead of parameters.
HANDED_OUT = {"BagExplanation", "Comparison", "ComparisonInterrupted", "PUReport", "ScannedBags"}


def written_by_us(cls):
    """Yield the public methods and properties of a class and its bases that bagwise defines."""
    for name, member in inspect.getmembers_static(cls):
        owner = next(base for base in cls.__mro__ if name in vars(base))
        ours = owner.__module__.startswith("bagwise.") and not name.startswith("_")
        # scikit-learn generates `set_fit_request` and similar methods for every class.
        if ours and not re.fullmatch(r"set_\w+_request", name):
            yield from [f"{owner.__module__}.{owner.__qualname__}.{name}"] * _has_code(member)


def _has_code(member):
    return isinstance(member, property) or callable(inspect.unwrap(getattr(member, "__func__", member)))


def documented():
    """Return the names of all checked objects, each once."""
    things = {f"bagwise.{name}": getattr(bagwise, name) for name in sorted(bagwise._WHERE)}
    methods = [path for cls in filter(inspect.isclass, things.values()) for path in written_by_us(cls)]
    return [*things, *dict.fromkeys(methods)]


def faults(path):
    """Return the errors of a docstring."""
    result = validate(path)
    off = OFF | ({"PR01"} if path.removeprefix("bagwise.") in HANDED_OUT else set())
    if path.count(".") > 1 and not re.search(r"^\s*-{3,}$", result["docstring"], flags=re.M):
        off = off | {"PR01", "RT01", "YD01"}  # methods may have no sections, but sections must be complete
    if "Yields" in result["docstring"]:
        off = off | {"RT01"}  # "Yields" replaces "Returns"
    return [f"{code}: {message}" for code, message in result["errors"] if code not in off]


def test_docstrings_pass_the_checks_of_numpydoc():
    paths = documented()
    assert len(paths) > 400
    assert not {path: errors for path in paths if (errors := faults(path))}


def test_checks_that_are_off_exist():
    assert set(ERROR_MSGS) > OFF


def test_a_fault_is_reported(tmp_path, monkeypatch):
    text = 'def f(a, b):\n    """Add.\n\n    Parameters\n    ----------\n    a : int\n    """\n    return a\n'
    (tmp_path / "badly_documented.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    assert [fault.split(":")[0] for fault in faults("badly_documented.f")] == ["PR01", "PR07", "RT01"]
