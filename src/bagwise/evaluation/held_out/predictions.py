"""Cross-validation for ``bagwise fit``: predict every bag with a model fitted to the other folds."""

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
    """Predict the bags of each fold with a clone that is fitted to the other folds; see `cross_predict`.

    Parameters
    ----------
    model : classifier
        The model, which is cloned.
    bags : Bags or ScannedBags
        The bags.
    y : array of shape (n_bags,)
        Labels of the bags.
    n_folds : int
        Maximum number of folds. There are fewer if a class has fewer bags (or groups).
    groups : array of shape (n_bags,), optional
        Bags of one group are held out together.
    seed : int
        Seed of the random folds.
    begin : callable
        Function that is called with a text at the start of every fold.
    keep_models : bool
        Whether to keep the models of the folds, for example to predict instances with them.
    """
    classes, codes = np.unique(y, return_inverse=True)
    training = Training(bags, codes, np.ones(len(codes)))
    remedy = "Fit without cross-validation, or provide more bags."
    splits = bag_folds(n_folds, training, None, seed=seed, remedy=remedy, groups=groups)
    return cross_predict(
        model,
        bags,
        y,
        splits,
        # With more than two classes, scores and curves only need the predicted labels.
        outputs=OUTPUTS if len(classes) == 2 else ["predict"],
        groups=groups,
        keep_models=keep_models,
        begin=begin,
    )
