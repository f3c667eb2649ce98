"""Boosting steps: a constant, then trees, each of which lowers the loss of the bags."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from bagwise.models.trees.flat import Trees
from bagwise.models.trees.growing import OrderedFeatures, split_shares
from bagwise.models.trees.losses import BagLoss
from bagwise.solvers.control import Control
from bagwise.solvers.result import SolverResult, Status

_HALVINGS = 30  # maximum number of halvings of a step that does not lower the loss
_PARTS_OF_ONE = 2.0**30  # tree targets are multiples of 1 / 2**30
_START_STEPS = 100  # maximum number of Newton steps for the initial constant


class BoostedScores:
    """Instance scores of a set of bags, and their loss, which Newton steps for groups of instances decrease.

    Parameters
    ----------
    loss : BagLoss
        Loss function of a bag.
    offsets, y, weight : arrays
        Bag offsets, labels 1 or 0, and bag weights.
    """

    loss: BagLoss
    offsets: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    bag: np.ndarray
    each: np.ndarray
    value: float

    def __init__(self, loss: BagLoss, offsets: np.ndarray, y: np.ndarray, weight: np.ndarray):
        self.loss, self.offsets, self.y, self.weight = loss, offsets, y, weight
        self.bag = np.repeat(np.arange(len(y)), np.diff(offsets))
        self.each = weight[self.bag]
        self.F = np.zeros(len(self.bag))
        self.value = self.value_of(self.F)

    def value_of(self, F: np.ndarray) -> float:
        """Return the weighted sum of the losses of all bags."""
        return float(self.weight @ self.loss.values(F, self.offsets, self.y))

    def derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the negative gradient and the factor of the curvature for every instance."""
        return self.loss.derivatives(self.F, self.offsets, self.y)

    def newton_step(
        self, gradient: np.ndarray, factor: np.ndarray, group: np.ndarray, n_groups: int
    ) -> np.ndarray:
        """Return the Newton step with one value per group of instances, shape (n_groups,).

        The curvature is V'WV, where V has a row for every bag. It is not diagonal as it is for trees of
        single instances, because the instances of a bag can be in several groups. If the curvature is
        singular, the step is the solution with the smallest norm.
        """
        slope = np.bincount(group, weights=gradient * self.each, minlength=n_groups)
        cell = self.bag * n_groups + group
        V = np.bincount(cell, weights=factor, minlength=len(self.y) * n_groups).reshape(-1, n_groups)
        return np.linalg.lstsq((V * self.weight[:, None]).T @ V, slope, rcond=1e-10)[0]

    def move(self, step: np.ndarray, group: np.ndarray) -> float:
        """Add a step, halved until it lowers the loss, and return the applied share of the step, or 0."""
        share = 1.0
        for _ in range(_HALVINGS):
            F = self.F + share * step[group]
            value = self.value_of(F)
            if value < self.value:
                self.F, self.value = F, value
                return share
            share *= 0.5
        return 0.0

    def fit_constant(self) -> float:
        """Set all scores to the constant with the lowest loss, by Newton's method, and return it."""
        group, constant = np.zeros(len(self.bag), dtype=np.int64), 0.0
        for _ in range(_START_STEPS):
            step = self.newton_step(*self.derivatives(), group, 1)
            share = self.move(step, group)
            constant += share * float(step[0])
            if share == 0.0:
                break
        return constant


@dataclass
class Boosted:
    """Result of boosting: a constant, the trees, the feature importances of each tree, and losses."""

    constant: float
    trees: list[Trees] = field(default_factory=list)
    importances: list[np.ndarray] = field(default_factory=list)
    held_out_history: list[float] = field(default_factory=list)


def boost(
    scores: BoostedScores,
    X: Any,
    held_out: tuple[BoostedScores, Any] | None,
    control: Control,
    *,
    learning_rate: float,
    patience: int,
    rng: np.random.RandomState,
    **tree_params: Any,
) -> SolverResult:
    """Grow up to ``control.max_iter`` trees and return a result whose `x` is a `Boosted`.

    Parameters
    ----------
    scores, X : BoostedScores, array or CSR matrix
        The training bags, and their instances.
    held_out : (BoostedScores, array or CSR matrix) or None
        Bags for early stopping. If their loss has not decreased for `patience` trees, boosting stops, and
        the trees after the lowest loss are dropped.
    control : Control
        Iteration limit, progress report and stop flag.
    learning_rate, patience, rng
        As in `MIGradientBoostingClassifier`.
    **tree_params
        Parameters of `DecisionTreeRegressor`.
    """
    features = OrderedFeatures(X)
    boosted = Boosted(scores.fit_constant())
    history, status, best = [scores.value], Status.CONVERGED, 0
    if held_out is not None:
        watched, held_X = held_out
        watched.F += boosted.constant
        boosted.held_out_history.append(watched.value_of(watched.F))
    for iteration in range(1, control.max_iter + 1):
        if control.is_stopped:
            status = Status.INTERRUPTED
            break
        gradient, factor = scores.derivatives()
        tree = DecisionTreeRegressor(**tree_params, random_state=rng.randint(2**31 - 1))
        # Scale the target to 1, because scikit-learn stops at an absolute impurity. Round it, so that sums
        # are exact: equal splits then tie, and a weight of two is equivalent to repeating the bag.
        target = gradient / (np.abs(gradient).max() or 1.0)
        target = np.round(target * _PARTS_OF_ONE) / _PARTS_OF_ONE
        arrays, node = features.grow(tree, target, scores.each)
        leaves, leaf = np.unique(node, return_inverse=True)
        step = learning_rate * scores.newton_step(gradient, factor, leaf, len(leaves))
        share = scores.move(step, leaf)
        if share == 0.0:  # no step lowers the loss any further
            break
        arrays.value[leaves] = share * step
        boosted.trees.append(arrays)
        boosted.importances.append(split_shares(arrays, node, target, scores.each, X.shape[1]))
        history.append(scores.value)
        control.report(iteration, scores.value)
        if held_out is not None:
            watched.F += arrays.sums(held_X)
            boosted.held_out_history.append(watched.value_of(watched.F))
            best = int(np.argmin(boosted.held_out_history))
            if iteration - best >= patience:
                break
    if held_out is not None:
        boosted = replace(boosted, trees=boosted.trees[:best], importances=boosted.importances[:best])
        history = history[: best + 1]
    return SolverResult(boosted, history[-1], status, len(history) - 1, tuple(history))
