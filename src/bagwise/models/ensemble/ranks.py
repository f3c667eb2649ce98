"""Bags compared by the ranks of their smallest and largest values among all instances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bagwise.data.bags import Bags
from bagwise.data.blocks import in_doubles
from bagwise.models.base import fit_scaler
from bagwise.models.base.folds import Split
from bagwise.models.ensemble.views import VectorView
from bagwise.similarity.statistics import describe


@dataclass(frozen=True)
class RankedExtremesView(VectorView):
    """Minima and maxima of the ranks of instances, each column standardised, and a Gaussian kernel on top.

    Ranks are those among the instances of the training bags. They rise with the values, so the largest rank
    of a bag is the rank of its largest value: instances need not be ranked, and every fold can have ranks of
    its own. Where most values of a feature are zero, as those of words are, a rank says that the word is
    there rather than how often.

    Attributes
    ----------
    bags, weight, scaler
        After a fit: the training bags with their weights, and what ranks their instances.
    """

    bags: Bags | None = None
    weight: np.ndarray | None = None
    scaler: Any = None

    @property
    def words(self) -> list[str]:
        """Name the matrices."""
        return self.of_widths("min and max of ranks of instances")

    def fitted(
        self, bags: Bags, weight: np.ndarray, seed: int, splits: Sequence[Split]
    ) -> RankedExtremesView:
        """Rank the training bags, and fix scaling and width."""
        scaler, extremes = _ranking(bags, weight), _extremes(bags)
        view = replace(self, bags=bags, weight=weight, scaler=scaler)
        return replace(view.described(_ranked(scaler, extremes), weight), raw=extremes)

    def of_fold(self, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rank the bags of a fold among the instances of its training bags."""
        assert self.raw is not None and self.bags is not None and self.weight is not None
        scaler = _ranking(self.bags[train], self.weight[train])
        return _ranked(scaler, self.raw[train]), _ranked(scaler, self.raw[test])

    def across(self, bags: Bags, widths: np.ndarray) -> Iterator[np.ndarray]:
        """Give the matrices of new bags with the training bags."""
        return self.across_vectors(self.columns.transform(_ranked(self.scaler, _extremes(bags))))

    def kept(self) -> RankedExtremesView:
        """Give the view without what only its folds needed."""
        return replace(self, raw=None, bags=None, weight=None)


def _ranking(bags: Bags, weight: np.ndarray) -> Any:
    return fit_scaler("rank", bags.blocks(weight=weight))


def _extremes(bags: Bags) -> np.ndarray:
    return in_doubles(describe(in_doubles(bags.instances), bags.offsets, ("min", "max")))


def _ranked(scaler: Any, extremes: np.ndarray) -> np.ndarray:
    return np.hstack([scaler.transform(values) for values in np.split(extremes, 2, axis=1)])
