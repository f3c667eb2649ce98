"""What a view of bags is: ways to compare them, each a matrix of kernels of all bags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from bagwise.bags import Bags
from bagwise.blocks import in_doubles
from bagwise.kernels import InstanceKernel

# Gamma of Gaussian kernels, beside one by the median squared distance of what they compare.
FACTORS = (0.25, 1.0, 4.0)
# What a scale does to values, in words.
HOW = {"standard": "standardised", "rank": "ranked", "minmax": "from 0 to 1"}


class Gram(NamedTuple):
    """A matrix of the training bags with themselves, and what has to be known to make one of new bags."""

    K: np.ndarray
    width: float = np.nan


class View:
    """Several kernels of bags that share most of their work.

    A view is made with its settings, `fitted` to training bags, and then gives a matrix for each of its
    `words`, always in the same order.
    """

    @property
    def words(self) -> list[str]:
        """Name the matrices."""
        raise NotImplementedError

    @property
    def of_instances(self) -> list[bool]:
        """Which matrices make scores of bags that are means of scores of instances."""
        return [False] * len(self.words)

    @staticmethod
    def of_widths(what: str) -> list[str]:
        """Name the matrices of one kernel at all widths."""
        return [f"{what}, gamma {factor:g} x median" for factor in FACTORS]

    def fitted(self, bags: Bags, weight: np.ndarray, seed: int) -> View:
        """Learn scaling and widths from training bags, which count by their weight, without their labels."""
        raise NotImplementedError

    def own(self, weight: np.ndarray) -> Iterator[Gram]:
        """Give the matrices of the training bags, which count by their weight."""
        raise NotImplementedError

    def across(self, bags: Bags, widths: np.ndarray) -> Iterator[np.ndarray]:
        """Give the matrices of new bags with the training bags, by the widths that `own` gave."""
        raise NotImplementedError


def gaussian_kernels(gamma: float, V: Any, other: Any = None) -> Iterator[np.ndarray]:
    """Give the Gaussian kernels of rows with others, or among themselves, at all widths."""
    for factor in FACTORS:
        kernel = InstanceKernel("rbf", factor * gamma)
        if other is None:
            K = np.empty((len(V), len(V)))
            kernel.fill(V, K)
            yield K
        else:
            yield kernel(V, other)


def plain(scaler: Any, bags: Bags) -> Bags:
    """Scale instances, in doubles; names and side columns are left behind."""
    return Bags(in_doubles(scaler.transform(bags.instances)), bags.offsets)
