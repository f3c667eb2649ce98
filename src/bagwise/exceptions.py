"""The warnings that bagwise gives; errors are plain `ValueError` and `TypeError`."""

from sklearn.exceptions import ConvergenceWarning

__all__ = ["ConvergenceWarning", "PositiveClassWarning", "VersionWarning"]


class PositiveClassWarning(UserWarning):
    """The positive class was chosen by sorting labels that are neither numbers nor booleans.

    In multiple-instance learning the choice is part of the model: only negative bags are free of
    positive instances.
    """


class VersionWarning(UserWarning):
    """An estimator is unpickled by another version of bagwise than the one that wrote it."""
