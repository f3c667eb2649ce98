"""Validation of the data, models and folds of a comparison, before any computation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import type_of_target

from bagwise.data.bags import as_bags, describes_bags, is_scan
from bagwise.data.bags.parts import as_python, group_of_each, is_missing
from bagwise.models.base.folds import bag_folds
from bagwise.models.base.labels import Training, require_label_per_bag
from bagwise.models.pu.losses import check_pu_labels

Split = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Validated bags with labels and groups.

    Attributes
    ----------
    bags : Bags or ScannedBags
        The bags.
    y, classes, codes : array
        Bag labels, distinct labels, and the index in `classes` of each bag's label.
    groups : array of shape (n_bags,) or None
        Group of each bag. Bags of one group are held out together.
    from_unlabeled : bool
        Whether the bags are positive and unlabeled.
    """

    bags: Any
    y: np.ndarray
    classes: np.ndarray
    codes: np.ndarray
    groups: np.ndarray | None
    from_unlabeled: bool = False


def read_labelled(X: Any, y: Any, groups: Any, *, from_unlabeled: bool = False) -> Labelled:
    """Validate bags, bag labels and groups.

    If labels are missing (NaN, None) and all other labels are equal, the bags are positive and unlabeled.
    With `from_unlabeled`, they are always positive and unlabeled.
    """
    bags = X if is_scan(X) else as_bags(X)
    if y is None:
        raise ValueError("compare requires y, the labels of the bags; got None.")
    if len(np.shape(y)) == 2 and np.shape(y)[1] > 1:
        raise ValueError(
            f"y has {np.shape(y)[1]} columns, but compare needs one label per bag; compare models for one "
            "column at a time."
        )
    labels: np.ndarray = column_or_1d(y, warn=True)
    if not describes_bags(X) and len(labels) != len(bags):
        raise ValueError(
            f"X has {len(bags)} rows but y has {len(labels)} labels; did you mean "
            "Bags.from_groups(X, bag_ids)?"
        )
    require_label_per_bag(labels, bags)
    unknown = np.array([is_missing(value) for value in labels.tolist()])
    if unknown.any():
        distinct = np.unique(labels[~unknown])
        if len(distinct) != 1:
            raise ValueError(
                f"y has no label for {unknown.sum()} of {len(labels)} bags; remove these bags, as in "
                "X[known] and y[known]. Missing labels mark unlabeled bags only if all other labels are "
                "equal."
            )
        labels, from_unlabeled = ~unknown, True
    if type_of_target(labels, input_name="y").startswith("continuous"):
        raise ValueError("y is continuous, but compare needs class labels, such as y > threshold.")
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has only one class, {as_python(classes[0])!r}; compare needs two or more.")
    if from_unlabeled:
        check_pu_labels(labels, "compare")
    groups = None if groups is None else group_of_each(groups, len(bags), bags.ids)
    return Labelled(bags, labels, classes, codes, groups, from_unlabeled)


def cut_folds(data: Labelled, cv: Any, repeats: int, seed: int) -> list[Split]:
    """Return the splits of all repeats, sorted by repeat."""
    if not isinstance(repeats, Integral) or repeats < 1:
        raise ValueError(f"repeats must be an integer >= 1; got {repeats!r}.")
    if isinstance(cv, Integral) and cv < 2:
        raise ValueError(f"cv is {cv}; expected at least 2 folds.")
    if repeats > 1 and not isinstance(cv, Integral):
        raise ValueError(f"repeats is {repeats}, but cv is not an integer; pass an integer cv, or repeats=1.")
    training = Training(data.bags, data.codes, np.ones(len(data.codes)))
    kinds = tuple(repr(as_python(label)) for label in data.classes)
    folds: list[Split] = []
    for repeat in range(int(repeats)):
        remedy = "Add more bags of that class."
        splits = bag_folds(
            cv, training, None, seed=seed + repeat, kinds=kinds, remedy=remedy, groups=data.groups
        )
        held = np.concatenate([test for _, test in splits])
        if len(np.unique(held)) < len(held):
            raise ValueError(
                "cv holds out at least one bag more than once; pass a splitter with disjoint test folds, or "
                "an integer cv with repeats."
            )
        folds += [(np.asarray(train), np.asarray(test)) for train, test in splits]
    return folds


def read_seed(random_state: Any) -> int:
    """Return the seed for all random choices of a comparison."""
    if isinstance(random_state, Integral):
        check_random_state(random_state)  # raises an error for invalid seeds
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def is_list_of_names(models: Any) -> bool:
    """Return whether `models` is a list of names of default models."""
    return isinstance(models, (list, tuple)) and bool(models) and all(isinstance(m, str) for m in models)


def read_models(models: Any) -> dict[str, Any]:
    """Validate a dict of classifiers."""
    if not isinstance(models, dict) or not models:
        raise TypeError(
            "models must be 'default', 'positive_unlabeled', a list of names of default models, or a dict "
            f"from names to classifiers; got {models!r}."
        )
    for name, estimator in models.items():
        if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
            raise TypeError(f"models[{name!r}] must be an unfitted classifier; got {estimator!r}.")
        if not is_classifier(estimator):
            raise TypeError(f"models[{name!r}] must be a classifier; got {type(estimator).__name__}.")
    return {str(name): estimator for name, estimator in models.items()}


def notes_of_folds(
    data: Labelled, folds: Sequence[Split], cv: Any, repeats: int, scoring: Sequence[str]
) -> list[str]:
    """Return notes about the folds; raise an error if a requested AUC is not defined in any fold."""
    n_folds = len(folds) // int(repeats)
    notes = [
        f"{len(data.y)} bags in {n_folds} folds"
        + (f", {repeats} repeats" if repeats > 1 else "")
        + ("" if data.groups is None else f", {len(np.unique(data.groups))} groups kept together")
        + "."
    ]
    if isinstance(cv, Integral) and n_folds < int(cv):
        unit = "bags" if data.groups is None else "groups"
        notes.append(f"{n_folds} folds instead of {cv}, because the rarest class has too few {unit}.")
    one_class_folds = [k + 1 for k, (_, test) in enumerate(folds) if len(np.unique(data.codes[test])) < 2]
    if one_class_folds and any(name.startswith("roc_auc") for name in scoring):
        if len(one_class_folds) == len(folds):
            raise ValueError(
                "every fold holds out bags of only one class, so the AUC is not defined; pass different "
                "folds, or a scoring without roc_auc."
            )
        listed_folds = ", ".join(map(str, one_class_folds[:5]))
        notes.append(f"The AUC is not defined in folds that hold out only one class: {listed_folds}.")
    return notes
