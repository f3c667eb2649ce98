"""puMIL: a machine on one instance of every bag, and a search for the unlabeled bags that are negative."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from bagwise._sklearn import Interval, StrOptions
from bagwise.bags import Bags
from bagwise.base import SCALE_CONSTRAINT, BagsLike, InstanceScoreClassifier, validated_fit
from bagwise.kernels import InstanceKernel, blocks, resolve_gamma
from bagwise.pu.base import PUClassifier
from bagwise.pu.losses import check_pu_labels
from bagwise.solvers.dual import solve_dual


@dataclass(frozen=True)
class _Machine:
    """A linear machine of key instances, with the negative instances whose density names the keys."""

    negatives: np.ndarray
    coef: np.ndarray
    intercept: float
    f_measure: float


class PUMILClassifier(PUClassifier, InstanceScoreClassifier):
    """A linear machine on the key instance of every bag, from positive and possibly negative bags.

    Every unlabeled bag b has a confidence v_b in [0, 1] that it is negative. Given the confidences, the
    n_positive most confident bags are taken as negative; a kernel density estimate of their instances, each
    multiplied by its bag's confidence, says how negative an instance looks; the least negative instance of
    every bag is its key; and a machine ``f(x) = w'x + b`` minimises ::

        |w|^2 / 2 + C sum_b max(0, 1 - y_b (v_b w'key_b + b))

    over the positive bags (v = 1, y = 1) and the possibly negative ones (y = -1). Confidences are judged by
    the F measure of this machine, for which the unlabeled bags that were not taken as negative count as
    positive, and improved by a genetic search. A bag is positive if f is positive at its key.

    It is here as the method that PU-SKC is compared with. The search is not known to converge to anything,
    the class prior plays no part, and with many negative bags among the unlabeled ones its F measure is wrong
    of most of them.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss.
    fit_intercept : bool, default=True
        Whether the machine has an intercept b; the paper's (B.1) has none.
    gamma : float, "scale" or "auto", default="scale"
        Width of the Gaussian of the density estimate.
    n_candidates : int, default=10
        Confidences kept at a time.
    max_iter : int, default=20
        The most generations; the search ends earlier when one brings no better machine.
    clone_rate : float, default=0.2
        Share of the candidates, the worst, that are replaced by the best before they change.
    max_negatives : int, default=500
        Instances of the possibly negative bags in the density estimate; of more this many are drawn.
    scale : {"standard", "minmax"}, transformer or None, default="minmax"
        How features are scaled.
    random_state : int, RandomState instance or None, default=None
        Draws confidences and changes.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (1, n_features) and (1,)
        The machine.
    negatives_ : array
        Instances of the density estimate, multiplied by confidences.
    confidence_ : array of shape (n_unlabeled,)
        The best confidences.
    objective_, objective_history_ : float, array
        One minus the F measure: of the best candidate at the beginning and after every generation.
    n_iter_, converged_
        Generations, and whether the last brought nothing better.
    gamma_, scaler_, classes_, n_features_in_
        The width, and as in `PUSetKernelClassifier`.

    Notes
    -----
    A candidate costs O(n_instances * min(max_negatives, instances of the negative bags)) and a machine of 2
    n_positive points. What the method leaves open is settled as the paper's footnotes do: the F measure
    above, and confidence 1 for new bags. A change (B.3) that leaves [0, 1] is cut off.

    References
    ----------
    Wu, Zhu, Zhang and Cai (2014), Multi-instance learning from positive and unlabeled bags, PAKDD. Bao et al.
    (2018), Neural Networks 105, appendix B.

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

    _parameter_constraints: dict = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "n_candidates": [Interval(Integral, 2, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "clone_rate": [Interval(Real, 0, 1, closed="left")],
        "max_negatives": [Interval(Integral, 1, None, closed="left")],
        "scale": SCALE_CONSTRAINT,
        "random_state": ["random_state"],
    }
    _expected_failed_checks = {
        "bag_order_is_irrelevant": "the first confidences are drawn for bags in their order"
    }

    def __init__(
        self,
        C=1.0,
        *,
        fit_intercept=True,
        gamma="scale",
        n_candidates=10,
        max_iter=20,
        clone_rate=0.2,
        max_negatives=500,
        scale="minmax",
        random_state=None,
    ):
        self.C = C
        self.fit_intercept = fit_intercept
        self.gamma = gamma
        self.n_candidates = n_candidates
        self.max_iter = max_iter
        self.clone_rate = clone_rate
        self.max_negatives = max_negatives
        self.scale = scale
        self.random_state = random_state

    @property
    def _accepts_sparse(self) -> bool:
        return False

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike) -> Self:
        """Learn from positive and unlabeled bags.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            Positive and unlabeled bags.
        y : array of shape (n_bags,)
            1 or True marks positive bags; 0, -1 or False unlabeled ones.

        Returns
        -------
        self
        """
        check_pu_labels(y, type(self).__name__)
        training = self._fit_scaler(self._read_training(X, y))
        bags, y = training.bags, training.y
        self.gamma_ = resolve_gamma(self.gamma, bags.instances)
        rng = check_random_state(self.random_state)
        candidates = rng.random_sample((self.n_candidates, int((y == 0).sum())))
        # One draw of instances for all candidates, so that they differ by their confidences alone.
        priority = rng.random_sample(bags.n_instances)
        machines = [self._build(bags, y, v, priority) for v in candidates]
        history = [1.0 - max(m.f_measure for m in machines)]
        self.converged_ = False
        while len(history) <= self.max_iter and not self.converged_:
            self._evolve(candidates, machines, rng, lambda v: self._build(bags, y, v, priority))
            history.append(1.0 - max(m.f_measure for m in machines))
            self.converged_ = history[-1] == history[-2]
        best = max(range(self.n_candidates), key=lambda number: machines[number].f_measure)
        self.confidence_ = candidates[best].copy()
        self.negatives_ = machines[best].negatives
        self.coef_ = machines[best].coef[None, :]
        self.intercept_ = np.array([machines[best].intercept])
        self.objective_, self.objectives_ = history[-1], np.array(history[-1:])
        self.objective_history_ = np.array(history)
        self.n_iter_ = len(history) - 1
        return self

    def _evolve(self, candidates, machines, rng, build) -> None:
        """One generation: clones of the best take the place of the worst, the others move along (B.3)."""
        order = np.argsort([-machine.f_measure for machine in machines], kind="stable")
        best = order[0]
        for number in order[len(order) - int(self.clone_rate * len(order)) :]:
            candidates[number], machines[number] = candidates[best], machines[best]
        for number in order[1:]:
            step = rng.standard_normal() * (1.0 - machines[number].f_measure)
            changed = np.clip(candidates[number] + step * (candidates[best] - candidates[number]), 0.0, 1.0)
            if np.array_equal(changed, candidates[number]):
                continue
            machine = build(changed)
            if machine.f_measure > machines[number].f_measure:
                candidates[number], machines[number] = changed, machine

    def _build(self, bags: Bags, y: np.ndarray, confidence: np.ndarray, priority: np.ndarray) -> _Machine:
        """Steps 2 to 4 of the paper: negative bags, key instances, machine, F measure."""
        unlabeled = np.flatnonzero(y == 0)
        n_negative = min(int((y == 1).sum()), len(unlabeled))
        taken = np.argsort(-confidence, kind="stable")[:n_negative]
        weight = np.ones(len(bags))
        weight[unlabeled] = confidence
        label = np.ones(len(bags))
        label[unlabeled[taken]] = -1.0
        inside = np.flatnonzero(label[bags.bag_index] < 0)
        if len(inside) > self.max_negatives:
            inside = np.sort(inside[np.argsort(priority[inside], kind="stable")[: self.max_negatives]])
        negatives = bags.instances[inside] * weight[bags.bag_index[inside], None]
        keys = bags.instances[self._keys(bags, negatives)]
        members = np.concatenate([np.flatnonzero(y == 1), unlabeled[taken]])
        coef, intercept = self._fit_machine(weight[members, None] * keys[members], label[members])
        called = keys @ coef + intercept > 0
        right = float((called & (label > 0)).sum())
        f_measure = 2 * right / (called.sum() + (label > 0).sum())
        return _Machine(negatives, coef, intercept, float(f_measure))

    def _fit_machine(self, points: np.ndarray, sign: np.ndarray) -> tuple[np.ndarray, float]:
        """A linear support vector machine."""
        bound = self.C * np.abs(sign)
        lower, upper = np.where(sign > 0, 0.0, -bound), np.where(sign > 0, bound, 0.0)
        if not self.fit_intercept:
            # A point at the origin that takes up any sum: its gradient, the intercept, is zero.
            points, sign = np.vstack([points, np.zeros(points.shape[1])]), np.append(sign, 0.0)
            lower, upper = np.append(lower, -bound.sum()), np.append(upper, bound.sum())
        found = solve_dual(points @ points.T, -sign, lower=lower, upper=upper, tol=1e-4)
        return found.x @ points, -found.multiplier if self.fit_intercept else 0.0

    def _keys(self, bags: Bags, negatives: np.ndarray) -> np.ndarray:
        """Number of the instance of least negative density in every bag."""
        kernel = InstanceKernel("rbf", self.gamma_)
        density = np.empty(bags.n_instances)
        for rows in blocks(bags.n_instances, len(negatives)):
            density[rows] = kernel(bags.instances[rows], negatives).sum(axis=1)
        first = bags.offsets[:-1]
        least = np.repeat(np.minimum.reduceat(density, first), bags.sizes)
        place = np.where(density == least, np.arange(bags.n_instances), bags.n_instances)
        return np.minimum.reduceat(place, first)

    def _linear_scores(self, Z: np.ndarray) -> np.ndarray:
        return Z @ self.coef_[0] + self.intercept_[0]

    def _instance_scores(self, bags: Bags) -> np.ndarray:
        return self._linear_scores(self._scaled(bags).instances)

    def _bag_scores(self, bags: Bags) -> np.ndarray:
        """Score every bag by its key instance."""
        scaled = self._scaled(bags)
        return self._linear_scores(scaled.instances[self._keys(scaled, self.negatives_)])
