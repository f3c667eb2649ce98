"""Bag losses as functions of instance scores: values, gradient and curvature."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from bagwise.rules import LogOddsMean, Rule


class BagLoss(ABC):
    """Loss of a bag as a function of the scores F of its instances.

    Attributes
    ----------
    rule : Rule
        Rule that converts log-odds of instances to probabilities of bags.
    slope : float
        Ratio of log-odds to scores.
    """

    rule: Rule
    slope: float

    @abstractmethod
    def values(self, F: np.ndarray, offsets: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the loss of every bag."""

    @abstractmethod
    def derivatives(self, F: np.ndarray, offsets: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the negative gradient and a factor v of the positive semidefinite curvature v v'."""


class RuleLoss(BagLoss):
    """Negative log-likelihood of a bag's label under a rule, with the Fisher information as curvature."""

    slope: float = 1.0

    def __init__(self, rule: Rule):
        self.rule = rule

    def values(self, F: np.ndarray, offsets: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the negative log-likelihood of every bag."""
        return -self.rule.gradient(F, offsets, y)[0]

    def derivatives(self, F: np.ndarray, offsets: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient of the log-likelihood and the factor of the Fisher information."""
        return self.rule.gradient(F, offsets, y)[1], self.rule.information(F, offsets)


class ExponentialLoss(BagLoss):
    """Exponential loss exp(-s_i mean_j F_ij) with s_i = 1 for positive and s_i = -1 for negative bags.

    The minimum over all functions is at half the log-odds of the bag. The log-odds of instances are therefore
    twice the scores, and their mean is the log-odds of the bag.
    """

    slope: float = 2.0

    def __init__(self) -> None:
        self.rule = LogOddsMean()

    def values(self, F: np.ndarray, offsets: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the loss of every bag."""
        mean = np.add.reduceat(F, offsets[:-1]) / np.diff(offsets)
        return np.exp(np.where(y == 1, -mean, mean))

    def derivatives(self, F: np.ndarray, offsets: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the negative gradient and the factor of the curvature, from the loss of the bag."""
        sizes, loss = np.diff(offsets), self.values(F, offsets, y)
        return np.repeat(np.where(y == 1, loss, -loss) / sizes, sizes), np.repeat(
            np.sqrt(loss) / sizes, sizes
        )
