"""Logistic regression of instances that is fitted to bag labels."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bagwise._core.checkpoint import NO_CHECKPOINT, CheckpointLocation
from bagwise._core.sklearn_private import Interval, StrOptions
from bagwise._core.threads import blas_threads_for
from bagwise._core.types import ClassWeight, PositiveLabel, Scale, Seed
from bagwise.exceptions import warn_user
from bagwise.models.base import (
    RULE_CONSTRAINT,
    SCALE_CONSTRAINT,
    BagsLike,
    Training,
    WaistClassifier,
    affine_map,
    fit_scaler,
    validated_fit,
    varying_features,
)
from bagwise.models.linear_model.engine.design import log_odds_of
from bagwise.models.linear_model.engine.em import refuse_em
from bagwise.models.linear_model.engine.large_fit import make_fit
from bagwise.models.linear_model.engine.problem import LinearBagProblem, make_problem
from bagwise.models.linear_model.inference.kept import Kept
from bagwise.persist.checkpoints import CheckpointLike, identity_of, opened
from bagwise.rules import Rule, make_rule
from bagwise.solvers.control import Control
from bagwise.solvers.reporting import Reporter
from bagwise.solvers.result import Recorded, SolverResult, as_totals, best_of, record_result
from bagwise.solvers.working_set import ElasticNet

if TYPE_CHECKING:
    from bagwise.models.linear_model.inference.table import Inference


class LinearBagClassifier(Recorded, WaistClassifier):
    """Base class of linear models with a bag rule.

    It builds the optimization problem, runs the search and computes the log-odds. A subclass has the
    parameters `rule`, `l1_ratio`, `fit_intercept`, `scale`, `n_init`, `tol`, `max_iter` and `verbose` of
    `MILogisticRegression`.
    """

    intercept_: np.ndarray
    scaler_: Any
    rule_: Rule
    n_passes_: int
    log_likelihood_: float
    coef_: np.ndarray

    _streams = True

    def _minimise(
        self,
        training: Training,
        alpha: float,
        random_state: Any,
        *,
        only_from: Any = None,
        also_from: Any = None,
        checkpoint: CheckpointLocation = NO_CHECKPOINT,
    ) -> tuple[LinearBagProblem, list[SolverResult]]:
        """Search for the best parameters at one penalty, and set `scaler_` and `rule_`.

        `only_from` and `also_from` are coefficients and an intercept on the original scale. `only_from` is
        the only start. `also_from` is a start in addition to those of the search.
        """
        bags, y, weight = training
        blocks = bags.blocks(y, weight)
        reporter = Reporter(type(self).__name__, self.verbose)
        reporter.watch(blocks)
        self.scaler_ = fit_scaler(self.scale, blocks)
        if not self.fit_intercept and varying_features(self.scaler_) is not None:
            warn_user(
                "X has constant features and fit_intercept=False. The coefficients of constant features are "
                "always zero, so they cannot replace an intercept; use fit_intercept=True, or remove them."
            )
        rules = make_rule(self.rule).alternatives(bags.offsets, y)
        solver = getattr(self, "solver", "newton")  # some linear models do not have this parameter
        if solver == "em":
            refuse_em(repr(self.rule), rules, blocks)
        total = weight.sum()
        penalty = ElasticNet(alpha * self.l1_ratio / total, alpha * (1 - self.l1_ratio) / total)
        problem = make_problem(
            blocks, self.scaler_, rules[0], ridge=penalty.l2, fit_intercept=self.fit_intercept
        )
        rng = check_random_state(random_state)
        start = also_from if only_from is None else only_from
        if start is not None:
            start = problem.scaling.from_original(*start)
        with blas_threads_for(blocks.n_values):
            control = Control(
                self.tol,
                self.max_iter,
                lambda iteration, value: reporter.iteration(iteration, value * total),
                checkpoint=checkpoint,
            )
            fit = make_fit(problem, penalty, control, self.n_init, rng, by_em=solver == "em")
            results: Sequence[SolverResult]
            if len(rules) > 1 or rules[0].learns:
                results = learned = fit.learn_rule(rules, () if only_from is None else (start,))
                problem = problem.with_rule(best_of(learned).rule)
            elif only_from is not None:
                results = [fit.solve(start)]
            else:
                results = fit.search(start)
        self.rule_ = problem.rule
        self.n_passes_ = problem.blocks.n_passes
        totals: list[SolverResult] = []
        for result in results:
            totals.append(as_totals(result, problem.total))
            reporter.start(len(totals) - 1, len(results), totals[-1])
        return problem, totals

    def _keep(self, problem: LinearBagProblem, best: SolverResult, alpha: float) -> None:
        """Set the fitted attributes that describe the model."""
        penalty = ElasticNet(alpha * self.l1_ratio, alpha * (1 - self.l1_ratio)).value(best.x)
        self.log_likelihood_ = penalty - self.rule_.log_prior() - best.value
        coef, intercept = problem.scaling.to_original(best.x)
        self.coef_, self.intercept_ = coef[None, :], np.array([intercept])

    @property
    def _has_original_scale(self) -> bool:
        """Whether the coefficients refer to the original features, not to transformed ones."""
        return affine_map(self.scaler_) is not None

    def _log_odds(self, bags: Any) -> np.ndarray:
        X = bags.instances
        if not self._has_original_scale:
            X = self.scaler_.transform(X)
        return log_odds_of(X, self.coef_[0], self.intercept_[0])


class MILogisticRegression(LinearBagClassifier):
    """Logistic regression of instances with a rule that determines bag labels from instance labels.

    An instance x is positive with log-odds ``eta = x . beta + b``. A rule computes the probability of the bag
    label from the log-odds of the bag's instances. The fit minimizes ::

        - sum_i w_i log P(y_i | eta_i1, ..., eta_im)
            + alpha * (l1_ratio |beta|_1 + (1 - l1_ratio) / 2 |beta|^2)

    over bags i with weights w. The features are scaled, and the intercept b is not penalized. ``alpha`` is
    called lambda in the paper and corresponds to ``1 / C`` of scikit-learn's `LogisticRegression`. If every
    bag has one instance, the two models are the same.

    Use this model to estimate from bag labels which features make an instance positive, and how probable it
    is that an instance is positive. With the default rule "or", a bag is positive if at least one of its
    instances is. The default penalty, the LASSO, excludes features that do not improve the fit. If the
    boundary between positive and negative instances is far from linear, transform the features first.
    `MILogisticRegressionCV` selects `alpha`.

    Parameters
    ----------
    rule : str or Rule, default="or"
        How the instances determine the label of a bag: a name in `bagwise.rules.RULES`, or a rule object.
        Rules such as "or", "mean" and the count rules have latent instance labels and provide
        `posterior_instances`. Links such as "softmax" only combine instance probabilities into a bag
        probability. Unknown parameters of count rules are learned: see `SoftORLogisticRegression`.
    alpha : float, default=1.0
        Strength of the penalty. Use 0 for maximum likelihood.
    l1_ratio : float, default=1.0
        Share of the L1 norm in the penalty: 1 is the LASSO, 0 is ridge.
    fit_intercept : bool, default=True
        Whether to fit an intercept. Without an intercept, "standard" and "minmax" divide the features but do
        not shift them. The coefficient of a constant feature, such as a column of ones, is always zero.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="standard"
        How the instances are scaled before the fit. The penalty applies to the scaled features. "standard"
        and "minmax" scale implicitly, without a copy of the instances. With other transformers, such as
        "rank" (`RankScaler`), the coefficients refer to the scaled features.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes. They are multiplied by the weights of the bags.
    positive : label or None, default=None
        Label of the positive class. By default it is the larger number, or True. If the labels are text, the
        default is to fit both directions and to keep the one with the smaller `objective_`.
    n_init : int, default=5
        Number of random starts. Several starts are needed because the bag likelihood has local optima. The
        best solution is kept.

        - With an L1 penalty, the fit follows a path of eight decreasing penalties that starts where the first
          feature enters the model. Each step uses up to `n_init` random starts (none with ``n_init=1``) and
          the ten best solutions of the previous step.
        - Without an L1 penalty, the starts are the model without features and ``n_init - 1`` random ones.

        A single start is used if all bags have one instance, because the problem is then convex, and for L1
        fits with a rule that has kinks ("max").
    solver : {"newton", "em"}, default="newton"
        Algorithm that minimizes the objective. "em" is the algorithm of the paper, which has the same optima.
        It alternates an E step with an M step, which minimizes a quadratic expansion by coordinate descent
        and is halved if it would increase the objective. The M step also updates the parameters of a learned
        rule. EM needs hundreds to thousands of iterations, so increase `max_iter`. Its starts are the model
        without features and ``n_init - 1`` random ones, even with an L1 penalty. It requires a rule with
        latent labels, and bags in memory.
    tol : float, default=1e-6
        Tolerance of the optimality conditions, per unit of bag weight.
    max_iter : int, default=1000
        Maximum number of iterations per start.
    warm_start : bool, default=False
        Whether to use the solution of the previous fit as the only start.
    random_state : int, RandomState or None, default=None
        Seed of the random starts.
    verbose : int, default=0
        Level of progress output. 1 shows a single live line on a terminal, and one line per start otherwise;
        2 shows one line per iteration.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
        Coefficients on the original scale of the features. If `scale` is a transformer other than
        scikit-learn's standard, min-max and max-abs scalers, the coefficients are on the transformed scale.
    intercept_ : array of shape (1,)
        The intercept on the same scale.
    rule_ : Rule
        The fitted rule, including its learned parameters.
    scaler_ : transformer or None
        The fitted `scale`.
    classes_ : array of shape (2,)
        The labels.
    positive_label_ : label
        Label of the positive class.
    n_features_in_ : int
        Number of features.
    objective_, objective_history_, objectives_ : float, array, array
        The smallest objective, its value after every iteration, and the final objectives of all starts.
    log_likelihood_ : float
        The weighted log-likelihood of the training bags.
    n_iter_, converged_ : int, bool
        Number of iterations of the best start, and whether it reached `tol`.
    n_passes_ : int
        Number of passes over all instances, summed over all starts.

    Notes
    -----
    An iteration costs a few products with the instance matrix, in the precision in which the instances are
    stored. With an L1 penalty, the solver uses proximal Newton steps on the relevant features. Without an L1
    penalty, it uses L-BFGS. With at least 240 bags per feature, and with an L1 penalty or at most 64
    features, the fit begins on a sample of the bags and continues with a few Newton steps on all bags. The
    objective never increases. The paper maximizes the or-likelihood by EM (see `solver`), which has the same
    optima but needs more passes over the data. Log-odds are not clipped, and remain accurate beyond +-700.

    References
    ----------
    R.-B. Chen, K.-H. Cheng, S.-M. Chang, S.-L. Jeng, P.-Y. Chen, C.-H. Yang and C.-C. Hsia (2016),
    Multiple-instance logistic regression with LASSO penalty, arXiv:1607.03615.

    See docs/explanation/papers.md for the equations of the paper.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, make_noisy_or_bags
    >>> data = make_noisy_or_bags(200, coef=[2.0, -2.0, 0.0], random_state=0)
    >>> model = MILogisticRegression(random_state=0).fit(data.bags, data.y)
    >>> model.predict_proba_instances(data.bags).shape
    (600, 2)
    >>> float(model.score(data.bags, data.y)) > 0.7
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "rule": RULE_CONSTRAINT,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "fit_intercept": ["boolean"],
        "scale": SCALE_CONSTRAINT,
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"newton", "em"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "positive": "no_validation",
    }

    def __init__(
        self,
        rule: str | Rule = "or",
        *,
        alpha: float = 1.0,
        l1_ratio: float = 1.0,
        fit_intercept: bool = True,
        scale: Scale = "standard",
        class_weight: ClassWeight = None,
        positive: PositiveLabel = None,
        n_init: int = 5,
        solver: Literal["newton", "em"] = "newton",
        tol: float = 1e-6,
        max_iter: int = 1000,
        warm_start: bool = False,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        self.rule = rule
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.class_weight = class_weight
        self.positive = positive
        self.n_init = n_init
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
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
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (one instance per bag)
            The training bags.
        y : array of shape (n_bags,)
            The labels of the bags, of two classes; see the parameter `positive`.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.
        checkpoint : path, optional
            File that stores the progress of the fit. After a crash, the same call continues from this file
            (docs/checkpoints.md). The file is removed at the end.

        Returns
        -------
        self
        """
        training = self._read_training(X, y, sample_weight)
        n_features = training.bags.n_features
        start = None
        if self.warm_start and getattr(self, "coef_", np.empty((1, 0))).shape[1] == n_features:
            start = self.coef_[0], self.intercept_[0]
        with opened(checkpoint, lambda: identity_of(self, start=start)) as location:
            problem, results = self._minimise(
                training,
                self.alpha,
                location.seed(self.random_state),
                only_from=start,
                checkpoint=location,
            )
            best = record_result(self, results)
            self._keep(problem, best, self.alpha)
            self._kept: Kept | None = None
            if self.alpha == 0:
                tried = tuple((rule, problem.total * value) for rule, value in getattr(best, "tried", ()))
                self._kept = Kept.of(training, sample_weight, tried=tried)
        return self

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        kept = state.get("_kept")
        return state if kept is None else {**state, "_kept": kept.without_bags()}

    def inference(
        self,
        X: BagsLike | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        intervals: Literal["score", "profile", "wald"] | None = None,
        groups: ArrayLike | None = None,
    ) -> Inference:
        """Return standard errors, confidence intervals and tests of a maximum likelihood fit.

        Standard errors are computed from the observed information of all learned parameters, including those
        of the rule. If the rule is fixed, tests and intervals are score tests by default: the test statistic
        is the slope of the likelihood at zero, after the other coefficients are fitted again, divided by its
        standard deviation. Score tests are reliable with a few hundred bags. Wald tests are not: if no
        feature has an effect, ``coef / se`` rejects nearly twice as often as its level (see the simulations
        in docs/inference.md).

        If standard errors are not valid, `Inference.message` contains the reason: the features are collinear,
        a combination of them separates the bags, the fit has not converged, or other rules explain the bags
        equally well.

        Parameters
        ----------
        X, y, sample_weight : optional
            The training data. They are not needed for a model with ``alpha=0`` that has not been pickled,
            because it stores a reference to them. If they are passed but do not match the training data, an
            error is raised.
        intervals : {"score", "profile", "wald"}, optional
            Kind of tests and intervals. An interval contains the values that the test does not reject.

            - "score": score tests, the default if the rule is fixed. A test takes about ten passes over the
              bags, an interval about a hundred.
            - "wald": based on the standard errors, without further passes. This is the default with `groups`
              and for learned rules.
            - "profile": likelihood-ratio tests, at the same cost as "score". They remain valid if the bags
              are separated.
        groups : array of shape (n_bags,), optional
            Group of every bag, such as its patient. Bags of the same group may depend on each other. Standard
            errors then come from the cluster-robust sandwich estimator, and tests and intervals use the t
            distribution with (number of groups - 1) degrees of freedom. At least a few dozen groups are
            required.

        Returns
        -------
        Inference
            The results; `summary()` returns a table in the style of statsmodels.

        Examples
        --------
        >>> from bagwise import MILogisticRegression, make_noisy_or_bags
        >>> data = make_noisy_or_bags(300, coef=[2.0, -2.0, 0.0], random_state=0)
        >>> model = MILogisticRegression(alpha=0.0, random_state=0).fit(data.bags, data.y)
        >>> (model.inference().p_value < 0.05).tolist()
        [True, True, True, False]
        """
        from bagwise.models.linear_model.inference.compute import infer

        check_is_fitted(self)
        return infer(self, X, y, sample_weight, intervals=intervals, groups=groups)
