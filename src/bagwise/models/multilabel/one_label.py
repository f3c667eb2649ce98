"""Labels of bags that show one label each, or none, as a column: what an indicator matrix has a row for."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from bagwise.data.bags.parts import without_mask
from bagwise.models.base import refuse_unknown_labels


def read_one_label(y: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Read a column of labels: the labels there are, and indicators of shape (n_bags, n_labels).

    None and NaN stand for a bag that shows no label. The answer is None where `y` is not of this kind: two
    classes without such bags, of which one is the label of all others; or no labels at all.
    """
    values, missing = _column(y)
    known = values[~missing]
    if len(known) == 0 or (not missing.any() and len(known) < 3):
        return None
    if known.dtype == object:
        known = np.asarray(known.tolist())
    is_finite = known.dtype.kind != "f" or bool(np.isfinite(known).all())
    if not is_finite or type_of_target(known).startswith(("continuous", "unknown")):
        return None
    classes = np.unique(known)
    if not missing.any() and len(classes) < 3:
        return None
    return classes, _indicators(values, missing, classes)


def encode_one_label(y: Any, classes: np.ndarray) -> np.ndarray:
    """Encode labels given after the fit as indicators; None and NaN are bags without a label."""
    values, missing = _column(y)
    refuse_unknown_labels(values[~missing], classes, besides=", and None for bags without a label")
    return _indicators(values, missing, classes)


def _column(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Give the values of a column, and which are missing."""
    values = np.ravel(np.asarray(without_mask(y)))
    if values.dtype == object:
        return values, np.array([_is_missing(value) for value in values], dtype=bool)
    return values, np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)


def _is_missing(value: Any) -> bool:
    # pandas' NA has no truth value, and cannot be compared.
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and value != value)


def _indicators(values: np.ndarray, missing: np.ndarray, classes: np.ndarray) -> np.ndarray:
    labels = np.zeros((len(values), len(classes)), dtype=np.int8)
    labels[~missing] = values[~missing][:, None] == classes
    return labels
