"""Prototypes, and the distances of bags to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.data.bags import Bags
from bagwise.data.blocks import block_rows, cut
from bagwise.models.prototypes.density_problem import distance
from bagwise.similarity.instance_distances import scaled_distances
from bagwise.similarity.statistics import weighted_median


@dataclass(frozen=True)
class Prototypes:
    """Points of the feature space with a common width, or with separate scales per feature.

    Attributes
    ----------
    points : array or CSR matrix of shape (n_prototypes, n_features)
        The points.
    gamma : float
        Factor of squared distances: 1 / width^2.
    scales : array of shape (n_prototypes, n_features) or None
        Factor for every feature of every prototype, used instead of `gamma`.
    """

    points: Any
    gamma: float = 1.0
    scales: np.ndarray | None = None

    def __len__(self) -> int:
        return self.points.shape[0]

    def distances(self, X: Any) -> np.ndarray:
        """Return scaled squared distances to all prototypes: shape (n_instances, n_prototypes)."""
        if self.scales is None:
            return scaled_distances(X, self.points, self.gamma)
        return np.column_stack(
            [distance(X, point, scale) for point, scale in zip(self.points, self.scales, strict=True)]
        )

    def least(self, bags: Bags) -> np.ndarray:
        """Return the distance of the nearest instance of every bag: shape (n_bags, n_prototypes)."""
        return np.concatenate(
            [np.minimum.reduceat(self.distances(X), starts, axis=0) for X, starts in self._parts(bags)]
        )

    def _parts(self, bags: Bags) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield the instances and starts of a few bags at a time, so that the distances fit into a block."""
        for selection in cut(bags.offsets, block_rows(max(len(self), bags.n_features))):
            part = bags[selection]
            yield part.instances, part.offsets[:-1]

    def with_width(self, width: float | None, squares: np.ndarray, weight: np.ndarray) -> Prototypes:
        """Set the width; prototypes with separate scales do not need it.

        By default, the width is the weighted median of nonzero distances between bags and prototypes. A
        distance is zero if an instance of the bag is exactly on the prototype; if all distances are zero, the
        width is 1. `squares` are the `least` distances of the bags for ``gamma=1``.
        """
        if width is None:
            width = np.sqrt(weighted_median(squares.ravel(), np.repeat(weight, squares.shape[1]))) or 1.0
        return replace(self, gamma=1.0 / width**2)

    def select(self, indices: np.ndarray) -> Prototypes:
        """Return a selection of the prototypes."""
        scales = None if self.scales is None else self.scales[indices]
        return replace(self, points=self.points[indices], scales=scales)


def different_rows(X: Any) -> Any:
    """Return the distinct rows, sorted for an array and in their original order for a CSR matrix."""
    if not sp.issparse(X):
        return np.unique(X, axis=0)
    stored = sp.csr_array(X, copy=True)
    stored.eliminate_zeros()
    first: dict[tuple[bytes, bytes], int] = {}
    for position, (begin, end) in enumerate(pairwise(stored.indptr.tolist())):
        row = stored.indices[begin:end].tobytes(), stored.data[begin:end].tobytes()
        first.setdefault(row, position)
    return X[list(first.values())]
