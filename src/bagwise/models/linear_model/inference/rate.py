"""What a change of a feature does to bags."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise.data.bags import as_bags
from bagwise.data.bags.parts import feature_index
from bagwise.data.types import BagsLike


def rate_change(model: Any, X: BagsLike, feature: int | str, change: float) -> np.ndarray:
    """Predict by how much the probability of each bag changes when a feature changes in all its instances.

    Parameters
    ----------
    model : fitted classifier of bags with `predict_proba`
        The model.
    X : Bags, list of arrays, 3-D or 2-D array
        The bags.
    feature : int or str
        The feature, by number or by name.
    change : float
        What is added to it, in its own units.

    Returns
    -------
    array of shape (n_bags,)
        P(+ after the change) - P(+ before).

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
    return after[:, 1] - before[:, 1]
