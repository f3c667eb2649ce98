"""Logistic regression of instances, learned from the labels of their bags."""

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
from bagwise._core.types import ClassWeight, Scale, Seed
from bagwise.models.base import (
    RULE_CONSTRAINT,
    SCALE_CONSTRAINT,
    BagsLike,
    Training,
    WaistClassifier,
    affine_map,
    fit_scaler,
    validated_fit,
)
from bagwise.models.linear_model.engine.design import log_odds_of
from bagwise.models.linear_model.engine.em import refuse_em
from bagwise.models.linear_model.engine.fit import Fit
from bagwise.models.linear_model.engine.large_fit import LargeFit
from bagwise.models.linear_model.engine.problem import InMemoryProblem, LinearBagProblem, make_problem
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
    """What linear models with a bag rule share: the problem of a fit, the search, and the log-odds.

    A subclass has the parameters `rule`, `l1_ratio`, `fit_intercept`, `scale`, `n_init`, `tol`, `max_iter`
    and `verbose` of `MILogisticRegression`.
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
        """Search for the best parameters at one penalty; sets ``scaler_`` and ``rule_``.

        `only_from` and `also_from` are coefficients and an intercept on the original scale; around the latter
        an L1 search takes place.
        """
        bags, y, weight = training
        blocks = bags.blocks(y, weight)
        reporter = Reporter(type(self).__name__, self.verbose)
        reporter.watch(blocks)
        self.scaler_ = fit_scaler(self.scale, blocks)
        rules = make_rule(self.rule).alternatives(bags.offsets, y)
        solver = getattr(self, "solver", "newton")  # not of every linear model
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
                lambda number, value: reporter.iteration(number, value * total),
                checkpoint=checkpoint,
            )
            fit: Fit | LargeFit
            if isinstance(problem, InMemoryProblem):
                fit = Fit.of(problem, penalty, control, self.n_init, rng, by_em=solver == "em")
            else:
                fit = LargeFit.of(problem, penalty, control, self.n_init, rng)
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

    def _keep(self, problem: LinearBagProblem, best: SolverResult) -> None:
        """Set the fitted attributes that describe the model."""
        self.log_likelihood_ = problem.point(best.x).log_likelihood
        coef, intercept = problem.scaling.to_original(best.x)
        self.coef_, self.intercept_ = coef[None, :], np.array([intercept])

    @property
    def _has_original_scale(self) -> bool:
        """Whether coefficients are for the features as they came, not as a transformer made them."""
        return affine_map(self.scaler_) is not None

    def _log_odds(self, bags: Any) -> np.ndarray:
        X = bags.instances
        if not self._has_original_scale:
            X = self.scaler_.transform(X)
        return log_odds_of(X, self.coef_[0], self.intercept_[0])


class MILogisticRegression(LinearBagClassifier):
    """Logistic regression of instances under a rule that makes bag labels of instance labels.

    An instance x is positive with log-odds ``eta = x . beta + b``; a rule turns the log-odds of a bag's
    instances into the probability of its label. The fit minimises ::

        - sum_i w_i log P(y_i | eta_i1, ..., eta_im)
            + alpha * (l1_ratio |beta|_1 + (1 - l1_ratio) / 2 |beta|^2)

    over bags i with weights w, on the scaled features, with a free intercept b. ``alpha`` is the paper's
    lambda, and ``1 / C`` of scikit-learn's `LogisticRegression`, which this is when every bag has one
    instance.

    Use it to learn which features make an instance positive, and how probable each instance is, from bag
    labels alone. The default rule "or" says that a bag is positive if any of its instances is, and the
    default penalty, the LASSO, leaves out features that do not help. Where the boundary between positive and
    negative instances is not close to linear, give it better features. `MILogisticRegressionCV` chooses
    alpha.

    Parameters
    ----------
    rule : str or Rule, default="or"
        How instances make the label of a bag: a name in `bagwise.rules.RULES`, or an object. Rules such as
        "or", "mean" and those of counts have latent instance labels, and with them `posterior_instances`;
        links such as "softmax" only join instance probabilities to a bag probability. What the rules of
        counts leave open is learned: see `SoftORLogisticRegression`.
    alpha : float, default=1.0
        Strength of the penalty; 0 is maximum likelihood.
    l1_ratio : float, default=1.0
        Share of the L1 norm in the penalty: 1 is the LASSO, 0 ridge.
    fit_intercept : bool, default=True
        Whether log-odds have an intercept. Without one, "standard" and "minmax" only divide.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="standard"
        How the instances are scaled before the fit; the penalty acts on the scaled features. The scaling
        by "standard" and "minmax" stays implicit: instances are not copied. After any other, such as "rank"
        (`RankScaler`), coefficients are those of the scaled features.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with those of the bags.
    n_init : int, default=5
        Number of random starts. The likelihood of bags has local optima. With an L1 penalty the fit follows a
        short path down from the alpha at which features come in, with `n_init` random starts at each of its
        eight steps and the best ten candidates carried on; without, the starts are the model without
        features and `n_init - 1` random ones. The best end is kept. With bags of one instance the problem is
        convex, and one start is enough; with a rule that has kinks, "max", an L1 fit has one start too.
    solver : {"newton", "em"}, default="newton"
        How the objective is minimised. "em" is the paper's algorithm, to the same optimum: an E step, and an
        M step on its quadratic expansion by coordinate descent, halved where it would let the objective rise.
        Its iterations are many (hundreds to thousands: raise `max_iter`), and its starts are the model
        without features and ``n_init - 1`` random ones, also with an L1 penalty. It needs a fixed rule with
        latent labels, and bags in memory.
    tol : float, default=1e-6
        Converged when the optimality conditions hold up to this, per unit of bag weight.
    max_iter : int, default=200
        The most iterations of a start.
    warm_start : bool, default=False
        Whether a fit begins where the last one ended, as its only start.
    random_state : int, RandomState or None, default=None
        Source of the random starts.
    verbose : int, default=0
        1 shows one live line on a terminal, a line per start elsewhere; 2 a line per iteration.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
        Coefficients on the original scale of the features (on the transformed one if `scale` is a
        transformer other than scikit-learn's standard, min-max and max-abs scalers).
    intercept_ : array of shape (1,)
        The intercept on that scale.
    rule_ : Rule
        The rule of the fit.
    scaler_ : transformer or None
        The fitted `scale`.
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
    n_passes_ : int
        How often all instances were read, over all starts.

    Notes
    -----
    An iteration costs a few products with the instance matrix. With an L1 penalty the steps are proximal
    Newton ones on the features that matter; without, rules with latent labels are fitted by a trust-region
    Newton method and links by L-BFGS. None lets the objective rise. The paper maximises the
    or-likelihood by EM (`solver`); the optimum is the same, Newton's steps reach it in fewer passes over the
    data.
    Nothing is clipped: log-odds beyond +-700 are as exact as others.

    References
    ----------
    R.-B. Chen, K.-H. Cheng, S.-M. Chang, S.-L. Jeng, P.-Y. Chen, C.-H. Yang and C.-C. Hsia (2016),
    Multiple-instance logistic regression with LASSO penalty, arXiv:1607.03615.

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
        n_init: int = 5,
        solver: Literal["newton", "em"] = "newton",
        tol: float = 1e-6,
        max_iter: int = 200,
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
        training = self._read_training(X, y, sample_weight)
        n_features = training.bags.n_features
        start = None
        if self.warm_start and getattr(self, "coef_", np.empty((1, 0))).shape[1] == n_features:
            start = self.coef_[0], self.intercept_[0]
        with opened(checkpoint, lambda: identity_of(self, start=start)) as place:
            problem, results = self._minimise(
                training,
                self.alpha,
                place.seed(self.random_state),
                only_from=start,
                checkpoint=place,
            )
            best = record_result(self, results)
            self._keep(problem, best)
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
        """Standard errors, intervals and tests of a maximum likelihood fit.

        Standard errors come from the observed information of all that was learned, the rule included. Under a
        rule that is given, tests and intervals are by default those of the score: the slope of the likelihood
        where a coefficient is zero, the others being fitted anew, in its standard deviations under that
        model. With a few hundred bags they hold where Wald's do not: where no feature matters, ``coef / se``
        rejects nearly twice as often as it says (docs/inference.md has the simulations). Where errors do not
        hold there is a sentence, `Inference.message`: features are collinear, a combination of them separates
        the bags, the fit has not converged, or other rules explain the bags as well.

        Parameters
        ----------
        X, y, sample_weight : optional
            The data of the fit, which a model with ``alpha=0`` refers to by itself, as long as it is not
            pickled. If given they are compared with the fit, and refused if they are other data.
        intervals : {"score", "profile", "wald"}, optional
            Where tests and intervals come from; an interval holds the values that the test does not reject.
            "score", the default where the rule is given: a test costs about ten passes over the bags, an
            interval about a hundred. "wald", the default with groups and where the rule was learned: from
            standard errors, at once. "profile": from likelihood ratios, at the cost of "score"; these remain
            where bags are separated.
        groups : array of shape (n_bags,), optional
            Bags of one group, such as those of one patient, may depend on each other: errors are then those
            of the sandwich by groups, tests and intervals those of the t distribution with a degree of
            freedom less than there are groups. A few dozen groups are needed.

        Returns
        -------
        Inference
            Its `summary()` is a table as statsmodels prints it.

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
