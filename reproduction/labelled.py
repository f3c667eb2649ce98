"""Mixture fits that `MIMixture.fit` rejects: to bags from a single class, and to unknown labels."""

from __future__ import annotations

import numpy as np

from bagwise.models.base import BagsLike, Training, validated_fit
from bagwise.models.mixture.mimixture import MIMixture
from bagwise.models.mixture.model import Start


@validated_fit
def fit_labelled(model: MIMixture, X: BagsLike, y: np.ndarray, start: Start | None = None) -> MIMixture:
    """Fit a mixture to bags with labels 1, 0, or -1 for unknown; all labels may be equal.

    ``fit`` rejects samples of only negative bags, because they are usually a mistake. It accepts samples of
    only positive bags, but then predicts a single class. Simulations draw samples of both kinds, and some
    settings add the unlabeled test bags to the training bags.

    Parameters
    ----------
    model : MIMixture
        The model; fitted in place.
    X : Bags, list of arrays, 3-D or 2-D array
        The training bags, all with weight 1.
    y : array of shape (n_bags,)
        1, 0, or -1 for unknown.
    start : callable, optional
        Start of EM, as in `BagMixture`.

    Returns
    -------
    MIMixture
        The same model, with the classes 0 and 1.
    """
    bags = model._read(X, reset=True)
    model.classes_ = np.array([0, 1])
    return model._fit(Training(bags, np.asarray(y, dtype=np.int8), np.ones(len(bags))), start)
