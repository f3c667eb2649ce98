"""What a change of a feature does to bags."""

from __future__ import annotations

import numpy as np

from bagwise.bags import as_bags
from bagwise.base import BagsLike


def rate_change(model, X: BagsLike, feature: int | str, change: float) -> np.ndarray:
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
    column = _feature_number(feature, bags, model)
    moved = np.array(bags.instances, dtype=np.float64)
    moved[:, column] += change
    after, before = model.predict_proba(bags.with_instances(moved)), model.predict_proba(bags)
    return after[:, 1] - before[:, 1]


def _feature_number(feature: int | str, bags, model) -> int:
    if not isinstance(feature, str):
        if not 0 <= feature < bags.n_features:
            raise ValueError(f"feature must lie in 0 ... {bags.n_features - 1}; got {feature!r}.")
        return int(feature)
    names = bags.feature_names if bags.feature_names is not None else getattr(model, "feature_names_in_", [])
    if feature not in list(names):
        raise ValueError(f"there is no feature {feature!r}; there are {[str(n) for n in names]}.")
    return list(names).index(feature)
