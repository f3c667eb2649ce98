"""Bags compared by their distances to the training bags: Gaussian kernels of vectors, at several widths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bagwise.data.bags import Bags
from bagwise.models.base.folds import Split
from bagwise.models.ensemble.views import HOW, Instances, VectorView
from bagwise.similarity.distances import bag_distances


@dataclass(frozen=True)
class DistanceView(VectorView):
    """Distances to all training bags, each column standardised, and a Gaussian kernel on top.

    The distance of two bags is the mean distance of an instance to the nearest one of the other bag: the
    embedding of MInD (`DissimilarityEmbedding`), before a machine.

    Attributes
    ----------
    scale : {"standard", "rank", "minmax"}
        What is done to the instances.
    instances, bags, weight
        After a fit: how it is done, the training bags, scaled, and their weights.
    """

    scale: str
    instances: Instances | None = None
    bags: Bags | None = None
    weight: np.ndarray | None = None

    @property
    def words(self) -> list[str]:
        """Name the matrices."""
        return self.of_widths(f"distances to bags, {HOW[self.scale]}")

    def fitted(self, bags: Bags, weight: np.ndarray, seed: int, splits: Sequence[Split]) -> DistanceView:
        """Compute the distances of the training bags, and fix scaling and width."""
        instances = Instances.fitted(self.scale, bags, weight, splits)
        known = instances.scaled(bags)
        view = replace(self, instances=instances, bags=known, weight=weight)
        return view.described(bag_distances(known, metric="mean_min"), weight)

    def counted(self, vectors: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Let columns count for what they are worth: a bag of weight two is a column twice."""
        return vectors * np.sqrt(weight)

    def of_fold(self, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give the distances of the bags of a fold to its training bags."""
        assert self.raw is not None
        return self.raw[np.ix_(train, train)], self.raw[np.ix_(test, train)]

    def across(self, bags: Bags, widths: np.ndarray) -> Iterator[np.ndarray]:
        """Give the matrices of new bags with the training bags."""
        assert self.instances is not None and self.weight is not None
        raw = bag_distances(self.instances.scaled(bags), self.bags, metric="mean_min")
        return self.across_vectors(self.counted(self.columns.transform(raw), self.weight))
