"""The decorator that every `fit` wears."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from bagwise._sklearn import validated
from bagwise.bags import as_bags
from bagwise.reporting import one_line
from bagwise.solvers.interrupt import interruptible

_Fit = TypeVar("_Fit", bound=Callable[..., Any])


def validated_fit(fit: _Fit) -> _Fit:
    """Decorate `fit` so that it checks parameters first, and Ctrl-C ends it after its present step.

    See `bagwise.solvers.interrupt`: what was reached is kept in the fitted attributes, and KeyboardInterrupt
    is raised at the end. The live line of ``verbose=1`` (`bagwise.reporting`) ends with the fit.
    """
    return validated(interruptible()(one_line()(_explain_huge_values(fit))))


# Squares of squares of values up to this are numbers.
_LARGEST = 1e60
# What linear algebra, or a part of a model, says of numbers that overflowed on the way.
_OVERFLOWS = ("infs or NaNs", "contains infinity", "must be finite")


def _explain_huge_values(fit: _Fit) -> _Fit:
    """Say that finite values are too large for what a model computes, where algebra says infs or NaNs."""

    @functools.wraps(fit)
    def explained(self, X, *args, **how):
        try:
            return fit(self, X, *args, **how)
        except ValueError as error:  # LinAlgError is one
            is_overflow = any(word in str(error) for word in _OVERFLOWS)
            largest = 0.0
            if is_overflow or isinstance(error, np.linalg.LinAlgError):
                instances = as_bags(X).instances
                largest = float(abs(instances).max())
            if not _LARGEST < largest < np.inf:
                raise
            raise ValueError(
                f"X has values up to {largest:g}, and {type(self).__name__} computes powers of them, which "
                "are too large for a number; divide the features."
            ) from error

    return cast(_Fit, explained)
