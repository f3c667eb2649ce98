"""Feature selection by a LASSO or by tests, and maximum likelihood fits of the selected features."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.utils import column_or_1d

from bagwise._core.interrupt import interruptible
from bagwise._core.types import Seed
from bagwise.data.bags import aligned, as_bags, is_scan
from bagwise.data.blocks import SelectColumns
from bagwise.exceptions import ConvergenceWarning
from bagwise.models.base import BagsLike, Training, bag_weights, fit_scaler, varying_features
from bagwise.models.base.folds import cut_in_two
from bagwise.models.linear_model.inference.kept import Kept
from bagwise.models.linear_model.inference.likelihood import likelihood_of
from bagwise.models.linear_model.inference.trust import why_no_errors
from bagwise.models.linear_model.logistic import MILogisticRegression
from bagwise.rules import Rule

if TYPE_CHECKING:
    from bagwise.models.linear_model.cv import MILogisticRegressionCV


_SAME_BAGS = (
    "The features were selected on these bags: the p values are too small and the intervals too narrow "
    "(docs/inference.md)."
)
_NAIVE = (
    "Every instance was treated as an independent observation with the label of its bag: the p values are "
    "not valid (docs/inference.md)."
)
# If log-likelihoods agree up to this relative difference, the bags are the same.
_SAME = 1e-6


def refit_selected(
    model: MILogisticRegression | MILogisticRegressionCV,
    X: BagsLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    split: float | None = None,
    groups: ArrayLike | None = None,
    random_state: Seed = None,
) -> MILogisticRegression:
    """Fit a model by maximum likelihood on the features that a LASSO model has selected.

    If the same bags are used for the selection and for the tests, p values are too small: of 20 features
    without any effect, half of those that a LASSO keeps may have p < 0.05. `Inference.summary` then starts
    with a warning. With `split`, the selection is repeated on one part of the bags and the model is fitted on
    the other part. The p values of this fit are valid, but fewer bags are available for it. With fewer than
    ten bags per selected feature in that part, the p values are too small (docs/inference.md), and a note
    reports this.

    Parameters
    ----------
    model : fitted MILogisticRegression or MILogisticRegressionCV
        The LASSO model. Features with a non-zero coefficient are kept. With `split`, a clone of the model is
        fitted on the first part and selects the features.
    X, y, sample_weight
        As in `MILogisticRegression.fit`.
    split : float, optional
        Share of the bags that are used for the selection. The parts are stratified by class.
    groups : array of shape (n_bags,), optional
        Group of every bag, such as its patient. Bags of the same group stay in the same part. Only with
        `split`.
    random_state : int, RandomState or None, default=None
        Seed of the split. Only with `split`.

    Returns
    -------
    MILogisticRegression
        Model fitted with ``alpha=0``. The coefficients of the other features are zero, and
        `selected_features_` is a mask of the kept features. The results of the model's method `inference`
        contain only the kept features.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, make_noisy_or_bags, refit_selected
    >>> data = make_noisy_or_bags(200, coef=[2.0, -2.0, 0.0, 0.0], random_state=1)
    >>> lasso = MILogisticRegression(alpha=8.0, random_state=0).fit(data.bags, data.y)
    >>> refit_selected(lasso, data.bags, data.y).selected_features_.tolist()
    [True, True, False, False]
    >>> honest = refit_selected(lasso, data.bags, data.y, split=0.5, random_state=0)
    >>> honest.inference().n_bags
    100
    """
    _refuse_groups_alone(split, groups)
    if split is not None:
        first, second = _two_parts(X, y, sample_weight, split, groups, random_state)
        model = clone(model).fit(*first)
    if getattr(model, "scaler_", None) is not None and not model._has_original_scale:
        raise ValueError(
            f"refit_selected needs coefficients of the original features, but the coefficients of this model "
            f"refer to the output of scale={model.scale!r}; put the transformer before the model, with "
            f"OnInstances."
        )
    fresh = MILogisticRegression(
        model.rule,
        alpha=0.0,
        fit_intercept=model.fit_intercept,
        class_weight=model.class_weight,
        positive=model.positive_label_,
        n_init=model.n_init,
        tol=model.tol,
        max_iter=model.max_iter,
        random_state=model.random_state,
    )
    selected = model.coef_[0] != 0
    if split is not None:
        _refuse_none(selected, "the LASSO")
        return _fit_on(fresh, selected, *second)
    training = _training_of(model, clone(fresh)._read(X, reset=True), y, sample_weight)
    log_likelihood = likelihood_of(model, training, selected).log_likelihood()
    is_same = abs(log_likelihood - model.log_likelihood_) <= _SAME * max(1.0, abs(model.log_likelihood_))
    return _fit_on(fresh, selected, X, y, sample_weight, notes=(_SAME_BAGS,) if is_same else ())


def _two_parts(
    X: Any, y: Any, sample_weight: Any, split: Any, groups: Any, random_state: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Split the arguments of a fit into two parts."""
    bags: Any = X if is_scan(X) else as_bags(X)
    labels = column_or_1d(aligned("y", y, bags))
    weight = bag_weights(bags, aligned("sample_weight", sample_weight, bags))
    groups = aligned("groups", groups, bags)
    parts = cut_in_two(labels, split, groups=groups, counted=weight > 0, random_state=random_state)
    first, second = ((bags[part], labels[part], weight[part]) for part in parts)
    return first, second


def _refuse_groups_alone(split: float | None, groups: ArrayLike | None) -> None:
    if groups is not None and split is None:
        raise ValueError(
            "groups can only be used with split, which then keeps bags of a group together; pass split too, "
            "or use inference(groups=...) for standard errors that allow for groups."
        )


def _refuse_none(selected: np.ndarray, selector: str) -> None:
    if not selected.any():
        raise ValueError(
            f"{selector} selected no feature on its part of the bags, so there is nothing to test on the "
            "other part; use more bags or a larger split."
        )


def _fit_on(
    model: MILogisticRegression,
    selected: np.ndarray,
    X: BagsLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    notes: tuple[str, ...] = (),
) -> MILogisticRegression:
    """Fit a model on the selected features; the coefficients of the other features are zero."""
    bags = model._read(X, reset=True)
    if selected.any():
        inside = clone(model).fit(_with_columns(bags, np.flatnonzero(selected)), y, sample_weight)
    else:  # the model without features
        inside = clone(model).set_params(alpha=np.finfo(float).max).fit(bags, y, sample_weight)
    for name, value in vars(inside).items():
        if name.endswith("_") and name not in ("n_features_in_", "feature_names_in_", "scaler_"):
            setattr(model, name, value)
    model.coef_ = np.zeros((1, len(selected)))
    if selected.any():
        model.coef_[0, selected] = inside.coef_[0]
    model.scaler_ = None  # the coefficients refer to the original features
    model.selected_features_ = selected.copy()
    model._kept = Kept.of(_training_of(model, bags, y, sample_weight), sample_weight, notes=notes)
    return model


def _training_of(model: Any, bags: Any, y: ArrayLike, sample_weight: Any) -> Training:
    """Return the bags with positive weight, and their labels as encoded by a fitted model."""
    label = model._encode_known(y, bags)
    weight = bag_weights(bags, aligned("sample_weight", sample_weight, bags))
    return Training(bags, label, weight).that_count()


def _with_columns(bags: Any, columns: np.ndarray) -> Any:
    """Return the same bags with only these features, for bags in memory or in files."""
    names = None if bags.feature_names is None else bags.feature_names[columns]
    take = SelectColumns(columns)
    if is_scan(bags):
        return bags.transformed(take, names)
    return bags.with_instances(take(bags.instances), feature_names=names)


@interruptible()
def forward_selection(
    X: BagsLike,
    y: ArrayLike,
    *,
    rule: str | Rule = "or",
    level: float = 0.05,
    max_features: int | None = None,
    sample_weight: ArrayLike | None = None,
    split: float | None = None,
    groups: ArrayLike | None = None,
    random_state: Seed = None,
) -> MILogisticRegression:
    """Add one feature at a time, as long as the Wald test of the added feature is significant.

    At each step, every remaining feature is tried together with those already selected. The feature with the
    smallest Wald p value is added if this p value is below `level`. In the paper, this greedy method is
    compared with the LASSO. Because many features are tested on the same data, the p values of the final
    model are not valid, and `Inference.summary` starts with a warning. With `split`, the final model is
    fitted on bags that were not used for the selection, and its p values are valid. `inference` of the model
    uses score tests; the selection uses the p values of ``inference(intervals="wald")``.

    Parameters
    ----------
    X, y, sample_weight
        As in `MILogisticRegression.fit`.
    rule : str or Rule, default="or"
        How the instances determine the label of a bag.
    level : float, default=0.05
        The significance level of the test.
    max_features : int, optional
        Maximum number of selected features.
    split, groups, random_state
        As in `refit_selected`.

    Returns
    -------
    MILogisticRegression
        Model fitted by maximum likelihood. `selected_features_` is a mask of the selected features, and
        `selection_order_` lists them in the order of their selection.

    Examples
    --------
    >>> from bagwise import forward_selection, make_noisy_or_bags
    >>> data = make_noisy_or_bags(200, coef=[2.0, -2.0, 0.0, 0.0], random_state=1)
    >>> sorted(forward_selection(data.bags, data.y).selection_order_)
    [0, 1]
    """
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1; got {level!r}.")
    _refuse_groups_alone(split, groups)
    first = second = (X, y, sample_weight)
    if split is not None:
        first, second = _two_parts(X, y, sample_weight, split, groups, random_state)
    model = MILogisticRegression(rule, alpha=0.0, n_init=1)
    order = _forward(model, first, level, max_features)
    selected = np.zeros(model.n_features_in_, dtype=bool)
    selected[order] = True
    if split is not None:
        _refuse_none(selected, "forward selection")
    model = _fit_on(model, selected, *second, notes=() if split is not None else (_SAME_BAGS,))
    model.selection_order_ = order
    return model


def _forward(
    model: MILogisticRegression, data: tuple[Any, ...], level: float, max_features: int | None
) -> list[int]:
    """Return the indices of the selected features, in the order of their selection."""
    bags, y, weight = model._read_training(*data)
    # A constant feature has no coefficient to test.
    varies = varying_features(fit_scaler("standard", bags.blocks(y, weight)))
    candidates = range(bags.n_features) if varies is None else [int(k) for k in np.flatnonzero(varies)]
    limit = len(candidates) if max_features is None else min(max_features, len(candidates))
    order: list[int] = []
    while len(order) < limit:
        best, best_p = None, level
        for feature in candidates:
            if feature not in order:
                p = _wald_p(model, [*order, feature], *data)
                if p < best_p:
                    best, best_p = feature, p
        if best is None:
            break
        order.append(best)
    return order


def _wald_p(model: Any, features: list[int], X: Any, y: Any, sample_weight: Any) -> float:
    """Return the p value of the last feature in a maximum likelihood fit, or 1 if it has no Wald test."""
    selected = np.zeros(model.n_features_in_, dtype=bool)
    selected[features] = True
    with warnings.catch_warnings():
        # A candidate that separates the bags does not converge and has no Wald test. It is skipped.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = _fit_on(clone(model), selected, X, y, sample_weight)
    assert fitted._kept is not None and fitted._kept.training is not None
    likelihood = likelihood_of(fitted, fitted._kept.training, selected)
    information = likelihood.information(likelihood.x)
    _, score = likelihood.value_and_gradient(likelihood.x)
    if why_no_errors(fitted, likelihood, information, score) is not None:
        return 1.0
    last = int(selected[: features[-1]].sum())
    error = np.sqrt(np.linalg.inv(information)[last, last])
    return float(2 * ndtr(-abs(likelihood.x[last]) / error))


def naive_wald_selection(
    X: BagsLike, y: ArrayLike, *, level: float = 0.05, max_features: int | None = None
) -> MILogisticRegression:
    """Select features by forward selection on instances that inherit the label of their bag.

    This is the naive baseline of the paper: it fits ordinary logistic regressions of the instances, and its
    Wald tests treat the instances as independent. Use it only for comparisons. Its tests are wrong for two
    reasons: most instances of a positive bag may be negative, and the instances of a bag share one label.

    Parameters
    ----------
    X, y
        As in `MILogisticRegression.fit`.
    level, max_features
        As in `forward_selection`.

    Returns
    -------
    MILogisticRegression
        Model fitted on the instances as bags of one instance each, which is ordinary logistic regression.
        `selected_features_` and `selection_order_` are as in `forward_selection`.

    Examples
    --------
    >>> from bagwise import make_noisy_or_bags, naive_wald_selection
    >>> data = make_noisy_or_bags(300, coef=[2.0, -2.0, 0.0, 0.0], random_state=1)
    >>> sorted(naive_wald_selection(data.bags, data.y).selection_order_)
    [0, 1]
    """
    bags = as_bags(X)
    model = forward_selection(
        bags.instances, np.repeat(column_or_1d(y), bags.sizes), level=level, max_features=max_features
    )
    assert model._kept is not None
    model._kept = replace(model._kept, notes=(_NAIVE,))
    return model
