"""What a fit is: a checkpoint of another one is refused, by a sentence that says which of these differs."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise._version import __version__
from bagwise.data.bags import Bags
from bagwise.persist.checkpoints.plain import digest_of
from bagwise.persist.checkpoints.store import REMEDY

# A fit ends at the same place whatever these are.
_WITHOUT_EFFECT = ("verbose", "n_jobs")
# Longer descriptions of parameters are cut in messages.
_LONGEST = 80


def identity_of(model: Any, digest: str | None = None, **more: Any) -> dict[str, Any]:
    """Describe a fit in terms of JSON.

    Parameters
    ----------
    model : estimator
        Its class and all its parameters, but those that change nothing of the result.
    digest : str, optional
        Of the training bags, their labels and weights (``training_digest_``, if it is not given).
    **more : anything
        What else the result depends on, as if these were parameters.
    """
    parameters = {**model.get_params(deep=False), **more}
    return {
        "model": type(model).__name__,
        "bags": model.training_digest_ if digest is None else digest,
        "parameters": {
            name: described(value)
            for name, value in sorted(parameters.items())
            if name not in _WITHOUT_EFFECT
        },
    }


def described(value: Any) -> str:
    """Describe the value of a parameter, so that equal ones have equal descriptions, in any process."""
    if value is None or isinstance(value, (bool, int, float, str, np.generic)):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, np.random.RandomState):
        return "a RandomState"  # a seed was drawn from it, and is kept
    if isinstance(value, Bags):
        return f"{value!r}, digest {digest_of(value.offsets, _numbers_of(value))}"
    if hasattr(value, "__array__"):  # columns of frames, too
        array = np.asarray(value)
        numbers = array if array.dtype.kind in "biuf" else array.tolist()
        return f"array of shape {array.shape}, digest {digest_of(numbers)}"
    if isinstance(value, dict):
        inside = ", ".join(f"{described(name)}: {described(part)}" for name, part in value.items())
        return f"{{{inside}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(described, value))}]"
    name = getattr(value, "__qualname__", None)
    if name is not None:  # a function or a class
        return f"{value.__module__}.{name}"
    if hasattr(value, "get_params"):
        parameters = value.get_params(deep=False).items()
        inside = ", ".join(f"{name}={described(part)}" for name, part in sorted(parameters))
        return f"{type(value).__name__}({inside})"
    shown = " ".join(repr(value).split())
    return type(value).__name__ if " at 0x" in shown else shown


def _numbers_of(bags: Bags) -> Any:
    instances = bags.instances
    if isinstance(instances, np.ndarray):
        return instances
    names = ("data", "indices", "indptr", "symbols", "offsets")  # of a CSR matrix, of sequences
    return [getattr(instances, name) for name in names if hasattr(instances, name)]


def with_version(identity: dict[str, Any]) -> dict[str, Any]:
    """Add the version of bagwise, which no two fits may differ in."""
    return {"bagwise": __version__, **identity}


def refuse_other(path: Any, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """Refuse a checkpoint of another fit, and say in what it differs."""
    difference = _difference(theirs, ours)
    if difference is not None:
        raise ValueError(f"checkpoint {str(path)!r} {difference}; {REMEDY}.")


def _difference(theirs: dict[str, Any], ours: dict[str, Any]) -> str | None:
    if theirs.get("bagwise") != ours["bagwise"]:
        return f"was written by bagwise {theirs.get('bagwise')}, and this is {ours['bagwise']}"
    if theirs.get("model") != ours.get("model"):
        return f"is of {theirs.get('model')}, and this is {ours.get('model')}"
    theirs_by_name, ours_by_name = theirs.get("parameters", {}), ours.get("parameters", {})
    for name in sorted({*theirs_by_name, *ours_by_name}):
        before, now = theirs_by_name.get(name), ours_by_name.get(name)
        if before != now:
            return f"is of a fit with {name}={_cut(before)}, and this one has {name}={_cut(now)}"
    if theirs.get("bags") != ours.get("bags"):
        return "is of other bags: instances, sizes, labels or weights differ"
    return None if theirs == ours else "is of another run"


def _cut(shown: str | None) -> str:
    shown = str(shown)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 3] + "..."
