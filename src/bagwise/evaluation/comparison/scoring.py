"""The scores of a comparison: what `scoring` may be; of splits as by scikit-learn, of all with intervals."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer, get_scorer_names

from bagwise._core.sklearn_private import available_if
from bagwise.evaluation.comparison.differences import corrected_t, held_per_learned
from bagwise.evaluation.comparison.plan import Labelled, Split
from bagwise.evaluation.comparison.results import Interval
from bagwise.evaluation.held_out.scores import score_by_bag, score_with_interval
from bagwise.evaluation.metrics import make_pu_scorer
from bagwise.models.base.held_out import HeldOut
from bagwise.models.pu import ClassPriorEstimator

DEFAULT_SCORING = ("accuracy", "roc_auc", "neg_log_loss")
# Scores that a class more than two would make of other pairs.
_OF_TWO_CLASSES = {"roc_auc": "roc_auc_ovr"}


class _Predictions(ClassifierMixin, BaseEstimator):
    """Held-out predictions in the shape of a fitted classifier, which scikit-learn's scorers ask again.

    Labels are indices in the list of classes, so that the positive class is 1 for every score.
    """

    def __init__(self, held: HeldOut):
        self.held = held

    @property
    def classes_(self) -> np.ndarray:
        """The indices of the classes."""
        return np.arange(len(self.held.classes))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels that were predicted, whatever X is."""
        return self.held.predicted

    @available_if(lambda self: "predict_proba" in self.held.outputs)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities that were predicted."""
        return self.held.outputs["predict_proba"]

    @available_if(lambda self: "decision_function" in self.held.outputs)
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores that were predicted."""
        return self.held.outputs["decision_function"]


def read_scoring(
    scoring: Any, data: Labelled, random_state: Any
) -> tuple[dict[str, Callable[..., float]], list[str]]:
    """Give scorers by name, and what there is to say of them; unknown ones are refused."""
    if isinstance(scoring, Mapping):
        named = dict(scoring)
    elif isinstance(scoring, str):
        named = {scoring: scoring}
    elif isinstance(scoring, Sequence) and all(isinstance(name, str) for name in scoring):
        named = {name: name for name in scoring}
    else:
        raise TypeError(
            "scoring must be the name of a score, several of them, or a dict from names to scorers; got "
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
    """Scores that unlabeled bags allow, at one class prior for all models."""
    prior = ClassPriorEstimator(random_state=random_state).fit(data.bags, data.y).class_prior_
    notes = [
        "Bags are positive and unlabeled: the AUC is that of positive against unlabeled bags, which orders "
        f"models as the true one does; neg_pu_risk is at a class prior of {prior:.2f}, estimated once."
    ]
    return {"roc_auc": get_scorer("roc_auc"), "neg_pu_risk": make_pu_scorer(prior)}, notes


def _scorer(scorer: Any, n_classes: int) -> Callable[..., float]:
    if callable(scorer):
        return scorer
    if scorer in _OF_TWO_CLASSES and n_classes > 2:
        raise ValueError(
            f"scoring {scorer!r} is of two classes, and y has {n_classes}; take {_OF_TWO_CLASSES[scorer]!r}."
        )
    try:
        return get_scorer(scorer)
    except (ValueError, TypeError, KeyError):
        known = get_scorer_names()
        near = get_close_matches(str(scorer), known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "sklearn.metrics.get_scorer_names() lists them."
        raise ValueError(f"there is no scoring {scorer!r}; {hint}") from None


def score_of_split(name: str, scorer: Callable[..., float], held: HeldOut) -> float:
    """Score one split; NaN where the model does not say what it takes, or bags of one class do not."""
    by_bag = score_by_bag(name, held)
    if by_bag is not None:
        return float(by_bag.mean())
    if len(np.unique(held.codes)) < 2:
        return np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return float(scorer(_Predictions(held), None, held.codes))
        except (AttributeError, ValueError):  # there is no probability, or no score of so many classes
            return np.nan


def score_together(
    name: str,
    scores: np.ndarray,
    repeats: Sequence[tuple[HeldOut, np.ndarray | None]],
    folds: Sequence[Split],
) -> tuple[float, Interval]:
    """Score all bags held out, with an interval: that of a repeat, the mean of the ends over repeats.

    Parameters
    ----------
    name : str
        The score.
    scores : array of shape (n_splits,)
        Those of the splits.
    repeats : sequence of (HeldOut, groups)
        Of every repeat: the bags held out, and their groups, if there are any.
    folds : sequence of (train, test)
        All splits.
    """
    found = [score_with_interval(name, held, groups) for held, groups in repeats]
    if all(one is not None for one in found):
        value, low, high = np.mean([one for one in found if one is not None], axis=0)
        return float(value), (float(low), float(high))
    if np.isnan(scores).all():
        return np.nan, (np.nan, np.nan)
    mean, low, high, _ = corrected_t(scores, held_per_learned(folds))
    return mean, (low, high)
