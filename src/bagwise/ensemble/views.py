"""What a view of bags is: ways to compare them, each a matrix of kernels of all bags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bagwise.bags import Bags


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

    def fitted(self, bags: Bags, weight: np.ndarray, seed: int) -> View:
        """Learn scaling and widths from training bags, which count by their weight, without their labels."""
        raise NotImplementedError

    def own(self, weight: np.ndarray) -> Iterator[Gram]:
        """Give the matrices of the training bags, which count by their weight."""
        raise NotImplementedError

    def across(self, bags: Bags, widths: np.ndarray) -> Iterator[np.ndarray]:
        """Give the matrices of new bags with the training bags, by the widths that `own` gave."""
        raise NotImplementedError
