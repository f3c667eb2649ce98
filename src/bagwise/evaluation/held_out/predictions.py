"""Predictions of every bag by a model that was fitted without it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from bagwise.models.base.folds import bag_folds
from bagwise.models.base.labels import Training


@dataclass(frozen=True)
class HeldOut:
    """What models said of the bags that they were not fitted on.

    Attributes
    ----------
    codes : array of shape (n_bags,)
        The place of every bag's label in `classes`.
    classes : array
        The labels.
    fold : array of shape (n_bags,)
        The fold that held the bag out.
    predicted : array of shape (n_bags,)
        The place of the predicted label in `classes`.
    score : array of shape (n_bags,) or None
        With two classes, high for the second; scores of different folds are of different models.
    probability : array of shape (n_bags,) or None
        That of the second class, where the model has it.
    models : tuple of fitted classifiers
        Those of the folds, if they were to be kept.
    """

    codes: np.ndarray
    classes: np.ndarray
    fold: np.ndarray
    predicted: np.ndarray
    score: np.ndarray | None
    probability: np.ndarray | None
    models: tuple[Any, ...] = ()

    @property
    def n_folds(self) -> int:
        """How many models there were."""
        return int(self.fold.max()) + 1


def predict_held_out(
    model: Any,
    bags: Any,
    y: np.ndarray,
    *,
    n_folds: int,
    groups: np.ndarray | None = None,
    seed: int = 0,
    begin: Callable[[str], None] = lambda text: None,
    keep_models: bool = False,
) -> HeldOut:
    """Cut bags into folds, and let a clone that was fitted to the others predict each.

    Parameters
    ----------
    model : classifier
        It is cloned.
    bags : Bags or ScannedBags
        The bags.
    y : array of shape (n_bags,)
        Their labels.
    n_folds : int
        The most folds; there are fewer where a class has fewer bags (or groups).
    groups : array of shape (n_bags,), optional
        Bags of one group are held out together.
    seed : int
        Draws the folds.
    begin : callable
        Told of every fold.
    keep_models : bool
        Whether the models of the folds are kept, for whoever asks them of instances.
    """
    classes, codes = np.unique(y, return_inverse=True)
    training = Training(bags, codes, np.ones(len(codes)))
    remedy = "Fit without cross-validation, or give more bags."
    splits = bag_folds(n_folds, training, None, seed=seed, remedy=remedy, groups=groups)
    fold, predicted = np.empty(len(codes), dtype=int), np.empty(len(codes), dtype=int)
    score, probability = np.full(len(codes), np.nan), np.full(len(codes), np.nan)
    models = []
    for number, (train, test) in enumerate(splits):
        begin(f"fold {number + 1} of {len(splits)}")
        fitted = fit_in_groups(clone(model), bags[train], y[train], None if groups is None else groups[train])
        if keep_models:
            models.append(fitted)
        held = bags[test]
        fold[test] = number
        predicted[test] = np.searchsorted(classes, fitted.predict(held))
        if len(classes) > 2:
            continue
        if hasattr(fitted, "predict_proba"):
            probability[test] = fitted.predict_proba(held)[:, 1]
        if hasattr(fitted, "decision_function"):
            score[test] = fitted.decision_function(held)
    scores = probability if np.isnan(score).all() else score
    return HeldOut(
        codes,
        classes,
        fold,
        predicted,
        None if np.isnan(scores).all() else scores,
        None if np.isnan(probability).all() else probability,
        tuple(models),
    )


def fit_in_groups(model: Any, bags: Any, y: np.ndarray, groups: np.ndarray | None) -> Any:
    """Fit a model; one that cuts folds by itself keeps groups together, too: a search, or the last step."""
    if groups is None:
        return model.fit(bags, y)
    return model.fit(bags, y, **_keeping_together(model, bags, y, groups))


def _keeping_together(model: Any, bags: Any, y: np.ndarray, groups: np.ndarray) -> dict[str, Any]:
    """Give what `fit` must be told of groups; a number of folds becomes folds that keep them together."""
    if hasattr(model, "steps"):
        name, last = model.steps[-1]
        told = _keeping_together(last, bags, y, groups)
        return {f"{name}__{key}": value for key, value in told.items()}
    if "groups" in inspect.signature(model.fit).parameters:
        return {"groups": groups}
    if not hasattr(model, "cv"):
        return {}
    if model.cv is not None and not isinstance(model.cv, Integral):
        return {"groups": groups} if hasattr(model, "refit") else {}  # a splitter, which a search hands them
    training = Training(bags, np.unique(y, return_inverse=True)[1], np.ones(len(y)))
    remedy = "Settings cannot be chosen in so few."
    model.set_params(cv=bag_folds(model.cv or 5, training, None, seed=0, remedy=remedy, groups=groups))
    return {}
