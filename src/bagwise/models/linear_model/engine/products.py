"""Products with instances as they lie: dense in either precision, or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise._core.compiled.arrays import readonly, refuse_other_widths


def log_odds_of(X: Any, coef: np.ndarray, constant: np.ndarray) -> np.ndarray:
    """Give ``coef @ X.T + constant``: shape (n_instances,), or (n, n_instances) for n rows of coefficients.

    Instances in single precision are not copied into double: sums are in double precision all the same.
    """
    if not coef.any():  # as in the model without features
        return np.repeat(constant[..., None], X.shape[0], axis=-1)
    if not _is_single(X):
        return coef @ X.T + constant[..., None]
    from bagwise._core.compiled.rows import row_products

    (X,) = readonly(X)
    found = np.empty((*coef.shape[:-1], X.shape[0]))
    for at in np.ndindex(coef.shape[:-1]):
        refuse_other_widths(X, coef[at])
        row_products(X, *readonly(coef[at]), float(constant[at]), found[at])
    return found


def sums_over_instances(by_instance: np.ndarray, X: Any) -> np.ndarray:
    """Give ``by_instance @ X``: shape (n_features,), or (n, n_features) for n rows."""
    if not _is_single(X):
        return by_instance @ X
    from bagwise._core.compiled.rows import column_products

    (X,) = readonly(X)
    sums = np.empty((*by_instance.shape[:-1], X.shape[1]))
    for at in np.ndindex(by_instance.shape[:-1]):
        column_products(X, *readonly(by_instance[at]), sums[at])
    return sums


def _is_single(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.dtype == np.float32 and X.flags.c_contiguous
