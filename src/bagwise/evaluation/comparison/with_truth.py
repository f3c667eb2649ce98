"""Cross-validation on data with instance labels, for the demonstration."""

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
from bagwise.models.wrappers.instance_level import of_positive

N_FOLDS = 5


@dataclass(frozen=True)
class ModelScores:
    """Scores of a model on test bags, averaged over the folds."""

    model: Model
    bag_accuracy: float
    bag_auc: float
    instance_auc: float | None  # None if the model has no instance-level predictions
    seconds: float  # total time of fits and predictions in all folds
    warnings: tuple[str, ...]  # distinct warnings of the model


def make_folds(bags: Bags, y: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return `N_FOLDS` stratified splits of the bags into training and test bags, for all models."""
    splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    return list(splitter.split(bags.offsets[:-1], y))


def cross_validate(
    model: Model,
    data: Any,
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
    seed: int,
    begin: Callable[[str], None],
) -> ModelScores:
    """Fit a model to the training bags of each fold and score it on the test bags.

    Parameters
    ----------
    model : Model
        The model to fit.
    data : Bunch
        Data set with `bags`, `y` and the hidden `instance_y`, as returned by `load_digit_bags`.
    folds : sequence of (train, test)
        The splits, as returned by `make_folds`.
    seed : int
        Seed of the model.
    begin : callable
        Called with a short text at the start of each step. There is one more step than there are folds.
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
        assert score is not None  # all models have probabilities or scores
        accuracy = [held.is_right[test].mean() for _, test in folds]
        bag_auc = [roc_auc_score(y[test], score[test]) for _, test in folds]
        start = time.perf_counter()
        instance_auc = [
            _instance_auc(fitted, bags[test], data.instance_y[np.isin(bags.bag_index, test)])
            for fitted, (_, test) in zip(held.models, folds, strict=True)
        ]
        of_instances = time.perf_counter() - start
    return ModelScores(
        model,
        float(np.mean(accuracy)),
        float(np.mean(bag_auc)),
        None if np.isnan(instance_auc[0]) else float(np.mean(instance_auc)),
        float(held.seconds[:, :2].sum()) + of_instances,
        tuple(dict.fromkeys(str(w.message) for w in caught)),
    )


def _instance_auc(fitted: Any, bags: Bags, instance_y: Any) -> float:
    """Return the AUC of the instance predictions; NaN if the model has none."""
    if hasattr(fitted, "predict_proba_instances"):
        return roc_auc_score(instance_y, of_positive(fitted.predict_proba_instances(bags), fitted))
    if hasattr(fitted, "decision_function_instances"):
        return roc_auc_score(instance_y, of_positive(fitted.decision_function_instances(bags), fitted))
    return np.nan
