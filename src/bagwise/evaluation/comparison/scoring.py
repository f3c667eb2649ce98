"""Scores of what models said of held-out bags: of splits as by scikit-learn, of all with intervals."""

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
from bagwise.evaluation.comparison.plan import Labelled
from bagwise.evaluation.comparison.results import Interval
from bagwise.evaluation.held_out.intervals import auc_interval, mean_interval, share_interval
from bagwise.evaluation.metrics import make_pu_scorer
from bagwise.models.pu import ClassPriorEstimator

DEFAULT_SCORING = ("accuracy", "roc_auc", "neg_log_loss")
# Scores that a class more than two would make of other pairs.
_OF_TWO_CLASSES = {"roc_auc": "roc_auc_ovr"}


class Said(ClassifierMixin, BaseEstimator):
    """What a model said of some bags, in the shape of a fitted classifier: scorers ask it again.

    Labels are places in the list of classes, so that the positive class is 1 for every score.
    """

    def __init__(self, n_classes: Any, predicted: Any, probability: Any, decision: Any):
        self.n_classes = n_classes
        self.predicted = predicted
        self.probability = probability
        self.decision = decision

    @property
    def classes_(self) -> np.ndarray:
        """The places."""
        return np.arange(self.n_classes)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> np.ndarray:
        """Give the labels that were predicted, whatever X is."""
        return self.predicted

    @available_if(lambda self: self.probability is not None)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Give the probabilities that were predicted."""
        return self.probability

    @available_if(lambda self: self.decision is not None)
    def decision_function(self, X: Any) -> np.ndarray:
        """Give the scores that were predicted."""
        return self.decision


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


def score_of_split(name: str, scorer: Callable[..., float], said: Said, codes: np.ndarray) -> float:
    """Score one split; NaN where the model does not say what it takes, or bags of one class do not."""
    by_bag = _of_bags(name, said, codes)
    if by_bag is not None:
        return float(by_bag.mean())
    if len(np.unique(codes)) < 2:
        return np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return float(scorer(said, None, codes))
        except (AttributeError, ValueError):  # there is no probability, or no score of so many classes
            return np.nan


def score_together(
    name: str,
    scores: np.ndarray,
    repeats: Sequence[tuple[Said, np.ndarray, np.ndarray]],
    codes: np.ndarray,
    groups: np.ndarray | None,
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
) -> tuple[float, Interval]:
    """Score all bags held out, with an interval: that of a repeat, the mean of the ends over repeats.

    Parameters
    ----------
    name : str
        The score.
    scores : array of shape (n_splits,)
        Those of the splits.
    repeats : sequence of (said, held, fold)
        Of every repeat: what was said of the bags held out, their numbers, and the fold of each.
    codes, groups : array of shape (n_bags,)
        Labels and groups of all bags.
    folds : sequence of (train, test)
        All splits.
    """
    found = [
        _with_interval(name, said, codes[held], fold, None if groups is None else groups[held])
        for said, held, fold in repeats
    ]
    if all(one is not None for one in found):
        value, low, high = np.mean([one for one in found if one is not None], axis=0)
        return float(value), (float(low), float(high))
    if np.isnan(scores).all():
        return np.nan, (np.nan, np.nan)
    mean, low, high, _ = corrected_t(scores, held_per_learned(folds))
    return mean, (low, high)


def _with_interval(
    name: str, said: Said, codes: np.ndarray, fold: np.ndarray, groups: np.ndarray | None
) -> tuple[float, float, float] | None:
    """Score bags of one repeat and give value, low, high; None if the score is none of bags or pairs."""
    if name == "roc_auc" and said.n_classes == 2:
        ranking = said.decision
        if ranking is None and said.probability is not None:
            ranking = said.probability[:, 1]
        return None if ranking is None else auc_interval(codes == 1, ranking, fold, groups)
    by_bag = _of_bags(name, said, codes)
    if by_bag is None:
        return None
    interval = share_interval if name == "accuracy" else mean_interval
    return float(by_bag.mean()), *interval(by_bag, groups)


def _of_bags(name: str, said: Said, codes: np.ndarray) -> np.ndarray | None:
    """The score of every bag, where a score is their mean; else None."""
    if name == "accuracy":
        return said.predicted == codes
    if said.probability is None:
        return None
    if name == "neg_log_loss":
        # As scikit-learn does it: a bag that was called impossible is no infinity.
        tiny = np.finfo(said.probability.dtype).eps
        return np.log(np.clip(said.probability[np.arange(len(codes)), codes], tiny, 1 - tiny))
    if name == "neg_brier_score" and said.n_classes == 2:
        return -((said.probability[:, 1] - codes) ** 2)
    return None
