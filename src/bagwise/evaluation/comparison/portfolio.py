"""The models of a comparison, with settings and assumptions: default models, baselines and users' models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler
from sklearn.svm import SVC

from bagwise.models.embedding import BagStatistics
from bagwise.models.ensemble import BagEnsembleClassifier
from bagwise.models.linear_model import MILogisticRegression, MILogisticRegressionCV, SoftORLogisticRegression
from bagwise.models.mixture import MIMixture
from bagwise.models.neighbors import CitationKNNClassifier
from bagwise.models.prototypes import EMDD
from bagwise.models.pu import LSDDClassifierCV, PUMILClassifier, PUSetKernelClassifierCV
from bagwise.models.svm import MISVC, MissSVC, SetKernelSVC
from bagwise.models.trees import MIGradientBoostingClassifier
from bagwise.models.wrappers.single_instance import SingleInstanceClassifier

# What the label of a bag depends on, according to a model.
ONE_INSTANCE, SHARE, COUNT, WHOLE = "one instance", "a share", "a count", "the whole bag"


@dataclass(frozen=True)
class Model:
    """A default model of a comparison.

    Attributes
    ----------
    name, family : str
        Name and model family.
    make : callable
        Function that returns the model with its default settings, given a seed.
    assumes : str or None
        What the label of a bag depends on, according to the model; None if it makes no assumption.
    grid : dict
        Settings that a comparison tries, using only the training bags.
    make_choosing : callable, optional
        Function that returns a model that chooses its settings itself, given a seed. It replaces `grid`.
    most_instances : float
        Maximum number of training instances. With more, a fit would take too long and the model is left out.
    """

    name: str
    family: str
    make: Callable[[int], Any]
    assumes: str | None
    grid: Mapping[str, list[Any]] = field(default_factory=dict)
    make_choosing: Callable[[int], Any] | None = None
    most_instances: float = inf


@dataclass(frozen=True, eq=False)
class Entry:
    """A model of a comparison before it runs: the estimator that is cloned and fitted in each split."""

    name: str
    family: str
    assumes: str | None
    estimator: Any

    def about(self) -> dict[str, Any]:
        """Return the fields of `ModelResult` that describe the model."""
        return vars(self).copy()


_COST = [0.1, 1.0, 10.0, 100.0]
# Maximum number of instances for which kernel SVMs, trees and prototype searches take only minutes.
_OF_KERNELS, _OF_TREES, _OF_SEARCHES = 8_000, 200_000, 50_000


def _logistic(name: str, rule: str, assumes: str) -> Model:
    return Model(
        name,
        "linear model",
        lambda seed: MILogisticRegression(rule, random_state=seed),
        assumes,
        make_choosing=lambda seed: MILogisticRegressionCV(rule, cv=5, random_state=seed),
    )


def _copied(name: str, rule: str, assumes: str, *, forest: bool = False) -> Model:
    def make(seed: int) -> Any:
        if forest:
            return SingleInstanceClassifier(RandomForestClassifier(random_state=seed), rule=rule)
        # Scaling without centering keeps sparse instances sparse.
        inside = make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000))
        return SingleInstanceClassifier(inside, rule=rule)

    return Model(
        name,
        "single instance",
        make,
        assumes,
        {} if forest else {"estimator__logisticregression__C": _COST},
        most_instances=_OF_TREES,
    )


def _statistics(name: str, classifier: Any) -> Model:
    step = type(classifier).__name__.lower()
    return Model(
        name,
        "embedding",
        lambda seed: make_pipeline(BagStatistics(("mean", "std", "max")), StandardScaler(), classifier),
        WHOLE,
        {f"{step}__C": _COST if step == "svc" else [0.001, 0.01, 0.1, 1.0]},
    )


# One or two models per family. At most eight models, so that the table fits on a screen.
REPRESENTATIVES = (
    _logistic("logistic, or rule", "or", ONE_INSTANCE),
    _logistic("logistic, mean rule", "mean", SHARE),
    Model(
        "mixture, Gaussian",
        "mixture",
        lambda seed: MIMixture("gaussian_diag", n_init=3, random_state=seed),
        ONE_INSTANCE,
        {"n_components": [1, 2]},
    ),
    Model(
        "EM-DD",
        "diverse density",
        lambda seed: EMDD(n_init=3, random_state=seed),
        ONE_INSTANCE,
        most_instances=_OF_SEARCHES,
    ),
    Model(
        "MI-SVM",
        "kernel machine",
        lambda seed: MISVC(),
        ONE_INSTANCE,
        {"C": _COST},
        most_instances=_OF_KERNELS,
    ),
    _copied("copied labels, logistic", "mean", SHARE),
    _copied("copied labels, forest", "mean", SHARE, forest=True),
    _statistics("bag statistics, SVM", SVC()),
)

# Additional models of `bagwise demo --all`.
VARIANTS = (
    _logistic("logistic, softmax", "softmax", ONE_INSTANCE),
    Model(
        "MissSVM",
        "kernel machine",
        lambda seed: MissSVC(),
        ONE_INSTANCE,
        {"C": _COST},
        most_instances=_OF_KERNELS,
    ),
    Model(
        "set kernel",
        "kernel machine",
        lambda seed: SetKernelSVC(),
        WHOLE,
        {"C": _COST},
        most_instances=_OF_KERNELS,
    ),
    _logistic("logistic, maximum", "max", ONE_INSTANCE),
    _logistic("logistic, geometric mean", "geometric_mean", SHARE),
    _copied("copied, logistic, max", "max", ONE_INSTANCE),
    _copied("copied, forest, max", "max", ONE_INSTANCE, forest=True),
    _statistics("bag statistics, logistic", LogisticRegression(max_iter=1000)),
)

# Additional models of a comparison: a count rule, boosted trees, whole-bag statistics with probabilities, and
# the ensemble.
FURTHER = (
    Model(
        "logistic, count rule",
        "linear model",
        lambda seed: SoftORLogisticRegression(alpha=1.0, n_init=1, tol=1e-4, random_state=seed),
        COUNT,
        {"alpha": [0.1, 1.0, 10.0]},
    ),
    Model(
        "boosted trees",
        "boosting",
        lambda seed: MIGradientBoostingClassifier(random_state=seed),
        ONE_INSTANCE,
        {"n_estimators": [30, 100]},
        most_instances=_OF_TREES,
    ),
    VARIANTS[-1],
    Model(
        "ensemble",
        "ensemble",
        lambda seed: BagEnsembleClassifier(random_state=seed),
        None,
        most_instances=100_000,  # with more, the ensemble leaves out families
    ),
)

# Additional models for more than two classes.
OF_MANY_CLASSES = (
    Model(
        "nearest bags",
        "neighbors",
        lambda seed: CitationKNNClassifier(),
        WHOLE,
        {"n_references": [1, 3, 5]},
        most_instances=_OF_SEARCHES,
    ),
)

# Models for positive and unlabeled bags. They choose their settings during the fit, or have none to choose.
FROM_UNLABELED = (
    Model("PU set kernel", "kernel machine", lambda seed: PUSetKernelClassifierCV(random_state=seed), WHOLE),
    Model(
        "LSDD",
        "kernel machine",
        lambda seed: LSDDClassifierCV(random_state=seed),
        ONE_INSTANCE,
        most_instances=_OF_KERNELS,
    ),
    Model(
        "puMIL",
        "kernel machine",
        lambda seed: PUMILClassifier(random_state=seed),
        ONE_INSTANCE,
        most_instances=_OF_KERNELS,
    ),
)


def log_sizes(bags: Any) -> np.ndarray:
    """Return the logarithm of the bag sizes as a column, the only feature of the size baseline."""
    return np.log(np.asarray(bags.sizes, dtype=float))[:, None]


BASELINES = (
    Entry("most frequent label", "baseline", None, DummyClassifier(strategy="prior")),
    Entry(
        "size of the bag",
        "baseline",
        None,
        make_pipeline(FunctionTransformer(log_sizes), StandardScaler(), LogisticRegression()),
    ),
)


# Families by the package or module of `bagwise.models` that defines a class; the first match counts.
_FAMILIES = {
    "linear_model": "linear model",
    "mixture": "mixture",
    "prototypes.diverse_density": "diverse density",
    "prototypes.emdd": "diverse density",
    "prototypes.apr": "box",
    "prototypes": "prototypes",
    "svm": "kernel machine",
    "wrappers.single_instance": "single instance",
    "trees": "boosting",
    "neighbors": "neighbors",
    "pu": "kernel machine",
    "embedding": "embedding",
    "ensemble": "ensemble",
}
_OF_RULES = {
    "or": ONE_INSTANCE,
    "max": ONE_INSTANCE,
    "softmax": ONE_INSTANCE,
    "mean": SHARE,
    "geometric_mean": SHARE,
}
_OF_RULES |= {"threshold": COUNT, "count_logistic": COUNT, "count_table": COUNT}
_OF_FAMILIES = {
    "diverse density": ONE_INSTANCE,
    "prototypes": WHOLE,
    "neighbors": WHOLE,
    "box": ONE_INSTANCE,
    "embedding": WHOLE,
}
_OF_CLASSES = {
    "MISVC": ONE_INSTANCE,
    "InstanceMISVC": ONE_INSTANCE,
    "MissSVC": ONE_INSTANCE,
    "SparseMISVC": ONE_INSTANCE,
    "SetKernelSVC": WHOLE,
}


def entry_of(name: str, estimator: Any, seed: int) -> Entry:
    """Return the entry of a user's model, with unset seeds filled in so that fits are reproducible."""
    core = core_of(estimator)
    module = type(core).__module__
    family = next(
        (name for part, name in _FAMILIES.items() if f"{module}.".startswith(f"bagwise.models.{part}.")),
        "given",
    )
    rule = getattr(core, "rule", None)
    assumes = _OF_RULES.get(rule) if isinstance(rule, str) else None
    assumes = assumes or _OF_CLASSES.get(type(core).__name__) or _OF_FAMILIES.get(family)
    return Entry(name, family, assumes, _seeded(estimator, seed))


def core_of(estimator: Any) -> Any:
    """Return the bag-to-vector step of a search or pipeline, otherwise its final estimator."""
    if hasattr(estimator, "refit") and hasattr(estimator, "estimator"):
        return core_of(estimator.estimator)
    for _, step in getattr(estimator, "steps", ()):
        if ".embedding." in type(step).__module__ or ".prototypes." in type(step).__module__:
            return step
    steps = getattr(estimator, "steps", None)
    return core_of(steps[-1][1]) if steps else estimator


def _seeded(estimator: Any, seed: int) -> Any:
    estimator = clone(estimator)
    open_seeds = {
        name: seed
        for name, value in estimator.get_params().items()
        if name.rpartition("__")[2] == "random_state" and value is None
    }
    return estimator.set_params(**open_seeds)
