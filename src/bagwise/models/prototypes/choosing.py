"""Selection of prototypes: instances, cluster centers, or diverse-density targets."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from bagwise._core.interrupt import interruptible
from bagwise._core.sklearn_private import Interval
from bagwise.data.bags import Bags
from bagwise.models.base.streaming import in_memory
from bagwise.models.embedding.instances import draw_instances
from bagwise.models.prototypes.diverse_density import DiverseDensity
from bagwise.models.prototypes.points import Prototypes, different_rows

# Ways to derive prototypes from instances, and the constraint of the parameter `n_prototypes`.
INSTANCE_KINDS: set[str] = {"all", "sample", "kmeans"}
COUNT_CONSTRAINT: list[Any] = [Interval(Integral, 1, None, closed="left")]


def choose_instances(estimator: Any, bags: Bags) -> Prototypes:
    """Return distinct instances of bags as prototypes: all, a random sample, or k-means centers.

    The estimator's parameters `prototypes`, `n_prototypes` and `random_state` define the selection, and its
    scaler scales the prototypes.
    """
    kind, n = estimator.prototypes, estimator.n_prototypes
    X = different_rows(in_memory(bags).instances if kind == "all" else draw_instances(estimator, bags))
    X = estimator._scaled(Bags(X, [0, X.shape[0]])).instances
    if kind == "all" or (kind == "sample" and X.shape[0] <= n):
        return Prototypes(X)
    if kind == "sample":
        chosen = check_random_state(estimator.random_state).permutation(X.shape[0])[:n]
        return Prototypes(X[np.sort(chosen)])
    clusterer = KMeans(min(n, X.shape[0]), n_init=3, random_state=estimator.random_state)
    with interruptible(at_once=True):
        return Prototypes(clusterer.fit(X).cluster_centers_)


def choose_targets(estimator: Any, bags: Bags, y: np.ndarray, n_classes: int) -> Prototypes:
    """Return the diverse-density targets of every class against all others, with their scales."""
    search = estimator.prototypes
    if isinstance(search, str):
        search = DiverseDensity(n_init=estimator.n_prototypes, random_state=estimator.random_state)
    optima_of_classes = []
    for label in range(n_classes):
        # The instances are already scaled.
        model = clone(search).set_params(scale=None).fit(bags, (y == label).astype(int))
        optima_of_classes.append(model.local_optima_)
    optima = np.concatenate(optima_of_classes)
    return Prototypes(optima[:, 0], scales=optima[:, 1])
