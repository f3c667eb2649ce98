"""The models in SORLR's Figure 2, as functions that map a split to predictions of its test bags."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import VotingClassifier
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bagwise.data.bags import Bags
from bagwise.exceptions import ConvergenceWarning
from bagwise.models.embedding import ClusterEmbedding
from bagwise.models.linear_model import MILogisticRegression, SoftORLogisticRegression
from bagwise.models.multilabel import MIMLLogisticRegression
from bagwise.models.wrappers.pipeline import make_bag_pipeline
from bagwise.rules import Threshold

# Ridge penalties on standardized features and on Fourier features, whose squares sum to one. The fits are
# close to maximum likelihood, as in the paper, but the optimum exists even for separable classes.
ALPHA = {"linear": 1.0, "fourier": 0.03}
N_FOURIER = 300
# Widths of the Gaussian kernel, relative to the square root of the number of standardized features.
WIDTHS = (0.5, 1.0)
METHODS = ("SORLR1", "SORLR2", "SORLR3", "ORLR", "MIML-NC", "CCE1", "CCE2", "SISL", "Dummy")
# CCE is an ensemble over numbers of clusters; neither paper states which.
N_CLUSTERS = (10, 20, 30, 40, 50)
# Variants that explain differences: "held3" is SORLR3 with its threshold fixed at 3; "null1" and "null2" are
# SORLR1 and SORLR2 with a single start, from the model without features.
HELD = "held"
# A penalty that removes all features.
_NO_FEATURES = 1e9
FROM_NULL = {"null1": "count_table", "null2": "count_logistic"}
# The paper's grids for both parameters range from 0.001 to 1000; the omitted values are rarely chosen.
_GRID = {"C": [0.1, 1.0, 10.0, 100.0, 1000.0], "gamma": [0.001, 0.01, 0.1, 1.0]}


class Split(NamedTuple):
    """Training and test bags, labels `y` of training bags, labels `z` of their instances, threshold `t`."""

    train: Bags
    y: np.ndarray
    z: np.ndarray
    test: Bags
    t: int
    seed: int


class Predicted(NamedTuple):
    """Predicted labels for test instances and test bags."""

    instances: np.ndarray
    bags: np.ndarray


def soft_or(split: Split, rule: Any, alpha: float) -> Predicted:
    """Predict with SORLR and one of its labelers; a learned labeler also starts from soft thresholds."""
    return _predicted(_fitted(_soft_or(split, rule, alpha), split), split)


def soft_or_from_null(split: Split, rule: Any, alpha: float) -> Predicted:
    """Predict with SORLR and a learned labeler, started only from the model without features."""
    null = _fitted(_soft_or(split, rule, _NO_FEATURES), split)
    return _predicted(_fitted(null.set_params(alpha=alpha, warm_start=True), split), split)


def _soft_or(split: Split, rule: Any, alpha: float) -> SoftORLogisticRegression:
    return SoftORLogisticRegression(rule, alpha=alpha, scale=None, n_init=1, random_state=split.seed)


def plain_or(split: Split, alpha: float) -> Predicted:
    """Predict with ORLR: the threshold is fixed at 1."""
    model = MILogisticRegression(
        "or", alpha=alpha, l1_ratio=0.0, scale=None, n_init=1, random_state=split.seed
    )
    return _predicted(_fitted(model, split), split)


def label_sets(split: Split, alpha: float) -> Predicted:
    """Predict with MIML-NC for a single label; negative instances are its background."""
    model = MIMLLogisticRegression(alpha=alpha, scale=None, n_init=1, max_iter=1000, random_state=split.seed)
    return _predicted(_fitted(model, split), split)


def _fitted(model, split: Split):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some starts may stop at max_iter
        return model.fit(split.train, split.y)


def _predicted(model, split: Split) -> Predicted:
    return Predicted(model.predict_instances(split.test), model.predict(split.test))


def clusters(split: Split, counts: bool) -> Predicted:
    """Predict with CCE: SVMs on several numbers of clusters vote, and an instance is a bag of one."""
    svm: Any = SVC()
    if np.bincount(split.y).min() >= 3:
        svm = GridSearchCV(svm, _GRID, cv=StratifiedKFold(3, shuffle=True, random_state=split.seed))
    members = []
    for k in N_CLUSTERS:
        embedding = ClusterEmbedding(k, counts=counts, scale=None, random_state=split.seed)
        members.append((f"{k} clusters", make_bag_pipeline(embedding, svm)))
    cce = VotingClassifier(members).fit(split.train, split.y)
    single = Bags(split.test.instances, np.arange(split.test.n_instances + 1))
    return Predicted(cce.predict(single), cce.predict(split.test))


def known_labels(split: Split, alpha: float) -> Predicted:
    """Predict with SISL: logistic regression on labeled instances, then the true threshold for bags."""
    model = LogisticRegression(C=1.0 / alpha, max_iter=5000).fit(split.train.instances, split.z)
    log_odds = model.decision_function(split.test.instances)
    log_proba = Threshold(split.t).log_proba(log_odds, split.test.offsets)
    return Predicted((log_odds > 0).astype(int), (log_proba[:, 1] > log_proba[:, 0]).astype(int))


def dummy(split: Split) -> Predicted:
    """Predict the more frequent label for instances and for bags."""
    return Predicted(
        np.full(split.test.n_instances, int(split.z.mean() > 0.5)),
        np.full(len(split.test), int(split.y.mean() > 0.5)),
    )


LINEAR: dict[str, Callable[[Split, float], Predicted]] = {
    "SORLR1": lambda split, alpha: soft_or(split, "count_table", alpha),
    "SORLR2": lambda split, alpha: soft_or(split, "count_logistic", alpha),
    "SORLR3": lambda split, alpha: soft_or(split, "threshold", alpha),
    "ORLR": plain_or,
    "MIML-NC": label_sets,
    "SISL": known_labels,
}
OTHERS: dict[str, Callable[[Split], Predicted]] = {
    "CCE1": lambda split: clusters(split, counts=False),
    "CCE2": lambda split: clusters(split, counts=True),
    "Dummy": dummy,
}


def predict(method: str, split: Split) -> dict[str, Predicted]:
    """Return a method's predictions by kind of features: linear, Fourier features by width, or none."""
    scaler = StandardScaler().fit(split.train.instances)
    train, test = (
        bags.with_instances(scaler.transform(bags.instances)) for bags in (split.train, split.test)
    )
    split = split._replace(train=train, test=test)
    if split.y.min() == split.y.max() and method not in ("SISL", "Dummy"):
        # If all training bags belong to the same class, predict this class everywhere.
        label = int(split.y[0])
        constant = Predicted(np.full(test.n_instances, label), np.full(len(test), label))
        return dict.fromkeys(_variants(method), constant)
    if method in OTHERS:
        return {"": OTHERS[method](split)}
    if method in FROM_NULL:
        return {"linear": soft_or_from_null(split, FROM_NULL[method], ALPHA["linear"])}
    if method not in LINEAR:
        return {"linear": soft_or(split, Threshold(int(method.removeprefix(HELD))), ALPHA["linear"])}
    predictions = {}
    for variant in _variants(method):
        features = split
        if variant != "linear":
            gamma = 1.0 / (2.0 * float(variant) ** 2 * train.n_features)
            sampler = RBFSampler(gamma=gamma, n_components=N_FOURIER, random_state=split.seed).fit(
                train.instances
            )
            features = _map_instances(split, sampler.transform)
        alpha = ALPHA["linear" if variant == "linear" else "fourier"]
        predictions[variant] = LINEAR[method](features, alpha)
    return predictions


def _map_instances(split: Split, transform: Callable[[Any], np.ndarray]) -> Split:
    train, test = (bags.with_instances(transform(bags.instances)) for bags in (split.train, split.test))
    return split._replace(train=train, test=test)


def _variants(method: str) -> list[str]:
    if method in OTHERS:
        return [""]
    return ["linear", *map(str, WIDTHS)] if method in LINEAR else ["linear"]
