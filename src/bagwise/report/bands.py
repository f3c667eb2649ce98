"""ROC and precision-recall curves of held-out bags, averaged over folds, with bands from resamples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

LEVEL = 0.95
_N_DRAWS = 500
# Maximum number of resamples times the number of bags. For more bags, fewer resamples are drawn, but at least
# 100.
_MOST_DRAWN_BAGS = 4 * 10**7
_FEWEST_DRAWS = 100
_N_POINTS = 201
_FEWEST_GROUPS = 10


@dataclass(frozen=True)
class Band:
    """A curve with a band.

    Attributes
    ----------
    x, y : arrays of shape (n_points,)
        Points of the curve.
    low, high : arrays of shape (n_points,)
        Limits of pointwise 95 % intervals; NaN if there are too few groups.
    n_draws : int
        Number of resamples for the limits.
    n_folds : int
        Number of averaged folds, which are the folds with bags of both classes.
    is_step : bool
        Whether the curve is a step function, with the value of each interval at its right end.
    """

    x: np.ndarray
    y: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_draws: int
    n_folds: int
    is_step: bool = False

    @property
    def area(self) -> float:
        """Area under the curve (AUC or average precision), accurate to about 0.005."""
        # A step function has the value of the right end in the whole interval.
        heights = self.y[1:] if self.is_step else (self.y[1:] + self.y[:-1]) / 2
        return float(heights.mean())


def roc_band(
    positive: np.ndarray,
    score: np.ndarray,
    fold: np.ndarray,
    groups: np.ndarray | None = None,
    *,
    seed: int = 0,
) -> Band | None:
    """Return the ROC curve averaged over folds, with a band.

    Scores of different folds come from different models, so they are not compared. The true positive rates
    are averaged at each false positive rate. Folds are weighted by their number of pairs of a positive and a
    negative bag, so the area under the curve is the AUC within folds (`auc_interval`). The band consists of
    quantiles of the curve over resamples. Each resample draws the same number of positive and of negative
    bags with replacement, regardless of their folds. If there are groups, it draws groups instead of bags.

    Parameters
    ----------
    positive : array of bool, shape (n_bags,)
        Whether each bag is positive.
    score : array of shape (n_bags,)
        Score of each bag; higher scores mean positive.
    fold : array of shape (n_bags,)
        Fold of each bag.
    groups : array of shape (n_bags,), optional
        Group of each bag. Bags of one group may be dependent and must be in the same fold.
    seed : int
        Seed of the resamples.

    Returns
    -------
    Band or None
        The curve with its band; None if no fold has bags of both classes.

    Notes
    -----
    The band is pointwise, so it contains the whole curve less often than 95 %. It is too narrow at both ends,
    where resamples do not differ. There is no band for fewer than ten groups. The cost is one sort, and one
    pass over the bags per resample.
    """
    return _band(_roc, positive, score, fold, groups, seed)


def precision_recall_band(
    positive: np.ndarray,
    score: np.ndarray,
    fold: np.ndarray,
    groups: np.ndarray | None = None,
) -> Band | None:
    """Return the precision averaged over folds at each recall, with a band: see `roc_band`.

    Folds are weighted by their number of positive bags. The precision at a recall uses the highest threshold
    that reaches the recall, so the area is scikit-learn's average precision.
    """
    return _band(_precision_recall, positive, score, fold, groups)


@dataclass(frozen=True)
class _Fold:
    """The bags of a fold, sorted by decreasing score."""

    rows: np.ndarray
    positive: np.ndarray
    last: np.ndarray  # index of the last bag in each run of equal scores


def _band(
    curve: Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, float]],
    positive: np.ndarray,
    score: np.ndarray,
    fold: np.ndarray,
    groups: np.ndarray | None,
    seed: int = 0,
) -> Band | None:
    folds = list(_folds(positive, score, fold))
    if not folds:
        return None
    grid = np.linspace(0.0, 1.0, _N_POINTS)

    def mean(weight: np.ndarray) -> np.ndarray:
        total, height = 0.0, np.zeros(len(grid))
        for part in folds:
            weights = weight[part.rows]
            hits = np.cumsum(weights * part.positive)[part.last]
            misses = np.cumsum(weights * ~part.positive)[part.last]
            if hits[-1] > 0 and misses[-1] > 0:  # skip the fold if this resample has only one class
                heights, counts = curve(hits, misses, grid)
                height += counts * heights
                total += counts
        return height / total if total > 0 else np.full(len(grid), np.nan)

    n = len(score)
    low, high, n_draws = np.full(len(grid), np.nan), np.full(len(grid), np.nan), 0
    draw = _drawing(positive, groups, np.random.default_rng(seed))
    if draw is not None:
        n_draws = int(np.clip(_MOST_DRAWN_BAGS // n, _FEWEST_DRAWS, _N_DRAWS))
        tail = (1 - LEVEL) / 2
        low, high = np.nanquantile([mean(draw()) for _ in range(n_draws)], [tail, 1 - tail], axis=0)
    is_step = curve is _precision_recall
    return Band(grid, mean(np.ones(n)), low, high, n_draws, len(folds), is_step)


def _drawing(
    positive: np.ndarray, groups: np.ndarray | None, rng: np.random.Generator
) -> Callable[[], np.ndarray] | None:
    """Return a function that draws the multiplicity of each bag in a resample; None for too few groups."""
    strata = [np.flatnonzero(positive), np.flatnonzero(~positive)]
    unit = np.arange(len(positive))
    if groups is not None:
        names, unit = np.unique(groups, return_inverse=True)
        strata = [np.arange(len(names))]
        if len(names) < _FEWEST_GROUPS:
            return None

    def draw() -> np.ndarray:
        times = np.zeros(len(positive))
        for units in strata:
            times[units] = np.bincount(rng.integers(len(units), size=len(units)), minlength=len(units))
        return times[unit]

    return draw


def _folds(positive: np.ndarray, score: np.ndarray, fold: np.ndarray) -> Iterator[_Fold]:
    """Yield the folds with bags of both classes."""
    for index in np.unique(fold):
        rows = np.flatnonzero(fold == index)
        if positive[rows].all() or not positive[rows].any():
            continue
        rows = rows[np.argsort(-score[rows], kind="stable")]
        ordered = score[rows]
        last = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), len(rows) - 1)
        yield _Fold(rows, positive[rows], last)


def _roc(hits: np.ndarray, misses: np.ndarray, grid: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the true positive rates at a grid of false positive rates, and the number of pairs."""
    hit_rates = np.append(0.0, hits) / hits[-1]
    false_alarm_rates = np.append(0.0, misses) / misses[-1]
    height = np.interp(grid, false_alarm_rates, hit_rates)
    # At vertical segments, use the middle, which preserves the area; at the left end, use the top.
    first, after = (
        np.searchsorted(false_alarm_rates, grid),
        np.searchsorted(false_alarm_rates, grid, side="right") - 1,
    )
    jump = np.flatnonzero(first < after)
    height[jump] = (hit_rates[first[jump]] + hit_rates[after[jump]]) / 2
    height[0] = hit_rates[after[0]]
    return height, float(hits[-1] * misses[-1])


def _precision_recall(hits: np.ndarray, misses: np.ndarray, grid: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the precision of the highest threshold for each recall, and the number of positive bags."""
    recall = hits / hits[-1]
    with np.errstate(invalid="ignore"):  # 0 / 0 for thresholds above all scores of the resample
        precision = hits / (hits + misses)
    position = np.searchsorted(recall, np.maximum(grid - 1e-12, 1e-12))
    return precision[np.minimum(position, len(recall) - 1)], float(hits[-1])
