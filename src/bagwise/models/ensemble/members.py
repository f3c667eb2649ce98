"""A fitted member of a family, before the vote: several settings with their held-out scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bagwise.models.base.folds import Split
from bagwise.models.base.held_out import mean_of_splits


class FittedMember(NamedTuple):
    """Settings of one kind, fitted to all training bags and to the training bags of each fold.

    Attributes
    ----------
    names : list of str
        Descriptions of the settings.
    of_instances : bool array of shape (n_settings,)
        Mask of the settings that score instances as well.
    held : array of shape (n_settings, n_bags)
        Scores of held-out bags; NaN for bags that no fold holds out.
    intercept : array of shape (n_settings,)
        Intercept of each setting, which is not included in the part that `joined` returns.
    joined : callable
        Function that takes two factors per setting (for bag scores and for instance scores) and returns the
        part of the vote that sums over all settings. A fitted ensemble stores only this part of the member.
    """

    names: list[str]
    of_instances: np.ndarray
    held: np.ndarray
    intercept: np.ndarray
    joined: Callable[[np.ndarray, np.ndarray], Any]


def mean_held_out(n_bags: int, splits: list[Split], scores: list[np.ndarray]) -> np.ndarray:
    """Return the held-out scores of all bags, shape (n_settings, n_bags): see `mean_of_splits`."""
    return np.ascontiguousarray(mean_of_splits(n_bags, splits, [of_fold.T for of_fold in scores]).T)
