"""The problem that bag SVMs solve: hinge losses of instances, bags, and unlabelled instances.

`Gram` is its kernel matrix: of all instances, and of virtual examples that are means of instances.
`BagMarginProblem` is what `solvers.cccp` minimises: a `Labelling` turns it into a weighted SVM, whose
solution is a `Machine`.
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

# Pair steps after which a convex step may end at a rougher gap.
_PATIENCE = 2000

# Scores that differ by no more than the accuracy of a step, and at most by this, are taken as equal.
_BLUR = 1e-4


class Gram:
    """The kernel matrix of n instances, and after them of `n_means` virtual examples.

    A virtual example is the mean of some instances in the kernel's space, so its row is the mean of their
    rows: nothing is evaluated again when it changes, and nothing is computed for those not in use.

    Parameters
    ----------
    kernel : InstanceKernel
        The kernel.
    X : array or CSR matrix of shape (n, n_features), float64
        The instances.
    n_means : int
        The most virtual examples.
    max_bytes : float
        A matrix of no more bytes is computed at once; of a larger one, rows are computed on demand and as
        many are kept as fit.

    Attributes
    ----------
    rows : DenseRows or RowCache
        The matrix of n + n_means points, as `solve_dual` takes it.
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
        """Say which instances the virtual examples are the means of; those not named are not in use."""
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
        K, n, places = self._matrix, self.n, self.n + np.array(list(changed))
        K[places, :n] = (self._averages(changed, self.size) @ K)[:, :n]
        K[:n, places] = K[places, :n].T
        others = self.n + np.array(list(means))
        between = K[places, :n] @ self._averages(means, n).T
        K[np.ix_(places, others)], K[np.ix_(others, places)] = between, between.T
        self.rows.diagonal[places] = K[places, places]

    def _averages(self, means: dict[int, np.ndarray], width: int) -> sp.csr_matrix:
        """The matrix that makes virtual examples of instances: shape (len(means), width)."""
        sizes = np.array(list(map(len, means.values())))
        columns = np.concatenate(list(means.values()))
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return sp.csr_matrix((np.repeat(1.0 / sizes, sizes), columns, starts), shape=(len(sizes), width))

    def extend(self, by_instance: np.ndarray) -> np.ndarray:
        """Append the means of the virtual examples to a product of the matrix."""
        values = np.zeros((1, self.size))
        values[0, : self.n] = by_instance
        self._append_means(values)
        return values[0]

    def _append_means(self, values: np.ndarray) -> None:
        if self.means:
            places = self.n + np.array(list(self.means))
            values[:, places] = values[:, : self.n] @ self._averages(self.means, self.n).T

    def _compute(self, points: np.ndarray) -> np.ndarray:
        values = np.zeros((len(points), self.size))
        real = points < self.n
        values[real, : self.n] = self.kernel(self.X[points[real]], self.X)
        for place in np.flatnonzero(~real):
            rows = self.means[int(points[place]) - self.n]
            values[place, : self.n] = self.kernel(self.X[rows], self.X).mean(axis=0)
        self._append_means(values)
        return values


@dataclass(frozen=True)
class Labelling:
    """What a step takes as known of the positive bags.

    Attributes
    ----------
    positive, negative : arrays of shape (n_unlabelled,)
        Share of the weight of an instance of a positive bag that counts as a positive and as a negative
        example: (1, 0), (0, 1), or (1/2, 1/2) for a tie.
    witness : bool array of shape (n_unlabelled,)
        The instances whose mean stands for their bag.
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
    """A function f(x) = sum_t alpha_t k(x, x_t) + b of the training instances x_t, as an iterate.

    Attributes
    ----------
    x : array of shape (n_instances,)
        The coefficients alpha.
    intercept : float
        b.
    scores : array of shape (n_instances,)
        f at the training instances.
    value : float
        The objective.
    multipliers : array
        The variables of the dual that gave alpha: see `BagMarginProblem`.
    blur : float
        Scores that differ by no more than this are taken as equal.
    """

    x: np.ndarray
    intercept: float
    scores: np.ndarray
    value: float
    multipliers: np.ndarray
    blur: float = 0.0


class BagMarginProblem:
    """Margins of negative instances, of positive bags, and of the unlabelled instances in them.

    With H(z) = max(0, 1 - z), f in the kernel's space with a free intercept, t over instances of negative
    bags, i over positive bags and j over their instances, the objective is ::

        |f|^2 / 2 + sum_t a_t H(-f(x_t)) + sum_i b_i H(max_j f(x_ij))
                  + sum_ij d_ij min(H(f(x_ij)), H(-f(x_ij)))

    The maximum and the minimum are concave parts. A `Labelling` replaces them: by the mean of f over the
    bag's witnesses, and by the loss of one label (or by half of either). What remains is the dual of a
    weighted support vector machine. With ``one_positive`` at least one instance of every positive bag
    carries the positive label, which is mi-SVM.

    Parameters
    ----------
    gram : Gram
        The kernel matrix of the instances, with room for virtual examples of the bags.
    offsets, y : arrays
        Where bags start, and their labels 1 or 0.
    instance_weight, bag_weight, unlabeled_weight : arrays of shape (n_bags,)
        a, b and d by bag.
    one_positive : bool
        See above.
    tol : float
        The relative duality gap that the last steps reach.

    Notes
    -----
    The variables of the dual are [negative instances | positive bags | unlabelled as positive | unlabelled
    as negative], always all of them: a labelling only changes bounds, so that one step's solution starts
    the next. A bag with one witness shares that instance's row of the kernel matrix.
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
        gram: Gram,
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
        """Give a first labelling: "ties", "positive", "negative" or, drawn from `rng`, "random".

        The witness of a bag is the mean of its instances, or for "random" one of them.
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
        """Give f = 0, where every loss is 1 and every labelling touches the objective."""
        scores = np.zeros(len(self.negative) + len(self.unlabelled))
        return Machine(scores, 0.0, scores, self.value(0.0, scores), np.zeros(len(self.q)))

    def linearize(self, point: Machine) -> Labelling:
        """Label the instances of positive bags by the sign of f; the witnesses are where f is largest."""
        scores = point.scores[self.unlabelled]
        largest = np.repeat(np.maximum.reduceat(scores, self.first), self.sizes)
        # At the optimum several instances of a bag may share the margin: they are witnesses together.
        witness = scores >= largest - point.blur
        if self.one_positive:
            positive = ((scores > 0.0) | ((scores == largest) & (largest <= 0.0))).astype(float)
        else:
            positive = np.where(scores == 0.0, 0.5, (scores > 0.0).astype(float))
        return Labelling(positive, 1.0 - positive, witness)

    # ------------------------------------------------------------------ the objective and a step

    def value(self, norm: float, scores: np.ndarray) -> float:
        """Objective of a function with squared norm `norm` and the given scores."""
        inside = scores[self.unlabelled]
        loss = self.of_negative @ hinge(-scores[self.negative])
        if self.of_bag.any():
            loss += self._bag_loss(inside)
        return float(0.5 * norm + loss + self.of_unlabelled @ self._unlabelled_losses(inside))

    def _bag_loss(self, inside: np.ndarray) -> float:
        """Loss of all bags, from the scores of their instances."""
        return float(self.of_bag @ hinge(np.maximum.reduceat(inside, self.first)))

    def _unlabelled_losses(self, inside: np.ndarray) -> np.ndarray:
        """Loss of every instance of a positive bag by the label that it is better with."""
        each = hinge(np.abs(inside))
        if self.one_positive:
            # A bag without a positive instance pays for calling its highest one positive.
            largest = np.repeat(np.maximum.reduceat(inside, self.first), self.sizes)
            highest = (inside == largest) & (inside <= 0.0)
            each = np.where(highest, hinge(inside), each)
        return each

    def solve(self, piece: Labelling, start: Machine, control: Control) -> Machine:
        """Minimise the convex function of a labelling, from the multipliers of another machine.

        A gap above the problem's own counts only when that one is not reached in a few thousand steps:
        small problems are solved exactly in every step, and do not depend on the order of the bags.
        """
        _, bag, positive, negative = self.blocks
        lower, upper = np.zeros(len(self.q)), np.zeros(len(self.q))
        lower[self.blocks[0]] = -self.of_negative
        upper[bag] = self.of_bag
        upper[positive] = self.of_unlabelled * piece.positive
        lower[negative] = -self.of_unlabelled * piece.negative
        points = self._points(piece)

        # Of the last multipliers an instance keeps what its new labels allow; at a tie, the two are as
        # large as their sum lets them be, which costs least.
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
        """Row of the kernel matrix for every variable; means of several witnesses get a row of their own."""
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
        """Gather multipliers by instance: those of bags are shared by their witnesses."""
        own, bag, positive, negative = map(multipliers.__getitem__, self.blocks)
        alpha = np.zeros(len(self.negative) + len(self.unlabelled))
        alpha[self.negative] = own
        count = np.add.reduceat(piece.witness.astype(int), self.first)
        alpha[self.unlabelled] = positive + negative + piece.witness * np.repeat(bag / count, self.sizes)
        return alpha


def hinge(margin: np.ndarray) -> np.ndarray:
    """Loss of a margin."""
    return np.maximum(0.0, 1.0 - margin)
