"""What is compared on what: read, and refused where it cannot work, before anything runs."""

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
from bagwise.data.bags.parts import as_python, group_of_each
from bagwise.models.base.folds import bag_folds
from bagwise.models.base.labels import Training, require_label_per_bag
from bagwise.models.pu.losses import check_pu_labels

Split = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Bags with labels and groups, as they were read.

    Attributes
    ----------
    bags : Bags or ScannedBags
        The bags.
    y, classes, codes : array
        Labels, the different ones, and every label's place among them.
    groups : array of shape (n_bags,) or None
        Bags of one group are held out together.
    from_unlabeled : bool
        Whether labels mark positive bags, and all others are unlabeled.
    """

    bags: Any
    y: np.ndarray
    classes: np.ndarray
    codes: np.ndarray
    groups: np.ndarray | None
    from_unlabeled: bool = False


def read_labelled(X: Any, y: Any, groups: Any, *, from_unlabeled: bool = False) -> Labelled:
    """Read bags, a label each, and their groups.

    Where some labels are missing (NaN, None) and all others are one, labels mark positive bags; with
    `from_unlabeled` they do so whatever the other label is.
    """
    bags = X if is_scan(X) else as_bags(X)
    if y is None:
        raise ValueError("compare requires y, the labels of the bags; got None.")
    labels: np.ndarray = column_or_1d(y, warn=True)
    if not describes_bags(X) and len(labels) != len(bags):
        raise ValueError(
            f"X has {len(bags)} rows but y has {len(labels)} labels; did you mean "
            "Bags.from_groups(X, bag_ids)?"
        )
    require_label_per_bag(labels, bags)
    unknown = np.array([_is_missing(value) for value in labels.tolist()])
    if unknown.any():
        known = np.unique(labels[~unknown])
        if len(known) != 1:
            raise ValueError(
                f"y has no label for {unknown.sum()} of {len(labels)} bags; leave them out, by X[known] and "
                "y[known]. Only where all known labels are positive, bags without a label are unlabeled ones."
            )
        labels, from_unlabeled = ~unknown, True
    if type_of_target(labels, input_name="y").startswith("continuous"):
        raise ValueError("y has numbers that are no classes; compare takes labels, such as y > threshold.")
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has one class only, {as_python(classes[0])!r}; compare needs two or more.")
    if from_unlabeled:
        check_pu_labels(labels, "compare")
    groups = None if groups is None else group_of_each(groups, len(bags))
    return Labelled(bags, labels, classes, codes, groups, from_unlabeled)


def _is_missing(value: Any) -> bool:
    """Whether a label is None, NaN, or what pandas has for it."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def cut_folds(data: Labelled, cv: Any, repeats: int, seed: int) -> list[Split]:
    """Cut bags into folds, `repeats` times over: all folds of the first repeat, then those of the second."""
    if not isinstance(repeats, Integral) or repeats < 1:
        raise ValueError(f"repeats must be a number from 1 on; got {repeats!r}.")
    if isinstance(cv, Integral) and cv < 2:
        raise ValueError(f"cv is {cv}; expected 2 folds or more.")
    if repeats > 1 and not isinstance(cv, Integral):
        raise ValueError(
            f"repeats is {repeats}, but cv draws its own folds: give cv a number, or splits for one repeat."
        )
    training = Training(data.bags, data.codes, np.ones(len(data.codes)))
    kinds = tuple(repr(as_python(label)) for label in data.classes)
    folds: list[Split] = []
    for number in range(int(repeats)):
        remedy = "Give more bags of that class."
        some = bag_folds(
            cv, training, None, seed=seed + number, kinds=kinds, remedy=remedy, groups=data.groups
        )
        held = np.concatenate([test for _, test in some])
        if len(np.unique(held)) < len(held):
            raise ValueError(
                "cv holds some bags out more than once; give a splitter that cuts bags into folds, and a "
                "number of repeats with cv a number."
            )
        folds += [(np.asarray(train), np.asarray(test)) for train, test in some]
    return folds


def read_seed(random_state: Any) -> int:
    """Give a number that everything is drawn from."""
    if isinstance(random_state, Integral):
        check_random_state(random_state)  # refuses what is no seed
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def read_models(models: Any) -> dict[str, Any]:
    """Check a dict of estimators."""
    if not isinstance(models, dict) or not models:
        raise TypeError(
            "models must be 'default', 'positive_unlabeled', or a dict from names to classifiers; got "
            f"{models!r}."
        )
    for name, estimator in models.items():
        if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
            raise TypeError(f"models[{name!r}] must be an estimator that is not fitted; got {estimator!r}.")
        if not is_classifier(estimator):
            raise TypeError(f"models[{name!r}] is no classifier: {type(estimator).__name__}.")
    return {str(name): estimator for name, estimator in models.items()}


def notes_of_folds(
    data: Labelled, folds: Sequence[Split], cv: Any, repeats: int, scoring: Sequence[str]
) -> list[str]:
    """Say what there is to say of the folds; refuse those in which an AUC that is asked for has no value."""
    n_folds = len(folds) // int(repeats)
    notes = [
        f"{len(data.y)} bags in {n_folds} folds"
        + (f", {repeats} times" if repeats > 1 else "")
        + ("" if data.groups is None else f", {len(np.unique(data.groups))} groups kept together")
        + "."
    ]
    if isinstance(cv, Integral) and n_folds < int(cv):
        of_what = "bags" if data.groups is None else "groups"
        notes.append(f"{n_folds} folds instead of {cv}: the rarest class has {of_what} for no more.")
    of_one = [k + 1 for k, (_, test) in enumerate(folds) if len(np.unique(data.codes[test])) < 2]
    if of_one and any(name.startswith("roc_auc") for name in scoring):
        if len(of_one) == len(folds):
            raise ValueError(
                "every fold holds out bags of one class only, in which no AUC can be computed; give other "
                "folds, or a scoring without roc_auc."
            )
        which = ", ".join(map(str, of_one[:5]))
        notes.append(f"Folds of one class, in which no AUC can be computed: {which}.")
    return notes
