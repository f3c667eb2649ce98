"""What is compared on what: read, and refused where it cannot work, before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import type_of_target

from bagwise._bag_parts import as_python
from bagwise.bags import as_bags, describes_bags
from bagwise.bags.recognise import is_scan
from bagwise.base.labels import Training, require_label_per_bag
from bagwise.folds import bag_folds

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
    """

    bags: Any
    y: np.ndarray
    classes: np.ndarray
    codes: np.ndarray
    groups: np.ndarray | None


def read_labelled(X: Any, y: Any, groups: Any) -> Labelled:
    """Read bags, a label each, and their groups."""
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
    if type_of_target(labels, input_name="y").startswith("continuous"):
        raise ValueError("y has numbers that are no classes; compare takes labels, such as y > threshold.")
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has one class only, {as_python(classes[0])!r}; compare needs two or more.")
    if groups is not None:
        groups = np.asarray(groups)
        if groups.shape != labels.shape:
            raise ValueError(
                f"groups has the shape {groups.shape}, but there are {len(bags)} bags; give one each."
            )
    return Labelled(bags, labels, classes, codes, groups)


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
        remedy = "Give more bags, or larger groups of classes."
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


def seeded(estimator: Any, seed: int) -> Any:
    """Give a clone whose open seeds are set, so that a fit can be repeated."""
    estimator = clone(estimator)
    open_seeds = {
        name: seed
        for name, value in estimator.get_params().items()
        if name.rpartition("__")[2] == "random_state" and value is None
    }
    return estimator.set_params(**open_seeds)


def read_models(models: Any) -> dict[str, Any]:
    """Check a dict of estimators."""
    if not isinstance(models, dict) or not models:
        raise TypeError(f"models must be 'default' or a dict from names to estimators; got {models!r}.")
    for name, estimator in models.items():
        if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
            raise TypeError(f"models[{name!r}] must be an estimator that is not fitted; got {estimator!r}.")
        if not is_classifier(estimator):
            raise TypeError(f"models[{name!r}] is no classifier: {type(estimator).__name__}.")
    return {str(name): estimator for name, estimator in models.items()}


def one_class_folds(folds: Sequence[Split], codes: np.ndarray) -> list[int]:
    """Numbers of the folds that hold out bags of one class only."""
    return [k for k, (_, test) in enumerate(folds) if len(np.unique(codes[test])) < 2]
