"""Cross-validation inside a fit: the split into training bags and held-out bags."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv

from bagwise._core.types import Seed
from bagwise.data.bags.parts import as_python, group_of_each
from bagwise.models.base.labels import Training

Split = tuple[np.ndarray, np.ndarray]


def bag_folds(
    cv: Any,
    training: Training,
    sample_weight: ArrayLike | None,
    *,
    seed: int,
    kinds: tuple[str, ...] = ("negative", "positive"),
    remedy: str,
    groups: ArrayLike | None = None,
) -> list[Split]:
    """Split the bags of `training` into folds; return the training and held-out indices of each fold.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
        An integer is the number of stratified folds (fewer if a class has fewer bags). A scikit-learn
        splitter is called with the bags of `training`. Splits contain indices or masks of the bags that were
        passed to `fit`. Bags of weight zero are not in `training` and are left out.
    training : Training
        The validated training data.
    sample_weight : array of shape (number of bags passed to `fit`,) or None
        Weights as passed to `fit`.
    seed : int
        Seed of the folds if `cv` is an integer.
    kinds : tuple of str
        Names of the classes 0, 1, ... in error messages.
    remedy : str
        Last sentence of the error message for too few bags.
    groups : array of shape (number of bags passed to `fit`,), optional
        Bags of one group are never in both the training and the held-out bags of a fold. If `cv` is an
        integer, the folds keep groups together. Other splits that separate a group raise an error.
    """
    y = training.y
    kept = _kept(sample_weight, len(y))
    of_bag = None if groups is None else group_of_each(groups, len(kept))[kept]
    if isinstance(cv, Integral):
        rarest = _rarest(y, of_bag)
        if rarest < 2:
            of_groups, single = ("", "bag") if of_bag is None else (" of different groups", "group")
            two_each = " and ".join(f"two {kind}" for kind in reversed(kinds))
            raise ValueError(
                f"cross-validation needs at least {two_each} bags{of_groups}; one class has a single "
                f"{single}. {remedy}"
            )
        cv = _stratified(min(int(cv), rarest), of_bag, seed)
    if cv is None or hasattr(cv, "split"):
        named = {} if of_bag is None else {"groups": of_bag}
        splits = list(check_cv(cv, y, classifier=True).split(training.bags, y, **named))
    else:
        splits = _among_kept(cv, kept)
    for fold, (train, test) in enumerate(splits):
        for label, kind in enumerate(kinds):
            if not (y[train] == label).any():
                raise ValueError(
                    f"fold {fold} of cv has no {kind} bag of non-zero weight for training; every fold "
                    f"needs {'both' if len(kinds) == 2 else 'all'} classes."
                )
        if not len(test):
            raise ValueError(f"fold {fold} of cv holds out no bag of non-zero weight; expected at least one.")
        if of_bag is None:
            continue
        shared = np.intersect1d(of_bag[train], of_bag[test])
        if len(shared):
            raise ValueError(
                f"fold {fold} of cv has bags of the group {as_python(shared[0])!r} in both training and "
                "held-out data; with groups, set cv to an integer or to a splitter such as "
                "sklearn.model_selection.GroupKFold."
            )
    return splits


def cut_in_two(
    y: np.ndarray, split: float, *, groups: ArrayLike | None, counted: np.ndarray, random_state: Seed
) -> Split:
    """Split bags into two stratified parts; return the sorted indices of the bags of each part.

    Parameters
    ----------
    y : array of shape (n_bags,)
        Labels of two classes.
    split : float
        Fraction of the bags in the first part.
    groups : array of shape (n_bags,) or None
        Bags of one group stay in one part.
    counted : array of bool, shape (n_bags,)
        Mask of the bags to split; the other bags are in neither part.
    random_state : int, RandomState or None
        Seed of the split.
    """
    if not isinstance(split, Real) or not 0 < float(split) < 1:
        raise ValueError(f"split must be a fraction of the bags between 0 and 1; got {split!r}.")
    kept = np.flatnonzero(counted)
    labels = y[kept]
    of_bag = None if groups is None else group_of_each(groups, len(y))[kept]
    rarest = _rarest(np.unique(labels, return_inverse=True)[1], of_bag)
    if rarest < 2:
        raise ValueError(
            "split needs at least two bags of each class, from different groups, one for each part."
        )
    # The first part is a union of folds of equal size. Use the fewest folds, at most ten, that reach `split`.
    n_folds = next((n for n in range(2, 10) if abs(round(split * n) / n - split) < 0.005), 10)
    n_folds = min(n_folds, rarest)
    folds = _stratified(n_folds, of_bag, random_state)
    tests = [test for _, test in folds.split(np.zeros(len(kept)), labels, of_bag)]
    is_first = np.zeros(len(kept), dtype=bool)
    is_first[np.concatenate(tests[: min(n_folds - 1, max(1, round(split * n_folds)))])] = True
    for part in (is_first, ~is_first):
        if len(np.unique(labels[part])) < 2:
            raise ValueError(
                "split leaves a part with bags of only one class; pass more bags or smaller groups."
            )
    return kept[is_first], kept[~is_first]


def held_out_for_stopping(
    y: np.ndarray, fraction: float, sample_weight: Any, groups: ArrayLike | None, random_state: Any
) -> np.ndarray:
    """Choose the held-out bags for early stopping; return a mask of the bags with a positive weight.

    Parameters
    ----------
    y : array of shape (number of bags with a positive weight,)
        Labels 0 and 1 of the bags with a positive weight.
    fraction : float
        Fraction of the bags of each class to hold out.
    sample_weight, groups : array of shape (number of bags passed to `fit`,) or None
        As passed to `fit`; bags of one group stay together.
    random_state : int, RandomState or None
        Seed of the choice.
    """
    counted = _kept(sample_weight, len(y))
    labels, position = np.zeros(len(counted), dtype=np.int8), np.cumsum(counted) - 1
    labels[counted] = y
    of_bag = None if groups is None else group_of_each(groups, len(counted))[counted]
    if _rarest(y, of_bag) < 2:
        unit = "bag" if groups is None else "group"
        raise ValueError(
            f"early_stopping=True holds out bags of each class, but one class has a single {unit}; use "
            "early_stopping=False."
        )
    _, held_out = cut_in_two(
        labels, 1.0 - fraction, groups=groups, counted=counted, random_state=random_state
    )
    chosen = np.zeros(len(y), dtype=bool)
    chosen[position[held_out]] = True
    return chosen


def _rarest(codes: np.ndarray, groups: np.ndarray | None) -> int:
    """Return the number of bags (or groups of bags) of the rarest class; labels are 0, 1, ..."""
    if groups is None:
        return int(np.bincount(codes, minlength=2).min())
    return min(len(np.unique(groups[codes == code])) for code in range(max(2, codes.max() + 1)))


def _stratified(n_folds: int, groups: np.ndarray | None, random_state: Seed) -> Any:
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    return kind(n_folds, shuffle=True, random_state=random_state)


def _kept(sample_weight: Any, n_kept: int) -> np.ndarray:
    """Return a mask of the bags passed to `fit` that have a positive weight."""
    if sample_weight is None:
        return np.ones(n_kept, dtype=bool)
    return np.asarray(sample_weight) > 0


def _among_kept(splits: Iterable[Any], kept: np.ndarray) -> list[Split]:
    """Convert splits of all bags into splits of the kept bags."""
    indices, position = np.arange(len(kept)), np.cumsum(kept) - 1
    kept_splits = []
    for fold, split in enumerate(splits):
        try:
            train, test = (indices[np.asarray(part, dtype=None if len(part) else int)] for part in split)
        except (IndexError, TypeError, ValueError) as error:
            raise ValueError(
                f"fold {fold} of cv must be two arrays, one of training bags and one of held-out bags: "
                f"indices from 0 to {len(kept) - 1}, or masks of the {len(kept)} bags."
            ) from error
        kept_splits.append((position[train[kept[train]]], position[test[kept[test]]]))
    return kept_splits
