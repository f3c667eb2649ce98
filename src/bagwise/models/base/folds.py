"""Cross-validation inside a fit: which bags learn and which are held out."""

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
    """Cut bags into folds: numbers of the bags of `training` that learn, and of those that are held out.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
        A number of folds, each with its share of either class (fewer folds if a class has fewer bags); a
        scikit-learn splitter, which sees the bags of `training`; or splits, which are numbers or masks of the
        bags that were given to `fit`: those of weight zero, which are not in `training`, are left out.
    training : Training
        What was read.
    sample_weight : array of shape (number of bags given to `fit`,) or None
        Weights as they were given.
    seed : int
        Draws the folds if `cv` is a number.
    kinds : tuple of str
        What bags with the labels 0, 1 (and so on, where there are more) are called.
    remedy : str
        A sentence for those who have too few bags to be cross-validated.
    groups : array of shape (number of bags given to `fit`,), optional
        Bags of one group are never on both sides of a fold: folds that are a number keep them together, and
        others are refused if they do not.
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
    for number, (train, test) in enumerate(splits):
        for label, kind in enumerate(kinds):
            if not (y[train] == label).any():
                raise ValueError(
                    f"fold {number} of cv has no {kind} bag of non-zero weight to learn from; every fold "
                    f"needs {'both' if len(kinds) == 2 else 'all'} classes."
                )
        if not len(test):
            raise ValueError(f"fold {number} of cv holds out no bag of non-zero weight; expected some.")
        if of_bag is None:
            continue
        torn = np.intersect1d(of_bag[train], of_bag[test])
        if len(torn):
            raise ValueError(
                f"fold {number} of cv has bags of the group {as_python(torn[0])!r} on both sides; with "
                "groups, pass cv a number of folds, or a splitter such as sklearn.model_selection.GroupKFold."
            )
    return splits


def cut_in_two(
    y: np.ndarray, split: float, *, groups: ArrayLike | None, counted: np.ndarray, random_state: Seed
) -> Split:
    """Cut bags into two parts, each with its share of either class: numbers of the bags, which rise.

    Parameters
    ----------
    y : array of shape (n_bags,)
        Labels, of two classes.
    split : float
        The share of the first part.
    groups : array of shape (n_bags,) or None
        Bags of one group stay together.
    counted : array of bool, shape (n_bags,)
        Bags that are to be in one of the parts.
    random_state : int, RandomState or None
        Draws them.
    """
    if not isinstance(split, Real) or not 0 < float(split) < 1:
        raise ValueError(f"split must be a share of the bags between 0 and 1; got {split!r}.")
    kept = np.flatnonzero(counted)
    labels = y[kept]
    of_bag = None if groups is None else group_of_each(groups, len(y))[kept]
    rarest = _rarest(np.unique(labels, return_inverse=True)[1], of_bag)
    if rarest < 2:
        raise ValueError(
            "split needs at least two bags of either class, of different groups, one for each part."
        )
    # Folds of equal size, of which the first part takes some: as many as its share needs, at most ten.
    n_folds = next((n for n in range(2, 10) if abs(round(split * n) / n - split) < 0.005), 10)
    n_folds = min(n_folds, rarest)
    folds = _stratified(n_folds, of_bag, random_state)
    tests = [test for _, test in folds.split(np.zeros(len(kept)), labels, of_bag)]
    is_first = np.zeros(len(kept), dtype=bool)
    is_first[np.concatenate(tests[: min(n_folds - 1, max(1, round(split * n_folds)))])] = True
    for part in (is_first, ~is_first):
        if len(np.unique(labels[part])) < 2:
            raise ValueError(
                "split leaves a part with bags of one class only; give more bags or smaller groups."
            )
    return kept[is_first], kept[~is_first]


def held_out_for_stopping(
    y: np.ndarray, fraction: float, sample_weight: Any, groups: ArrayLike | None, random_state: Any
) -> np.ndarray:
    """Choose bags whose loss says when a fit is to stop: a mask of the bags that have a weight.

    Parameters
    ----------
    y : array of shape (n_bags of a weight above zero,)
        Labels 0 and 1 of the bags that have one.
    fraction : float
        The share of bags to be chosen, of either class.
    sample_weight, groups : array of shape (number of bags given to `fit`,) or None
        As they were given; bags of one group stay together.
    random_state : int, RandomState or None
        Draws them.
    """
    counted = _kept(sample_weight, len(y))
    labels, place = np.zeros(len(counted), dtype=np.int8), np.cumsum(counted) - 1
    labels[counted] = y
    of_bag = None if groups is None else group_of_each(groups, len(counted))[counted]
    if _rarest(y, of_bag) < 2:
        what = "bag" if groups is None else "group"
        raise ValueError(
            f"early_stopping=True holds bags of either class out, and one class has a single {what}; use "
            "early_stopping=False."
        )
    _, held_out = cut_in_two(
        labels, 1.0 - fraction, groups=groups, counted=counted, random_state=random_state
    )
    chosen = np.zeros(len(y), dtype=bool)
    chosen[place[held_out]] = True
    return chosen


def _rarest(codes: np.ndarray, groups: np.ndarray | None) -> int:
    """How many bags, or groups of them, the rarest class has; labels are 0, 1 and so on."""
    if groups is None:
        return int(np.bincount(codes, minlength=2).min())
    return min(len(np.unique(groups[codes == code])) for code in range(max(2, codes.max() + 1)))


def _stratified(n_folds: int, groups: np.ndarray | None, random_state: Seed) -> Any:
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    return kind(n_folds, shuffle=True, random_state=random_state)


def _kept(sample_weight: Any, n_kept: int) -> np.ndarray:
    """Which of the bags given to `fit` have a weight."""
    if sample_weight is None:
        return np.ones(n_kept, dtype=bool)
    return np.asarray(sample_weight) > 0


def _among_kept(splits: Iterable[Any], kept: np.ndarray) -> list[Split]:
    """Splits of all bags as splits of those that are kept."""
    numbers, place = np.arange(len(kept)), np.cumsum(kept) - 1
    found = []
    for number, split in enumerate(splits):
        try:
            train, test = (numbers[np.asarray(part, dtype=None if len(part) else int)] for part in split)
        except (IndexError, TypeError, ValueError) as error:
            raise ValueError(
                f"fold {number} of cv must be two arrays, of bags to learn from and of bags to hold out: "
                f"numbers from 0 to {len(kept) - 1}, or masks of the {len(kept)} bags."
            ) from error
        found.append((place[train[kept[train]]], place[test[kept[test]]]))
    return found
