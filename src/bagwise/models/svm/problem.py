"""Optimization problem of the bag SVMs: hinge losses of instances, bags, and unlabeled instances.

`InstanceGram` is the kernel matrix of all instances and of virtual examples, which are means of instances.
`BagMarginProblem` is the problem that `solvers.cccp` minimizes: a `Labelling` turns it into a weighted SVM,
whose solution is a `Machine`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.similarity import InstanceKernel, require_memory
from bagwise.solvers.control import Control
from bagwise.solvers.dual import enough_steps
from bagwise.solvers.interior import solve_dual_either_way
from bagwise.solvers.rows import DenseRows, RowCache

# Number of pair steps after which a convex step may stop at a larger duality gap.
_PATIENCE = 2000

# Scores count as equal if they differ by at most the accuracy of a step, and by at most this value.
_BLUR = 1e-4


class InstanceGram:
    """Kernel matrix of n instances, followed by `n_means` virtual examples.

    A virtual example is the mean of some instances in the feature space of the kernel, so its row is the mean
    of their rows. When it changes, no kernel values are evaluated again, and nothing is computed for unused
    virtual examples.

    Parameters
    ----------
    kernel : InstanceKernel
        The kernel.
    X : array or CSR matrix of shape (n, n_features), float64
        The instances.
    n_means : int
        Maximum number of virtual examples.
    max_bytes : float
        A matrix up to this size is computed at once. For a larger one, rows are computed on demand, and as
        many rows are cached as fit.

    Attributes
    ----------
    rows : DenseRows or RowCache
        The matrix of all n + n_means points, in the form that `solve_dual` takes.
    """

    n: Any
    size: Any

    def __init__(self, kernel: InstanceKernel, X: Any, n_means: int, *, max_bytes: float):
        self.kernel = kernel
        self.X = X
        self.n = X.shape[0]
        self.size = self.n + n_means
        self.means: dict[int, np.ndarray] = {}
        self.rows: DenseRows | RowCache
        if 8.0 * self.size**2 <= max_bytes:
            require_memory(self.size, self.size, "instances")
            self._matrix = np.zeros((self.size, self.size))
            kernel.fill(X, self._matrix)
            self.rows = DenseRows(self._matrix)
        else:
            diagonal = np.concatenate([kernel.diagonal(X), np.zeros(n_means)])
            self.rows = RowCache(self._compute, diagonal, max_bytes=max_bytes)

    def set_means(self, means: dict[int, np.ndarray]) -> None:
        """Set the instances whose mean each virtual example is; examples that are not listed are unused."""
        changed = {
            i: rows for i, rows in means.items() if not np.array_equal(rows, self.means.get(i, rows[:0]))
        }
        self.means = means
        if isinstance(self.rows, RowCache):
            self.rows.forget(self.n + np.array(list(changed), dtype=np.int64))
            self._append_means(self.rows.kept)
            for i, rows in changed.items():
                self.rows.diagonal[self.n + i] = self.kernel(self.X[rows], self.X[rows]).mean()
            return
        if not changed:
            return
        K, n, positions = self._matrix, self.n, self.n + np.array(list(changed))
        K[positions, :n] = (self._averages(changed, self.size) @ K)[:, :n]
        K[:n, positions] = K[positions, :n].T
        others = self.n + np.array(list(means))
        between = K[positions, :n] @ self._averages(means, n).T
        K[np.ix_(positions, others)], K[np.ix_(others, positions)] = between, between.T
        self.rows.diagonal[positions] = K[positions, positions]

    def _averages(self, means: dict[int, np.ndarray], width: int) -> sp.csr_matrix:
        """Return the matrix that averages instances to virtual examples: shape (len(means), width)."""
        sizes = np.array(list(map(len, means.values())))
        columns = np.concatenate(list(means.values()))
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return sp.csr_matrix((np.repeat(1.0 / sizes, sizes), columns, starts), shape=(len(sizes), width))

    def extend(self, by_instance: np.ndarray) -> np.ndarray:
        """Append the entries of the virtual examples to a product of the matrix with a vector."""
        values = np.zeros((1, self.size))
        values[0, : self.n] = by_instance
        self._append_means(values)
        return values[0]

    def _append_means(self, values: np.ndarray) -> None:
        if self.means:
            positions = self.n + np.array(list(self.means))
            values[:, positions] = values[:, : self.n] @ self._averages(self.means, self.n).T

    def _compute(self, points: np.ndarray) -> np.ndarray:
        values = np.zeros((len(points), self.size))
        real = points < self.n
        values[real, : self.n] = self.kernel(self.X[points[real]], self.X)
        for i in np.flatnonzero(~real):
            rows = self.means[int(points[i]) - self.n]
            values[i, : self.n] = self.kernel(self.X[rows], self.X).mean(axis=0)
        self._append_means(values)
        return values


@dataclass(frozen=True)
class Labelling:
    """Labels and witnesses in positive bags, which a convex step keeps fixed.

    Attributes
    ----------
    positive, negative : arrays of shape (n_unlabelled,)
        Shares of an instance's weight, in positive bags, that count as a positive and as a negative
        example: (1, 0), (0, 1), or (1/2, 1/2) for a tie.
    witness : bool array of shape (n_unlabelled,)
        The instances whose mean represents their bag.
    """

    positive: np.ndarray
    negative: np.ndarray
    witness: np.ndarray

    def __eq__(self, other: Any) -> bool:
        return (
            np.array_equal(self.positive, other.positive)
            and np.array_equal(self.negative, other.negative)
            and np.array_equal(self.witness, other.witness)
        )


@dataclass(frozen=True)
class Machine:
    """SVM f(x) = sum_t alpha_t k(x, x_t) + b over the training instances x_t, as an iterate of the solver.

    Attributes
    ----------
    x : array of shape (n_instances,)
        The coefficients alpha.
    intercept : float
        The intercept b.
    scores : array of shape (n_instances,)
        Values of f at the training instances.
    value : float
        Value of the objective.
    multipliers : array
        The dual variables that alpha is computed from: see `BagMarginProblem`.
    blur : float
        Scores that differ by at most this value count as equal.
    """

    x: np.ndarray
    intercept: float
    scores: np.ndarray
    value: float
    multipliers: np.ndarray
    blur: float = 0.0


class BagMarginProblem:
    """Margin losses of negative instances, of positive bags, and of the unlabeled instances in them.

    With H(z) = max(0, 1 - z), f in the feature space of the kernel with an unpenalized intercept, t running
    over instances of negative bags, i over positive bags and j over their instances, the objective is ::

        |f|^2 / 2 + sum_t a_t H(-f(x_t)) + sum_i b_i H(max_j f(x_ij))
                  + sum_ij d_ij min(H(f(x_ij)), H(-f(x_ij)))

    The maximum and the minimum are not convex. A `Labelling` replaces the maximum by the mean of f over the
    bag's witnesses, and the minimum by the loss of one label (or by half the loss of each). The result is a
    weighted support vector machine, which is solved in its dual. With ``one_positive``, at least one instance
    of every positive bag has the positive label; this is mi-SVM.

    Parameters
    ----------
    gram : InstanceGram
        Kernel matrix of the instances, with virtual examples for the bags.
    offsets, y : arrays
        Start of every bag, and its label, 1 or 0.
    instance_weight, bag_weight, unlabeled_weight : arrays of shape (n_bags,)
        The weights a, b and d of every bag.
    one_positive : bool
        Whether every positive bag must have a positive instance (mi-SVM).
    tol : float
        Relative duality gap of the last steps.

    Notes
    -----
    The dual variables are [negative instances | positive bags | unlabeled as positive | unlabeled as
    negative]. All of them are kept in every step: a labeling only changes their bounds, so that the solution
    of one step can start the next. A bag with one witness uses that instance's row of the kernel matrix.
    """

    negative: np.ndarray
    unlabelled: np.ndarray
    first: np.ndarray
    sizes: np.ndarray
    of_negative: np.ndarray
    of_bag: np.ndarray
    of_unlabelled: np.ndarray
    blocks: list[np.ndarray]
    q: np.ndarray

    def __init__(
        self,
        gram: InstanceGram,
        offsets: np.ndarray,
        y: np.ndarray,
        *,
        instance_weight: np.ndarray,
        bag_weight: np.ndarray,
        unlabeled_weight: np.ndarray,
        one_positive: bool = False,
        tol: float = 1e-6,
    ):
        sizes = np.diff(offsets)
        in_positive = np.repeat(y == 1, sizes)
        self.gram = gram
        self.negative = np.flatnonzero(~in_positive)
        self.unlabelled = np.flatnonzero(in_positive)
        self.sizes = sizes[y == 1]
        self.first = np.cumsum(self.sizes) - self.sizes
        self.of_negative = np.repeat(instance_weight, sizes)[self.negative]
        self.of_bag = bag_weight[y == 1]
        self.of_unlabelled = np.repeat(unlabeled_weight, sizes)[self.unlabelled]
        self.one_positive = one_positive
        self.tol = tol
        n, p, m = len(self.negative), len(self.sizes), len(self.unlabelled)
        self.blocks = np.split(np.arange(n + p + 2 * m), np.cumsum([n, p, m]))
        self.q = np.repeat([1.0, -1.0, -1.0, 1.0], [n, p, m, m])

    # ------------------------------------------------------------------ labellings

    def start(self, label: str, rng: np.random.RandomState | None = None) -> Labelling:
        """Return a first labeling: "ties", "positive", "negative" or, drawn from `rng`, "random".

        The witness of a bag is the mean of its instances; for "random" it is a random instance.
        """
        m = len(self.unlabelled)
        witness = np.ones(m, dtype=bool)
        if label == "random":
            assert rng is not None
            positive = (rng.random_sample(m) < 0.5).astype(float)
            witness[:] = False
            witness[self.first + (rng.random_sample(len(self.sizes)) * self.sizes).astype(int)] = True
        else:
            positive = np.full(m, {"ties": 0.5, "positive": 1.0, "negative": 0.0}[label])
        return Labelling(positive, 1.0 - positive, witness)

    def zero(self) -> Machine:
        """Return f = 0, where every loss is 1 and the bound of every labeling equals the objective."""
        scores = np.zeros(len(self.negative) + len(self.unlabelled))
        return Machine(scores, 0.0, scores, self.value(0.0, scores), np.zeros(len(self.q)))

    def linearize(self, point: Machine) -> Labelling:
        """Label the instances of positive bags by the sign of f; the highest-scoring ones are witnesses."""
        scores = point.scores[self.unlabelled]
        largest = np.repeat(np.maximum.reduceat(scores, self.first), self.sizes)
        # At the optimum, several instances of a bag may have the same largest score: all are witnesses.
        witness = scores >= largest - point.blur
        if self.one_positive:
            positive = ((scores > 0.0) | ((scores == largest) & (largest <= 0.0))).astype(float)
        else:
            positive = np.where(scores == 0.0, 0.5, (scores > 0.0).astype(float))
        return Labelling(positive, 1.0 - positive, witness)

    # ------------------------------------------------------------------ objective and convex step

    def value(self, norm: float, scores: np.ndarray) -> float:
        """Return the objective of a function with squared norm `norm` and these scores."""
        inside = scores[self.unlabelled]
        loss = self.of_negative @ hinge(-scores[self.negative])
        if self.of_bag.any():
            loss += self._bag_loss(inside)
        return float(0.5 * norm + loss + self.of_unlabelled @ self._unlabelled_losses(inside))

    def _bag_loss(self, inside: np.ndarray) -> float:
        """Return the loss of all positive bags, computed from the scores of their instances."""
        return float(self.of_bag @ hinge(np.maximum.reduceat(inside, self.first)))

    def _unlabelled_losses(self, inside: np.ndarray) -> np.ndarray:
        """Return the loss of every instance of a positive bag under its better label."""
        each = hinge(np.abs(inside))
        if self.one_positive:
            # In a bag without a positive instance, the highest-scoring one is labeled positive.
            largest = np.repeat(np.maximum.reduceat(inside, self.first), self.sizes)
            highest = (inside == largest) & (inside <= 0.0)
            each = np.where(highest, hinge(inside), each)
        return each

    def solve(self, piece: Labelling, start: Machine, control: Control) -> Machine:
        """Minimize the convex function of a labeling, starting from the multipliers of another SVM.

        If `control` allows a larger gap than `tol`, it applies only when `tol` is not reached in a few
        thousand steps. Small problems are therefore solved exactly in every step, and do not depend on the
        order of the bags.
        """
        _, bag, positive, negative = self.blocks
        lower, upper = np.zeros(len(self.q)), np.zeros(len(self.q))
        lower[self.blocks[0]] = -self.of_negative
        upper[bag] = self.of_bag
        upper[positive] = self.of_unlabelled * piece.positive
        lower[negative] = -self.of_unlabelled * piece.negative
        points = self._points(piece)

        # Every instance keeps the sum of its last two multipliers as far as its new bounds allow. At a
        # tie, both are as large as this sum allows, which minimizes the dual objective.
        multipliers = start.multipliers.copy()
        both = multipliers[positive] + multipliers[negative]
        multipliers[positive] = np.clip(both - lower[negative], 0.0, upper[positive])
        multipliers[negative] = np.clip(both - multipliers[positive], lower[negative], 0.0)
        alpha = self._coefficients(multipliers, piece)
        product = self.gram.extend(start.scores - start.intercept)
        moved = np.flatnonzero(alpha != start.x)
        self.gram.rows.add(moved, (alpha - start.x)[moved], product)
        solve = partial(
            solve_dual_either_way, self.gram.rows, self.q, lower=lower, upper=upper, points=points
        )
        exact = replace(control, tol=self.tol, max_iter=_PATIENCE)
        dual = solve(control=exact, start=multipliers, product=product)
        if not dual.converged:
            enough = replace(control, max_iter=enough_steps(len(self.q)))
            dual = solve(control=enough, start=dual.x, product=dual.product)
        alpha = self._coefficients(dual.x, piece)
        plain, intercept = dual.product[: len(alpha)], -dual.multiplier
        scores = plain + intercept
        value = self.value(float(alpha @ plain), scores)
        return Machine(alpha, intercept, scores, value, dual.x, min(dual.violation, _BLUR))

    def _points(self, piece: Labelling) -> np.ndarray:
        """Return the matrix row of every variable; store means of several witnesses as virtual examples."""
        count = np.add.reduceat(piece.witness.astype(int), self.first)
        single = np.maximum.reduceat(np.where(piece.witness, self.unlabelled, -1), self.first)
        several = np.flatnonzero((count > 1) & (self.of_bag > 0))
        chosen = np.split(self.unlabelled, self.first[1:])
        masks = np.split(piece.witness, self.first[1:])
        self.gram.set_means({int(i): chosen[i][masks[i]] for i in several})
        of_bag = np.where(
            count > 1, len(self.negative) + len(self.unlabelled) + np.arange(len(count)), single
        )
        return np.concatenate([self.negative, of_bag, self.unlabelled, self.unlabelled])

    def _coefficients(self, multipliers: np.ndarray, piece: Labelling) -> np.ndarray:
        """Sum the multipliers by instance; the multiplier of a bag is shared by its witnesses."""
        labelled, bag, positive, negative = map(multipliers.__getitem__, self.blocks)
        alpha = np.zeros(len(self.negative) + len(self.unlabelled))
        alpha[self.negative] = labelled
        count = np.add.reduceat(piece.witness.astype(int), self.first)
        alpha[self.unlabelled] = positive + negative + piece.witness * np.repeat(bag / count, self.sizes)
        return alpha


def hinge(margin: np.ndarray) -> np.ndarray:
    """Return the hinge loss of a margin."""
    return np.maximum(0.0, 1.0 - margin)
