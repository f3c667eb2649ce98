"""The decorator that every `fit` wears."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from bagwise._core.interrupt import interruptible
from bagwise._core.sklearn_private import validated
from bagwise.data.bags import as_bags, is_scan
from bagwise.models.base.huge import overflow_explained, refuse_overflow
from bagwise.solvers.reporting import one_line

_Fit = TypeVar("_Fit", bound=Callable[..., Any])


def validated_fit(fit: _Fit) -> _Fit:
    """Decorate `fit` so that it checks parameters first, and Ctrl-C ends it after its present step.

    See `bagwise._core.interrupt`: what was reached is kept in the fitted attributes, and KeyboardInterrupt
    is raised at the end. The live line of ``verbose=1`` (`bagwise.solvers.reporting`) ends with the fit.
    """
    return validated(interruptible()(one_line()(_explain_huge_values(fit))))


def _explain_huge_values(fit: _Fit) -> _Fit:
    """Say that finite values are too large for what a model computes, where nothing finite comes out."""

    @functools.wraps(fit)
    def explained(self: Any, X: Any, *args: Any, **how: Any) -> Any:
        def instances() -> Any:
            # Those of a large scan are not read for an explanation; what went wrong stands as it is.
            return None if is_scan(X) and not X.fits else as_bags(X).instances

        with overflow_explained(self, instances):
            fitted = fit(self, X, *args, **how)
        refuse_overflow(self, np.asarray(getattr(self, "objective_", 0.0)), instances)
        return fitted

    return cast(_Fit, explained)
