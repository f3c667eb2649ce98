"""Convert an estimator parameter, a name or an object, to a rule or a family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Part = TypeVar("Part")


def make_part(spec: str | Part, parameter: str, named: Mapping[str, type[Part]], base: type[Part]) -> Part:
    """Return the part that `spec` specifies.

    For a name, this is a new part with default settings; an object is returned unchanged, without cloning.

    Parameters
    ----------
    spec : str or object
        Value of the user's parameter.
    parameter : str
        Name of the parameter, for error messages.
    named : dict
        Classes by name. Only these names are valid.
    base : type
        The class of which objects must be instances.
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
