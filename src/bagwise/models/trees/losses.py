"""Losses of bags as functions of a score for every instance: values, slopes and curvature."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from bagwise.rules import LogOddsMean, Rule


class BagLoss(ABC):
    """A loss for every bag, of scores F of its instances.

    Attributes
    ----------
    rule : Rule
        From log-odds of instances to probabilities of bags.
    slope : float
        Log-odds are this multiple of the scores.
    """

    rule: Rule
    slope: float

    @abstractmethod
    def values(self, F: np.ndarray, offsets: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Loss of every bag."""

    @abstractmethod
    def derivatives(self, F: np.ndarray, offsets: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Negative gradient, and a factor: the curvature of a bag is factor factor', never indefinite."""


class RuleLoss(BagLoss):
    """The negative log-likelihood of a bag's label under a rule; curvature is Fisher's information."""

    slope: float = 1.0

    def __init__(self, rule: Rule):
        self.rule = rule

    def values(self, F: np.ndarray, offsets: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Minus the log-likelihood."""
        return -self.rule.gradient(F, offsets, y)[0]

    def derivatives(self, F: np.ndarray, offsets: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient of the log-likelihood, and the factor of the information."""
        return self.rule.gradient(F, offsets, y)[1], self.rule.information(F, offsets)


class ExponentialLoss(BagLoss):
    """exp(-s_i mean_j F_ij) with s_i = 1 for positive bags and -1 for negative ones.

    Its minimum over all functions is half the log-odds of the bag, so twice the scores are log-odds, and
    their mean is that of the bag.
    """

    slope: float = 2.0

    def __init__(self) -> None:
        self.rule = LogOddsMean()

    def values(self, F: np.ndarray, offsets: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Loss of every bag."""
        mean = np.add.reduceat(F, offsets[:-1]) / np.diff(offsets)
        return np.exp(np.where(y == 1, -mean, mean))

    def derivatives(self, F: np.ndarray, offsets: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Share of the bag's loss with its sign, and of the loss's root."""
        sizes, loss = np.diff(offsets), self.values(F, offsets, y)
        return np.repeat(np.where(y == 1, loss, -loss) / sizes, sizes), np.repeat(
            np.sqrt(loss) / sizes, sizes
        )
