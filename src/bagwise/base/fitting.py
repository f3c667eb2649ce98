"""The decorator that every `fit` wears."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from bagwise._sklearn import validated
from bagwise.reporting import one_line
from bagwise.solvers.interrupt import interruptible

_Fit = TypeVar("_Fit", bound=Callable[..., Any])


def validated_fit(fit: _Fit) -> _Fit:
    """Decorate `fit` so that it checks parameters first, and Ctrl-C ends it after its present step.

    See `bagwise.solvers.interrupt`: what was reached is kept in the fitted attributes, and KeyboardInterrupt
    is raised at the end. The live line of ``verbose=1`` (`bagwise.reporting`) ends with the fit.
    """
    return validated(interruptible()(one_line()(fit)))
