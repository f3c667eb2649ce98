"""The likelihood of the sets of labels that bags show, for `MIMLLogisticRegression`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_softmax

from bagwise._core.compiled.arrays import readonly
from bagwise.data.bags import Bags
from bagwise.data.blocks import Block, Blocks, Sums
from bagwise.models.linear_model.engine.design import Scaling

# A bag with k labels has 2^k sets of labels that its first instances may show.
_MOST_LABELS = 16


class LabelSetProblem:
    """Likelihood of the sets of labels of bags, per unit of bag weight, for a solver.

    Parameters are a row of coefficients and intercept for every label.

    Parameters
    ----------
    blocks : Blocks
        The instances; labels are rows of indicators, 1 where a bag shows a label.
    scaling : Scaling
        Of the features.
    background : bool
        Whether instances may have none of the labels.
    ridge : float
        Strength of the squared norm, per unit of weight.
    """

    n_labels: Any
    total: float

    def __init__(self, blocks: Blocks, scaling: Scaling, *, background: bool, ridge: float):
        self.blocks = blocks
        self.scaling = scaling
        self.n_labels = blocks.y.shape[1]
        self.background = background
        self.ridge = ridge
        self.total = float(blocks.weight.sum())

    def value_and_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Objective and gradient: one pass."""
        theta = theta.reshape(self.n_labels, -1)
        coef = theta[:, :-1]
        log_likelihood, gradient = self.blocks.total(_evaluate, theta, self.scaling, self.background)
        gradient = gradient / -self.total
        gradient[:, :-1] += self.ridge * coef
        value = 0.5 * self.ridge * np.square(coef).sum() - log_likelihood / self.total
        return float(value), gradient.ravel()

    def log_likelihood(self, theta: np.ndarray) -> float:
        """Weighted log-likelihood of all bags, without the penalty."""
        return float(self.blocks.total(_evaluate, theta, self.scaling, self.background)[0])


def _evaluate(block: Block, theta: np.ndarray, scaling: Scaling, background: bool) -> Sums:
    """Log-likelihood and its gradient, which for an instance is its posterior less its prior classes."""
    log_p = log_classes(scaling.dot(theta, block.X).T, background=background)
    log_likelihood, posterior = label_estep(log_p, block.offsets, *as_lists(block.y))
    by_instance = block.weight_of_each[:, None] * (posterior - np.exp(log_p))[:, 1:]
    gradient = scaling.pull_back(np.ascontiguousarray(by_instance.T), block.X)
    return Sums((float(block.weight @ log_likelihood), gradient))


def log_classes(log_odds: np.ndarray, *, background: bool) -> np.ndarray:
    """Log-probabilities of the background and the labels, from log-odds of shape (n_instances, n_labels)."""
    reference = np.full((len(log_odds), 1), 0.0 if background else -np.inf)
    return log_softmax(np.hstack([reference, log_odds]), axis=1)


def as_lists(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Write an indicator matrix as lists of labels, numbered from 1: where lists start, and their entries."""
    bag, label = np.nonzero(labels)
    starts = np.searchsorted(bag, np.arange(len(labels) + 1))
    return starts.astype(np.int64), label.astype(np.int64) + 1


def label_estep(
    log_p: np.ndarray, offsets: np.ndarray, starts: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood per bag, and posterior probabilities of classes per instance."""
    from bagwise._core.compiled.label_sets import label_set_estep

    return label_set_estep(*readonly(log_p, offsets, starts, labels))


def log_one_label(log_p: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Log-probability that a bag shows no label, or exactly one: shape (n_bags, 1 + n_labels)."""
    n_bags, n_labels = len(offsets) - 1, log_p.shape[1] - 1
    sets = [np.zeros((n_bags, n_labels), dtype=np.int8) for _ in range(1 + n_labels)]
    for label, indicators in enumerate(sets[1:]):
        indicators[:, label] = 1
    return np.column_stack([label_estep(log_p, offsets, *as_lists(each))[0] for each in sets])


def refuse_impossible(labels: np.ndarray, bags: Bags, *, background: bool) -> None:
    """Refuse bags that cannot show their labels."""
    count = labels.sum(axis=1, dtype=np.int64)
    for bad, why in (
        (count > bags.sizes, "an instance has one label, so a bag has at most as many labels as instances"),
        (count > _MOST_LABELS, f"more than {_MOST_LABELS} labels in one bag cost too much; split them"),
        ((count == 0) & (not background), "without a background every instance has a label"),
    ):
        if bad.any():
            i = int(np.argmax(bad))
            raise ValueError(f"bag {i} has {count[i]} labels and {bags.sizes[i]} instances; {why}.")
