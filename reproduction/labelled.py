"""Fits that the likelihood of a mixture allows and `MIMixture.fit` refuses: one class, unknown labels."""

from __future__ import annotations

import numpy as np

from bagwise.models.base import BagsLike, Training, validated_fit
from bagwise.models.mixture.mimixture import MIMixture
from bagwise.models.mixture.model import Start


@validated_fit
def fit_labelled(model: MIMixture, X: BagsLike, y: np.ndarray, start: Start | None = None) -> MIMixture:
    """Fit a model to bags with labels 1, 0, or -1 for unknown, all of which may be alike.

    A user who has negative bags only has made a mistake, and is told so by ``fit``, which takes positive ones
    alone but then has one class to predict. Simulations do draw such samples, and some settings take the bags
    to be predicted into the fit, unlabelled.

    Parameters
    ----------
    model : MIMixture
        The model; fitted in place.
    X : Bags, list of arrays, 3-D or 2-D array
        The training bags, all of weight 1.
    y : array of shape (n_bags,)
        1, 0, or -1 for unknown.
    start : callable, optional
        Where EM begins, as in `BagMixture`.

    Returns
    -------
    MIMixture
        The same model. Its classes are 0 and 1.
    """
    bags = model._read(X, reset=True)
    model.classes_ = np.array([0, 1])
    return model._fit(Training(bags, np.asarray(y, dtype=np.int8), np.ones(len(bags))), start)
