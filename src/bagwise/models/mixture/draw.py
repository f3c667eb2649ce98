"""Instances drawn from a mixture."""

from __future__ import annotations

import numpy as np

from bagwise.data.bags import Bags
from bagwise.families import Family
from bagwise.models.mixture.params import MixtureParams


def draw_instances(
    family: Family, params: MixtureParams, z: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:
    """Draw an instance for each label in `z` (True for positive).

    Component by component, then back into order, so that the instances need not be vectors.
    """
    p = params.n_positive
    weights = np.exp(params.log_weights)
    parts, places = [], []
    for is_positive, members in ((True, slice(None, p)), (False, slice(p, None))):
        rows = np.flatnonzero(z == is_positive)
        within = weights[members] / weights[members].sum()
        choice = rng.choice(len(within), size=len(rows), p=within)
        for k, component in enumerate(params.components[members]):
            parts.append(family.sample(component, int((choice == k).sum()), rng))
            places.append(rows[choice == k])
    return Bags.from_list(parts).instances.take(np.argsort(np.concatenate(places)), axis=0)
