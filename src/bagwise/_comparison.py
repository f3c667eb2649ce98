"""The models of the demonstration, and their cross-validation."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bagwise.bags import Bags
from bagwise.density import EMDD
from bagwise.embedding import BagStatistics
from bagwise.linear_model import MILogisticRegression
from bagwise.mixture import MIMixture
from bagwise.single_instance import SingleInstanceClassifier
from bagwise.svm import MISVC, MissSVC, SetKernelSVC

N_FOLDS = 5


@dataclass(frozen=True)
class Model:
    """A row of the demonstration: a name, the family it stands for, and how it is made of a seed."""

    name: str
    family: str
    make: Callable[[int], Any]


def _logistic(rule: str) -> Callable[[int], Any]:
    return lambda seed: MILogisticRegression(rule, random_state=seed)


def _copied(rule: str, *, forest: bool = False) -> Callable[[int], Any]:
    def make(seed: int):
        inside = RandomForestClassifier(random_state=seed) if forest else LogisticRegression(max_iter=1000)
        return SingleInstanceClassifier(inside, rule=rule)

    return make


def _statistics(classifier) -> Callable[[int], Any]:
    return lambda seed: make_pipeline(BagStatistics(("mean", "std", "max")), StandardScaler(), classifier)


def _mixture(seed: int):
    return MIMixture("gaussian_diag", n_init=3, random_state=seed)


# One or two of every family; a new family is a line more. Not above eight: it has to fit a screen.
REPRESENTATIVES = (
    Model("logistic, or rule", "linear model", _logistic("or")),
    Model("logistic, mean rule", "linear model", _logistic("mean")),
    Model("mixture, Gaussian", "mixture", _mixture),
    Model("EM-DD", "diverse density", lambda seed: EMDD(n_init=3, random_state=seed)),
    Model("MI-SVM", "kernel machine", lambda seed: MISVC()),
    Model("copied labels, logistic", "single instance", _copied("mean")),
    Model("copied labels, forest", "single instance", _copied("mean", forest=True)),
    Model("bag statistics, SVM", "embedding", _statistics(SVC())),
)

# What `--all` adds.
VARIANTS = (
    Model("logistic, softmax", "linear model", _logistic("softmax")),
    Model("MissSVM", "kernel machine", lambda seed: MissSVC()),
    Model("set kernel", "kernel machine", lambda seed: SetKernelSVC()),
    Model("logistic, maximum", "linear model", _logistic("max")),
    Model("logistic, geometric mean", "linear model", _logistic("geometric_mean")),
    Model("copied, logistic, max", "single instance", _copied("max")),
    Model("copied, forest, max", "single instance", _copied("max", forest=True)),
    Model("bag statistics, logistic", "embedding", _statistics(LogisticRegression(max_iter=1000))),
)


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
    data,
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


def _score(fitted, bags: Bags, y, instance_y) -> tuple[float, float, float | None]:
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
