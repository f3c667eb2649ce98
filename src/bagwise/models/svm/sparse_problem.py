"""What sparse machines change in the problem of margins: whole bags with margins by size, or given labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bagwise.models.svm.problem import BagMarginProblem, Labelling, Machine, hinge


class WholeBagProblem(BagMarginProblem):
    """Margins of the means of bags, less the larger the bag: one positive instance is enough.

    In the place of the bag term of `BagMarginProblem` stands ::

        sum_i b_i max(0, 2 / n_i - 1 - mean_j f(x_ij))

    for bags of n_i instances: the mean that a bag has if one of its instances is at 1 and the others at -1.
    Without unlabelled weights the problem is convex (sMIL), with them it is stMIL.

    Parameters
    ----------
    *args, **how
        As in `BagMarginProblem`.
    """

    margins: np.ndarray

    def __init__(self, *args: Any, **how: Any):
        super().__init__(*args, **how)
        self.margins = 2.0 / self.sizes - 1.0
        self.q[self.blocks[1]] = -self.margins

    def linearize(self, point: Machine) -> Labelling:
        """Label the instances by the sign of f; all instances of a bag stand for it."""
        if not self.of_unlabelled.any():
            return self.start("ties")  # nobody asks for labels
        found = super().linearize(point)
        return Labelling(found.positive, found.negative, np.ones(len(self.unlabelled), dtype=bool))

    def valued(self, machine: Machine) -> Machine:
        """Give a machine of another problem on the same bags with its value in this one."""
        plain = machine.scores - machine.intercept
        return replace(machine, value=self.value(float(machine.x @ plain), machine.scores))

    def _bag_loss(self, inside: np.ndarray) -> float:
        mean = np.add.reduceat(inside, self.first) / self.sizes
        return float(self.of_bag @ np.maximum(0.0, self.margins - mean))


class LabelledProblem(BagMarginProblem):
    """A support vector machine of instances, those of positive bags with given labels, or shares of either.

    Parameters
    ----------
    *args, **how
        As in `BagMarginProblem`; weights of bags are zero.
    positive : array of shape (n_unlabelled,)
        Share of the weight of every instance of a positive bag that counts as a positive example.
    """

    labels: Labelling

    def __init__(self, *args: Any, positive: np.ndarray, **how: Any):
        super().__init__(*args, **how)
        witness = np.ones(len(positive), dtype=bool)
        self.labels = Labelling(positive, 1.0 - positive, witness)

    def linearize(self, point: Machine) -> Labelling:
        """Give the labels, whatever f is."""
        return self.labels

    def _unlabelled_losses(self, inside: np.ndarray) -> np.ndarray:
        return self.labels.positive * hinge(inside) + self.labels.negative * hinge(-inside)


def highest_share(scores: np.ndarray, weight: np.ndarray, target: float, blur: float) -> np.ndarray:
    """Give how much of each score belongs to the highest ones, whose weight is `target` in all.

    Scores within `blur` of their neighbour are equal, and share evenly what is left for them.
    """
    order = np.argsort(-scores, kind="stable")
    group = np.cumsum(np.append(0, -np.diff(scores[order]) > blur))
    total = np.bincount(group, weights=weight[order])
    before = np.cumsum(total) - total
    share = np.clip((target - before) / np.where(total > 0, total, 1.0), 0.0, 1.0)
    found = np.empty(len(scores))
    found[order] = share[group]
    return found
