"""What else describes bags, and `Bags` made of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise.data.bags.collection import Bags
from bagwise.data.bags.parts import as_matrix, depth


def as_bags(X: Any) -> Bags:
    """Make `Bags` of anything that describes bags.

    `Bags` pass; `ScannedBags` are read if they are small; a list of 2-D arrays, an object array of them and a
    3-D array are bags; a plain 2-D array, data frame or sparse matrix stands for bags of one instance each.
    """
    if isinstance(X, Bags):
        return X
    if is_scan(X):
        return X.in_memory()
    if describes_bags(X):
        return Bags.from_list(X)
    refuse_empty_list(X)
    X = as_matrix(X)
    return Bags(X, np.arange(X.shape[0] + 1))


def refuse_empty_list(X: Any) -> None:
    """Refuse a list of no bags, of which nobody can tell how many features it has."""
    if isinstance(X, (list, tuple)) and len(X) == 0:
        raise ValueError("X is an empty list; expected at least one bag, such as [X] for one 2-D array X.")


def is_scan(X: Any) -> bool:
    """Whether `X` is `ScannedBags`, which stand on this module."""
    return bool(getattr(type(X), "_lies_in_files", False))


def describes_bags(X: Any) -> bool:
    """Whether `X` is `Bags`, a scan of them, a 3-D array, or a list or object array of 2-D items."""
    if isinstance(X, Bags) or is_scan(X):
        return True
    if isinstance(X, np.ndarray):
        if X.dtype != object or X.ndim != 1:
            return X.ndim == 3
    elif not isinstance(X, (list, tuple)):
        return False
    return len(X) > 0 and depth(X[0]) == 2
