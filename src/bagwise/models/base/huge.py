"""Finite values so large that what models compute of them overflows: one sentence instead of NaN."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

# Squares of squares of values up to this, and sums of many of them, are numbers.
LARGEST = 1e60
# What linear algebra, or a part of a model, says of numbers that overflowed on the way.
_OF_ALGEBRA = "infs or NaNs"
_OVERFLOWS = (_OF_ALGEBRA, "contains infinity", "contains NaN", "must be finite")


@contextmanager
def overflow_explained(model: Any, instances_of: Callable[[], Any]) -> Iterator[None]:
    """Where algebra fails, say which finite values are too large for what a model computes, or what else is.

    `instances_of` gives the instances, and is called only then.
    """
    try:
        yield
    except (ValueError, OverflowError) as error:  # LinAlgError is a ValueError
        of_algebra = isinstance(error, (OverflowError, np.linalg.LinAlgError))
        if of_algebra or any(word in str(error) for word in _OVERFLOWS):
            instances = instances_of()
            _refuse_huge(model, instances, error)
            # Other sentences may be about labels or parameters: they stand as they are.
            is_overflow = isinstance(error, OverflowError) or _OF_ALGEBRA in str(error)
            if is_overflow and _are_finite(instances):
                raise _too_far(model) from error
        if not isinstance(error, np.linalg.LinAlgError):
            raise
        raise ValueError(
            f"a matrix that {type(model).__name__} computes of X is too near to a singular one for the "
            f"digits of a number ({error}); scale the features to one size (BagPipeline with "
            "OnInstances(StandardScaler())), leave out those that repeat others, and give bags weights of "
            "one size."
        ) from error


def refuse_overflow(model: Any, found: Any, instances_of: Callable[[], Any]) -> None:
    """Refuse results that are not finite where instances are, and are huge; NaN in any case."""
    if sp.issparse(found):
        found = found.data
    if getattr(found, "dtype", np.dtype(object)).kind == "f" and not np.isfinite(found).all():
        instances = instances_of()
        _refuse_huge(model, instances, None)
        # Infinite log-odds may be meant; NaN never is, where nothing is missing.
        if np.isnan(found).any() and _are_finite(instances):
            raise _too_far(model)


def _are_finite(instances: Any) -> bool:
    values = _numbers(instances)
    return values is not None and bool(np.isfinite(values).all())


def _numbers(instances: Any) -> np.ndarray | None:
    """Give the values as numbers, also those that came as objects; None of what is no matrix of numbers."""
    values = instances.data if sp.issparse(instances) else instances
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiubO":
        return None
    try:
        return values.astype(np.float64) if values.dtype.kind == "O" else values
    except (TypeError, ValueError, OverflowError):  # somebody else's sentence is about these
        return None


def _too_far(model: Any) -> ValueError:
    return ValueError(
        f"what {type(model).__name__} computes of X is too large for a number: its values are far from those "
        "of the fit, or from each other; scale the features."
    )


def _refuse_huge(model: Any, instances: Any, cause: Exception | None) -> None:
    values = _numbers(instances)
    if values is None or values.dtype.kind != "f":
        return
    largest = float(max(np.nanmax(values, initial=0.0), -np.nanmin(values, initial=0.0)))
    if LARGEST < largest < np.inf:
        raise ValueError(
            f"X has values up to {largest:g}, and {type(model).__name__} computes products or powers of "
            "them, which are too large for a number; divide the features."
        ) from cause
