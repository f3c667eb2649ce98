"""Training instances of the embeddings: all instances, or a random sample of large data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from bagwise.data.bags import Bags
from bagwise.models.base.estimators import needs_blocks
from bagwise.models.base.streaming import in_memory

SAMPLE_VALUES = 2**23  # maximum number of values in the training instances


def draw_instances(estimator: Any, bags: Bags) -> Any:
    """Return all instances, or a random sample with 2**23 values if there are more values.

    The sample uses the estimator's seed. CSR instances are copied, because the arrays in bags are read-only
    and scikit-learn's k-means needs writable arrays.
    """
    if not needs_blocks(bags):
        instances = in_memory(bags).instances
    else:
        rng = check_random_state(estimator.random_state)
        instances = bags.blocks().sample(SAMPLE_VALUES // bags.n_features, rng)
    return instances.copy() if sp.issparse(instances) else instances


def draw_dense_instances(estimator: Any, bags: Bags) -> np.ndarray:
    """Return `draw_instances` as a dense array; sparse instances are sampled by their dense size."""
    instances = draw_instances(estimator, bags)
    if not sp.issparse(instances):
        return instances
    n, most = instances.shape[0], max(1, SAMPLE_VALUES // bags.n_features)
    if n > most:
        rng = check_random_state(estimator.random_state)
        instances = instances[np.sort(rng.permutation(n)[:most])]
    return instances.toarray()


def n_different(instances: np.ndarray, most: int) -> int:
    """Return the number of distinct rows, at most `most`."""
    different: set[bytes] = set()
    for row in instances:
        different.add((row + 0.0).tobytes())  # treat -0.0 and 0.0 as equal
        if len(different) == most:
            break
    return len(different)
