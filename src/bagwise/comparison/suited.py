"""Which models suit the data: `models="default"`."""

from __future__ import annotations

from typing import Any

from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold

from bagwise.comparison.plan import Labelled, Split
from bagwise.comparison.portfolio import FURTHER, REPRESENTATIVES, Entry, Model

# Folds inside training bags, in which settings are chosen.
_INNER_FOLDS = 3


def suited_models(
    models: str, data: Labelled, folds: list[Split], scoring: str, seed: int
) -> tuple[list[Entry], list[str]]:
    """Choose models for the data, and say why others are left out."""
    if models != "default":
        raise ValueError(f"models must be 'default' or a dict from names to estimators; got {models!r}.")
    chosen = [*REPRESENTATIVES, *FURTHER]
    return [
        Entry(model.name, model.family, model.assumes, _choosing(model, data, scoring, seed))
        for model in chosen
    ], []


def _choosing(model: Model, data: Labelled, scoring: str, seed: int) -> Any:
    """Make a model that chooses its settings inside the bags that it is fitted to."""
    if model.make_choosing is not None:
        return model.make_choosing(seed)
    if not model.grid:
        return model.make(seed)
    kind = StratifiedKFold if data.groups is None else StratifiedGroupKFold
    inner = kind(_INNER_FOLDS, shuffle=True, random_state=seed)
    return GridSearchCV(model.make(seed), dict(model.grid), scoring=scoring, cv=inner)
