"""Intervals of what held-out bags say: score intervals, which hold at 0 and 1, and for bags in groups."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm, t

Interval = tuple[float, float]
LEVEL = 0.95


def share_interval(hits: np.ndarray, groups: np.ndarray | None = None) -> Interval:
    """Give Wilson's interval of a share.

    Bags of one group depend on each other: the number of bags is then divided by the design effect (the
    variance of the share between groups, over that of independent bags), as Korn and Graubard do, but never
    multiplied; where all bags agree it is the number of groups. Quantiles are those of t with a degree of
    freedom less than groups. Of a single group nothing can be told: NaN.

    Parameters
    ----------
    hits : array of bool, shape (n,)
        What is counted.
    groups : array of shape (n,), optional
        The group of each.

    References
    ----------
    E. B. Wilson (1927), JASA 22; E. L. Korn and B. I. Graubard (1998), Survey Methodology 24.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.evaluation.held_out.intervals import share_interval
    >>> low, high = share_interval(np.arange(20) < 18)
    >>> round(low, 3), round(high, 3)
    (0.699, 0.972)
    """
    share = float(np.mean(hits))
    influence = (hits - share) / len(hits)
    n = len(hits) / _design_effect(influence, groups)
    return _score_interval(share, lambda p: p * (1 - p) / n, _quantile(groups))


def auc_interval(
    positive: np.ndarray, score: np.ndarray, fold: np.ndarray, groups: np.ndarray | None = None
) -> tuple[float, float, float]:
    """Give the AUC inside folds and its interval, Newcombe's fifth: value, low, high.

    Scores of different folds come from different models and are not compared: the AUC is the share of pairs,
    a positive and a negative bag of one fold, that are in order. The interval has the variance of Hanley and
    McNeil at the end that is tried, with the number of bags in a fold; bags in groups count as in
    `share_interval`, with the design effect from DeLong's components. NaN where no fold has both classes, and
    an interval of NaN unless groups are more than classes in all folds.

    Parameters
    ----------
    positive : array of bool, shape (n_bags,)
        The labels.
    score : array of shape (n_bags,)
        High for positive bags.
    fold : array of shape (n_bags,)
        The fold of each bag.
    groups : array of shape (n_bags,), optional
        The group of each; no group is in two folds.

    References
    ----------
    R. G. Newcombe (2006), Statistics in Medicine 25, 559-573.
    """
    in_order, influence, counts = 0.0, np.zeros(len(score)), []
    for number in np.unique(fold):
        above, below = (np.flatnonzero((fold == number) & (positive == side)) for side in (True, False))
        if not len(above) or not len(below):
            continue
        beats, beaten = _wins(score[above], score[below])
        in_order += beats.sum()
        counts.append((len(above), len(below)))
        influence[above], influence[below] = beats - beats.mean(), beaten - beaten.mean()
    if not counts:
        return np.nan, np.nan, np.nan
    m, n = np.array(counts, dtype=float).T
    auc = in_order / float(m @ n)
    k = len(counts)
    effect = _design_effect(influence, groups, n_means=2 * k)
    m_fold, n_fold = m.mean() / effect, n.mean() / effect
    half = max(0.0, (m_fold + n_fold) / 2 - 1)

    def variance(theta: float) -> float:
        spread = (1 - theta) / (2 - theta) + theta / (1 + theta)
        return theta * (1 - theta) * (1 + half * spread) / (m_fold * n_fold) / k

    return auc, *_score_interval(auc, variance, _quantile(groups, n_means=2 * k))


def mean_interval(values: np.ndarray, groups: np.ndarray | None = None) -> Interval:
    """Give the interval of a mean by its standard error, that between groups where there are some."""
    mean, error, freedom = _mean_and_error(values, groups)
    if freedom < 1:
        return np.nan, np.nan
    width = float(t.ppf(0.5 + LEVEL / 2, freedom)) * error
    return mean - width, mean + width


def mean_test(values: np.ndarray, groups: np.ndarray | None = None) -> tuple[float, float]:
    """Give a mean, and the two-sided p value of its being zero: 1 if all values are, NaN of one group."""
    mean, error, freedom = _mean_and_error(values, groups)
    if freedom < 1:
        return mean, np.nan
    return mean, 2 * float(t.sf(abs(mean) / error, freedom)) if error > 0 else float(mean == 0)


def _mean_and_error(values: np.ndarray, groups: np.ndarray | None) -> tuple[float, float, int]:
    """Give a mean, its standard error, that between groups where there are some, and degrees of freedom."""
    mean = float(np.mean(values))
    influence = (values - mean) / len(values)
    sums = influence if groups is None else _sums(influence, groups)
    n = len(sums)
    return mean, float(np.sqrt(n / max(1, n - 1) * float(sums @ sums))), n - 1


def _wins(above: np.ndarray, below: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count for every score above how many below it beats, and the other way round; ties are a half."""
    order = np.sort(below)
    beats = (np.searchsorted(order, above, "left") + np.searchsorted(order, above, "right")) / 2
    order = np.sort(above)
    n = len(above)
    beaten = n - (np.searchsorted(order, below, "left") + np.searchsorted(order, below, "right")) / 2
    return beats, beaten


def _sums(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    return np.bincount(np.unique(groups, return_inverse=True)[1], weights=values)


def _design_effect(influence: np.ndarray, groups: np.ndarray | None, n_means: int = 1) -> float:
    """How many dependent bags say as much as one that is not: at least 1; NaN where groups are too few.

    `n_means` are the means that were taken away from the influence of bags, each a degree of freedom.
    """
    if groups is None:
        return 1.0
    sums = _sums(influence, groups)
    n, n_groups = len(influence), len(sums)
    if n_groups <= n_means:
        return np.nan
    alone, together = n / (n - n_means) * float(influence @ influence), float(sums @ sums)
    if alone == 0.0:
        return n / n_groups
    return max(1.0, n_groups / (n_groups - n_means) * together / alone)


def _quantile(groups: np.ndarray | None, n_means: int = 1) -> float:
    if groups is None:
        return float(norm.ppf(0.5 + LEVEL / 2))
    return float(t.ppf(0.5 + LEVEL / 2, len(np.unique(groups)) - n_means))


def _score_interval(value: float, variance: Callable[[float], float], quantile: float) -> Interval:
    """Give all parameters whose own standard error leaves the value possible; NaN if that is not known."""
    if not np.isfinite(quantile * variance(0.5)):
        return np.nan, np.nan

    def beyond(theta: float) -> float:
        return (theta - value) ** 2 - quantile**2 * variance(theta)

    low, high = 0.0, 1.0
    if value > 0.0:  # at the value itself, if it is 0 or 1, the variance is zero: that is no end
        low = float(brentq(beyond, 0.0, min(value, 1 - 1e-12)))
    if value < 1.0:
        high = float(brentq(beyond, max(value, 1e-12), 1.0))
    return low, high
