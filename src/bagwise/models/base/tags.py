"""The tag `can_use_absence`: whether a model can call a bag positive because an instance is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.utils import ClassifierTags, get_tags


@dataclass(slots=True)
class BagClassifierTags(ClassifierTags):
    """Tags of a bag classifier, for `sklearn.utils.get_tags`.

    Parameters
    ----------
    can_use_absence : bool, default=True
        False if adding an instance to a bag can never lower the score of the positive class.
    """

    can_use_absence: bool = True


def can_use_absence(model: Any) -> bool:
    """Return whether a model can call a bag positive because something is *missing* from it.

    The result is False if adding an instance to a bag can never lower the score of the positive class, for
    any data that the model is fitted to. Such models respect the standard assumption of multiple-instance
    learning: a bag is positive because of the instances that it contains. All other models can learn that
    bags without a certain kind of instances are positive. This is useful if the absence is informative, and
    wrong if it is an artifact of the training data, such as a marker on all slides of healthy patients.

    The result is the tag of this name in ``get_tags(model).classifier_tags``. This function also considers
    the steps of a pipeline, and the estimator of a search.

    Parameters
    ----------
    model : bag classifier
        The classifier, pipeline or search, fitted or not.

    Returns
    -------
    bool

    Examples
    --------
    >>> from bagwise import MILogisticRegression, SetKernelSVC, can_use_absence
    >>> can_use_absence(MILogisticRegression("or")), can_use_absence(MILogisticRegression("mean"))
    (False, True)
    >>> can_use_absence(SetKernelSVC())
    True
    """
    if hasattr(model, "refit") and hasattr(model, "estimator"):
        return can_use_absence(getattr(model, "best_estimator_", model.estimator))
    steps = [step for _, step in getattr(model, "steps", ()) if step is not None and step != "passthrough"]
    if steps:
        return not all(getattr(step, "_takes_rows", False) for step in steps[:-1]) or can_use_absence(
            steps[-1]
        )
    return getattr(get_tags(model).classifier_tags, "can_use_absence", True)


def describe_absence(model: Any, called: str) -> str:
    """Return a sentence about a model that can use absence, for screens and reports; empty otherwise."""
    if not can_use_absence(model):
        return ""
    return f"{called} can call a bag positive because something is missing from it."
