"""Logistic regression of instances, learned from the labels of their bags."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from bagwise.base import (
    RULE_CONSTRAINT,
    SCALE_CONSTRAINT,
    WaistClassifier,
    affine_map,
    fit_scaler,
    validated_fit,
)
from bagwise.linear_model.problem import LinearBagProblem
from bagwise.reporting import Reporter
from bagwise.rules import make_rule
from bagwise.solvers.result import SolverResult, record_result
from bagwise.solvers.smooth import minimize_smooth


class MILogisticRegression(WaistClassifier):
    """Logistic regression of instances under a rule that makes bag labels of instance labels.

    An instance x is positive with log-odds ``eta = x . beta + b``; a rule turns the log-odds of a bag's
    instances into the probability of its label. The fit minimises ::

        - sum_i w_i log P(y_i | eta_i1, ..., eta_im) + alpha / 2 * |beta|^2

    over bags i with weights w, on the scaled features, with a free intercept b. ``alpha`` is ``1 / C`` of
    scikit-learn's `LogisticRegression`, which this is when every bag has one instance.

    Use it to learn which features make an instance positive, and how probable each instance is, from bag
    labels alone. The default rule "or" says that a bag is positive if any of its instances is. Where the
    boundary between positive and negative instances is not close to linear, give it better features.

    Parameters
    ----------
    rule : {"or", "mean", "softmax", "geometric_mean", "max"} or Rule, default="or"
        How instances make the label of a bag. "or" and "mean" have latent instance labels, and with them
        `posterior_instances`; the other three only link instance probabilities to a bag probability.
    alpha : float, default=1.0
        Strength of the penalty; 0 is maximum likelihood.
    l1_ratio : float, default=0.0
        Share of the L1 norm in the penalty. Only 0, the ridge penalty, is available.
    fit_intercept : bool, default=True
        Whether log-odds have an intercept.
    scale : {"standard", "minmax"}, transformer or None, default="standard"
        How the instances are scaled before the fit; the penalty acts on the scaled features.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with those of the bags.
    n_init : int, default=5
        Number of starts. The likelihood of bags has local optima; the first start is the model without
        features, the others are random, and the best end is kept.
    tol : float, default=1e-6
        Converged when no entry of the objective's gradient, per unit of bag weight, is larger.
    max_iter : int, default=200
        The most iterations of a start.
    warm_start : bool, default=False
        Whether a fit begins where the last one ended, as its only start.
    random_state : int, RandomState or None, default=None
        Source of the random starts.
    verbose : int, default=0
        1 reports every start, 2 every iteration.

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

    Notes
    -----
    An iteration costs a few products with the instance matrix. Rules with latent labels have exact
    curvature and are fitted by a trust-region Newton method, links by L-BFGS; neither lets the objective
    rise. The paper maximises the or-likelihood by EM; the optimum is the same, Newton's steps reach it in
    fewer passes over the data.

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

    _parameter_constraints: dict = {
        "rule": RULE_CONSTRAINT,
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "fit_intercept": ["boolean"],
        "scale": SCALE_CONSTRAINT,
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        rule="or",
        *,
        alpha=1.0,
        l1_ratio=0.0,
        fit_intercept=True,
        scale="standard",
        class_weight=None,
        n_init=5,
        tol=1e-6,
        max_iter=200,
        warm_start=False,
        random_state=None,
        verbose=0,
    ):
        self.rule = rule
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.scale = scale
        self.class_weight = class_weight
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @validated_fit
    def fit(self, X, y, sample_weight=None):
        """Learn from bags and their labels.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            The training bags.
        y : array of shape (n_bags,)
            Two classes; the one that sorts last is the positive class.
        sample_weight : array of shape (n_bags,), optional
            Weights of the bags.

        Returns
        -------
        self
        """
        if self.l1_ratio != 0:
            raise ValueError(
                f"l1_ratio={self.l1_ratio!r} asks for an L1 penalty, which is not available; use l1_ratio=0."
            )
        bags, y, weight = self._read_training(X, y, sample_weight)
        warm = self._warm_parameters(bags.n_features) if self.warm_start else None
        self.scaler_ = fit_scaler(self.scale, bags, weight)
        scaled = bags.instances if self.scaler_ is None else self.scaler_.transform(bags.instances)
        self.rule_ = make_rule(self.rule).start(bags.offsets, y)
        problem = LinearBagProblem(
            scaled.astype(np.float64, copy=False),
            bags.offsets,
            y,
            weight,
            self.rule_,
            alpha=self.alpha,
            fit_intercept=self.fit_intercept,
        )
        starts = self._starts(problem) if warm is None else [self._to_scaled(*warm)]
        reporter = Reporter(type(self).__name__, self.verbose)
        results = []
        for number, start in enumerate(starts):
            results.append(_solve(problem, start, self.tol, self.max_iter, reporter.iteration))
            reporter.start(number, len(starts), results[-1])
        best = record_result(self, results)

        coef, intercept = problem.split(best.x)
        ridge = 0.5 * self.alpha * float(coef @ coef)
        self.log_likelihood_ = ridge - best.value
        factor, shift = affine_map(self.scaler_) or (1.0, 0.0)
        self.coef_ = (coef * factor)[None, :]
        self.intercept_ = np.atleast_1d(intercept + np.sum(coef * shift))
        return self

    def _starts(self, problem: LinearBagProblem) -> list[np.ndarray]:
        """Choose the starts: the best model without features, then random directions around it."""
        n_features = problem.X.shape[1]
        null = np.zeros(n_features + self.fit_intercept)
        if self.fit_intercept:
            without_features = LinearBagProblem(
                np.empty((problem.X.shape[0], 0)),
                problem.offsets,
                problem.y,
                problem.weight,
                problem.rule,
                alpha=0.0,
            )
            null[-1] = _solve(without_features, np.zeros(1), self.tol, self.max_iter).x[0]
        # Log-odds of standardised instances then vary by about one.
        spread = 1.0 / np.sqrt(max(1, n_features))
        random = check_random_state(self.random_state).normal(
            scale=spread, size=(self.n_init - 1, n_features)
        )
        starts = np.tile(null, (self.n_init, 1))
        starts[1:, :n_features] = random
        return list(starts)

    def _warm_parameters(self, n_features: int):
        """Give the last fit's coefficients and intercept, if there was one on as many features."""
        if not hasattr(self, "coef_") or self.coef_.shape[1] != n_features:
            return None
        return self.coef_[0], self.intercept_[0]

    def _to_scaled(self, coef: np.ndarray, intercept: float) -> np.ndarray:
        """Express coefficients of the original scale in terms of the present scaler."""
        factor, shift = affine_map(self.scaler_) or (1.0, 0.0)
        coef = coef / factor
        return np.append(coef, intercept - np.sum(coef * shift)) if self.fit_intercept else coef

    def _log_odds(self, bags) -> np.ndarray:
        X = bags.instances
        if affine_map(self.scaler_) is None:
            X = self.scaler_.transform(X)
        return X @ self.coef_[0] + self.intercept_[0]


def _solve(problem: LinearBagProblem, start, tol, max_iter, on_iteration=None) -> SolverResult:
    """Minimise from one start; values of the result are totals, not per unit of weight."""
    total = problem.total
    result = minimize_smooth(
        problem.value_and_gradient,
        start,
        tol=tol,
        max_iter=max_iter,
        hessian_product=problem.hessian_product if problem.rule.has_latent_labels else None,
        has_kinks=not problem.rule.is_smooth,
        on_iteration=on_iteration and (lambda i, value: on_iteration(i, value * total)),
    )
    history = tuple(value * total for value in result.history)
    return replace(result, value=result.value * total, history=history)
