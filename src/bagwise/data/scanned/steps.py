"""Transformers that instances of a scan pass through as they are read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp


class Step(NamedTuple):
    """A transformer of instances that is applied as they are read."""

    transform: Callable[[Any], Any]
    n_features: int
    feature_names: np.ndarray | None
    accepts_missing: bool

    def checked(self, *, accept_nan: bool) -> Callable[[Any], Any]:
        """Give the transformer, which then refuses to hand on what whoever follows cannot work on."""
        return partial(_apply, self.transform, accept_nan=accept_nan)


def _apply(transform: Callable[[Any], Any], instances: Any, *, accept_nan: bool) -> Any:
    transformed = transform(instances)
    values = transformed.data if sp.issparse(transformed) else transformed
    if not np.isfinite(np.sum(values)) and (np.isinf(values).any() or not accept_nan):
        raise ValueError(
            "a transformer of the instances of a scan gave infinity or NaN, which what follows it does not "
            "take; impute, or transform in another way."
        )
    return transformed
