"""How sure the coefficients are: standard errors, Wald and likelihood-ratio tests, and selection by them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, ndtr, ndtri
from sklearn.base import clone

from bagwise.bags import as_bags
from bagwise.base import BagsLike, Training, fit_scaler
from bagwise.exceptions import ConvergenceWarning
from bagwise.linear_model.design import Design
from bagwise.linear_model.in_memory import InMemoryProblem
from bagwise.linear_model.logistic import MILogisticRegression
from bagwise.linear_model.null import fit_null
from bagwise.linear_model.problem import LinearBagProblem
from bagwise.linear_model.setup import make_design
from bagwise.solvers.control import Control
from bagwise.solvers.interrupt import interruptible

# The least eigenvalue of the information that is believed, relative to the largest, on scaled features.
_FLATTEST = 1e-10


@dataclass(frozen=True)
class Inference:
    """Statistical inference for a maximum likelihood fit; arrays have the intercept first, if there is one.

    Attributes
    ----------
    names : list of str
        Names of the coefficients.
    coef, se, z, p_value : arrays of shape (k,)
        Estimates on the original scale, their standard errors from the observed information, Wald
        statistics, and two-sided p values of the hypothesis that a coefficient is zero.
    covariance : array of shape (k, k)
        The inverse of the information.
    log_likelihood, log_likelihood_null : float
        Of the fit, and of the model without features.
    lr_statistic, lr_p_value, df : float, float, int
        Likelihood-ratio test of the hypothesis that no feature matters.
    n_bags, n_positive, n_instances : int
        What was fitted on.
    message : str or None
        Why there is no table: the information is not positive definite. The arrays of errors and tests are
        then None.
    """

    names: list[str]
    coef: np.ndarray
    se: np.ndarray | None
    z: np.ndarray | None
    p_value: np.ndarray | None
    covariance: np.ndarray | None
    log_likelihood: float
    log_likelihood_null: float
    lr_statistic: float
    lr_p_value: float
    df: int
    n_bags: int
    n_positive: int
    n_instances: int
    message: str | None = None

    def confidence_interval(self, level: float = 0.95) -> np.ndarray:
        """Wald intervals of the coefficients: shape (k, 2)."""
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
        half = ndtri(0.5 + level / 2) * self._errors()
        return np.column_stack([self.coef - half, self.coef + half])

    def odds_ratios(self, level: float = 0.95) -> np.ndarray:
        """Factor of an instance's odds per unit of a feature, with its interval: shape (k, 3)."""
        return np.exp(np.column_stack([self.coef, self.confidence_interval(level)]))

    def _errors(self) -> np.ndarray:
        if self.se is None:
            raise ValueError(f"there are no standard errors: {self.message}")
        return self.se

    def to_frame(self, level: float = 0.95, *, backend: str | None = None):
        """Give the table as a pandas or polars data frame."""
        import narwhals as nw

        from bagwise.io.frames import frame_backend

        low, high = self.confidence_interval(level).T
        columns = {
            "name": self.names,
            "coef": self.coef,
            "std_err": self.se,
            "z": self.z,
            "p_value": self.p_value,
            "low": low,
            "high": high,
            "odds_ratio": np.exp(self.coef),
        }
        return nw.from_dict(columns, backend=frame_backend(backend)).to_native()

    def summary(self, level: float = 0.95) -> str:
        """Lay the results out as text, in the manner of statsmodels.

        Read "P>|z|" as the answer to a question asked before the data were seen: after features have been
        chosen on the same data it is too small (docs/inference.md).
        """
        width = 84
        sizes = f"{self.n_bags} bags ({self.n_positive} positive), {self.n_instances} instances"
        lines = [
            "Multiple-instance logistic regression".center(width).rstrip(),
            "=" * width,
            f"{'Fitted on:':<22}{sizes}",
            f"{'Log-likelihood:':<22}{self.log_likelihood:.4f}   "
            f"(without features {self.log_likelihood_null:.4f})",
            f"{'Likelihood ratio:':<22}{self.lr_statistic:.4f} on {self.df} df, p = {self.lr_p_value:.3g}",
            "=" * width,
        ]
        if self.message is not None:
            return "\n".join([*lines, self.message])
        assert self.se is not None and self.z is not None and self.p_value is not None
        tail = (1 - level) / 2
        name = max(12, min(26, max(map(len, self.names))))
        header = ["coef", "std err", "z", "P>|z|", f"[{tail:.3f}", f"{1 - tail:.3f}]", "odds"]
        lines.append(" " * name + "".join(f"{h:>10}" for h in header))
        lines.append("-" * width)
        interval = self.confidence_interval(level)
        for i, label in enumerate(self.names):
            row = [self.coef[i], self.se[i], self.z[i], self.p_value[i], *interval[i], np.exp(self.coef[i])]
            cells = "".join(f"{v:>10.3f}" if abs(v) < 1e5 else f"{v:>10.2e}" for v in row)
            lines.append(f"{label[:name]:<{name}}" + cells)
        lines.append("=" * width)
        return "\n".join(lines)


def infer(model: MILogisticRegression, X, y, sample_weight=None) -> Inference:
    """Make the inference for a fitted model; `MILogisticRegression.inference` documents it."""
    if model.alpha != 0:
        raise ValueError(
            f"inference is for maximum likelihood, and this model has alpha={model.alpha!r}: a penalty "
            "biases coefficients. Fit with alpha=0, or use refit_selected(model, X, y)."
        )
    selected = np.asarray(getattr(model, "selected_features_", np.ones(model.n_features_in_, dtype=bool)))
    reader = clone(model)
    training = reader._read_training(X, y, sample_weight)
    problem, theta = _at(model, training, selected)
    # Values and curvature of a problem are per unit of weight.
    information = problem.total * problem.curvature(problem.point(theta), np.arange(int(selected.sum())))
    null = fit_null(problem, Control(tol=1e-9, max_iter=200))
    log_likelihood = problem.log_likelihood(theta)
    log_likelihood_null = problem.log_likelihood(null)
    ratio = max(0.0, 2 * (log_likelihood - log_likelihood_null))
    df = int(selected.sum())
    names, coef = _names(model, selected), np.append(model.intercept_, model.coef_[0][selected])
    facts = {
        "log_likelihood": log_likelihood,
        "log_likelihood_null": log_likelihood_null,
        "lr_statistic": ratio,
        "lr_p_value": float(chdtrc(df, ratio)) if df else 1.0,
        "df": df,
        "n_bags": len(training.bags),
        "n_positive": int(training.y.sum()),
        "n_instances": training.bags.n_instances,
    }
    if not model.fit_intercept:
        names, coef, information = names[1:], coef[1:], information[:-1, :-1]
    message = _why_not(model, information)
    if message is not None:
        return Inference(names, coef, None, None, None, None, message=message, **facts)
    to_original = _jacobian(problem.scaling, model.fit_intercept)
    covariance = to_original @ np.linalg.inv(information) @ to_original.T
    se = np.sqrt(np.diagonal(covariance))
    z = coef / se
    return Inference(names, coef, se, z, 2 * ndtr(-np.abs(z)), covariance, **facts)


def _at(model, training: Training, selected: np.ndarray) -> tuple[LinearBagProblem, np.ndarray]:
    """Set up the likelihood in standardised selected features, and give the model's parameters there."""
    bags, y, weight = training
    if getattr(model, "scaler_", None) is not None and not model._has_original_scale:
        bags = bags.with_instances(model.scaler_.transform(bags.instances))
    chosen = bags.with_instances(bags.instances[:, np.flatnonzero(selected)])
    if not selected.any():
        design = Design(chosen.instances, bags.offsets, fit_intercept=model.fit_intercept)
        return InMemoryProblem(design, y, weight, model.rule_), model.intercept_
    scaler = fit_scaler("standard", chosen.blocks(y, weight))
    design = make_design(chosen.instances, bags.offsets, scaler, fit_intercept=model.fit_intercept)
    problem = InMemoryProblem(design, y, weight, model.rule_)
    return problem, design.from_original(model.coef_[0][selected], model.intercept_[0])


def _jacobian(design, fit_intercept: bool) -> np.ndarray:
    """Turn parameters of scaled features, intercept last, into original ones, intercept first."""
    k = design.n_features
    rows = np.zeros((k + 1, k + 1))
    for i in range(k + 1):
        unit = np.zeros(k + 1)
        unit[i] = 1.0
        coef, intercept = design.to_original(unit)
        rows[:, i] = np.append(intercept, coef)
    return rows if fit_intercept else rows[1:, :-1]


def _names(model, selected: np.ndarray) -> list[str]:
    given = getattr(model, "feature_names_in_", None)
    if given is None:
        given = [f"x{i}" for i in range(len(selected))]
    return ["(intercept)", *(str(name) for name, take in zip(given, selected, strict=True) if take)]


def _why_not(model, information: np.ndarray) -> str | None:
    """Say why there are no standard errors, or None."""
    values = np.linalg.eigvalsh(information)
    if values[0] > _FLATTEST * max(values[-1], np.finfo(float).tiny):
        return None
    cause = (
        "features are collinear or constant, or a combination of them separates the bags"
        if model.converged_
        else "the fit has not converged"
    )
    return (
        f"The information is not positive definite, so there are no standard errors: {cause}. Use fewer "
        "features or a penalty."
    )


def refit_selected(
    model, X: BagsLike, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> MILogisticRegression:
    """Fit by maximum likelihood on the features that a LASSO model has selected.

    Parameters
    ----------
    model : fitted MILogisticRegression or MILogisticRegressionCV
        Features with a non-zero coefficient are kept.
    X, y, sample_weight
        As in `MILogisticRegression.fit`.

    Returns
    -------
    MILogisticRegression
        Fitted with ``alpha=0``; coefficients of the other features are zero, and `selected_features_` says
        which were kept. Its `inference` speaks of these alone. On the data that selected the features, its p
        values are too small (docs/inference.md).

    Examples
    --------
    >>> from bagwise import MILogisticRegression, make_noisy_or_bags, refit_selected
    >>> data = make_noisy_or_bags(200, coef=[2.0, -2.0, 0.0, 0.0], random_state=1)
    >>> lasso = MILogisticRegression(alpha=8.0, random_state=0).fit(data.bags, data.y)
    >>> refit_selected(lasso, data.bags, data.y).selected_features_.tolist()
    [True, True, False, False]
    """
    fresh = MILogisticRegression(
        model.rule,
        alpha=0.0,
        fit_intercept=model.fit_intercept,
        class_weight=model.class_weight,
        n_init=model.n_init,
        tol=model.tol,
        max_iter=model.max_iter,
        random_state=model.random_state,
    )
    return _fit_on(fresh, model.coef_[0] != 0, X, y, sample_weight)


def _fit_on(model: MILogisticRegression, selected: np.ndarray, X, y, sample_weight=None):
    """Fit a model on some features, and spread its coefficients over all."""
    bags = model._read(X, reset=True)
    if selected.any():
        chosen = bags.with_instances(bags.instances[:, np.flatnonzero(selected)])
        inside = clone(model).fit(chosen, y, sample_weight)
    else:  # the model without features
        inside = clone(model).set_params(alpha=np.finfo(float).max).fit(bags, y, sample_weight)
    for name, value in vars(inside).items():
        if name.endswith("_") and name not in ("n_features_in_", "feature_names_in_", "scaler_"):
            setattr(model, name, value)
    model.coef_ = np.zeros((1, len(selected)))
    if selected.any():
        model.coef_[0, selected] = inside.coef_[0]
    model.scaler_ = None  # the coefficients are for the features as they came
    model.selected_features_ = selected.copy()
    return model


@interruptible()
def forward_selection(
    X: BagsLike,
    y: ArrayLike,
    *,
    rule="or",
    level: float = 0.05,
    max_features: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> MILogisticRegression:
    """Add one feature after the other, as long as the Wald test of the new one is significant.

    At each step every absent feature is tried beside those chosen; the one with the smallest Wald p value
    enters if that is below `level`. The paper's competitor to the LASSO; greedy, and its p values say
    little after so many looks at the data (docs/inference.md).

    Parameters
    ----------
    X, y, sample_weight
        As in `MILogisticRegression.fit`.
    rule : str or Rule, default="or"
        How instances make the label of a bag.
    level : float, default=0.05
        The level of the test.
    max_features : int, optional
        The most features chosen.

    Returns
    -------
    MILogisticRegression
        Fitted by maximum likelihood; `selected_features_` and `selection_order_` say what was chosen.

    Examples
    --------
    >>> from bagwise import forward_selection, make_noisy_or_bags
    >>> data = make_noisy_or_bags(200, coef=[2.0, -2.0, 0.0, 0.0], random_state=1)
    >>> sorted(forward_selection(data.bags, data.y).selection_order_)
    [0, 1]
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1; got {level!r}.")
    model = MILogisticRegression(rule, alpha=0.0, n_init=1)
    bags = model._read_training(X, y, sample_weight).bags
    order: list[int] = []
    limit = bags.n_features if max_features is None else min(max_features, bags.n_features)
    while len(order) < limit:
        best, best_p = None, level
        for feature in range(bags.n_features):
            if feature not in order:
                p = _wald_p(model, [*order, feature], X, y, sample_weight)
                if p < best_p:
                    best, best_p = feature, p
        if best is None:
            break
        order.append(best)
    selected = np.zeros(bags.n_features, dtype=bool)
    selected[order] = True
    model = _fit_on(model, selected, X, y, sample_weight)
    model.selection_order_ = order
    return model


def _wald_p(model, features: list[int], X, y, sample_weight) -> float:
    """P value of the last of some features in a maximum likelihood fit; 1 where there is none."""
    selected = np.zeros(model.n_features_in_, dtype=bool)
    selected[features] = True
    with warnings.catch_warnings():
        # A candidate that separates the bags does not converge; it has no Wald test, and is passed over.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = _fit_on(clone(model), selected, X, y, sample_weight)
    found = infer(fitted, X, y, sample_weight)
    if found.p_value is None:
        return 1.0
    return float(found.p_value[1 + int(selected[: features[-1]].sum())])


def rate_change(model, X: BagsLike, feature: int | str, change: float) -> np.ndarray:
    """Predict by how much the probability of each bag changes when a feature changes in all its instances.

    Parameters
    ----------
    model : fitted classifier of bags with `predict_proba`
        The model.
    X : Bags, list of arrays, 3-D or 2-D array
        The bags.
    feature : int or str
        The feature, by number or by name.
    change : float
        What is added to it, in its own units.

    Returns
    -------
    array of shape (n_bags,)
        P(+ after the change) - P(+ before).

    Examples
    --------
    >>> from bagwise import MILogisticRegression, make_noisy_or_bags, rate_change
    >>> data = make_noisy_or_bags(100, coef=[2.0, 0.0, 0.0], random_state=0)
    >>> model = MILogisticRegression(random_state=0).fit(data.bags, data.y)
    >>> bool((rate_change(model, data.bags, 0, -0.5) < 0).all())
    True
    """
    bags = as_bags(X)
    column = _feature_number(feature, bags, model)
    moved = np.array(bags.instances, dtype=np.float64)
    moved[:, column] += change
    after, before = model.predict_proba(bags.with_instances(moved)), model.predict_proba(bags)
    return after[:, 1] - before[:, 1]


def _feature_number(feature: int | str, bags, model) -> int:
    if not isinstance(feature, str):
        if not 0 <= feature < bags.n_features:
            raise ValueError(f"feature must lie in 0 ... {bags.n_features - 1}; got {feature!r}.")
        return int(feature)
    names = bags.feature_names if bags.feature_names is not None else getattr(model, "feature_names_in_", [])
    if feature not in list(names):
        raise ValueError(f"there is no feature {feature!r}; there are {[str(n) for n in names]}.")
    return list(names).index(feature)
