"""One protocol for all models: cross-validation over bags, with all tuning in the training folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, wraps
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from bagwise import datasets
from bagwise.data.bags import Bags
from bagwise.evaluation.held_out.intervals import auc_interval
from bagwise.exceptions import ConvergenceWarning
from bagwise.models.base.held_out import cross_predict

CLASSIC = ("musk1", "musk2", "elephant", "fox", "tiger")


def nested(make: Callable[[int], Any]) -> Callable[..., dict[str, Any]]:
    """Decorate a function that makes a model from a seed, so that it can be run as a cell."""

    @wraps(make)
    def run(dataset: str, repeat: int, n_folds: int, seed: int) -> dict[str, Any]:
        drawn = 1000 * seed + repeat
        return cross_validated(make(drawn), *fetched(dataset), n_folds, drawn)

    return run


@cache
def fetched(dataset: str) -> tuple[Bags, np.ndarray]:
    """Return the bags of a data set as floats, and their labels; `dataset` can be the name of a newsgroup."""
    if dataset in CLASSIC:
        data = getattr(datasets, f"fetch_{dataset}")()
    else:
        data = datasets.fetch_newsgroups(dataset)
    return data.bags.with_instances(np.asarray(data.bags.instances, dtype=np.float64)), data.y


def cross_validated(model: Any, bags: Bags, y: np.ndarray, n_folds: int, seed: int) -> dict[str, Any]:
    """Cross-validate a model and return its scores.

    All models use the same folds. The AUC compares only pairs of bags in the same fold. The log loss is None
    for models without probabilities. `seconds` is the mean processor time per fit, including tuning.
    """
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    begun: list[int] = []  # number of warnings before each fold
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        held = cross_predict(
            model, bags, y, list(splitter.split(y, y)), begin=lambda text: begun.append(len(caught))
        )
    unsettled = sum(
        any(issubclass(warning.category, ConvergenceWarning) for warning in caught[first:last])
        for first, last in pairwise([*begun, len(caught)])
    )
    probability = held.probability
    score = held.score if probability is None else probability
    assert score is not None  # every model returns probabilities or scores
    return {
        "accuracy": held.is_right.mean(),
        "auc": auc_interval(y == 1, score, held.fold)[0],
        "log_loss": None if probability is None else log_loss(y, probability),
        "seconds": held.seconds[:, 2].mean(),
        "unsettled": unsettled,
        "right": "".join("01"[hit] for hit in held.is_right.astype(int)),
    }
