"""Warning classes, and the exception for Ctrl-C; other errors are `ValueError` and `TypeError`."""

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

# Packages whose frames can be between the user's line and ours: bagwise, and packages that call bagwise.
_BETWEEN = {"bagwise", "contextlib", "joblib", "pickle", "sklearn"}


class PositiveClassWarning(UserWarning):
    """The labels are text, `positive` was not passed, and the model chose the positive class.

    In multiple-instance learning the positive class is part of the model: only negative bags are free of
    positive instances. The model is fitted with each label as the positive class, and the fit with the
    smaller objective is kept. Pass `positive` to choose the label and to fit only once.

    Examples
    --------
    Without `positive`, the warning reports the chosen label and the objectives of both fits:

    >>> import warnings
    >>> from bagwise import MILogisticRegression, PositiveClassWarning, load_digit_bags
    >>> data = load_digit_bags(60, random_state=0)
    >>> words = ["active" if label else "inactive" for label in data.y]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", PositiveClassWarning)
    ...     model = MILogisticRegression(random_state=0).fit(data.bags, words)
    >>> model.positive_label_
    'active'

    With `positive`, there is no warning:

    >>> MILogisticRegression(random_state=0, positive="active").fit(data.bags, words).positive_label_
    'active'
    """


class ClassPriorWarning(UserWarning):
    """The assumed share of positive bags among the unlabeled ones is implausible or cannot be estimated.

    Examples
    --------
    In unattended programs, turn the warning into an error:

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
    """An estimator was pickled with a different version of bagwise than the current one.

    Examples
    --------
    >>> import warnings
    >>> from bagwise import BagStatistics, VersionWarning
    >>> state = {**BagStatistics().__getstate__(), "_bagwise_version": "0.0"}  # as in an old pickle
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always", VersionWarning)
    ...     BagStatistics().__setstate__(state)
    >>> said[0].category.__name__
    'VersionWarning'
    """


class ComparisonInterrupted(KeyboardInterrupt):
    """A comparison was interrupted by Ctrl-C.

    Attributes
    ----------
    comparison : Comparison or None
        The results so far, with the models for which all splits were computed. None if no model was started.

    See Also
    --------
    bagwise.compare : Raises this exception.

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


def warn_user(message: str, category: type[Warning] = UserWarning, *, once: str | None = None) -> None:
    """Issue a warning that points to the user's line: the first line on the stack outside bagwise.

    Lines in scikit-learn, joblib, pickle and contextlib are also skipped, so a warning from a fit inside a
    pipeline, a search or another fit points to the user's call. The stack of a worker process contains no
    such line, so the warning points to the outermost line.

    `once` identifies warnings that are shown only once during the user's call, for example once for all fits
    of a search. Each worker process shows such a warning separately.
    """
    level, frame = 2, sys._getframe(1)  # for `stacklevel`, 2 is the line that called this function
    called = frame
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _BETWEEN:
        level, called, frame = level + 1, frame, frame.f_back
    if once is not None:
        # The keys are stored in the frame of the call, because it exists exactly as long as the call.
        shown = called.f_locals.setdefault("_bagwise_shown", set())
        if once in shown:
            return
        shown.add(once)
    warnings.warn(message, category, stacklevel=level)
