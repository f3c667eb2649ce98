"""PU-SKC: a classifier of bags from positive and unlabeled ones, through a kernel of sets."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from bagwise._core.sklearn_private import Interval, StrOptions, available_if
from bagwise._core.types import Scale, Seed
from bagwise.data.bags import Bags
from bagwise.models.base import BagsLike, Training
from bagwise.models.base.folds import Split
from bagwise.models.pu.base import BASIS_CONSTRAINTS, PRIOR_CONSTRAINT, PUClassifier, SetKernelEstimator
from bagwise.models.pu.estimates import PriorEstimate
from bagwise.models.pu.features import PUFeatures, split_features
from bagwise.models.pu.losses import LOSSES
from bagwise.models.pu.risk import minimize_risk
from bagwise.models.pu.sample import compared_estimates, prior_splits, sample_bags
from bagwise.solvers.reporting import Reporter
from bagwise.solvers.result import Recorded, record_result

LOSS_CONSTRAINTS: dict[str, Any] = {
    "loss": [StrOptions(set(LOSSES))],
    "class_prior": PRIOR_CONSTRAINT,
    "tol": [Interval(Real, 0, None, closed="neither")],
    "verbose": ["verbose"],
}


def _has_probabilities(model: Any) -> bool:
    return model.loss == "logistic"


class SetKernelScore(Recorded, SetKernelEstimator, PUClassifier):
    """A linear score of basis functions, `basis_`, `coef_` and `intercept_`, at `class_prior_`."""

    intercept_: np.ndarray
    class_prior_: float
    coef_: Any
    prior_estimate_: PriorEstimate | None
    basis_: Any

    def _settle_prior(
        self, training: Training, matrices: dict[float, np.ndarray], splits: list[Split] | None = None
    ) -> None:
        """Set `class_prior_`: as it was given, or as `ClassPriorEstimator` has it by default."""
        self.class_prior_ = self.class_prior
        self.prior_estimate_ = None
        if self.class_prior is None:
            if splits is None:
                splits = prior_splits(5, training, None, type(self).__name__)
            sample = sample_bags(training, matrices, splits, named_kernel=isinstance(self.kernel, str))
            estimate, *_ = compared_estimates(sample, "tail")
            n_unlabeled = float(training.weight[training.y == 0].sum())
            # At one every bag is positive, and the intercept has no end.
            self.class_prior_ = min(estimate.class_prior, 1.0 - 0.5 / (n_unlabeled + 1.0))
            self.prior_estimate_ = estimate

    def _minimise(self, basis: Any, features: PUFeatures, alpha: float) -> None:
        """Fit the score and keep it."""
        reporter = Reporter(type(self).__name__, self.verbose)
        result = minimize_risk(
            features,
            self.loss,
            prior=self.class_prior_,
            alpha=alpha,
            tol=self.tol,
            on_iteration=reporter.iteration,
        )
        reporter.start(0, 1, result)
        score = record_result(self, [result]).x
        self.basis_ = basis
        self.coef_ = score.coef[None, :]
        self.intercept_ = np.array([score.intercept])

    def _bag_scores(self, bags: Bags) -> np.ndarray:
        return self.basis_(self._scaled(bags)) @ self.coef_[0] + self.intercept_[0]

    @available_if(_has_probabilities)
    def predict_proba(self, X: BagsLike) -> np.ndarray:
        """Probability that a bag is negative, positive: shape (n_bags, 2). Only with the logistic loss.

        The probabilities are those of a population with the class prior `class_prior_`.
        """
        scores = self.decision_function(X)
        return np.column_stack([expit(-scores), expit(scores)])


class PUSetKernelClassifier(SetKernelScore):
    """A classifier of bags learnt from positive and unlabeled bags: PU-SKC, convex, one solution.

    With the score ``g(X) = sum_c coef_c k(X, center_c) + intercept`` and the class prior pi, the share of
    positive bags among the unlabeled ones, the fit minimises ::

        -pi mean_P(g) + mean_U(l(-g)) + alpha / 2 |coef|^2

    which, for the losses l below, estimates the risk of telling positive from *negative* bags without having
    seen one that is known to be negative. Use it where negatives do not exist: screening hits, sightings,
    reported defects. With negative bags at hand, use `SetKernelSVC`.

    The unlabeled bags must be a sample of the population that the classifier is meant for, with its positive
    bags in it, and the positive bags a sample of all positive ones (not those that were easiest to find).

    Parameters
    ----------
    kernel : {"minimax", "mean", "set"} or callable, default="minimax"
        The kernel of bags. "minimax" is ``(s(X)'s(Z) / (2 n_features) + 1) ** degree`` with s the minimum and
        maximum of every feature, "mean" the same of the features' means, "set" the mean of ``(x'z /
        n_features + 1) ** degree`` over all pairs of instances. A callable ``kernel(bags, other)`` returns
        the matrix of two `Bags`.
    degree : int, default=1
        Degree of the polynomial.
    alpha : float, default=1e-3
        Weight of the penalty, beside *means* over bags.
    loss : {"double_hinge", "squared", "logistic"}, default="double_hinge"
        The loss of a margin: ``max(-z, (1 - z) / 2, 0)``, ``(z - 1)^2 / 4`` or ``log(1 + exp(-z))``. The last
        has `predict_proba`.
    class_prior : float or None, default=None
        The share of positive bags among the unlabeled ones, in (0, 1). By default it is estimated, from
        above, by the tails of scores: see `ClassPriorEstimator`. If you know it, give it.
    centers : {"all", "random", "kmeans"} or Bags, default="all"
        Centers of the basis functions: all training bags, `n_centers` of them at random, those nearest to the
        means of as many clusters, or given bags. Beyond 5,000 bags "all" is refused.
    n_centers : int, default=500
        The number of centers for "random" and "kmeans".
    scale : {"standard", "minmax", "rank"}, transformer or None, default="minmax"
        How features are scaled. Values of the kernel grow with the `degree`-th power of squared features.
    tol : float, default=1e-8
        Tolerance of the solver: the relative duality gap, or the gradient of the logistic loss.
    random_state : int, RandomState instance or None, default=None
        Draws centers.
    verbose : int, default=0
        1 reports the end of the fit, 2 also the steps of the solver: for the double hinge the dual's bound of
        the objective, which rises to it.

    Attributes
    ----------
    class_prior_ : float
        The prior given, or estimated.
    prior_estimate_ : PriorEstimate or None
        The estimate with its interval; None if the prior was given.
    basis_ : BagBasis
        The kernel with its centers; ``basis_(bags)`` of scaled bags are the features.
    coef_ : array of shape (1, n_centers)
        Coefficients of the centers.
    intercept_ : array of shape (1,)
        The intercept of ``basis_(bags) @ coef_[0]``. Where the centers lie far from the origin, the basis
        functions leave out a constant each, which the intercept takes up.
    scaler_, classes_, n_features_in_
        The scaler, the two labels, the number of features.
    objective_, objective_history_, n_iter_, converged_
        The objective above (it may be negative), at the best constant score and at the end.

    Notes
    -----
    The double hinge is solved by its dual, a box and one equality in two variables per unlabeled bag
    (`bagwise.solvers.dual`), after which the intercept is a quantile; the squared loss in closed form; the
    logistic loss by Newton steps. Matrices take O(n_unlabeled^2 + n_bags n_centers) memory, their product
    O(n_unlabeled^2 n_centers) time.

    The paper's kernel is ``(s's + 1) ** degree`` on features as they are: values reach 1e21 and precision is
    lost. Here features are scaled and the product is divided by their number, which changes what a value of
    alpha means. The weight of a bag counts in the means, and as that many equal centers.

    References
    ----------
    Bao, Sakai, Sato and Sugiyama (2018), Convex formulation of multiple instance learning from positive and
    unlabeled bags, Neural Networks 105, doi:10.1016/j.neunet.2018.05.001.

    Examples
    --------
    >>> from bagwise import PUSetKernelClassifier, make_noisy_or_bags, make_positive_unlabeled
    >>> full = make_noisy_or_bags(1200, coef=[6.0, -6.0], intercept=-10.0, random_state=0)
    >>> data = make_positive_unlabeled(
    ...     full.bags, full.y, n_positive=60, n_unlabeled=300, class_prior=0.3, random_state=0
    ... )
    >>> model = PUSetKernelClassifier(degree=2, class_prior=0.3).fit(data.bags[:260], data.y[:260])
    >>> model.score(data.bags[260:], data.y_true[260:]) > 0.75  # against true labels
    True
    """

    _parameter_constraints: dict[str, Any] = {
        **BASIS_CONSTRAINTS,
        **LOSS_CONSTRAINTS,
        "degree": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
    }
    _expected_failed_checks = {
        f"check_sample_weight_equivalence_on_{kind}_data": "one class has a single bag, of some weight, from "
        "which no prior can be estimated: it cannot be both learnt from and held out"
        for kind in ("dense", "sparse")
    }

    def __init__(
        self,
        kernel: Literal["minimax", "mean", "set"] | Callable[..., Any] = "minimax",
        *,
        degree: int = 1,
        alpha: float = 1e-3,
        loss: Literal["double_hinge", "squared", "logistic"] = "double_hinge",
        class_prior: float | None = None,
        centers: Literal["all", "random", "kmeans"] | Bags = "all",
        n_centers: int = 500,
        scale: Scale = "minmax",
        tol: float = 1e-8,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        self.kernel = kernel
        self.degree = degree
        self.alpha = alpha
        self.loss = loss
        self.class_prior = class_prior
        self.centers = centers
        self.n_centers = n_centers
        self.scale = scale
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, training: Training, sample_weight: ArrayLike | None) -> None:
        training = self._fit_scaler(training)
        basis = self._make_basis(training, self._choose_centers(training), self.degree)
        matrix = basis(training.bags)
        self._settle_prior(training, {self.degree: matrix})
        self._minimise(basis, split_features(matrix, training.y, training.weight), self.alpha)
