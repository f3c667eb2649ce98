"""Cross-validation of a fit: every bag is predicted by a model that was fitted to the other folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bagwise.models.base.folds import bag_folds
from bagwise.models.base.held_out import OUTPUTS, HeldOut, cross_predict
from bagwise.models.base.labels import Training


def predict_held_out(
    model: Any,
    bags: Any,
    y: np.ndarray,
    *,
    n_folds: int,
    groups: np.ndarray | None = None,
    seed: int = 0,
    begin: Callable[[str], None] = lambda text: None,
    keep_models: bool = False,
) -> HeldOut:
    """Cut bags into folds, and let a clone that was fitted to the others predict each: see `cross_predict`.

    Parameters
    ----------
    model : classifier
        It is cloned.
    bags : Bags or ScannedBags
        The bags.
    y : array of shape (n_bags,)
        Their labels.
    n_folds : int
        The most folds; there are fewer where a class has fewer bags (or groups).
    groups : array of shape (n_bags,), optional
        Bags of one group are held out together.
    seed : int
        Draws the folds.
    begin : callable
        Told of every fold.
    keep_models : bool
        Whether the models of the folds are kept, for whoever asks them of instances.
    """
    classes, codes = np.unique(y, return_inverse=True)
    training = Training(bags, codes, np.ones(len(codes)))
    remedy = "Fit without cross-validation, or give more bags."
    splits = bag_folds(n_folds, training, None, seed=seed, remedy=remedy, groups=groups)
    return cross_predict(
        model,
        bags,
        y,
        splits,
        # Scores and curves of more than two classes need labels only.
        outputs=OUTPUTS if len(classes) == 2 else ["predict"],
        groups=groups,
        keep_models=keep_models,
        begin=begin,
    )
