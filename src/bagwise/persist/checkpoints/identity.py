"""The identity of a fit, and the error for a checkpoint that belongs to a different fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise._version import __version__
from bagwise.data.bags import Bags
from bagwise.persist.checkpoints.plain import digest_of
from bagwise.persist.checkpoints.store import REMEDY

# Parameters that do not change the result of a fit.
_WITHOUT_EFFECT = ("verbose", "n_jobs")
# Longer parameter descriptions are truncated in error messages.
_LONGEST = 80


def identity_of(model: Any, digest: str | None = None, **more: Any) -> dict[str, Any]:
    """Return the identity of a fit as a dictionary for JSON.

    Parameters
    ----------
    model : estimator
        The model. Its class and parameters are part of the identity, except parameters that do not change
        the result.
    digest : str, optional
        Digest of the training bags, labels and weights. The default is ``training_digest_`` of the model.
    **more : anything
        Other values that determine the result. They are treated like parameters.
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
    """Describe a parameter value, so that equal values have equal descriptions in any process."""
    if value is None or isinstance(value, (bool, int, float, str, np.generic)):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, np.random.RandomState):
        return "a RandomState"  # the checkpoint contains the seed that was drawn from it
    if isinstance(value, Bags):
        return f"{value!r}, digest {digest_of(value.offsets, _arrays_of(value))}"
    if hasattr(value, "__array__"):  # including columns of data frames
        array = np.asarray(value)
        values = array if array.dtype.kind in "biuf" else array.tolist()
        return f"array of shape {array.shape}, digest {digest_of(values)}"
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


def _arrays_of(bags: Bags) -> Any:
    instances = bags.instances
    if isinstance(instances, np.ndarray):
        return instances
    names = ("data", "indices", "indptr", "symbols", "offsets")  # arrays of CSR matrices and sequences
    return [getattr(instances, name) for name in names if hasattr(instances, name)]


def with_version(identity: dict[str, Any]) -> dict[str, Any]:
    """Add the version of bagwise to an identity, because a checkpoint is valid only for one version."""
    return {"bagwise": __version__, **identity}


def refuse_other(path: Any, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """Raise an error if a checkpoint belongs to a different fit; the message contains the difference."""
    difference = _difference(theirs, ours)
    if difference is not None:
        raise ValueError(f"checkpoint {str(path)!r} {difference}; {REMEDY}.")


def _difference(theirs: dict[str, Any], ours: dict[str, Any]) -> str | None:
    if theirs.get("bagwise") != ours["bagwise"]:
        return f"was written by bagwise {theirs.get('bagwise')}, but this is bagwise {ours['bagwise']}"
    if theirs.get("model") != ours.get("model"):
        return f"belongs to a fit of {theirs.get('model')}, but this is a fit of {ours.get('model')}"
    theirs_by_name, ours_by_name = theirs.get("parameters", {}), ours.get("parameters", {})
    for name in sorted({*theirs_by_name, *ours_by_name}):
        before, now = theirs_by_name.get(name), ours_by_name.get(name)
        if before != now:
            return f"belongs to a fit with {name}={_cut(before)}, but this fit has {name}={_cut(now)}"
    if theirs.get("bags") != ours.get("bags"):
        return "belongs to a fit of other bags: instances, sizes, labels or weights differ"
    return None if theirs == ours else "belongs to a different fit"


def _cut(shown: str | None) -> str:
    shown = str(shown)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 3] + "..."
