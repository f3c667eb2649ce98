"""What a restored model must be before compiled code of others may see it."""

from __future__ import annotations

from typing import Any

import numpy as np


def refuse_other_centers(model: Any) -> None:
    """Refuse k-means, wherever it stands in a model, whose centers have other features than its instances.

    scikit-learn compares instances with ``n_features_in_`` and hands them and the centers to compiled code,
    which reads beyond the centers if they are shorter. Compiled code of ours looks for itself
    (`refuse_other_widths`).
    """
    waiting, seen = [model], {id(model)}
    while waiting:
        item = waiting.pop()
        parts = _parts(item)
        centers = parts.get("cluster_centers_") if isinstance(parts, dict) else None
        if centers is not None and np.shape(centers)[1:] != (parts.get("n_features_in_"),):
            raise ValueError(
                f"its {type(item).__name__} has centers of the shape {np.shape(centers)} for "
                f"{parts.get('n_features_in_')} features"
            )
        for part in parts.values() if isinstance(parts, dict) else parts:
            if id(part) not in seen:
                seen.add(id(part))
                waiting.append(part)


def _parts(item: Any) -> Any:
    """What an object consists of: a dictionary by name, or a sequence."""
    if isinstance(item, (list, tuple, dict, set, frozenset)):
        return item
    if isinstance(item, np.ndarray):
        return item.ravel().tolist() if item.dtype == object else ()
    return getattr(item, "__dict__", ())
