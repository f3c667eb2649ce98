"""Selection of default models that suit the data, for `models="default"`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import scipy.sparse as sp
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
    VARIANTS,
    Entry,
    Model,
)
from bagwise.evaluation.comparison.running import format_duration
from bagwise.models.linear_model import MILogisticRegressionCV
from bagwise.models.wrappers.imputation import accepts_missing, count_missing, entrance, impute_median

# Maximum number of folds of the training bags for choosing settings.
_INNER_FOLDS = 3
# Maximum seconds of a fit, for models that can estimate them before the fit.
_MOST_SECONDS = 120.0


@dataclass(frozen=True)
class Facts:
    """Properties of the data that determine which models are compared.

    Attributes
    ----------
    n_instances : int
        Number of instances in the largest training set.
    n_classes : int
        Number of classes.
    is_scan, is_sparse, has_missing, from_unlabeled : bool
        Whether the bags are scanned files, whether instances are sparse or have missing values, and whether
        the bags are positive and unlabeled.
    n_inner : int
        Number of folds of the training bags for choosing settings. Below 2, settings cannot be chosen.
    in_groups : bool
        Whether these folds keep groups together.
    n_bags, n_features : int
        Number of bags in the largest training set, and number of features.
    """

    n_instances: int
    n_classes: int
    is_scan: bool
    is_sparse: bool
    has_missing: bool
    from_unlabeled: bool
    n_inner: int
    in_groups: bool
    n_bags: int
    n_features: int


def facts_of(data: Labelled, folds: list[Split]) -> Facts:
    """Return the properties of the data that determine which models are compared."""
    bags, sizes = data.bags, np.asarray(data.bags.sizes)
    n_instances = int(max(sizes[train].sum() for train, _ in folds))
    scanned = is_scan(bags)
    return Facts(
        n_instances,
        len(data.classes),
        scanned,
        not scanned and sp.issparse(bags.instances),
        count_missing(bags) > 0,
        data.from_unlabeled,
        min(_INNER_FOLDS, *(_rarest(data, train) for train, _ in folds)),
        data.groups is not None,
        max(len(train) for train, _ in folds),
        bags.n_features,
    )


def _rarest(data: Labelled, train: np.ndarray) -> int:
    """Return the number of bags (or groups) of the rarest class in a training set."""
    of_class = [train[data.codes[train] == code] for code in range(len(data.classes))]
    return min(len(rows) if data.groups is None else len(np.unique(data.groups[rows])) for rows in of_class)


def suited_models(
    facts: Facts,
    scoring: str | Callable[..., Any],
    seed: int,
    names: Sequence[str] | None = None,
    name_of: Callable[[str, str], str] = lambda cls, name: name,
) -> tuple[list[Entry], list[str]]:
    """Return the models that suit the data, and notes about the models that are left out.

    Parameters
    ----------
    facts : Facts
        Properties of the data.
    scoring : str or scorer
        Score by which settings are chosen, using only the training bags.
    seed : int
        Seed of the models and of the inner folds.
    names : sequence of str, optional
        Names of the models, which are then used even if a fit takes long. By default, all of them.
    name_of : callable
        Returns the displayed name of a model, given its class name and its own name.
    """
    offered: tuple[Model, ...] = (*REPRESENTATIVES, *FURTHER)
    if facts.from_unlabeled:
        offered = FROM_UNLABELED
    elif facts.n_classes > 2:
        offered = (*offered, *OF_MANY_CLASSES)
    if names is not None:
        offered = _named(names, offered if facts.from_unlabeled else (*offered, *VARIANTS, *OF_MANY_CLASSES))
    kept = []
    shown: dict[str, str] = {}
    left_out: dict[str, list[str]] = {}
    for model in offered:
        plain = model.make(seed)
        typical = plain if model.make_choosing is None else model.make_choosing(seed)
        shown[model.name] = name_of(type(typical).__name__, model.name)
        reason = _unsuited(model, plain, facts)
        if reason is None and names is None:
            reason = _too_slow(model, plain, facts)
        if reason is None:
            kept.append(model)
        else:
            left_out.setdefault(reason, []).append(shown[model.name])
    entries = [
        Entry(shown[model.name], model.family, model.assumes, _choosing(model, facts, scoring, seed))
        for model in kept
    ]
    notes = [f"Left out because {reason}: {'; '.join(left)}." for reason, left in left_out.items()]
    if not entries:
        raise ValueError(f"none of the models can be compared on these bags. {' '.join(notes)}")
    if facts.n_inner < 2 and not facts.from_unlabeled:
        notes.append("There are too few training bags to choose settings, so all models use their defaults.")
    if facts.has_missing:
        notes.append(
            "Missing values are replaced by medians of the training bags, unless a model accepts them."
        )
    return entries, notes


def _named(names: Sequence[str], offered: Sequence[Model]) -> tuple[Model, ...]:
    """Return the models with these names, in this order; raise an error for unknown names."""
    by_name = {model.name: model for model in offered}
    for name in names:
        if name not in by_name:
            near = get_close_matches(name, by_name, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"expected {', '.join(map(repr, by_name))}."
            raise ValueError(f"models contains the unknown name {name!r}; {hint}")
    return tuple(by_name[name] for name in dict.fromkeys(names))


def _too_slow(model: Model, plain: Any, facts: Facts) -> str | None:
    """Return why a model would take too long, or None."""
    if facts.n_instances > model.most_instances:
        return f"a fit to {facts.n_instances:,} instances would take too long"
    expected = getattr(plain, "_expected_seconds", None)
    if expected is None:
        return None
    seconds = expected(facts.n_bags, facts.n_instances, facts.n_features, facts.n_classes)
    return None if seconds < _MOST_SECONDS else f"one fit would take about {format_duration(seconds)}"


def _unsuited(model: Model, plain: Any, facts: Facts) -> str | None:
    """Return why a model cannot be fitted to the data, or None."""
    first = entrance(plain)
    takes_many = get_tags(plain).classifier_tags.multi_class
    if facts.is_scan and not getattr(first, "_streams", False):
        return "they cannot be fitted to scanned files"
    if facts.is_sparse and not get_tags(first).input_tags.sparse:
        return "they do not support sparse instances"
    # Logistic regression is the only binary model that is fitted one-vs-rest.
    if facts.n_classes > 2 and not takes_many and model.make_choosing is None:
        return f"they support only two classes, and y has {facts.n_classes}"
    return None


def _choosing(model: Model, facts: Facts, scoring: str | Callable[..., Any], seed: int) -> Any:
    """Return an estimator that chooses its settings using only its training bags."""
    plain = model.make(seed)
    if facts.n_classes > 2 and not get_tags(plain).classifier_tags.multi_class:
        # BIC needs no folds; `OneVsRestClassifier` would not pass groups to the folds.
        return _filled(
            OneVsRestClassifier(MILogisticRegressionCV(plain.rule, criterion="bic", random_state=seed)), facts
        )
    if facts.n_inner < 2:
        return _filled(plain, facts)
    if model.make_choosing is not None:
        return _filled(model.make_choosing(seed), facts)
    filled = _filled(plain, facts)
    # In a pipeline, the names of the model's settings start with the name of its step.
    prefix = "" if filled is plain else f"{filled.steps[-1][0]}__"
    grid = {f"{prefix}{name}": values for name, values in model.grid.items()}
    return search_settings(filled, grid, scoring, facts.n_inner, seed, in_groups=facts.in_groups)


def search_settings(
    estimator: Any, grid: Mapping[str, list[Any]], scoring: Any, n_folds: int, seed: int, *, in_groups: bool
) -> Any:
    """Return a search of settings by cross-validation; the estimator itself if the grid is empty."""
    if not grid:
        return estimator
    kind = StratifiedGroupKFold if in_groups else StratifiedKFold
    inner = kind(n_folds, shuffle=True, random_state=seed)
    return GridSearchCV(estimator, dict(grid), scoring=scoring, cv=inner)


def _filled(estimator: Any, facts: Facts) -> Any:
    """Add median imputation before a model that does not support missing values."""
    return impute_median(estimator) if facts.has_missing and not accepts_missing(estimator) else estimator
