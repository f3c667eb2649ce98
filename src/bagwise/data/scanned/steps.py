"""Transformers that instances of a scan pass through as they are read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from bagwise.data.bags.parts import are_small


class Step(NamedTuple):
    """A transformer of instances that is applied as they are read."""

    transform: Callable[[Any], Any]
    n_features: int
    feature_names: np.ndarray | None
    accepts_missing: bool

    def checked(self, *, accept_nan: bool, largest: float) -> Callable[[Any], Any]:
        """Give the transformer, which then refuses to hand on what whoever follows cannot work on."""
        return partial(_apply, self.transform, accept_nan=accept_nan, largest=largest)


def _apply(transform: Callable[[Any], Any], instances: Any, *, accept_nan: bool, largest: float) -> Any:
    transformed = transform(instances)
    values = transformed.data if sp.issparse(transformed) else transformed
    if are_small(values, largest):
        return transformed
    if not np.isfinite(np.sum(values)) and (np.isinf(values).any() or not accept_nan):
        raise ValueError(
            "a transformer of the instances of a scan gave infinity or NaN, which what follows it does not "
            "take; impute, or transform in another way."
        )
    if max(np.nanmax(values, initial=0.0), -np.nanmin(values, initial=0.0)) > largest:
        raise ValueError(
            "a transformer of the instances of a scan gave values whose absolute value is above "
            f"{largest:g}, which what follows it does not take; transform in another way."
        )
    return transformed
