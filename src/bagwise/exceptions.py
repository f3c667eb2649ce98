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

    Examples
    --------
    A word that is meant to be the positive class, because it sorts last, needs no warning:

    >>> import warnings
    >>> from bagwise import MILogisticRegression, PositiveClassWarning, make_noisy_or_bags
    >>> data = make_noisy_or_bags(40, random_state=0)
    >>> words = ["yes" if label else "no" for label in data.y]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", PositiveClassWarning)
    ...     model = MILogisticRegression(random_state=0).fit(data.bags, words)
    >>> str(model.classes_[1])
    'yes'
    """


class ClassPriorWarning(UserWarning):
    """The share of positive bags among unlabeled ones is not what it was taken for, or cannot be told.

    Examples
    --------
    In a program that nobody watches, an error is better:

    >>> import warnings
    >>> from bagwise import ClassPriorWarning, MILogisticRegression, make_noisy_or_bags, pu_report
    >>> data = make_noisy_or_bags(60, random_state=0)
    >>> model = MILogisticRegression(random_state=0).fit(data.bags, data.y)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ClassPriorWarning)
    ...     pu_report(model, data.bags, data.y, class_prior=0.9, interval=(0.1, 0.9))
    Traceback (most recent call last):
    ...
    bagwise.exceptions.ClassPriorWarning: AUC is ... at a class prior of 0.900, outside its range: ...
    """


class VersionWarning(UserWarning):
    """An estimator is unpickled by another version of bagwise than the one that wrote it.

    Examples
    --------
    >>> import warnings
    >>> from bagwise import BagStatistics, VersionWarning
    >>> state = {**BagStatistics().__getstate__(), "_bagwise_version": "0.0"}  # as an old pickle has it
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always", VersionWarning)
    ...     BagStatistics().__setstate__(state)
    >>> said[0].category.__name__
    'VersionWarning'
    """


class ComparisonInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a comparison.

    Attributes
    ----------
    comparison : Comparison or None
        What had finished: models of which all splits were computed. None if nothing had begun.

    See Also
    --------
    bagwise.compare : raises it.

    Examples
    --------
    >>> from bagwise import ComparisonInterrupted
    >>> try:
    ...     raise ComparisonInterrupted("stopped")  # as `compare` does at Ctrl-C
    ... except ComparisonInterrupted as stopped:
    ...     finished = stopped.comparison
    >>> finished is None
    True
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
