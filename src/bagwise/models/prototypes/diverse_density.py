"""Diverse density: a point that every positive bag comes near and no negative bag does."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from bagwise._core.checkpoint import CheckpointLocation
from bagwise._core.sklearn_private import Interval
from bagwise._core.threads import blas_threads_for
from bagwise._core.types import ClassWeight, Scale, Seed
from bagwise.data.bags import Bags
from bagwise.data.blocks import pick_instance
from bagwise.models.base import (
    CLASS_WEIGHT_CONSTRAINT,
    RULE_CONSTRAINT,
    SCALE_CONSTRAINT,
    BagsLike,
    Scaled,
    Training,
    WaistClassifier,
    validated_fit,
)
from bagwise.models.prototypes.density_problem import DensityProblem, distance, distinct_optima, log_odds
from bagwise.persist.checkpoints import CheckpointLike, identity_of, opened
from bagwise.rules import Rule, make_rule, start_fixed
from bagwise.solvers.control import Control
from bagwise.solvers.reporting import Reporter
from bagwise.solvers.result import Recorded, SolverResult, as_totals, record_result
from bagwise.solvers.smooth import minimize_smooth


class DiverseDensity(Recorded, Scaled, WaistClassifier):
    """An instance is the more positive the closer it is to a target point, by a metric that is learned.

    With a target t and a scale s_k for every feature, the fit minimises ::

        - sum_i w_i log P(y_i | X_i),    P(z = 1 | x) = exp(-sum_k s_k^2 (x_k - t_k)^2)

    over bags i with weights w, where a rule makes the bag's label of its instances' labels: under the
    default or-rule this is Maron's noisy-or. It is the conditional likelihood of a mixture in which
    the positive class is one bump; scales near 0 switch features off.

    Use it where positive instances are alike, as shapes that fit one binding site are. With many
    features it overfits: it has two parameters for each and no penalty.

    Parameters
    ----------
    rule : str or Rule, default="or"
        How instances make the label of a bag.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="standard"
        How the instances are scaled before the fit.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with those of the bags.
    n_init : int or None, default=10
        Number of starts, at random instances of positive bags; None starts at each of them.
    tol : float, default=1e-4
        Converged when no entry of the objective's gradient, per unit of bag weight, is larger.
    max_iter : int, default=200
        The most iterations of a start.
    random_state : int, RandomState or None, default=None
        Source of the starts.
    verbose : int, default=0
        1 shows one live line on a terminal, a line per start elsewhere; 2 a line per iteration.

    Attributes
    ----------
    target_ : array of shape (n_features,)
        The target, on the scale of ``scaler_``.
    feature_scales_ : array of shape (n_features,)
        ``|s|``, on that scale.
    local_optima_ : array of shape (n_optima, 2, n_features)
        Targets and scales of the better ends of all starts, each once, best first: those whose objective is
        below the middle of the best and the worst. Two are one if each calls the other's target positive
        with probability 0.95 or more.
    local_objectives_ : array of shape (n_optima,)
        Their objectives.
    rule_, scaler_ : Rule, transformer or None
        As used.
    classes_ : array of shape (2,)
        The labels; ``classes_[1]`` is the positive class.
    n_features_in_ : int
        Number of features.
    objective_, objective_history_, objectives_ : float, array, array
        The least objective, its course, and the ends of all starts.
    log_likelihood_ : float
        The weighted log-likelihood of the training bags.
    n_iter_, converged_ : int, bool
        Iterations of the best start, and whether it reached `tol`.

    Notes
    -----
    An iteration of L-BFGS costs two passes over the instances. A start has s_k^2 = 1 / n_features, so that
    standardised instances are about one unit away. An instance on the target is positive with
    probability 1 - 1e-9 rather than 1, which keeps the likelihood finite.

    References
    ----------
    O. Maron and T. Lozano-Pérez (1998), A framework for multiple-instance learning, NIPS 10.

    Examples
    --------
    >>> from bagwise import DiverseDensity, make_mixture_bags
    >>> data = make_mixture_bags(60, separation=5.0, random_state=0)
    >>> model = DiverseDensity(random_state=0).fit(data.bags, data.y)
    >>> bool(model.score(data.bags, data.y) > 0.95)
    True
    """

    target_: np.ndarray
    feature_scales_: np.ndarray
    rule_: Rule
    log_likelihood_: float
    local_optima_: np.ndarray
    local_objectives_: np.ndarray

    _accepts_sparse = False
    _parameter_constraints: dict[str, Any] = {
        "rule": RULE_CONSTRAINT,
        "scale": SCALE_CONSTRAINT,
        "class_weight": CLASS_WEIGHT_CONSTRAINT,
        "n_init": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        rule: str | Rule = "or",
        *,
        scale: Scale = "standard",
        class_weight: ClassWeight = None,
        n_init: int | None = 10,
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        self.rule = rule
        self.scale = scale
        self.class_weight = class_weight
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @validated_fit
    def fit(
        self,
        X: BagsLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        checkpoint: CheckpointLike | None = None,
    ) -> Self:
        """Learn from bags and their labels.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            The training bags.
        y : array of shape (n_bags,)
            Two classes; the one that sorts last is the positive class.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.
        checkpoint : path, optional
            A file that keeps what the fit has found out so far: after a crash the same call goes on from
            there (docs/checkpoints.md). It is removed at the end.

        Returns
        -------
        self
        """
        training = self._fit_scaler(self._read_training(X, y, sample_weight))
        size = training.bags.n_instances * training.bags.n_features
        with opened(checkpoint, lambda: identity_of(self)) as place, blas_threads_for(size):
            self._fit(training, place)
        return self

    def _fit(self, training: Training, place: CheckpointLocation) -> None:
        bags, y, weight = training
        self.rule_ = start_fixed(self._make_rule(), bags.offsets, y)
        problem = DensityProblem(bags.instances, bags.offsets, y, weight, self.rule_)
        starts = self._starts(problem, bags, weight, place.seed(self.random_state))
        reporter = Reporter(type(self).__name__, self.verbose)
        control = Control(
            self.tol,
            self.max_iter,
            lambda i, value: reporter.iteration(i, value * problem.total),
            checkpoint=place,
        )
        results: list[SolverResult] = []
        for number, start in enumerate(starts):
            results.append(as_totals(self._solve(problem, start, control), problem.total))
            reporter.start(number, len(starts), results[-1])
            if control.is_stopped:
                break
        best = record_result(self, results)
        self.log_likelihood_ = -best.value
        self.target_, scales = np.split(best.x, 2)
        self.feature_scales_ = np.abs(scales)
        self.local_optima_, self.local_objectives_ = distinct_optima(results)

    def _make_rule(self) -> Rule:
        return make_rule(self.rule)

    def _starts(self, problem: DensityProblem, bags: Any, weight: Any, random_state: Any) -> list[np.ndarray]:
        """Place targets on instances of positive bags."""
        rows = np.flatnonzero(np.repeat(problem.y == 1, bags.sizes))
        candidates, each = problem.X[rows], np.repeat(weight, bags.sizes)[rows]
        if self.n_init is not None:
            rng = check_random_state(random_state)
            candidates = candidates[[pick_instance(candidates, each, rng) for _ in range(self.n_init)]]
        scales = np.full(candidates.shape[1], candidates.shape[1] ** -0.5)
        return [np.concatenate([target, scales]) for target in candidates]

    def _solve(self, problem: DensityProblem, start: np.ndarray, control: Control) -> SolverResult:
        """Minimise from one start."""
        return minimize_smooth(
            problem.value_and_gradient, start, control, has_kinks=not problem.rule.is_smooth
        )

    def _log_odds(self, bags: Bags) -> np.ndarray:
        return log_odds(distance(self._scaled(bags).instances, self.target_, self.feature_scales_))
