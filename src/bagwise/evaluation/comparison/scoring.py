"""The scores of a comparison: scorers, scores of a split, and scores of all bags with intervals."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer, get_scorer_names

from bagwise._core.sklearn_private import available_if
from bagwise.evaluation.comparison.differences import corrected_t, mean_test_train_ratio
from bagwise.evaluation.comparison.plan import Labelled, Split
from bagwise.evaluation.comparison.results import Interval
from bagwise.evaluation.held_out.scores import score_by_bag, score_with_interval
from bagwise.evaluation.metrics import make_pu_scorer
from bagwise.models.base.held_out import HeldOut
from bagwise.models.pu import ClassPriorEstimator

DEFAULT_SCORING = ("accuracy", "roc_auc", "neg_log_loss")
# Binary scorers and their multi-class replacements.
_OF_TWO_CLASSES = {"roc_auc": "roc_auc_ovr"}


class _Predictions(ClassifierMixin, BaseEstimator):
    """Held-out predictions with the interface of a fitted classifier, for scikit-learn's scorers.

    Labels are indices of the classes, so that all scorers use class 1 as the positive class.
    """

    def __init__(self, held: HeldOut):
        self.held = held

    @property
    def classes_(self) -> np.ndarray:
        """Indices of the classes."""
        return np.arange(len(self.held.classes))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> np.ndarray:
        """Return the stored predicted labels; X is ignored."""
        return self.held.predicted

    @available_if(lambda self: "predict_proba" in self.held.outputs)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the stored probabilities; X is ignored."""
        return self.held.outputs["predict_proba"]

    @available_if(lambda self: "decision_function" in self.held.outputs)
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the stored scores; X is ignored."""
        return self.held.outputs["decision_function"]


def read_scoring(
    scoring: Any, data: Labelled, random_state: Any
) -> tuple[dict[str, Callable[..., float]], list[str]]:
    """Return the scorers by name, and notes about them; raise an error for unknown names."""
    if isinstance(scoring, Mapping):
        named = dict(scoring)
    elif isinstance(scoring, str):
        named = {scoring: scoring}
    elif isinstance(scoring, Sequence) and all(isinstance(name, str) for name in scoring):
        named = {name: name for name in scoring}
    else:
        raise TypeError(
            "scoring must be the name of a score, a list of names, or a dict from names to scorers; got "
            f"{scoring!r}."
        )
    if not named:
        raise ValueError("scoring is empty; expected at least one name, such as 'accuracy'.")
    n_classes = len(data.classes)
    if tuple(named) == DEFAULT_SCORING and not isinstance(scoring, Mapping):
        if data.from_unlabeled:
            return _of_unlabeled(data, random_state)
        if n_classes > 2:
            named = {name: name for name in (_OF_TWO_CLASSES.get(name, name) for name in named)}
    return {str(name): _scorer(scorer, n_classes) for name, scorer in named.items()}, []


def _of_unlabeled(data: Labelled, random_state: Any) -> tuple[dict[str, Callable[..., float]], list[str]]:
    """Return the default scorers for positive and unlabeled bags, with one class prior for all models."""
    prior = ClassPriorEstimator(random_state=random_state).fit(data.bags, data.y).class_prior_
    notes = [
        "Some bags are positive, the others unlabeled. roc_auc compares positive with unlabeled bags and "
        f"ranks models like the true AUC. neg_pu_risk uses a class prior of {prior:.2f}, estimated once for "
        "all models."
    ]
    return {"roc_auc": get_scorer("roc_auc"), "neg_pu_risk": make_pu_scorer(prior)}, notes


def _scorer(scorer: Any, n_classes: int) -> Callable[..., float]:
    if callable(scorer):
        return scorer
    if scorer in _OF_TWO_CLASSES and n_classes > 2:
        raise ValueError(
            f"scoring {scorer!r} needs two classes, but y has {n_classes}; use {_OF_TWO_CLASSES[scorer]!r}."
        )
    try:
        return get_scorer(scorer)
    except (ValueError, TypeError, KeyError):
        scorer_names = get_scorer_names()
        near = get_close_matches(str(scorer), scorer_names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "see sklearn.metrics.get_scorer_names()."
        raise ValueError(f"unknown scoring {scorer!r}; {hint}") from None


def score_of_split(name: str, scorer: Callable[..., float], held: HeldOut) -> float:
    """Return the score of one split; NaN if the required output is missing or there is only one class."""
    by_bag = score_by_bag(name, held)
    if by_bag is not None:
        return float(by_bag.mean())
    if len(np.unique(held.codes)) < 2:
        return np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return float(scorer(_Predictions(held), None, held.codes))
        except (AttributeError, ValueError):  # no probabilities, or an unsupported number of classes
            return np.nan


def score_together(
    name: str,
    scores: np.ndarray,
    repeats: Sequence[tuple[HeldOut, np.ndarray | None]],
    folds: Sequence[Split],
) -> tuple[float, Interval]:
    """Return the score of all held-out bags with an interval, both averaged over the repeats.

    Parameters
    ----------
    name : str
        Name of the score.
    scores : array of shape (n_splits,)
        Scores of the splits.
    repeats : sequence of (HeldOut, groups)
        Held-out predictions of each repeat, and the groups of the bags or None.
    folds : sequence of (train, test)
        All splits.
    """
    results = [score_with_interval(name, held, groups) for held, groups in repeats]
    if all(result is not None for result in results):
        value, low, high = np.mean([result for result in results if result is not None], axis=0)
        return float(value), (float(low), float(high))
    if np.isnan(scores).all():
        return np.nan, (np.nan, np.nan)
    mean, low, high, _ = corrected_t(scores, mean_test_train_ratio(folds))
    return mean, (low, high)
