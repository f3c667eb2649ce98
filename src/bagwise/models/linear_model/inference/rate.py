"""Effect of a feature change on bag probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise.data.bags import as_bags
from bagwise.data.bags.parts import feature_index
from bagwise.data.types import BagsLike


def rate_change(model: Any, X: BagsLike, feature: int | str, change: float) -> np.ndarray:
    """Return the change in the probability of each bag if a feature changes in all instances.

    Parameters
    ----------
    model : fitted bag classifier with `predict_proba`
        The model.
    X : Bags, list of arrays, 3-D or 2-D array
        The bags.
    feature : int or str
        Index or name of the feature.
    change : float
        Value that is added to the feature, in units of the feature.

    Returns
    -------
    array of shape (n_bags,)
        Probability of the positive class after the change minus the probability before.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, make_noisy_or_bags, rate_change
    >>> data = make_noisy_or_bags(100, coef=[2.0, 0.0, 0.0], random_state=0)
    >>> model = MILogisticRegression(random_state=0).fit(data.bags, data.y)
    >>> bool((rate_change(model, data.bags, 0, -0.5) < 0).all())
    True
    """
    bags = as_bags(X)
    column = feature_index(feature, bags, model)
    moved = np.array(bags.instances, dtype=np.float64)
    moved[:, column] += change
    after, before = model.predict_proba(bags.with_instances(moved)), model.predict_proba(bags)
    positive = 0 if getattr(model, "_is_reversed", False) else 1
    return after[:, positive] - before[:, positive]
