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
    scores = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Compiled code is loaded, or compiled on the very first run: not what the clock should show.
        begin(f"{model.name}, getting ready")
        few = np.concatenate([np.flatnonzero(y == label)[:5] for label in (0, 1)])
        model.make(seed).fit(bags[few], y[few])
        caught.clear()
        start = time.perf_counter()
        for number, (train, test) in enumerate(folds):
            begin(f"{model.name}, fold {number + 1} of {len(folds)}")
            fitted = model.make(seed).fit(bags[train], y[train])
            hidden = data.instance_y[np.isin(bags.bag_index, test)]
            scores.append(_score(fitted, bags[test], y[test], hidden))
        seconds = time.perf_counter() - start
    accuracy, bag_auc, instance_auc = zip(*scores, strict=True)
    return Score(
        model,
        float(np.mean(accuracy)),
        float(np.mean(bag_auc)),
        None if instance_auc[0] is None else float(np.mean(instance_auc)),
        seconds,
        tuple(dict.fromkeys(str(w.message) for w in caught)),
    )


def _score(fitted: Any, bags: Bags, y: Any, instance_y: Any) -> tuple[float, float, float | None]:
    if hasattr(fitted, "predict_proba"):
        bag_score = fitted.predict_proba(bags)[:, 1]
    else:
        bag_score = fitted.decision_function(bags)
    instance_auc = None
    if hasattr(fitted, "predict_proba_instances"):
        instance_auc = roc_auc_score(instance_y, fitted.predict_proba_instances(bags)[:, 1])
    elif hasattr(fitted, "decision_function_instances"):
        instance_auc = roc_auc_score(instance_y, fitted.decision_function_instances(bags))
    return fitted.score(bags, y), roc_auc_score(y, bag_score), instance_auc
