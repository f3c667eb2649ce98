"""PU-SKC: a bag classifier for positive and unlabeled bags, with a set kernel."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from bagwise._core.sklearn_private import Interval, StrOptions, available_if
from bagwise._core.types import PositiveLabel, Scale, Seed
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
    """Base class for linear scores of basis functions: `basis_`, `coef_`, `intercept_`, `class_prior_`."""

    intercept_: np.ndarray
    class_prior_: float
    coef_: Any
    prior_estimate_: PriorEstimate | None
    basis_: Any

    def _settle_prior(
        self, training: Training, matrices: dict[float, np.ndarray], splits: list[Split] | None = None
    ) -> None:
        """Set `class_prior_` to the parameter, or to the default estimate of `ClassPriorEstimator`."""
        self.class_prior_ = self.class_prior
        self.prior_estimate_ = None
        if self.class_prior is None:
            if splits is None:
                splits = prior_splits(5, training, None, type(self).__name__)
            sample = sample_bags(training, matrices, splits, named_kernel=isinstance(self.kernel, str))
            estimate, *_ = compared_estimates(sample, "least")
            n_unlabeled = float(training.weight[training.y == 0].sum())
            # With a prior of one, every bag is positive, and the intercept diverges.
            self.class_prior_ = min(estimate.class_prior, 1.0 - 0.5 / (n_unlabeled + 1.0))
            self.prior_estimate_ = estimate

    def _minimise(self, basis: Any, features: PUFeatures, alpha: float) -> None:
        """Fit the score and set the fitted attributes."""
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
        """Return the class probabilities, in the order of ``classes_``: shape (n_bags, 2).

        Available only with the logistic loss.

        The probabilities refer to a population with the class prior `class_prior_`.
        """
        scores = self._positive_scores(X)
        return self._in_class_order(np.column_stack([expit(-scores), expit(scores)]))


class PUSetKernelClassifier(SetKernelScore):
    """PU-SKC: a bag classifier for positive and unlabeled bags, fitted by convex optimization.

    The score is ``g(X) = sum_c coef_c k(X, center_c) + intercept``, and the class prior pi is the share of
    positive bags among the unlabeled bags. The fit minimizes ::

        -pi mean_P(g) + mean_U(l(-g)) + alpha / 2 |coef|^2

    For the losses l below, the first two terms estimate the risk of classifying bags as positive or
    *negative*, although no training bag has a negative label. Use it if no negative labels exist, for example
    for screening hits, sightings, or reported defects. If you have negative bags, use `SetKernelSVC`.

    The unlabeled bags must be a sample of the population to which the classifier will be applied, including
    its positive bags. The positive bags must be a sample of all positive bags, not of those that are easiest
    to find.

    Parameters
    ----------
    kernel : {"minimax", "mean", "set"} or callable, default="minimax"
        The bag kernel. "minimax" is ``(s(X)'s(Z) / (2 n_features) + 1) ** degree``, where s(X) contains the
        minimum and maximum of every feature. "mean" is ``(m(X)'m(Z) / n_features + 1) ** degree`` with the
        mean m(X) of every feature. "set" is the mean of ``(x'z / n_features + 1) ** degree`` over all pairs
        of instances. A callable ``kernel(bags, other)`` returns the kernel matrix of two `Bags`.
    degree : int, default=1
        Degree of the polynomial.
    alpha : float, default=1e-3
        Weight of the penalty. The losses are *means* over bags, not sums.
    loss : {"double_hinge", "squared", "logistic"}, default="double_hinge"
        The loss as a function of the margin z: ``max(-z, (1 - z) / 2, 0)``, ``(z - 1)^2 / 4`` or
        ``log(1 + exp(-z))``. Only the logistic loss supports `predict_proba`.
    class_prior : float or None, default=None
        Share of positive bags among the unlabeled bags, in (0, 1). Pass the prior if you know it. By default,
        it is set to the "tail" estimate of `ClassPriorEstimator`, which is an upper estimate.
    centers : {"all", "random", "kmeans"} or Bags, default="all"
        Centers of the basis functions: all training bags, `n_centers` random ones, the bags nearest to the
        means of `n_centers` clusters, or the passed bags. "all" allows at most 5,000 bags.
    n_centers : int, default=500
        Number of centers for "random" and "kmeans".
    scale : {"standard", "minmax", "rank"}, transformer or None, default="minmax"
        How features are scaled. Kernel values grow with the `degree`-th power of squared features.
    tol : float, default=1e-8
        Tolerance of the solver: the relative duality gap, or the gradient of the logistic loss.
    positive : label or None, default=None
        Label of the positive bags; bags with the other label are unlabeled. By default it is the larger
        number, or True. Text labels require this parameter.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of the centers.
    verbose : int, default=0
        1 reports the result of the fit, 2 also reports the iterations of the solver. For the double hinge,
        these show the dual objective, a lower bound that rises to the objective.

    Attributes
    ----------
    class_prior_ : float
        The class prior of the fit.
    prior_estimate_ : PriorEstimate or None
        The estimate with its interval; None if `class_prior` was passed.
    basis_ : BagBasis
        The kernel with its centers; ``basis_(bags)`` returns the features of scaled bags.
    coef_ : array of shape (1, n_centers)
        Coefficients of the centers.
    intercept_ : array of shape (1,)
        Intercept of ``basis_(bags) @ coef_[0]``. If the centers are far from the origin, a constant is
        subtracted from every basis function, and the intercept includes these constants.
    scaler_, classes_, positive_label_, n_features_in_
        The scaler, the two class labels, and the number of features.
    objective_, objective_history_, n_iter_, converged_
        The objective above (it can be negative), at the best constant score and after the fit.

    Notes
    -----
    With the double hinge, the solver works on the dual (`bagwise.solvers.dual`), which has bounds, one
    equality, and two variables per unlabeled bag; the intercept is then a quantile. The squared loss has a
    closed form, and the logistic loss uses Newton steps. Matrices take O(n_unlabeled^2 + n_bags n_centers)
    memory, and their product takes O(n_unlabeled^2 n_centers) time.

    The paper's kernel is ``(s's + 1) ** degree`` on unscaled features: its values reach 1e21 and lose
    precision. Here, features are scaled and the product is divided by the number of statistics, so values of
    alpha are not comparable with the paper's. A bag of weight two counts twice in the means, and as two equal
    centers.

    References
    ----------
    Bao, Sakai, Sato and Sugiyama (2018), Convex formulation of multiple instance learning from positive and
    unlabeled bags, Neural Networks 105, doi:10.1016/j.neunet.2018.05.001.

    See docs/explanation/papers.md for the equations of the paper.

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
        "positive": "no_validation",
    }
    _expected_failed_checks = PUClassifier._expected_failed_checks | {
        f"check_sample_weight_equivalence_on_{kind}_data": "one class has a single bag with a weight; "
        "the prior estimate needs several bags, so that some can be held out"
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
        positive: PositiveLabel = None,
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
        self.positive = positive
        self.random_state = random_state
        self.verbose = verbose

    def _learn(self, training: Training, sample_weight: ArrayLike | None) -> None:
        training = self._fit_scaler(training)
        basis = self._make_basis(training, self._choose_centers(training), self.degree)
        matrix = basis(training.bags)
        self._settle_prior(training, {self.degree: matrix})
        self._minimise(basis, split_features(matrix, training.y, training.weight), self.alpha)
