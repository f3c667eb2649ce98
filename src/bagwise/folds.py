"""Cross-validation inside a fit: which bags learn and which are held out."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv

from bagwise.base import Training

Split = tuple[np.ndarray, np.ndarray]


def bag_folds(
    cv,
    training: Training,
    sample_weight,
    *,
    seed: int,
    kinds: tuple[str, str] = ("negative", "positive"),
    remedy: str,
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
    kinds : (str, str)
        What bags with the labels 0 and 1 are called.
    remedy : str
        A sentence for those who have too few bags to be cross-validated.
    """
    y = training.y
    if isinstance(cv, Integral):
        rarest = int(np.bincount(y, minlength=2).min())
        if rarest < 2:
            raise ValueError(
                f"cross-validation needs at least two {kinds[1]} and two {kinds[0]} bags; one class has a "
                f"single bag. {remedy}"
            )
        cv = StratifiedKFold(min(int(cv), rarest), shuffle=True, random_state=seed)
    if cv is None or hasattr(cv, "split"):
        splits = list(check_cv(cv, y, classifier=True).split(training.bags, y))
    else:
        splits = _among_kept(cv, _kept(sample_weight, len(y)))
    for number, (train, test) in enumerate(splits):
        for label, kind in enumerate(kinds):
            if not (y[train] == label).any():
                raise ValueError(
                    f"fold {number} of cv has no {kind} bag of non-zero weight to learn from; every fold "
                    "needs both classes."
                )
        if not len(test):
            raise ValueError(f"fold {number} of cv holds out no bag of non-zero weight; expected some.")
    return splits


def cut_in_two(
    y: np.ndarray, split: float, *, groups: ArrayLike | None, counted: np.ndarray, random_state
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
    rarest = int(np.unique(labels, return_counts=True)[1].min())
    of_bag = None
    if groups is not None:
        names = np.asarray(groups)
        if names.shape != y.shape:
            raise ValueError(
                f"groups has the shape {names.shape}, but there are {len(y)} bags; give one each."
            )
        of_bag = names[kept]
        rarest = min(rarest, *(len(np.unique(of_bag[labels == label])) for label in np.unique(labels)))
    if rarest < 2:
        raise ValueError(
            "split needs at least two bags of either class, of different groups, one for each part."
        )
    # Folds of equal size, of which the first part takes some: as many as its share needs, at most ten.
    n_folds = next((n for n in range(2, 10) if abs(round(split * n) / n - split) < 0.005), 10)
    n_folds = min(n_folds, rarest)
    folds = (StratifiedKFold if of_bag is None else StratifiedGroupKFold)(
        n_folds, shuffle=True, random_state=random_state
    )
    tests = [test for _, test in folds.split(np.zeros(len(kept)), labels, of_bag)]
    is_first = np.zeros(len(kept), dtype=bool)
    is_first[np.concatenate(tests[: min(n_folds - 1, max(1, round(split * n_folds)))])] = True
    for part in (is_first, ~is_first):
        if len(np.unique(labels[part])) < 2:
            raise ValueError(
                "split leaves a part with bags of one class only; give more bags or smaller groups."
            )
    return kept[is_first], kept[~is_first]


def _kept(sample_weight, n_kept: int) -> np.ndarray:
    """Which of the bags given to `fit` have a weight."""
    if sample_weight is None:
        return np.ones(n_kept, dtype=bool)
    return np.asarray(sample_weight) > 0


def _among_kept(splits: Iterable, kept: np.ndarray) -> list[Split]:
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
