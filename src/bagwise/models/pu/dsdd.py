"""DSDD: the sign of the difference of two instance densities, estimated directly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from bagwise._core.interrupt import raise_if_stopped
from bagwise._core.sklearn_private import Interval
from bagwise._core.types import PositiveLabel, Scale, Seed
from bagwise.data.bags import Bags
from bagwise.models.base import Training
from bagwise.models.pu.instances import DIFFERENCE_CONSTRAINTS, DifferenceClassifier, expand
from bagwise.similarity import InstanceKernel, require_memory
from bagwise.solvers.cccp import minimize_cccp
from bagwise.solvers.control import Control
from bagwise.solvers.dual import enough_steps, solve_dual
from bagwise.solvers.reporting import Reporter
from bagwise.solvers.result import Recorded, SolverResult, record_result
from bagwise.solvers.rows import DenseRows

RAMP_CONSTRAINTS: dict[str, Any] = {
    "fit_intercept": ["boolean"],
    "max_instances": [Interval(Integral, 2, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "verbose": ["verbose"],
}


class _TrainingInstances(NamedTuple):
    """Training instances: values, index of the bag, sign (1 in positive, -1 in unlabeled bags), weight."""

    Z: np.ndarray
    bag_of: np.ndarray
    sign: np.ndarray
    weight: np.ndarray

    def kernel(self, gamma: float) -> np.ndarray:
        """Return the kernel matrix of the instances."""
        return InstanceKernel("rbf", gamma)(self.Z, self.Z)


class DSDDScore(Recorded, DifferenceClassifier):
    """Score and model-selection criterion of DSDD.

    Subclasses have the parameters `fit_intercept`, `max_instances`, `tol`, `max_iter`, `verbose` and
    `random_state`.
    """

    intercept_: np.ndarray
    support_vectors_: np.ndarray
    dual_coef_: Any

    def _gather(self, training: Training) -> _TrainingInstances:
        drawn = self._draw(training)
        require_memory(len(drawn), len(drawn), "instances")
        bags = training.bags
        bag_of = bags.bag_index[drawn]
        return _TrainingInstances(
            bags.instances[drawn], bag_of, 2.0 * training.y[bag_of] - 1.0, training.weight[bag_of]
        )

    def _draw(self, training: Training) -> np.ndarray:
        """Return the indices of the training instances: all, or a sample stratified by kind of bag."""
        positive = training.y[training.bags.bag_index] == 1
        n = len(positive)
        if n <= self.max_instances:
            return np.arange(n)
        rng = check_random_state(self.random_state)
        parts = []
        for kind in (np.flatnonzero(positive), np.flatnonzero(~positive)):
            size = max(1, round(self.max_instances * len(kind) / n))
            parts.append(rng.permutation(kind)[:size])
        return np.sort(np.concatenate(parts))

    def _minimise(self, kernel: Any, sign: Any, weight: Any, alpha: float, control: Control) -> SolverResult:
        problem = RampProblem(kernel, sign, _halves(sign, weight), alpha, self.fit_intercept)
        start = problem.zero()
        return minimize_cccp(problem, problem.linearize(start), start, control)

    def _criterion(self, parts: _TrainingInstances, gammas: Any, alphas: Any, folds: Any) -> np.ndarray:
        reporter = Reporter(type(self).__name__, self.verbose)
        rows = []
        for gamma in gammas:
            K, of_folds = parts.kernel(gamma), []
            for i, fold in enumerate(folds):
                of_folds.append(self._fold(K, parts, fold, alphas))
                reporter.fold(i, len(folds), f"gamma {gamma:.4g}", of_folds[-1], n_settings=len(gammas))
            rows.append(np.mean(of_folds, axis=0))
        return np.array(rows)

    def _fold(self, K: np.ndarray, parts: _TrainingInstances, fold: Any, alphas: Any) -> list[float]:
        """Return the risk of the held-out instances for every alpha."""
        kept, held = (part[parts.bag_of] for part in fold)
        sign, weight = parts.sign, parts.weight
        square = K[np.ix_(kept, kept)]
        rectangle = K[np.ix_(held, kept)]
        # A higher precision would not change the choice between a few values.
        control = Control(max(self.tol, 1e-2), self.max_iter)
        risks = []
        for alpha in alphas:
            best = self._minimise(square, sign[kept], weight[kept], alpha, control).x
            raise_if_stopped()
            loss = ramp(sign[held] * (rectangle @ best.x + best.intercept))
            risks.append(float(_halves(sign[held], weight[held]) @ loss))
        return risks

    def _solve(self, parts: _TrainingInstances) -> None:
        reporter = Reporter(type(self).__name__, self.verbose)
        K = parts.kernel(self.gamma_)
        control = Control(self.tol, self.max_iter, reporter.iteration)
        result = self._minimise(K, parts.sign, parts.weight, self.alpha_, control)
        reporter.start(0, 1, result)
        best = record_result(self, [result]).x
        used = np.flatnonzero(best.x)
        self.support_vectors_ = parts.Z[used]
        self.dual_coef_ = best.x[None, used]
        self.intercept_ = np.array([best.intercept])

    def _instance_scores(self, bags: Bags) -> np.ndarray:
        Z = self._scaled(bags).instances
        return expand(Z, self.support_vectors_, self.gamma_, self.dual_coef_[0]) + self.intercept_[0]


class DSDDClassifier(DSDDScore):
    """Classify instances by the sign of a difference of two densities, without estimating the densities.

    Positive instances are more frequent in positive bags than in unlabeled ones, and negative instances are
    less frequent. If both kinds of bags have weight one half, the sign of this difference is the best
    classifier of instances by kind of bag. The fit minimizes ::

        alpha / 2 |f|^2 + mean_P(ramp(f)) / 2 + mean_U(ramp(-f)) / 2

    with ramp(z) = max(0, min(1, (1 - z) / 2)). Here f is a function in the space of a Gaussian kernel plus an
    intercept. The means are over the instances of positive and of unlabeled bags. An instance is positive
    if f >= 0, and a bag is positive if one of its instances is. Neither the fit nor the predictions use the
    class prior: instances are classified as if half of them were positive.

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
        Parameter of the Gaussian kernel ``exp(-gamma |x - z|^2)``.
    alpha : float, default=1e-3
        Weight of the penalty. `DSDDClassifierCV` chooses alpha and gamma by cross-validation.
    fit_intercept : bool, default=True
        Whether f has an intercept. Without an intercept, f is zero far from all training instances.
    max_instances : int, default=2000
        Maximum number of training instances. If there are more, a random sample is drawn, stratified by kind
        of bag.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="minmax"
        How features are scaled.
    tol : float, default=1e-6
        Relative duality gap of the convex steps, and the gain below which these steps stop.
    max_iter : int, default=50
        Maximum number of convex steps.
    positive : label or None, default=None
        Label of the positive bags; bags with the other label are unlabeled. By default it is the larger
        number, or True. Text labels require this parameter.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of the sample of instances.
    verbose : int, default=0
        1 reports the result of the fit, 2 also reports every convex step.

    Attributes
    ----------
    gamma_, alpha_ : float
        The values used in the fit.
    support_vectors_, dual_coef_, intercept_ : arrays of shape (n, n_features), (1, n) and (1,)
        The score: ``sum_t dual_coef_[0, t] k(x, support_vectors_[t]) + intercept_[0]``.
    objective_, objective_history_, n_iter_, converged_
        The objective above, the number of convex steps, and whether `tol` was reached.
    scaler_, classes_, positive_label_, n_features_in_
        As in `PUSetKernelClassifier`.

    Notes
    -----
    The ramp is a difference of two hinges. The fit is therefore a sequence of support vector machines (the
    concave-convex procedure), each started from the previous solution. It converges to a local minimum. The
    kernel matrix of instances is computed once; its size is O(n^2) for n up to `max_instances`.

    The authors' program penalizes the coefficients of basis functions, ``|coef|^2``, and has no intercept.
    Here the penalty is the norm of f in the kernel space, which needs no second matrix.
    docs/reproduction/pu-table3.md shows the effect of both differences.

    References
    ----------
    du Plessis, Niu and Sugiyama (2013), Clustering unclustered data: unsupervised binary labeling of two
    datasets having different class balances, TAAI. Bao et al. (2018), Neural Networks 105, section 3.4.

    See docs/explanation/papers.md for the equations of the paper.

    Examples
    --------
    >>> from bagwise import DSDDClassifier, make_noisy_or_bags, make_positive_unlabeled
    >>> full = make_noisy_or_bags(1200, coef=[6.0, -6.0], intercept=-10.0, random_state=0)
    >>> data = make_positive_unlabeled(
    ...     full.bags, full.y, n_positive=40, n_unlabeled=80, class_prior=0.3, random_state=0
    ... )
    >>> model = DSDDClassifier(gamma=1.0, alpha=0.01).fit(data.bags, data.y)
    >>> model.predict(data.bags).shape
    (120,)
    """

    _parameter_constraints: dict[str, Any] = {**DIFFERENCE_CONSTRAINTS, **RAMP_CONSTRAINTS}

    def __init__(
        self,
        *,
        gamma: float | str = "scale",
        alpha: float = 1e-3,
        fit_intercept: bool = True,
        max_instances: int = 2000,
        scale: Scale = "minmax",
        tol: float = 1e-6,
        max_iter: int = 50,
        positive: PositiveLabel = None,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        self.gamma = gamma
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.max_instances = max_instances
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter
        self.positive = positive
        self.random_state = random_state
        self.verbose = verbose


def _halves(sign: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Scale the weights so that they sum to one half for each sign."""
    share = weight.copy()
    for label in (1.0, -1.0):
        share[sign == label] *= 0.5 / max(weight[sign == label].sum(), np.finfo(float).tiny)
    return share


def ramp(z: np.ndarray) -> np.ndarray:
    """Return ``max(0, min(1, (1 - z) / 2))``."""
    return np.clip(0.5 * (1.0 - z), 0.0, 1.0)


@dataclass(frozen=True)
class RampScore:
    """Scores ``K @ x + intercept`` of the training points, and the objective there."""

    x: np.ndarray
    product: np.ndarray
    intercept: float
    value: float


class _Flipped:
    """Flags of the points that are so far on the wrong side that the ramp is constant."""

    def __init__(self, flags: np.ndarray):
        self.flags = flags

    def __eq__(self, other: Any) -> bool:
        return np.array_equal(self.flags, other.flags)

    __hash__ = None  # type: ignore[assignment]


class RampProblem:
    """``alpha / 2 |f|^2 + sum_i weight_i ramp(y_i f(x_i))`` as a sum of a convex and a concave part.

    The ramp is half a hinge with its corner at 1 minus half a hinge with its corner at -1. The second hinge
    is replaced by its tangent. This shifts the bounds of points beyond -1 by their weight, and the remaining
    problem is the dual of a support vector machine.

    Parameters
    ----------
    kernel : array of shape (n, n)
        Kernel matrix K of the points.
    sign : array of shape (n,)
        Labels y, 1 or -1.
    weight : array of shape (n,)
        Weights of the points.
    alpha : float
        Weight of the penalty.
    fit_intercept : bool
        Whether scores have an intercept; otherwise it is zero.
    """

    bound: np.ndarray
    rows: DenseRows

    def __init__(
        self,
        kernel: np.ndarray,
        sign: np.ndarray,
        weight: np.ndarray,
        alpha: float,
        fit_intercept: bool = True,
    ):
        # The extra point has score zero and a free dual variable, so its gradient, the intercept, is zero.
        self.rows = DenseRows(kernel if fit_intercept else np.pad(kernel, (0, 1)))
        self.sign = sign
        self.weight = weight
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.bound = 0.5 * weight / alpha

    def zero(self) -> RampScore:
        """Return the score that is zero everywhere."""
        zeros = np.zeros(len(self.sign))
        return RampScore(zeros, zeros, 0.0, 0.5 * float(self.weight.sum()))

    def linearize(self, point: RampScore) -> _Flipped:
        """Return the points where the ramp is constant."""
        return _Flipped(self.sign * (point.product + point.intercept) < -1.0)

    def solve(self, piece: _Flipped, start: RampScore, control: Control) -> RampScore:
        """Minimize the objective with the tangent at these flags."""
        moved = np.where(piece.flags, self.bound, 0.0)
        low, high = -moved, self.bound - moved
        positive = self.sign > 0
        linear, u, product = -self.sign, start.x, start.product
        lower, upper = np.where(positive, low, -high), np.where(positive, high, -low)
        if not self.fit_intercept:
            linear, product = np.append(linear, 0.0), np.append(product, 0.0)
            u = np.append(u, -u.sum())
            lower, upper = np.append(lower, -self.bound.sum()), np.append(upper, self.bound.sum())
        control = replace(control, max_iter=enough_steps(len(u)))
        dual = solve_dual(self.rows, linear, control, lower=lower, upper=upper, start=u, product=product)
        n = len(self.sign)
        x, product = dual.x[:n], dual.product[:n]
        intercept = -dual.multiplier if self.fit_intercept else 0.0
        loss = self.weight @ ramp(self.sign * (product + intercept))
        return RampScore(x, product, intercept, 0.5 * self.alpha * float(x @ product) + float(loss))
