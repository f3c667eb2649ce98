"""Diverse density: a point that is close to every positive bag and far from all negative bags."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from bagwise._core.checkpoint import CheckpointLocation
from bagwise._core.sklearn_private import Interval
from bagwise._core.threads import blas_threads_for
from bagwise._core.types import ClassWeight, PositiveLabel, Scale, Seed
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
    varying_features,
)
from bagwise.models.prototypes.density_problem import DensityProblem, distance, distinct_optima, log_odds
from bagwise.persist.checkpoints import CheckpointLike, identity_of, opened
from bagwise.rules import Rule, make_rule, start_fixed
from bagwise.solvers.control import Control
from bagwise.solvers.reporting import Reporter
from bagwise.solvers.result import Recorded, SolverResult, as_totals, record_result
from bagwise.solvers.smooth import minimize_smooth


class DiverseDensity(Recorded, Scaled, WaistClassifier):
    """Diverse density: an instance is more probably positive the closer it is to a target point.

    With a target t and a scale s_k for every feature, the fit minimizes ::

        - sum_i w_i log P(y_i | X_i),    P(z = 1 | x) = exp(-sum_k s_k^2 (x_k - t_k)^2)

    over bags i with weights w. A rule derives the bag's label from its instances' labels; the default rule
    "or" is Maron's noisy-OR. The objective is the conditional likelihood of a mixture in which the positive
    class is a single peak. Scales near 0 switch features off.

    Use it when positive instances are similar to each other, such as molecule shapes that fit the same
    binding site. It overfits with many features: it has two parameters per feature and no penalty.

    Parameters
    ----------
    rule : str or Rule, default="or"
        Rule that determines the label of a bag from its instances.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="standard"
        Scaling of the instances before the fit.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied by the bag weights.
    positive : label or None, default=None
        Label of the positive class. By default it is the larger number, or True. If the labels are text, each
        class is tried as the positive one, and the fit with the smaller `objective_` is kept.
    n_init : int or None, default=10
        Number of starts, at random instances of positive bags. With None, every instance of a positive bag is
        a start.
    tol : float, default=1e-4
        The fit has converged when all entries of the objective's gradient, per unit of bag weight, are at
        most this.
    max_iter : int, default=200
        Maximum number of iterations per start.
    random_state : int, RandomState or None, default=None
        Seed or generator of the starts.
    verbose : int, default=0
        1 shows a live line on a terminal, or prints one line per start elsewhere; 2 prints one line per
        iteration.

    Attributes
    ----------
    target_ : array of shape (n_features,)
        The target, on the scale of ``scaler_``.
    feature_scales_ : array of shape (n_features,)
        The absolute scales ``|s|``, for features on the scale of ``scaler_``.
    local_optima_ : array of shape (n_optima, 2, n_features)
        Targets and scales of the better local optima of all starts, without duplicates, best first. The
        objective of each is below the midpoint of the best and the worst objective. Two optima are duplicates
        if each assigns the other's target a positive probability of 0.95 or more.
    local_objectives_ : array of shape (n_optima,)
        Objectives of these optima.
    rule_, scaler_ : Rule, transformer or None
        The rule and the fitted scaler.
    classes_ : array of shape (2,)
        Class labels.
    positive_label_ : label
        Label of the positive class.
    n_features_in_ : int
        Number of features.
    objective_, objective_history_, objectives_ : float, array, array
        The smallest objective, its values during the fit, and the final values of all starts.
    log_likelihood_ : float
        Weighted log-likelihood of the training bags.
    n_iter_, converged_ : int, bool
        Number of iterations of the best start, and whether it reached `tol`.

    Notes
    -----
    An iteration of L-BFGS costs two passes over the instances. Each start has s_k^2 = 1 / n_features, so that
    standardized instances are at a distance of about one. An instance on the target is positive with
    probability 1 - 1e-9 instead of 1, which keeps the likelihood finite.

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
        "positive": "no_validation",
    }

    def __init__(
        self,
        rule: str | Rule = "or",
        *,
        scale: Scale = "standard",
        class_weight: ClassWeight = None,
        positive: PositiveLabel = None,
        n_init: int | None = 10,
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        self.rule = rule
        self.scale = scale
        self.class_weight = class_weight
        self.positive = positive
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
        """Fit the model to bags and their labels.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            The training bags.
        y : array of shape (n_bags,)
            Labels of two classes; see the parameter `positive`.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.
        checkpoint : path, optional
            File for the progress of the fit. After a crash, the same call resumes from it
            (docs/checkpoints.md). The file is removed when the fit is complete.

        Returns
        -------
        self
        """
        training = self._fit_scaler(self._read_training(X, y, sample_weight))
        size = training.bags.n_instances * training.bags.n_features
        with opened(checkpoint, lambda: identity_of(self)) as location, blas_threads_for(size):
            self._fit(training, location)
        return self

    def _fit(self, training: Training, checkpoint: CheckpointLocation) -> None:
        bags, y, weight = training
        self.rule_ = start_fixed(self._make_rule(), bags.offsets, y)
        varies = varying_features(self.scaler_)
        X = bags.instances if varies is None else bags.instances[:, varies]
        problem = DensityProblem(X, bags.offsets, y, weight, self.rule_)
        starts = self._starts(problem, bags, weight, checkpoint.seed(self.random_state))
        reporter = Reporter(type(self).__name__, self.verbose)
        control = Control(
            self.tol,
            self.max_iter,
            lambda i, value: reporter.iteration(i, value * problem.total),
            checkpoint=checkpoint,
        )
        results: list[SolverResult] = []
        for index, start in enumerate(starts):
            results.append(as_totals(self._solve(problem, start, control), problem.total))
            reporter.start(index, len(starts), results[-1])
            if control.is_stopped:
                break
        best = record_result(self, results)
        self.log_likelihood_ = -best.value
        optima, self.local_objectives_ = distinct_optima(results)
        self.target_, scales = np.split(best.x, 2)
        self.feature_scales_ = np.abs(scales)
        self.local_optima_ = optima
        if varies is not None:
            # A scale of 0 removes a constant feature from the distances.
            for name in ("target_", "feature_scales_", "local_optima_"):
                part = getattr(self, name)
                whole = np.zeros((*part.shape[:-1], len(varies)))
                whole[..., varies] = part
                setattr(self, name, whole)

    def _make_rule(self) -> Rule:
        return make_rule(self.rule)

    def _starts(self, problem: DensityProblem, bags: Any, weight: Any, random_state: Any) -> list[np.ndarray]:
        """Return starts whose targets are instances of positive bags."""
        rows = np.flatnonzero(np.repeat(problem.y == 1, bags.sizes))
        candidates, each = problem.X[rows], np.repeat(weight, bags.sizes)[rows]
        if self.n_init is not None:
            rng = check_random_state(random_state)
            candidates = candidates[[pick_instance(candidates, each, rng) for _ in range(self.n_init)]]
        scales = np.full(candidates.shape[1], candidates.shape[1] ** -0.5)
        return [np.concatenate([target, scales]) for target in candidates]

    def _solve(self, problem: DensityProblem, start: np.ndarray, control: Control) -> SolverResult:
        """Minimize the objective from one start."""
        return minimize_smooth(
            problem.value_and_gradient, start, control, has_kinks=not problem.rule.is_smooth
        )

    def _log_odds(self, bags: Bags) -> np.ndarray:
        return log_odds(distance(self._scaled(bags).instances, self.target_, self.feature_scales_))
