"""From the value of an estimator's parameter to a part: a rule or a family, by name or as an object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Part = TypeVar("Part")


def make_part(spec: str | Part, parameter: str, named: Mapping[str, type[Part]], base: type[Part]) -> Part:
    """Give the part that `spec` means: a name, the part with its defaults; an object, itself and no clone.

    Parameters
    ----------
    spec : str or object
        What the user gave.
    parameter : str
        Name of the parameter, for the error.
    named : dict
        Classes by name: the one list of the names there are.
    base : type
        What objects must be.
    """
    if isinstance(spec, base):
        return spec
    if isinstance(spec, str) and spec in named:
        return named[spec]()
    names = ", ".join(repr(name) for name in named)
    example = next(iter(named.values())).__name__
    raise ValueError(
        f"{parameter} must be one of {names}, or a {base.__name__} object such as {example}(); got {spec!r}."
    )
