"""Shared code of the SVMs: parameters, kernels (also precomputed ones), and scores from support vectors."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state

from bagwise._core.interrupt import raise_if_stopped
from bagwise._core.sklearn_private import Interval, StrOptions, available_if
from bagwise.data.bags import Bags
from bagwise.data.blocks import block_rows, cut_rows
from bagwise.models.base import (
    CLASS_WEIGHT_CONSTRAINT,
    SCALE_CONSTRAINT,
    BagsLike,
    InstanceScoreClassifier,
    Scaled,
    ScoreClassifier,
    Training,
    class_factors,
    ignore_constants,
    varying_features,
)
from bagwise.models.base.calibration import fit_threshold, held_out_scores
from bagwise.models.svm.problem import BagMarginProblem, InstanceGram, Machine, hinge
from bagwise.models.wrappers.multiclass import count_votes
from bagwise.similarity import InstanceKernel, resolve_gamma
from bagwise.similarity.centred import far_origin
from bagwise.solvers.cccp import minimize_cccp
from bagwise.solvers.control import Control
from bagwise.solvers.reporting import Reporter
from bagwise.solvers.result import Recorded, SolverResult, best_of, record_result

KERNEL_CONSTRAINTS: dict[str, Any] = {
    "kernel": [StrOptions({"linear", "poly", "rbf", "precomputed"}), callable],
    "gamma": [StrOptions({"scale", "auto", "median"}), Interval(Real, 0, None, closed="neither")],
    "degree": [Interval(Integral, 1, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "scale": SCALE_CONSTRAINT,
    "class_weight": CLASS_WEIGHT_CONSTRAINT,
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "verbose": ["verbose"],
}
_INDEX_COLUMN = "number of the training instance"


class KernelClassifier(Scaled, ScoreClassifier):
    """Base class of bag classifiers with a kernel of scaled instances."""

    scaler_: Any
    gamma_: float
    kernel_: InstanceKernel

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _accepts_sparse(self) -> bool:
        return not self._is_precomputed

    @property
    def _largest_value(self) -> float:
        return np.inf if self._is_precomputed else super()._largest_value

    def _read(self, X: BagsLike, *, reset: bool = False, whole: bool = True) -> Bags:
        bags = super()._read(X, reset=reset, whole=whole)
        return with_column_indices(bags) if reset and self._is_precomputed else bags

    def _prepare(self, training: Training) -> tuple[Training, np.ndarray]:
        """Fit the scaler; return the scaled training data and the class-weight factor of every bag."""
        if self.class_weight is None:
            return self._fit_scaler(training), np.ones(len(training.y))
        factor = class_factors(self.class_weight, self._two_labels, training.y, training.weight)
        if not (factor > 0).all():
            raise ValueError(
                "class_weight must be positive for both classes; the margin of an SVM depends on both."
            )
        return self._fit_scaler(training), factor[training.y]

    def _fit_scaler(self, training: Training) -> Training:
        if self._is_precomputed:
            self.scaler_ = None  # kernel values are not scaled
            return training
        scaled = super()._fit_scaler(training)
        if self.scale is None and self.kernel == "linear" and self._sees_no_shift:
            # With a linear kernel, a shift of all instances does not change the SVM, but large values
            # increase rounding errors.
            origin = far_origin(scaled.bags.instances)
            if origin is not None:
                varies = varying_features(self.scaler_)
                shifting = StandardScaler(with_std=False).set_output(transform="default")
                self.scaler_ = shifting.fit(origin[None, :])
                if varies is not None:
                    ignore_constants(self.scaler_, ~varies)
                return training._replace(bags=self._scaled(training.bags))
        return scaled

    @property
    def _sees_no_shift(self) -> bool:
        """Whether adding a constant to all vectors of the kernel changes only the intercept."""
        return True

    def _set_kernel(self, vectors: Any, weight: Any) -> None:
        """Set the kernel's parameters from training vectors and the weight of each vector."""
        self.gamma_ = resolve_gamma(self.gamma, vectors, weight)
        self.kernel_ = InstanceKernel(self.kernel, self.gamma_, self.degree, self.coef0)

    def _kernel_of(self, bags: Bags, weight: Any) -> tuple[InstanceKernel, Any]:
        """Set `kernel_`; return the kernel of the fit and the points that it compares.

        There is one point per instance: its features, or with a precomputed kernel its index.
        """
        if self._is_precomputed:
            self.__dict__.pop("gamma_", None)  # set by an earlier fit
            self.kernel_ = InstanceKernel("precomputed")
            indices = column_indices(bags)
            return InstanceKernel(KernelLookup(bags.instances, indices)), indices[:, None]
        self._set_kernel(bags.instances, np.repeat(weight, bags.sizes))
        return self.kernel_, bags.instances

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        return tags


def _has_probabilities(model: Any) -> bool:
    return model.calibrate and len(getattr(model, "classes_", (0, 1))) == 2


class BagMachine(Recorded, KernelClassifier, InstanceScoreClassifier):
    """Base class of SVMs with a score f for every instance; a bag is positive if any score is >= 0.

    Subclasses define `_loss_weights`. They define the first start by the parameter `init` or by
    `_first_start`.
    """

    support_: Any
    support_vectors_: Any
    dual_coef_: np.ndarray
    witnesses_: np.ndarray
    coef_: np.ndarray
    threshold_: float
    exponent_: float
    intercept_: np.ndarray

    _one_positive = False
    _first_start = "ties"

    def _loss_weights(self, bags: Bags, y: Any, weight: Any) -> tuple[float, float, float]:
        """Return the weights of a negative instance, a positive bag, and an unlabeled instance."""
        raise NotImplementedError

    def _solve(self, training: Training) -> tuple[Training, list[SolverResult]]:
        """Run all starts; return the training data and the results.

        The instances of the returned training data are the points that the kernel compares.
        """
        (bags, y, weight), factor = self._prepare(training)
        kernel, points = self._kernel_of(bags, weight)
        per_bag = weight * factor
        of_instance, of_bag, of_unlabelled = self._loss_weights(bags, y, weight)
        problem = BagMarginProblem(
            InstanceGram(kernel, points, int((y == 1).sum()), max_bytes=1e6 * self.cache_size),
            bags.offsets,
            y,
            instance_weight=of_instance * per_bag,
            bag_weight=of_bag * per_bag,
            unlabeled_weight=of_unlabelled * per_bag,
            one_positive=self._one_positive,
            tol=self.tol,
        )
        rng = check_random_state(self.random_state)
        pieces = [problem.start(getattr(self, "init", self._first_start), rng)]
        for _ in range(self.n_init - 1):
            pieces.append(problem.start("random", rng))
        reporter = Reporter(type(self).__name__, self.verbose)
        control = Control(self.tol, self.max_iter, reporter.iteration)
        results: list[SolverResult] = []
        for i, piece in enumerate(pieces):
            results.append(minimize_cccp(problem, piece, problem.zero(), control))
            reporter.start(i, len(pieces), results[-1])
            if control.is_stopped:
                break
        return Training(Bags(points, bags.offsets), y, weight), results

    def _fit_two(self, training: Training) -> None:
        """Fit an SVM for two classes; with `calibrate`, shift its threshold."""
        scaled, results = self._solve(training)
        machine = record_result(self, results).x
        self._keep(scaled, machine)
        if "_direction" in self.__dict__:
            self._bag_objective = self._judge_direction(training, (scaled, machine))
        for name in ("threshold_", "exponent_"):
            self.__dict__.pop(name, None)  # set by an earlier fit
        if self.calibrate:
            raise_if_stopped()
            scores = held_out_scores(self, training, self._fit_clone, type(self)._bag_scores)
            factor = class_factors(self.class_weight, self._two_labels, training.y, training.weight)
            self.threshold_, self.exponent_ = fit_threshold(
                scores, training.y, training.weight * factor[training.y]
            )
            self.intercept_ = self.intercept_ - self.threshold_

    def _judge_direction(self, training: Training, fitted: tuple[Training, Machine]) -> float:
        """Return the objective of MI-SVM with one loss per bag, for the fit with the same kernel.

        The objectives of other SVMs are not losses of bags, and `objective_` has one loss for each instance
        of a negative bag, so that the numbers of losses differ between the directions.
        """
        from bagwise.models.svm.classic import MISVC  # which imports this module

        scaled, machine = fitted
        if not isinstance(self, MISVC):
            parameters = {name: getattr(self, name) for name in MISVC().get_params() if hasattr(self, name)}
            judge = MISVC(**{**parameters, "n_init": 1, "verbose": 0})
            judge.classes_, judge.positive_label_ = self.classes_, self.positive_label_
            scaled, results = judge._solve(training)
            machine = best_of(results).x
        bags, y, weight = scaled
        factor = class_factors(self.class_weight, self._two_labels, y, weight)
        norm = float(machine.x @ (machine.scores - machine.intercept))
        scores = np.maximum.reduceat(machine.scores, bags.offsets[:-1])
        losses = hinge(np.where(y == 1, scores, -scores))
        return 0.5 * norm + self.C * float((weight * factor[y]) @ losses)

    def _direction_loss(self, X: BagsLike, y: ArrayLike, weight: np.ndarray) -> float:
        return self.__dict__.pop("_bag_objective")

    @property
    def _direction_criterion(self) -> str:
        return "objective of MI-SVM with one loss per bag"

    def _fit_clone(self, machine: Any, bags: Bags, y: np.ndarray, sample_weight: np.ndarray) -> Any:
        """Fit a clone of this SVM, without calibration, to bags that are already validated."""
        machine.set_params(calibrate=False, verbose=0)
        machine.classes_, machine.positive_label_ = self.classes_, self.positive_label_
        machine._fit_two(Training(bags, y, sample_weight))
        return machine

    def _keep(self, training: Training, machine: Machine) -> None:
        """Set the fitted attributes of an SVM for two classes."""
        bags, y, _ = training
        self.support_ = np.flatnonzero(machine.x)
        self._set_machines(bags.instances[self.support_], machine.x[None, self.support_], [machine.intercept])
        first = bags.offsets[:-1]
        highest = machine.scores == np.repeat(np.maximum.reduceat(machine.scores, first), bags.sizes)
        position = np.arange(bags.n_instances) - np.repeat(first, bags.sizes)
        witness = np.minimum.reduceat(np.where(highest, position, bags.n_instances), first)
        self.witnesses_ = np.where(y == 1, witness, -1)

    def _set_machines(self, support_vectors: Any, dual_coef: np.ndarray, intercept: Any) -> None:
        """Store one SVM, or two SVMs for each pair of classes, on shared support vectors."""
        self.support_vectors_ = support_vectors
        self.dual_coef_ = dual_coef
        self.intercept_ = np.asarray(intercept, dtype=np.float64)
        if self.kernel == "linear":
            self.coef_ = np.asarray(dual_coef @ support_vectors)

    def _instance_scores(self, bags: Bags) -> np.ndarray:
        """Return the score of every instance from every SVM: shape (n_instances, n_machines)."""
        Z = self._scaled(bags).instances
        if self.kernel == "linear":
            return np.asarray(Z @ self.coef_.T) + self.intercept_
        scores = np.empty((Z.shape[0], len(self.intercept_)))
        for rows in cut_rows(Z.shape[0], block_rows(self.support_vectors_.shape[0])):
            scores[rows] = self.kernel_(Z[rows], self.support_vectors_) @ self.dual_coef_.T
        return scores + self.intercept_

    def _joined(self, scores: np.ndarray) -> np.ndarray:
        return count_votes(scores, len(self.classes_))

    def decision_function(self, X: BagsLike) -> np.ndarray:
        """Return the score of every bag: the largest score of its instances for the positive class.

        Scores are positive for ``classes_[1]``. If ``classes_[0]`` is the positive class, their sign is
        reversed.

        Parameters
        ----------
        X : Bags, list of arrays, 3-D or 2-D array
            The bags.

        Returns
        -------
        array of shape (n_bags,)
            With more than two classes, shape (n_bags, n_classes): the number of pairwise comparisons that
            each class wins.
        """
        return super().decision_function(X)

    @available_if(_has_probabilities)
    def predict_proba(self, X: BagsLike) -> np.ndarray:
        """Return the probabilities of the two classes, in the order of ``classes_``: shape (n_bags, 2).

        Available only with ``calibrate=True`` and two classes.
        """
        log_odds = self.exponent_ * self._positive_scores(X)
        return self._in_class_order(np.column_stack([expit(-log_odds), expit(log_odds)]))


def with_column_indices(bags: Bags) -> Bags:
    """Validate the kernel matrix of all training instances, and number the instances.

    The indices stay with the instances in every selection, and identify their columns of the matrix.
    """
    K, n = bags.instances, bags.n_instances
    if K.shape != (n, n):
        raise ValueError(
            f"X has {n} instances with {K.shape[1]} values each, but kernel='precomputed' needs the "
            f"kernel values of all pairs of training instances, {n} per row; for cross-validation pass "
            "KernelBags, which select rows and columns."
        )
    largest = 0.0
    for rows in cut_rows(n, block_rows(n)):
        largest = max(largest, float(np.abs(K[rows] - K[:, rows].T).max()))
    if largest > 1e-6 * float(np.abs(K).max()):
        raise ValueError(
            f"X is not a kernel matrix: kernel='precomputed' needs a symmetric matrix, but two values that "
            f"should be equal differ by {largest:.2g}; pass k(x, z) for all pairs of training instances."
        )
    return Bags(
        K.astype(np.float64, copy=False),
        bags.offsets,
        ids=bags.ids,
        instance_columns={_INDEX_COLUMN: np.arange(n)},
    )


def column_indices(bags: Bags) -> np.ndarray:
    """Return the matrix column of each instance of bags from `with_column_indices`, or of a selection."""
    return bags.instance_columns[_INDEX_COLUMN]


class KernelLookup:
    """Kernel of instance indices: a lookup in the rows of a kernel matrix.

    Parameters
    ----------
    matrix : array of shape (n_instances, n_columns)
        Kernel values of some instances: one row per instance, one column per training instance.
    indices : array of shape (n_instances,)
        Training index of each of these instances.
    """

    positions: np.ndarray

    def __init__(self, matrix: np.ndarray, indices: np.ndarray):
        self.matrix = matrix
        self.positions = np.full(matrix.shape[1], -1)
        self.positions[indices] = np.arange(len(indices))

    def __call__(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the kernel matrix of two columns of instance indices."""
        rows, columns = rows[:, 0].astype(np.int64), columns[:, 0].astype(np.int64)
        return self.matrix[np.ix_(self.positions[rows], columns)]
