"""Bags compared by statistics of their instances: Gaussian kernels of vectors, at several widths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bagwise.data.bags import Bags
from bagwise.data.blocks import in_doubles
from bagwise.models.base.folds import Split
from bagwise.models.ensemble.views import HOW, VectorView
from bagwise.similarity.statistics import describe

# A rank sees the last digit: of means and spreads so many are kept, and a spread below this part of the mean
# is what rounding leaves of none.
_BITS, _NONE = 36, 1e-14


def without_noise(vectors: np.ndarray, statistics: Sequence[str]) -> np.ndarray:
    """Take from means and spreads what depends on the order of instances, before they are ranked."""
    clean = dict(zip(statistics, np.split(vectors, len(statistics), axis=1), strict=True))
    if "mean" not in clean:
        return vectors
    clean["std"] = np.where(clean["std"] <= _NONE * np.abs(clean["mean"]), 0.0, clean["std"])
    for name in ("mean", "std"):
        digits, exponent = np.frexp(clean[name])
        clean[name] = np.ldexp(np.round(np.ldexp(digits, _BITS)), exponent - _BITS)
    return np.hstack([clean[name] for name in statistics])


@dataclass(frozen=True)
class StatisticsView(VectorView):
    """Statistics of every feature, each column standardised or ranked, and a Gaussian kernel on top.

    Attributes
    ----------
    statistics : tuple of str
        What is computed of every feature (`BagStatistics`).
    scale : {"standard", "rank"}
        What is done to the columns of the vectors, over the training bags.
    """

    statistics: tuple[str, ...]
    scale: str

    @property
    def how(self) -> str:
        """How columns are scaled."""
        return self.scale

    @property
    def words(self) -> list[str]:
        """Name the matrices."""
        return self.of_widths(f"{' and '.join(self.statistics)}, {HOW[self.scale]}")

    def fitted(self, bags: Bags, weight: np.ndarray, seed: int, splits: Sequence[Split]) -> StatisticsView:
        """Describe the training bags, and fix scaling and width."""
        return self.described(self._raw(bags), weight)

    def _raw(self, bags: Bags) -> np.ndarray:
        found = in_doubles(describe(in_doubles(bags.instances), bags.offsets, self.statistics))
        return without_noise(found, self.statistics) if self.scale == "rank" else found

    def across(self, bags: Bags, widths: np.ndarray) -> Iterator[np.ndarray]:
        """Give the matrices of new bags with the training bags."""
        return self.across_vectors(self.columns.transform(self._raw(bags)))
