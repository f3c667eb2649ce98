"""Bags compared by how near they come to instances of the training bags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bagwise.bags import Bags
from bagwise.base import fit_scaler
from bagwise.blocks import in_doubles
from bagwise.ensemble.views import FACTORS, HOW, Gram, View, plain
from bagwise.prototypes.points import Prototypes, different_rows

_MOST = 2000  # prototypes


@dataclass(frozen=True)
class PrototypeView(View):
    """Products of vectors that say how near a bag comes to every prototype: max_j exp(-d(x_j, t)^2 / s^2).

    Prototypes are the different instances of the training bags, or 2,000 of them, drawn at random: the
    embedding of MILES (`PrototypeEmbedding`), before a machine that shrinks instead of choosing.

    Attributes
    ----------
    scale : {"standard", "rank", "minmax"}
        What is done to the instances.
    scaler, prototypes, least
        After a fit: that, the prototypes with s the median distance of a bag, and the squared distances of
        the training bags by s.
    """

    scale: str
    scaler: Any = None
    prototypes: Prototypes | None = None
    least: np.ndarray | None = None

    @property
    def words(self) -> list[str]:
        """Name the matrices."""
        return self.of_widths(f"nearness to instances, {HOW[self.scale]}")

    def fitted(self, bags: Bags, weight: np.ndarray, seed: int) -> PrototypeView:
        """Choose prototypes, and fix scaling and width."""
        scaler = fit_scaler(self.scale, bags.blocks(weight=weight))
        points = different_rows(in_doubles(bags.instances))
        if len(points) > _MOST:
            points = points[np.sort(np.random.RandomState(seed).permutation(len(points))[:_MOST])]
        prototypes = Prototypes(scaler.transform(points))
        squares = self._nearness(scaler, prototypes, bags)
        prototypes = prototypes.with_width(None, squares, weight)
        return replace(self, scaler=scaler, prototypes=prototypes, least=prototypes.gamma * squares)

    @staticmethod
    def _nearness(scaler: Any, prototypes: Prototypes, bags: Bags) -> np.ndarray:
        return prototypes.least(plain(scaler, bags))

    def own(self, weight: np.ndarray) -> Iterator[Gram]:
        """Give the matrices of the training bags, which count by their weight."""
        assert self.least is not None
        for factor in FACTORS:
            V = np.exp(-factor * self.least)
            K = V @ V.T / V.shape[1]
            yield Gram(0.5 * (K + K.T))

    def across(self, bags: Bags, widths: np.ndarray) -> Iterator[np.ndarray]:
        """Give the matrices of new bags with the training bags."""
        assert self.prototypes is not None and self.least is not None
        new = self._nearness(self.scaler, self.prototypes, bags)
        for factor in FACTORS:
            yield np.exp(-factor * new) @ np.exp(-factor * self.least).T / new.shape[1]
