"""puMIL: an SVM on one key instance per bag, and a search for the negative bags among the unlabeled ones."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from bagwise._core.sklearn_private import Interval, StrOptions
from bagwise._core.types import PositiveLabel, Scale, Seed
from bagwise.data.bags import Bags
from bagwise.data.blocks import block_rows, cut_rows
from bagwise.models.base import (
    SCALE_CONSTRAINT,
    InstanceScoreClassifier,
    Training,
    is_positive,
)
from bagwise.models.pu.base import PUClassifier
from bagwise.similarity import InstanceKernel, resolve_gamma
from bagwise.solvers.control import Control
from bagwise.solvers.dual import enough_steps
from bagwise.solvers.interior import solve_dual_either_way
from bagwise.solvers.reporting import Reporter
from bagwise.solvers.result import SolverResult, Status


@dataclass(frozen=True)
class _Machine:
    """Linear SVM of key instances, with the negative instances whose density determines the keys."""

    negatives: np.ndarray
    negative_weights: np.ndarray
    coef: np.ndarray
    intercept: float
    f_measure: float


class PUMILClassifier(PUClassifier, InstanceScoreClassifier):
    """Linear SVM on the key instance of every bag (puMIL), for positive and unlabeled bags.

    Every unlabeled bag b has a confidence v_b in [0, 1] that it is negative. For given confidences, the model
    is built in four steps. The n_positive most confident bags are treated as negative. A kernel density is
    estimated from their instances, each multiplied by its bag's confidence. The instance of every bag with
    the lowest density becomes its key. An SVM ``f(x) = w'x + b`` minimizes ::

        |w|^2 / 2 + C sum_b weight_b max(0, 1 - y_b (v_b w'key_b + b))

    over the positive bags (v = 1, y = 1) and the bags treated as negative (y = -1). The quality of
    confidences is the F measure of this SVM, where the unlabeled bags that are not treated as negative count
    as positive. A genetic search improves the confidences. A bag is positive if f >= 0 at its key.

    This model is included for comparison with PU-SKC. The search has no convergence guarantee, and the class
    prior is not used. If many unlabeled bags are negative, the F measure treats most of them as positive.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses.
    fit_intercept : bool, default=True
        Whether the SVM has an intercept b; the paper's equation (B.1) has none.
    gamma : float, "scale" or "auto", default="scale"
        Parameter of the Gaussian kernel of the density estimate.
    n_candidates : int, default=10
        Number of candidates in the search; a candidate is a vector of confidences.
    max_iter : int, default=20
        Maximum number of generations. The search stops earlier if a generation does not improve the best
        candidate.
    clone_rate : float, default=0.2
        Share of the candidates, the worst ones, that are replaced by the best one in every generation.
    max_negatives : int, default=500
        Maximum number of instances in the density estimate. If there are more, a random sample is drawn.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="minmax"
        How features are scaled.
    positive : label or None, default=None
        Label of the positive bags; bags with the other label are unlabeled. By default it is the larger
        number, or True. Text labels require this parameter.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of the initial confidences and of their changes.
    verbose : int, default=0
        1 reports the result of the search, 2 also reports every generation.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (1, n_features) and (1,)
        Coefficients and intercept of the SVM.
    negatives_, negative_weights_ : arrays of shape (n_negatives, n_features) and (n_negatives,)
        Instances of the density estimate, multiplied by confidences, and their weights.
    confidence_ : array of shape (n_unlabeled,)
        The best confidences of the unlabeled bags with non-zero weight.
    objective_, objective_history_ : float, array
        One minus the F measure of the best candidate, at the start and after every generation.
    n_iter_, converged_
        Number of generations, and whether the last one brought no improvement.
    gamma_, scaler_, classes_, positive_label_, n_features_in_
        The value of gamma in the fit; for the other attributes, see `PUSetKernelClassifier`.

    Notes
    -----
    A candidate costs O(n_instances * min(max_negatives, instances of the negative bags)) plus an SVM with 2
    n_positive points. For details that the method does not define, the implementation follows the footnotes
    of the paper: the F measure above, and confidence 1 for new bags. A change (B.3) that leaves [0, 1] is
    clipped.

    A bag of weight two is equivalent to two copies: in the number of bags treated as negative, in the
    density, in the SVM and in the F measure. A bag can be treated as negative with a part of its weight; the
    rest then counts as positive. Equal bags have equal confidences, and random confidences are drawn in an
    order that depends only on the values of the bags. The fit therefore depends neither on copies nor on the
    order of the training bags.

    References
    ----------
    Wu, Zhu, Zhang and Cai (2014), Multi-instance learning from positive and unlabeled bags, PAKDD. Bao et al.
    (2018), Neural Networks 105, appendix B.

    See docs/explanation/papers.md for the equations of the paper.

    Examples
    --------
    >>> from bagwise import PUMILClassifier, make_noisy_or_bags, make_positive_unlabeled
    >>> full = make_noisy_or_bags(1200, coef=[6.0, -6.0], intercept=-10.0, random_state=0)
    >>> data = make_positive_unlabeled(
    ...     full.bags, full.y, n_positive=40, n_unlabeled=80, class_prior=0.3, random_state=0
    ... )
    >>> model = PUMILClassifier(random_state=0).fit(data.bags, data.y)
    >>> model.confidence_.shape
    (80,)
    """

    intercept_: np.ndarray
    objectives_: np.ndarray
    objective_history_: np.ndarray
    gamma_: float
    confidence_: np.ndarray
    negatives_: np.ndarray
    negative_weights_: np.ndarray
    coef_: np.ndarray
    objective_: float
    n_iter_: Any
    converged_: bool

    _accepts_sparse = False
    _parameter_constraints: dict[str, Any] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "n_candidates": [Interval(Integral, 2, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "clone_rate": [Interval(Real, 0, 1, closed="left")],
        "max_negatives": [Interval(Integral, 1, None, closed="left")],
        "scale": SCALE_CONSTRAINT,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "positive": "no_validation",
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        fit_intercept: bool = True,
        gamma: float | str = "scale",
        n_candidates: int = 10,
        max_iter: int = 20,
        clone_rate: float = 0.2,
        max_negatives: int = 500,
        scale: Scale = "minmax",
        positive: PositiveLabel = None,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        self.C = C
        self.fit_intercept = fit_intercept
        self.gamma = gamma
        self.n_candidates = n_candidates
        self.max_iter = max_iter
        self.clone_rate = clone_rate
        self.max_negatives = max_negatives
        self.scale = scale
        self.positive = positive
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, training: Training, sample_weight: ArrayLike | None) -> None:
        original = training
        distinct, indices = distinct_bags(original)
        training = self._fit_scaler(distinct)
        bags = training.bags
        self.gamma_ = resolve_gamma(self.gamma, bags.instances, np.repeat(training.weight, bags.sizes))
        rng = check_random_state(self.random_state)
        reporter = Reporter(type(self).__name__, self.verbose)
        candidates = rng.random_sample((self.n_candidates, int((training.y == 0).sum())))
        # All candidates use the same draw of instances, so that they only differ by their confidences.
        priority = rng.random_sample(bags.n_instances)
        control = Control(0.0, self.max_iter, reporter.iteration)
        machines: list[_Machine] = []
        for candidate in candidates:
            machines.append(self._build(training, candidate, priority))
            if control.is_stopped:
                break
        history = [1.0 - max(m.f_measure for m in machines)]
        status = Status.MAX_ITER
        while status is Status.MAX_ITER and len(history) <= control.max_iter and not control.is_stopped:
            self._evolve(candidates, machines, rng, lambda v: self._build(training, v, priority), control)
            history.append(1.0 - max(m.f_measure for m in machines))
            control.report(len(history) - 1, history[-1])
            if history[-2] - history[-1] <= control.tol:
                status = Status.CONVERGED
        if control.is_stopped:
            status = Status.INTERRUPTED
        best = max(range(len(machines)), key=lambda i: machines[i].f_measure)
        confidence = np.ones(len(bags))
        confidence[training.y == 0] = candidates[best]
        self.confidence_ = confidence[indices[original.y == 0]]
        self.negatives_ = machines[best].negatives
        self.negative_weights_ = machines[best].negative_weights
        self.coef_ = machines[best].coef[None, :]
        self.intercept_ = np.array([machines[best].intercept])
        self.objective_, self.objectives_ = history[-1], np.array(history[-1:])
        self.objective_history_ = np.array(history)
        self.n_iter_, self.converged_ = len(history) - 1, status is Status.CONVERGED
        reporter.start(0, 1, SolverResult(None, history[-1], status, self.n_iter_, tuple(history)))

    def _evolve(self, candidates: Any, machines: Any, rng: Any, build: Any, control: Control) -> None:
        """Replace the worst candidates by clones of the best one, and change the others as in (B.3)."""
        order = np.argsort([-machine.f_measure for machine in machines], kind="stable")
        best = order[0]
        for i in order[len(order) - int(self.clone_rate * len(order)) :]:
            candidates[i], machines[i] = candidates[best], machines[best]
        for i in order[1:]:
            if control.is_stopped:
                break
            step = rng.standard_normal() * (1.0 - machines[i].f_measure)
            changed = np.clip(candidates[i] + step * (candidates[best] - candidates[i]), 0.0, 1.0)
            if np.array_equal(changed, candidates[i]):
                continue
            machine = build(changed)
            if machine.f_measure > machines[i].f_measure:
                candidates[i], machines[i] = changed, machine

    def _build(self, training: Training, confidence: np.ndarray, priority: np.ndarray) -> _Machine:
        """Choose negative bags and key instances, fit the SVM, and compute its F measure (steps 2 to 4)."""
        bags, y, weight = training
        trust = np.ones(len(bags))
        trust[y == 0] = confidence
        negative = _taken_as_negative(training, confidence)
        inside = np.flatnonzero(negative[bags.bag_index] > 0)
        if len(inside) > self.max_negatives:
            inside = np.sort(inside[np.argsort(priority[inside], kind="stable")[: self.max_negatives]])
        bag_of = bags.bag_index[inside]
        negatives = bags.instances[inside] * trust[bag_of, None]
        keys = bags.instances[self._keys(bags, negatives, negative[bag_of])]
        members = np.flatnonzero((y == 1) | (negative > 0))
        coef, intercept = self._fit_machine(
            trust[members, None] * keys[members],
            np.where(y[members] == 1, 1.0, -1.0),
            np.where(y[members] == 1, weight[members], negative[members]),
        )
        called = is_positive(keys @ coef + intercept)
        # The weight that is not treated as negative is treated as positive.
        positive = weight - negative
        f_measure = 2.0 * positive[called].sum() / (weight[called].sum() + positive.sum())
        return _Machine(negatives, negative[bag_of], coef, intercept, float(f_measure))

    def _fit_machine(
        self, points: np.ndarray, sign: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Fit a linear support vector machine and return its coefficients and intercept."""
        bound = self.C * weight
        lower, upper = np.where(sign > 0, 0.0, -bound), np.where(sign > 0, bound, 0.0)
        if not self.fit_intercept:
            # The extra point at the origin has a free dual variable, so its gradient, the intercept, is zero.
            points, sign = np.vstack([points, np.zeros(points.shape[1])]), np.append(sign, 0.0)
            lower, upper = np.append(lower, -bound.sum()), np.append(upper, bound.sum())
        control = Control(1e-4, enough_steps(len(sign)))
        dual = solve_dual_either_way(points @ points.T, -sign, control, lower=lower, upper=upper)
        return dual.x @ points, -dual.multiplier if self.fit_intercept else 0.0

    def _keys(self, bags: Bags, negatives: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the index of the instance with the lowest negative density in every bag.

        Ties up to rounding are resolved by the values of the instances, not by their order in the bag.
        """
        kernel = InstanceKernel("rbf", self.gamma_)
        density = np.empty(bags.n_instances)
        for rows in cut_rows(bags.n_instances, block_rows(len(negatives))):
            density[rows] = kernel(bags.instances[rows], negatives) @ weight
        first = bags.offsets[:-1]
        least = np.repeat(np.minimum.reduceat(density, first), bags.sizes)
        tied = np.flatnonzero(density <= least * (1.0 + 1e-10))
        bag_of = bags.bag_index[tied]
        tied = tied[np.lexsort((*bags.instances[tied].T[::-1], bag_of))]
        return tied[np.searchsorted(bags.bag_index[tied], np.arange(len(bags)))]

    def _linear_scores(self, Z: np.ndarray) -> np.ndarray:
        return Z @ self.coef_[0] + self.intercept_[0]

    def _instance_scores(self, bags: Bags) -> np.ndarray:
        return self._linear_scores(self._scaled(bags).instances)

    def _bag_scores(self, bags: Bags) -> np.ndarray:
        """Return the score of every bag's key instance."""
        scaled = self._scaled(bags)
        return self._linear_scores(
            scaled.instances[self._keys(scaled, self.negatives_, self.negative_weights_)]
        )


def distinct_bags(training: Training) -> tuple[Training, np.ndarray]:
    """Merge equal bags of the same kind and add their weights; also return the new index of every bag.

    The order of the bags, and of the instances in a bag, depends only on their values.
    """
    bags, y, weight = training
    X = bags.instances.astype(np.float64) + 0.0  # converts negative zeros, which have different bytes
    rows, bag_of = [row.tobytes() for row in X], bags.bag_index.tolist()
    X = X[sorted(range(len(rows)), key=lambda i: (bag_of[i], rows[i]))]
    ends = zip(bags.offsets[:-1], bags.offsets[1:], strict=True)
    names = [(label, X[begin:end].tobytes()) for label, (begin, end) in zip(y.tolist(), ends, strict=True)]
    index_of = {name: k for k, name in enumerate(sorted(set(names)))}
    indices = np.array([index_of[name] for name in names])
    _, first = np.unique(indices, return_index=True)
    return Training(bags.with_instances(X)[first], y[first], np.bincount(indices, weight)), indices


def _taken_as_negative(training: Training, confidence: np.ndarray) -> np.ndarray:
    """Return the weight with which every bag is treated as negative.

    The most confident unlabeled bags are taken until their weight equals that of the positive bags.
    """
    _, y, weight = training
    order = np.flatnonzero(y == 0)[np.argsort(-confidence, kind="stable")]
    before = np.cumsum(weight[order]) - weight[order]
    taken = np.zeros(len(y))
    taken[order] = np.clip(weight[y == 1].sum() - before, 0.0, weight[order])
    return taken
