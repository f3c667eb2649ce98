"""Selecting features, by a LASSO or by tests, and fitting what was selected by maximum likelihood."""

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
from bagwise.data.bags import as_bags, is_scan
from bagwise.exceptions import ConvergenceWarning
from bagwise.models.base import BagsLike, Training, bag_weights
from bagwise.models.base.folds import cut_in_two
from bagwise.models.linear_model.inference.kept import Kept
from bagwise.models.linear_model.inference.likelihood import Columns, likelihood_of
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
    "Every instance was taken as an independent observation with the label of its bag: the p values mean "
    "nothing (docs/inference.md)."
)
# Log-likelihoods that agree to this part are of the same bags.
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
    """Fit by maximum likelihood on the features that a LASSO model has selected.

    On the bags that selected the features, p values are too small: of 20 features without any effect, those
    that a LASSO keeps may have p < 0.05 half the time. The first line of `Inference.summary` then says so.
    With `split` the selection is repeated on one part of the bags, and the fit is on the other, which has not
    seen it: its p values hold, at the price of half the bags.

    Parameters
    ----------
    model : fitted MILogisticRegression or MILogisticRegressionCV
        Features with a non-zero coefficient are kept; with `split`, those of a clone that is fitted on the
        first part.
    X, y, sample_weight
        As in `MILogisticRegression.fit`.
    split : float, optional
        The share of the bags that select; each part has its share of either class.
    groups : array of shape (n_bags,), optional
        With `split`: bags of one group stay together, such as those of one patient.
    random_state : int, RandomState or None, default=None
        With `split`: draws the parts.

    Returns
    -------
    MILogisticRegression
        Fitted with ``alpha=0``; coefficients of the other features are zero, and `selected_features_` says
        which were kept. Its `inference` speaks of these alone.

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
    if getattr(model, "scaler_", None) is not None and not model._has_original_scale:
        raise ValueError(
            f"refit_selected selects features as they came, but the coefficients of this model are for those "
            f"that scale={model.scale!r} makes; put it before the model, with OnInstances."
        )
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
    _refuse_groups_alone(split, groups)
    if split is not None:
        first, second = _two_parts(X, y, sample_weight, split, groups, random_state)
        selected = clone(model).fit(*first).coef_[0] != 0
        _refuse_none(selected, "the LASSO")
        return _fit_on(fresh, selected, *second)
    selected = model.coef_[0] != 0
    training = _training_of(model, clone(fresh)._read(X, reset=True), y, sample_weight)
    here = likelihood_of(model, training, selected).log_likelihood()
    is_same = abs(here - model.log_likelihood_) <= _SAME * max(1.0, abs(model.log_likelihood_))
    return _fit_on(fresh, selected, X, y, sample_weight, notes=(_SAME_BAGS,) if is_same else ())


def _two_parts(
    X: Any, y: Any, sample_weight: Any, split: Any, groups: Any, random_state: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Cut the arguments of a fit in two."""
    bags, labels = X if is_scan(X) else as_bags(X), column_or_1d(y)
    weight = bag_weights(bags, sample_weight)
    parts = cut_in_two(labels, split, groups=groups, counted=weight > 0, random_state=random_state)
    first, second = ((bags[part], labels[part], weight[part]) for part in parts)
    return first, second


def _refuse_groups_alone(split: float | None, groups: ArrayLike | None) -> None:
    if groups is not None and split is None:
        raise ValueError(
            "groups say which bags a split keeps together, and there is no split; pass split too, or give "
            "groups to inference(groups=...), for errors that allow for them."
        )


def _refuse_none(selected: np.ndarray, who: str) -> None:
    if not selected.any():
        raise ValueError(
            f"{who} selected no feature on its part of the bags, so there is nothing to test on the other; "
            "give it more bags, or a larger split."
        )


def _fit_on(
    model: MILogisticRegression,
    selected: np.ndarray,
    X: BagsLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    notes: tuple[str, ...] = (),
) -> MILogisticRegression:
    """Fit a model on some features, and spread its coefficients over all."""
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
    model.scaler_ = None  # the coefficients are for the features as they came
    model.selected_features_ = selected.copy()
    model._kept = Kept.of(_training_of(model, bags, y, sample_weight), sample_weight, notes=notes)
    return model


def _training_of(model: Any, bags: Any, y: ArrayLike, sample_weight: Any) -> Training:
    """The bags that count, with the labels as a fitted model reads them."""
    label = (column_or_1d(y) == model.classes_[1]).astype(np.int8)
    return Training(bags, label, bag_weights(bags, sample_weight)).that_count()


def _with_columns(bags: Any, columns: np.ndarray) -> Any:
    """The same bags with some of their features, wherever they lie."""
    names = None if bags.feature_names is None else bags.feature_names[columns]
    take = Columns(columns)
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
    """Add one feature after the other, as long as the Wald test of the new one is significant.

    At each step every absent feature is tried beside those chosen; the one with the smallest Wald p value
    enters if that is below `level`. The paper's competitor to the LASSO; greedy, and its p values say
    little after so many looks at the data, which the first line of `Inference.summary` says. With `split`
    the final fit is on bags that the selection has not seen: there p values hold. `inference` of the model is
    by score tests; the p values that chose are those of ``inference(intervals="wald")``.

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
    split, groups, random_state
        As in `refit_selected`.

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
    """Choose features one by one."""
    n_features = model._read_training(*data).bags.n_features
    limit = n_features if max_features is None else min(max_features, n_features)
    order: list[int] = []
    while len(order) < limit:
        best, best_p = None, level
        for feature in range(n_features):
            if feature not in order:
                p = _wald_p(model, [*order, feature], *data)
                if p < best_p:
                    best, best_p = feature, p
        if best is None:
            break
        order.append(best)
    return order


def _wald_p(model: Any, features: list[int], X: Any, y: Any, sample_weight: Any) -> float:
    """P value of the last of some features in a maximum likelihood fit; 1 where there is none."""
    selected = np.zeros(model.n_features_in_, dtype=bool)
    selected[features] = True
    with warnings.catch_warnings():
        # A candidate that separates the bags does not converge; it has no Wald test, and is passed over.
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
    """Forward selection that gives every instance the label of its bag: the paper's naive competitor.

    Ordinary logistic regressions of instances, Wald tests that take them as independent. It is what one does
    who has no multiple-instance model, and is here to be compared with: its tests are wrong twice, since most
    instances of a positive bag may be negative, and since instances of a bag share their label.

    Parameters
    ----------
    X, y
        As in `MILogisticRegression.fit`.
    level, max_features
        As in `forward_selection`.

    Returns
    -------
    MILogisticRegression
        Fitted on the instances as bags of one, which is ordinary logistic regression; `selected_features_`
        and `selection_order_` say what was chosen.

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
