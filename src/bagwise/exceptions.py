"""The warnings that bagwise gives, and what Ctrl-C raises; errors are plain `ValueError` and `TypeError`."""

import sys
import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "ClassPriorWarning",
    "ComparisonInterrupted",
    "ConvergenceWarning",
    "PositiveClassWarning",
    "VersionWarning",
    "warn_user",
]

# Who stands between a user's line and ours: this package, and what hands a fit or a pickle on to it.
_BETWEEN = {"bagwise", "contextlib", "joblib", "pickle", "sklearn"}


class PositiveClassWarning(UserWarning):
    """The positive class was chosen by sorting labels that are neither numbers nor booleans.

    In multiple-instance learning the choice is part of the model: only negative bags are free of
    positive instances.
    """


class ClassPriorWarning(UserWarning):
    """The share of positive bags among unlabeled ones is not what it was taken for, or cannot be told."""


class VersionWarning(UserWarning):
    """An estimator is unpickled by another version of bagwise than the one that wrote it."""


class ComparisonInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a comparison.

    Attributes
    ----------
    comparison : Comparison or None
        What had finished: models of which all splits were computed. None if nothing had begun.

    See Also
    --------
    bagwise.compare : raises it.
    """

    def __init__(self, message: str, comparison: Any = None):
        super().__init__(message)
        self.comparison = comparison


def warn_user(message: str, category: type[Warning] = UserWarning, *, once: bool = False) -> None:
    """Warn, and give as the place the user's line: the first on the stack that is outside of bagwise.

    Lines of scikit-learn, joblib, pickle and contextlib are passed over too, so that a fit in a pipeline, a
    search or another fit is reported where it was asked for. A worker's stack has no such line and gives its
    outermost.

    With `once`, a message is given once while what that line called goes on: a search says of all its fits
    what a fit says. Worker processes say it for themselves.
    """
    level, frame = 2, sys._getframe(1)  # as `stacklevel` counts: 2 is the line that called this function
    called = frame
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _BETWEEN:
        level, called, frame = level + 1, frame, frame.f_back
    if once:
        # What lives as long as the call is its frame, which may carry names beside its own.
        said = called.f_locals.setdefault("_bagwise_has_said", set())
        if message in said:
            return
        said.add(message)
    warnings.warn(message, category, stacklevel=level)
