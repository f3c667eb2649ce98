"""SVM of whole bags with a set kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from bagwise._core.sklearn_private import Interval, StrOptions, available_if
from bagwise._core.types import ClassWeight, Kernel, PositiveLabel, Scale
from bagwise.data.bags import Bags
from bagwise.models.base import BagsLike, validated_fit
from bagwise.models.svm.base import KERNEL_CONSTRAINTS, KernelClassifier
from bagwise.similarity import MeanKernel, bag_statistics, set_kernel, statistic_kernel
from bagwise.similarity.bag_kernels import median_width, squared_distances
from bagwise.solvers.control import Control
from bagwise.solvers.dual import enough_steps
from bagwise.solvers.interior import solve_dual_either_way
from bagwise.solvers.reporting import Reporter
from bagwise.solvers.result import Recorded, SolverResult, Status, record_result


def _is_a_mean_of_instances(model: Any) -> bool:
    is_plain = model.weights is None and model.level2 is None and model.normalize == "average"
    return is_plain and not model._is_precomputed and model.bag_kernel == "set"


class SetKernelSVC(Recorded, KernelClassifier):
    """Support vector machine that compares whole bags with a set kernel.

    With f(X) in the feature space of the bag kernel plus an intercept, and labels y_i = +-1, the fit
    minimizes ::

        |f|^2 / 2 + C sum_i max(0, 1 - y_i f(X_i))

    Use it when the bag as a whole matters, or when there are many instances: the kernel matrix has one row
    per bag. The problem is convex, so one start is enough.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the loss.
    bag_kernel : {"set", "minimax", "mean"} or callable, default="set"
        Kernel of bags. "set" is the normalized sum of the instance kernel over all pairs (`set_kernel`).
        "minimax" compares the minima and maxima of all features, and "mean" their means (`statistic_kernel`).
        A callable ``bag_kernel(bags, other)`` returns the matrix of two scaled `Bags`; `mean_kernel` makes a
        callable from several kernels.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable, default="rbf"
        Kernel of instances, or of the statistics. With "precomputed", `X` is the kernel matrix of bags, of
        shape (n_bags, n_training_bags), for example from `set_kernel`. Then `bag_kernel`, `normalize`,
        `gamma`, `degree`, `coef0` and `scale` are ignored, and cross-validation selects rows and columns.
    gamma, degree, coef0, scale, class_weight
        As in `MissSVC`.
    positive : label or None, default=None
        Label of the positive class, which is predicted at ties. By default it is the label that sorts last.
        Apart from ties, the two classes are treated alike.
    normalize : {"average", "feature", None}, default="average"
        How "set" keeps large bags from dominating: see `set_kernel`. With "average", the score of a bag is
        the mean of the scores of its instances, so instances have scores as well.
    weights : {"graph"} or None, default=None
        Instance weights of "set". With "graph", instances that are close together count as one (miGraph): see
        `set_kernel`.
    level2 : {"rbf"} or None, default=None
        Gaussian kernel of bags on top of "set". It uses the distances of bags in the feature space of "set";
        its width is the median distance of the training bags.
    tol : float, default=1e-6
        Relative duality gap.
    verbose : int, default=0
        1 prints the result of the fit. 2 also prints the steps of the dual solver with a lower bound of the
        objective, which rises to the objective.

    Attributes
    ----------
    support_ : array of shape (n_support,)
        Indices of the training bags with a nonzero coefficient. Bags with zero weight are not counted.
    support_bags_ : Bags
        These bags, scaled. With a precomputed kernel, bags with their column indices in `X`.
    dual_coef_, intercept_ : arrays of shape (1, n_support) and (1,)
        Their coefficients, and the intercept.
    bag_kernel_, width_ : str or callable, float or None
        The bag kernel with its fitted widths, and the width of `level2`.
    kernel_, gamma_, scaler_, classes_, positive_label_, n_features_in_
        As in `MissSVC`.
    objective_, objective_history_, n_iter_, converged_
        The final value of the objective above, its values at f = 0 and at the solution, the number of pair
        steps, and whether `tol` was reached.

    Notes
    -----
    The matrix needs kernel values of all pairs of instances: O(n_instances^2) evaluations, in blocks, and
    O(n_bags^2) memory.

    References
    ----------
    T. Gärtner, P. A. Flach, A. Kowalczyk and A. J. Smola (2002), Multi-instance kernels, ICML.

    Examples
    --------
    >>> from bagwise import SetKernelSVC, load_digit_bags
    >>> data = load_digit_bags(60, random_state=0)
    >>> model = SetKernelSVC(bag_kernel="minimax").fit(data.bags, data.y)
    >>> model.decision_function(data.bags).shape
    (60,)
    """

    support_: Any
    intercept_: np.ndarray
    support_bags_: Any
    dual_coef_: np.ndarray
    width_: float | None
    bag_kernel_: Any

    # Exchanging the classes changes the sign of the score.
    _text_labels = "last"
    _parameter_constraints: dict[str, Any] = {
        **{name: rule for name, rule in KERNEL_CONSTRAINTS.items() if name != "max_iter"},
        "C": [Interval(Real, 0, None, closed="neither")],
        "bag_kernel": [StrOptions({"set", "minimax", "mean"}), callable],
        "normalize": [StrOptions({"average", "feature"}), None],
        "weights": [StrOptions({"graph"}), None],
        "level2": [StrOptions({"rbf"}), None],
        "positive": "no_validation",
    }

    def __init__(
        self,
        C: float = 10.0,
        *,
        bag_kernel: Literal["set", "minimax", "mean"] | Callable[..., Any] = "set",
        kernel: Kernel = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        normalize: Literal["average", "feature"] | None = "average",
        weights: Literal["graph"] | None = None,
        level2: Literal["rbf"] | None = None,
        scale: Scale = "minmax",
        class_weight: ClassWeight = None,
        positive: PositiveLabel = None,
        tol: float = 1e-6,
        verbose: int = 0,
    ):
        self.C = C
        self.bag_kernel = bag_kernel
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.normalize = normalize
        self.weights = weights
        self.level2 = level2
        self.scale = scale
        self.class_weight = class_weight
        self.positive = positive
        self.tol = tol
        self.verbose = verbose

    @property
    def _sees_no_shift(self) -> bool:
        # A shift changes more than the intercept if pairs are summed, not averaged, or vectors normalized.
        return self.bag_kernel in ("mean", "minimax") or (
            self.bag_kernel == "set" and self.normalize == "average"
        )

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to bags and their labels.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            The training bags.
        y : array of shape (n_bags,)
            Labels of two classes; see the parameter `positive`.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.

        Returns
        -------
        self
        """
        training = self._read_training(X, y, sample_weight, with_class_weight=False)
        (bags, y, weight), factor = self._prepare(training)
        if self._is_precomputed:
            kernel, indices = self._kernel_of(bags, weight)
            matrix, bags = kernel(indices, indices), Bags(indices, bags.offsets)
        else:
            if isinstance(self.bag_kernel, str) and self.bag_kernel in ("minimax", "mean"):
                self._set_kernel(bag_statistics(bags, self.bag_kernel), weight)
            else:
                self._set_kernel(bags.instances, np.repeat(weight, bags.sizes))
            matrix = self._first_matrix(bags, weight)
        reporter = Reporter(type(self).__name__, self.verbose)
        sign = 2.0 * y - 1.0
        bound = self.C * weight * factor
        control = Control(
            self.tol, enough_steps(len(y)), lambda steps, value: reporter.iteration(steps, -value)
        )
        dual = solve_dual_either_way(
            matrix,
            -sign,
            control,
            lower=np.where(y == 1, 0.0, -bound),
            upper=np.where(y == 1, bound, 0.0),
        )
        loss = bound @ np.maximum(0.0, 1.0 - sign * (dual.product - dual.multiplier))
        value = float(0.5 * dual.x @ dual.product + loss)
        nothing = float(bound.sum())  # the objective at f = 0
        if not value <= nothing:  # no step succeeded because of rounding errors
            still = replace(dual, x=np.zeros_like(dual.x), status=Status.STALLED, multiplier=0.0)
            dual, value = still, nothing
        result = SolverResult(dual.x, value, dual.status, dual.n_iter, (nothing, value))
        reporter.start(0, 1, result)
        record_result(self, [result])
        self.support_ = np.flatnonzero(dual.x)
        self.support_bags_ = bags[self.support_]
        self.dual_coef_ = dual.x[None, self.support_]
        self.intercept_ = np.array([-dual.multiplier])
        return self

    def _read(self, X: BagsLike, *, reset: bool = False, whole: bool = True) -> Bags:
        bags = super()._read(X, reset=reset, whole=whole)
        if self._is_precomputed and bags.n_instances > len(bags):
            raise ValueError(
                f"X has {len(bags)} bags with {bags.n_instances} rows, but SetKernelSVC(kernel='precomputed')"
                " needs one row of kernel values per bag, not per instance: a matrix of shape (n_bags, "
                "n_training_bags)."
            )
        return bags

    def _first_matrix(self, bags: Bags, weight: np.ndarray) -> np.ndarray:
        """Return the kernel matrix of the training bags; set the kernel widths from these bags."""
        self.bag_kernel_, self.width_ = self.bag_kernel, None
        if isinstance(self.bag_kernel, MeanKernel):
            self.bag_kernel_ = self.bag_kernel.fitted(bags, weight)
        if self.bag_kernel == "set" and self.level2 is not None:
            K = self._set_matrix(bags, None)
            D = squared_distances(K, K.diagonal(), K.diagonal())
            self.width_ = median_width(D, weight)
            return np.exp(-D / self.width_**2)
        return self._matrix(bags, None)

    def _matrix(self, bags: Bags, other: Bags | None) -> np.ndarray:
        if callable(self.bag_kernel_):
            return np.asarray(self.bag_kernel_(bags, bags if other is None else other), dtype=np.float64)
        if self.bag_kernel_ == "set":
            return self._set_matrix(bags, other, level2=self.level2, width=self.width_)
        return statistic_kernel(bags, other, statistic=self.bag_kernel_, kernel=self.kernel_)

    def _set_matrix(self, bags: Bags, other: Bags | None, **level2: Any) -> np.ndarray:
        options: dict[str, Any] = {
            "kernel": self.kernel_,
            "normalize": self.normalize,
            "weights": self.weights,
        }
        return set_kernel(bags, other, **options, **level2)

    def _bag_scores(self, bags: Bags) -> np.ndarray:
        scaled, support = self._scaled(bags), self.support_bags_
        if not len(support):  # no support bags: all scores equal the intercept
            return np.full(len(bags), self.intercept_[0])
        if self._is_precomputed:
            matrix = self.kernel_(scaled.instances, support.instances)
        else:
            matrix = self._matrix(scaled, support)
        return matrix @ self.dual_coef_[0] + self.intercept_[0]

    @available_if(_is_a_mean_of_instances)
    def decision_function_instances(self, X: BagsLike) -> np.ndarray:
        """Return the score of every instance; the score of a bag is their mean: shape (n_instances,)."""
        return self._signed(self._by_blocks(X, self._scores_of_instances))

    def _scores_of_instances(self, bags: Bags) -> np.ndarray:
        return self._bag_scores(Bags(bags.instances, np.arange(bags.n_instances + 1)))

    @available_if(_is_a_mean_of_instances)
    def predict_instances(self, X: BagsLike) -> np.ndarray:
        """Predict the label of every instance, treated as a bag of one: shape (n_instances,)."""
        return self._labels_of(self._by_blocks(X, self._scores_of_instances))
