"""Bags compared by their distances to the training bags: Gaussian kernels of vectors, at several widths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bagwise.bags import Bags
from bagwise.base import fit_scaler
from bagwise.distances import bag_distances
from bagwise.ensemble.views import HOW, Gram, View, gaussian_kernels, plain
from bagwise.kernels import resolve_gamma


@dataclass(frozen=True)
class DistanceView(View):
    """Distances to all training bags, each column standardised, and a Gaussian kernel on top.

    The distance of two bags is the mean distance of an instance to the nearest one of the other bag: the
    embedding of MInD (`DissimilarityEmbedding`), before a machine.

    Attributes
    ----------
    scale : {"standard", "rank", "minmax"}
        What is done to the instances.
    scaler, bags, mean, factor, vectors, gamma
        After a fit: that, the training bags, scaled; what is taken from a column of distances and by what the
        rest is multiplied; the vectors of the training bags, and one by the median squared distance of two.
    """

    scale: str
    scaler: Any = None
    bags: Bags | None = None
    mean: np.ndarray | None = None
    factor: np.ndarray | None = None
    vectors: np.ndarray | None = None
    gamma: float = 1.0

    @property
    def words(self) -> list[str]:
        """Name the matrices."""
        return self.of_widths(f"distances to bags, {HOW[self.scale]}")

    def fitted(self, bags: Bags, weight: np.ndarray, seed: int) -> DistanceView:
        """Compute the distances of the training bags, and fix scaling and width."""
        scaler = fit_scaler(self.scale, bags.blocks(weight=weight))
        known = plain(scaler, bags)
        raw = bag_distances(known, metric="mean_min")
        share = weight / weight.sum()
        mean = share @ raw
        spread = np.sqrt(share @ (raw - mean) ** 2)
        # A bag of weight two is a column twice.
        factor = np.where(spread > 1e-12 * mean, np.sqrt(weight), 0.0) / np.where(spread > 0, spread, 1.0)
        vectors = (raw - mean) * factor
        gamma = resolve_gamma("median", vectors, weight)
        return replace(
            self, scaler=scaler, bags=known, mean=mean, factor=factor, vectors=vectors, gamma=gamma
        )

    def own(self, weight: np.ndarray) -> Iterator[Gram]:
        """Give the matrices of the training bags, which count by their weight."""
        return map(Gram, gaussian_kernels(self.gamma, self.vectors))

    def across(self, bags: Bags, widths: np.ndarray) -> Iterator[np.ndarray]:
        """Give the matrices of new bags with the training bags."""
        raw = bag_distances(plain(self.scaler, bags), self.bags, metric="mean_min")
        return gaussian_kernels(self.gamma, (raw - self.mean) * self.factor, self.vectors)
