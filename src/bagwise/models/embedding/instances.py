"""The instances that an embedding learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from bagwise.data.bags import Bags
from bagwise.models.base.estimators import lie_large
from bagwise.models.base.streaming import in_memory

SAMPLE_VALUES = 2**23  # numbers of the instances that are learned from


def draw_instances(estimator: Any, bags: Bags) -> Any:
    """Give all instances, or a random sample with 2**23 numbers of large ones; by the estimator's seed.

    CSR ones are a copy: bags keep them read-only, and scikit-learn's k-means wants to be able to write.
    """
    if not lie_large(bags):
        instances = in_memory(bags).instances
    else:
        rng = check_random_state(estimator.random_state)
        instances = bags.blocks().sample(SAMPLE_VALUES // bags.n_features, rng)
    return instances.copy() if sp.issparse(instances) else instances


def draw_dense_instances(estimator: Any, bags: Bags) -> np.ndarray:
    """Give `draw_instances` as a dense array, of sparse ones no more than of others, zeros counted."""
    instances = draw_instances(estimator, bags)
    if not sp.issparse(instances):
        return instances
    n, most = instances.shape[0], max(1, SAMPLE_VALUES // bags.n_features)
    if n > most:
        rng = check_random_state(estimator.random_state)
        instances = instances[np.sort(rng.permutation(n)[:most])]
    return instances.toarray()


def n_different(instances: np.ndarray, most: int) -> int:
    """Count the different rows, up to `most`."""
    different: set[bytes] = set()
    for row in instances:
        different.add((row + 0.0).tobytes())  # -0 is 0
        if len(different) == most:
            break
    return len(different)
