"""The card of a model file: a description of the model that can be read without restoring it."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import version
from math import isfinite
from typing import Any

import numpy as np

from bagwise._version import __version__
from bagwise.persist.files import read_model
from bagwise.persist.known_types import name_in_files
from bagwise.persist.upgrades import identifier_of

# Longer parameter values are truncated in the card; the archive contains the full values.
_LONGEST = 300


def read_card(path: Any) -> dict[str, Any]:
    """Read the description of a model from a file without restoring the model; skops is not required.

    Parameters
    ----------
    path : path
        A file that `save` wrote.

    Returns
    -------
    dict
        The values that ``bagwise show`` prints, with the keys "class", "parameters", "features", "classes",
        "training", "versions", "saved", "trusted" and "about".
    """
    format, card, _ = read_model(path)
    if format == 1 and isinstance(card, dict) and str(card.get("class")).startswith("bagwise."):
        card["class"] = f"bagwise.{identifier_of(str(card['class']).rpartition('.')[2])}"
    return card


def make_card(model: Any, *, trusted: list[str], about: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the description of a model as a dictionary for JSON.

    Parameters
    ----------
    model : estimator
        A fitted or unfitted model.
    trusted : list of str
        Types that must be passed to `load` as `trusted`.
    about : dict, optional
        Additional information from the caller, as JSON values.
    """
    names = _fitted_attribute(model, "feature_names_in_")
    n_features = _fitted_attribute(model, "n_features_in_")
    classes = _fitted_attribute(model, "classes_")
    return {
        "class": name_of(type(model)),
        "parameters": {name: _plain(value) for name, value in sorted(model.get_params().items())},
        "features": {
            "number": None if n_features is None else int(n_features),
            "names": None if names is None else [str(name) for name in names],
        },
        "classes": None if classes is None else _plain_list(classes),
        "training": {"digest": digest_of(model)},
        "versions": {
            "bagwise": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("scikit-learn", "numpy", "scipy", "skops")},
        },
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        "trusted": trusted,
        "about": about or {},
    }


def name_of(cls: type) -> str:
    """Return the name of a type in model files."""
    return ".".join(name_in_files(cls.__module__, cls.__name__))


def _fitted_attribute(model: Any, name: str) -> Any:
    """Return a fitted attribute, or None if the model is not fitted or has no such attribute."""
    try:
        return getattr(model, name, None)
    except Exception:  # properties of third-party models can fail if a part is missing
        return None


def digest_of(model: Any) -> str | None:
    """Return the digest of a model's training bags, or that of the inner model that was fitted to bags."""
    digest = _fitted_attribute(model, "training_digest_")
    if digest is not None:
        return str(digest)
    steps = [step for _, step in _fitted_attribute(model, "steps") or ()]
    inside = [
        _fitted_attribute(model, "best_estimator_"),
        _fitted_attribute(model, "estimator_"),
        *reversed(steps),
    ]
    estimators = _fitted_attribute(model, "estimators_")
    inside += [] if estimators is None else list(estimators)[:1]
    for part in inside:
        if hasattr(part, "get_params") and (part_digest := digest_of(part)) is not None:
            return part_digest
    return None


def _plain(value: Any) -> Any:
    """Convert a parameter value to a JSON value, or to its ``repr`` if JSON has no such type."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    shown = " ".join(repr(value).split())
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 3] + "..."


def _plain_list(values: Any) -> list[Any]:
    """Convert labels to JSON values; with several outputs, the result is a list of lists."""
    return [_plain_list(v) if isinstance(v, (np.ndarray, list)) else _plain(v) for v in values]
