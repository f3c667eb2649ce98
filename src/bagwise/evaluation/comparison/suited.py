"""Which models suit the data: `models="default"`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils import get_tags

from bagwise.data.bags import is_scan
from bagwise.evaluation.comparison.plan import Labelled, Split
from bagwise.evaluation.comparison.portfolio import (
    FROM_UNLABELED,
    FURTHER,
    OF_MANY_CLASSES,
    REPRESENTATIVES,
    Entry,
    Model,
)
from bagwise.models.linear_model import MILogisticRegressionCV
from bagwise.models.wrappers.pipeline import OnInstances, make_bag_pipeline

# Folds inside training bags, in which settings are chosen.
_INNER_FOLDS = 3


@dataclass(frozen=True)
class Facts:
    """What the choice of models depends on.

    Attributes
    ----------
    n_instances : int
        Instances of a training set.
    n_classes : int
        Classes.
    is_scan, is_sparse, has_missing, from_unlabeled : bool
        Whether bags lie in files, instances are sparse or have missing values, and labels mark positive bags
        only.
    n_inner : int
        Folds that training bags can be cut into; below 2 settings cannot be chosen.
    in_groups : bool
        Whether they are cut by groups.
    """

    n_instances: int
    n_classes: int
    is_scan: bool
    is_sparse: bool
    has_missing: bool
    from_unlabeled: bool
    n_inner: int
    in_groups: bool


def facts_of(data: Labelled, folds: list[Split]) -> Facts:
    """Look at the data, once."""
    bags, sizes = data.bags, np.asarray(data.bags.sizes)
    n_instances = int(max(sizes[train].sum() for train, _ in folds))
    scanned = is_scan(bags)
    values = None if scanned else getattr(bags.instances, "data", None)
    if not scanned and isinstance(bags.instances, np.ndarray):
        values = bags.instances
    has_missing = isinstance(values, np.ndarray) and values.dtype.kind == "f" and bool(np.isnan(values).any())
    return Facts(
        n_instances,
        len(data.classes),
        scanned,
        not scanned and sp.issparse(bags.instances),
        has_missing,
        data.from_unlabeled,
        min(_INNER_FOLDS, *(_rarest(data, train) for train, _ in folds)),
        data.groups is not None,
    )


def _rarest(data: Labelled, train: np.ndarray) -> int:
    """How many bags, or groups, the rarest class of a training set has."""
    of_class = [train[data.codes[train] == code] for code in range(len(data.classes))]
    return min(len(some) if data.groups is None else len(np.unique(data.groups[some])) for some in of_class)


def suited_models(
    facts: Facts, scoring: str | Callable[..., Any], seed: int
) -> tuple[list[Entry], list[str]]:
    """Choose models for the data, and say why others are left out.

    Parameters
    ----------
    facts : Facts
        The data.
    scoring : str or scorer
        By which settings are chosen inside training bags.
    seed : int
        For models that draw random numbers.
    """
    offered: tuple[Model, ...] = (*REPRESENTATIVES, *FURTHER)
    if facts.from_unlabeled:
        offered = FROM_UNLABELED
    elif facts.n_classes > 2:
        offered = (*offered, *OF_MANY_CLASSES)
    kept = []
    left_out: dict[str, list[str]] = {}
    for model in offered:
        reason = _unsuited(model, model.make(seed), facts)
        if reason is None:
            kept.append(model)
        else:
            left_out.setdefault(reason, []).append(model.name)
    entries = [
        Entry(model.name, model.family, model.assumes, _choosing(model, facts, scoring, seed))
        for model in kept
    ]
    notes = [f"Left out, {reason}: {'; '.join(names)}." for reason, names in left_out.items()]
    if facts.n_inner < 2 and not facts.from_unlabeled:
        notes.append("Training bags are too few to choose settings in: all models have their defaults.")
    if facts.has_missing:
        notes.append("Missing values: replaced by medians of the training bags, but for the mixture.")
    return entries, notes


def _unsuited(model: Model, plain: Any, facts: Facts) -> str | None:
    """Why a model is left out, or None."""
    entrance = _entrance(plain)
    takes_many = get_tags(plain).classifier_tags.multi_class
    if facts.is_scan and not getattr(entrance, "_streams", False):
        return "as they do not learn from files"
    if facts.n_instances > model.most_instances:
        return f"as {facts.n_instances:,} instances to learn from would take them too long"
    if facts.is_sparse and not get_tags(entrance).input_tags.sparse:
        return "as they do not take sparse instances"
    # Logistic regression stands for the others, a class against the rest.
    if facts.n_classes > 2 and not takes_many and model.make_choosing is None:
        return f"as they tell two classes apart, and there are {facts.n_classes}"
    return None


def _entrance(estimator: Any) -> Any:
    """Whoever sees the instances: a model, or the first step of a pipeline."""
    steps = getattr(estimator, "steps", None)
    return _entrance(steps[0][1]) if steps else estimator


def _choosing(model: Model, facts: Facts, scoring: str | Callable[..., Any], seed: int) -> Any:
    """Make a model that chooses its settings inside the bags that it is fitted to."""
    plain = model.make(seed)
    if facts.n_classes > 2 and not get_tags(plain).classifier_tags.multi_class:
        # Without folds: those of one class against the rest would not know of groups.
        return _filled(
            OneVsRestClassifier(MILogisticRegressionCV(plain.rule, criterion="bic", random_state=seed)), facts
        )
    if facts.n_inner < 2:
        return _filled(plain, facts)
    if model.make_choosing is not None:
        return _filled(model.make_choosing(seed), facts)
    filled = _filled(plain, facts)
    if not model.grid:
        return filled
    # A step of its own before the model has the model's settings behind its name.
    prefix = "" if filled is plain else f"{filled.steps[-1][0]}__"
    kind = StratifiedGroupKFold if facts.in_groups else StratifiedKFold
    inner = kind(facts.n_inner, shuffle=True, random_state=seed)
    grid = {f"{prefix}{name}": list(values) for name, values in model.grid.items()}
    return GridSearchCV(filled, grid, scoring=scoring, cv=inner)


def _filled(estimator: Any, facts: Facts) -> Any:
    """Put medians in the place of missing values, before a model that does not take them."""
    if not facts.has_missing or get_tags(_entrance(estimator)).input_tags.allow_nan:
        return estimator
    filling = SimpleImputer(strategy="median", keep_empty_features=True)
    return make_bag_pipeline(OnInstances(filling), estimator)
