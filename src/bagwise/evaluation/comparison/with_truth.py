"""Cross-validation where the labels of instances are known, as in the demonstration."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from bagwise.data.bags import Bags
from bagwise.evaluation.comparison.portfolio import Model
from bagwise.models.base.held_out import cross_predict

N_FOLDS = 5


@dataclass(frozen=True)
class Score:
    """What a model reaches on test bags, as means over the folds."""

    model: Model
    bag_accuracy: float
    bag_auc: float
    instance_auc: float | None  # None: the model says nothing of instances
    seconds: float  # of fits and predictions, all folds together
    warnings: tuple[str, ...]  # what the model warned of, each message once


def make_folds(bags: Bags, y: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Split bags into training and test ones, `N_FOLDS` times: the same for all models."""
    splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    return list(splitter.split(bags.offsets[:-1], y))


def cross_validate(
    model: Model,
    data: Any,
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
    seed: int,
    begin: Callable[[str], None],
) -> Score:
    """Fit a model on every fold's training bags and score it on its test bags.

    Parameters
    ----------
    model : Model
        What to fit.
    data : Bunch
        With `bags`, `y` and the hidden `instance_y`, as `load_digit_bags` gives it.
    folds : sequence of (train, test)
        As from `make_folds`.
    seed : int
        For the random choices of the model.
    begin : callable
        Told of every step; there is one more than there are folds.
    """
    bags, y = data.bags, data.y
    few = np.concatenate([np.flatnonzero(y == label)[:5] for label in (0, 1)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        held = cross_predict(
            model.make(seed),
            bags,
            y,
            folds,
            warm_up=few,
            keep_models=True,
            begin=lambda text: begin(f"{model.name}, {text}"),
        )
        score = held.score if held.probability is None else held.probability
        assert score is not None  # all models have one of them
        accuracy = [held.is_right[test].mean() for _, test in folds]
        bag_auc = [roc_auc_score(y[test], score[test]) for _, test in folds]
        start = time.perf_counter()
        instance_auc = [
            _instance_auc(fitted, bags[test], data.instance_y[np.isin(bags.bag_index, test)])
            for fitted, (_, test) in zip(held.models, folds, strict=True)
        ]
        of_instances = time.perf_counter() - start
    return Score(
        model,
        float(np.mean(accuracy)),
        float(np.mean(bag_auc)),
        None if np.isnan(instance_auc[0]) else float(np.mean(instance_auc)),
        float(held.seconds[:, :2].sum()) + of_instances,
        tuple(dict.fromkeys(str(w.message) for w in caught)),
    )


def _instance_auc(fitted: Any, bags: Bags, instance_y: Any) -> float:
    """Return how well a model ranks instances; NaN if it has no scores of them."""
    if hasattr(fitted, "predict_proba_instances"):
        return roc_auc_score(instance_y, fitted.predict_proba_instances(bags)[:, 1])
    if hasattr(fitted, "decision_function_instances"):
        return roc_auc_score(instance_y, fitted.decision_function_instances(bags))
    return np.nan
