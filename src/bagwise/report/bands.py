"""Curves of held-out scores, averaged over folds, with bands from resampled bags."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

LEVEL = 0.95
_N_DRAWS = 500
# Resamples of many bags: beyond this many numbers there are fewer of them, but never less than a hundred.
_MOST_NUMBERS = 4 * 10**7
_FEWEST_DRAWS = 100
_N_POINTS = 201
_FEWEST_GROUPS = 10


@dataclass(frozen=True)
class Band:
    """A curve and the band around it.

    Attributes
    ----------
    x, y : arrays of shape (n_points,)
        The curve.
    low, high : arrays of shape (n_points,)
        The ends of pointwise 95 % intervals; NaN where groups are too few to tell.
    n_draws : int
        How many resamples they are quantiles of.
    n_folds : int
        Over how many folds the curve is a mean: those with bags of both classes.
    is_step : bool
        Whether what stands at the end of an interval holds in all of it.
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
        """The mean height of the curve, to half a percent: AUC, or the average precision."""
        # A step ends at its point, so that what stands at the end of an interval holds in all of it.
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
    """Average the ROC curves of folds: the share of positive bags found, at every share of false alarms.

    Scores of different folds are of different models and are not compared. Folds count by their number of
    pairs, a positive and a negative bag, so that the area below the curve is the AUC inside folds
    (`auc_interval`). The band has the quantiles of that curve over resamples, each of which draws as many
    positive and as many negative bags with replacement, wherever they were held out; where bags are in
    groups, as many groups.

    Parameters
    ----------
    positive : array of bool, shape (n_bags,)
        The labels.
    score : array of shape (n_bags,)
        High for positive bags.
    fold : array of shape (n_bags,)
        The fold of each bag.
    groups : array of shape (n_bags,), optional
        Bags that depend on each other; no group is in two folds.
    seed : int
        Of the resamples.

    Returns
    -------
    Band or None
        None if no fold has bags of both classes.

    Notes
    -----
    Pointwise: the whole curve lies inside less often. At the ends, where no resample differs, bands are
    narrower than they should be. With fewer than ten groups there is none. Costs a sort, and a pass over the
    bags for every resample.
    """
    return _band(_roc, positive, score, fold, groups, seed)


def precision_recall_band(
    positive: np.ndarray,
    score: np.ndarray,
    fold: np.ndarray,
    groups: np.ndarray | None = None,
) -> Band | None:
    """Average the precision of folds at every recall, with a band: see `roc_band`.

    A fold counts by its number of positive bags. At a recall the precision is that of the highest threshold
    which reaches it, so the area is the average precision of scikit-learn.
    """
    return _band(_precision_recall, positive, score, fold, groups)


@dataclass(frozen=True)
class _Fold:
    """The bags of a fold, the highest score first."""

    rows: np.ndarray
    positive: np.ndarray
    last: np.ndarray  # the last bag of every run of equal scores


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
            here = weight[part.rows]
            hits = np.cumsum(here * part.positive)[part.last]
            misses = np.cumsum(here * ~part.positive)[part.last]
            if hits[-1] > 0 and misses[-1] > 0:  # else this resample of the fold has one class
                found, counts = curve(hits, misses, grid)
                height += counts * found
                total += counts
        return height / total if total > 0 else np.full(len(grid), np.nan)

    n = len(score)
    low, high, n_draws = np.full(len(grid), np.nan), np.full(len(grid), np.nan), 0
    draw = _drawing(positive, groups, np.random.default_rng(seed))
    if draw is not None:
        n_draws = int(np.clip(_MOST_NUMBERS // n, _FEWEST_DRAWS, _N_DRAWS))
        tail = (1 - LEVEL) / 2
        low, high = np.nanquantile([mean(draw()) for _ in range(n_draws)], [tail, 1 - tail], axis=0)
    is_step = curve is _precision_recall
    return Band(grid, mean(np.ones(n)), low, high, n_draws, len(folds), is_step)


def _drawing(
    positive: np.ndarray, groups: np.ndarray | None, rng: np.random.Generator
) -> Callable[[], np.ndarray] | None:
    """Give what draws how often every bag is in a resample; None where there is too little to draw from."""
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
    """Give the folds that have both classes."""
    for number in np.unique(fold):
        rows = np.flatnonzero(fold == number)
        if positive[rows].all() or not positive[rows].any():
            continue
        rows = rows[np.argsort(-score[rows], kind="stable")]
        ordered = score[rows]
        last = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), len(rows) - 1)
        yield _Fold(rows, positive[rows], last)


def _roc(hits: np.ndarray, misses: np.ndarray, grid: np.ndarray) -> tuple[np.ndarray, float]:
    """Share of positive bags found at shares of false alarms, and the number of pairs."""
    found = np.append(0.0, hits) / hits[-1]
    alarms = np.append(0.0, misses) / misses[-1]
    height = np.interp(grid, alarms, found)
    # Where the curve is vertical its middle counts, which leaves the area as it is; at the left end the top.
    first, after = np.searchsorted(alarms, grid), np.searchsorted(alarms, grid, side="right") - 1
    jump = np.flatnonzero(first < after)
    height[jump] = (found[first[jump]] + found[after[jump]]) / 2
    height[0] = found[after[0]]
    return height, float(hits[-1] * misses[-1])


def _precision_recall(hits: np.ndarray, misses: np.ndarray, grid: np.ndarray) -> tuple[np.ndarray, float]:
    """Precision of the highest threshold that reaches a recall, and the number of positive bags."""
    recall = hits / hits[-1]
    with np.errstate(invalid="ignore"):  # of thresholds above all that was drawn, which reach nothing
        precision = hits / (hits + misses)
    place = np.searchsorted(recall, np.maximum(grid - 1e-12, 1e-12))
    return precision[np.minimum(place, len(recall) - 1)], float(hits[-1])
