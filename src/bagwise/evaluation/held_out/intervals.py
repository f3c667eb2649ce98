"""Confidence intervals of held-out scores: score intervals, which remain valid at 0 and 1 and for groups."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm, t

Interval = tuple[float, float]
LEVEL = 0.95


def share_interval(hits: np.ndarray, groups: np.ndarray | None = None) -> Interval:
    """Return Wilson's interval of a proportion.

    Bags of the same group may be correlated. The number of bags is therefore divided by the design effect
    (the variance of the proportion between groups, relative to that of independent bags), following Korn and
    Graubard. The design effect is at least 1; if all bags agree, the effective number of bags is the number
    of groups. Quantiles come from the t distribution with n_groups - 1 degrees of freedom, where n_groups is
    the effective number of groups: groups of different sizes count as fewer groups of equal sizes (Kish).
    With a single group, the interval is NaN.

    Parameters
    ----------
    hits : array of bool, shape (n,)
        Whether each bag counts as a success.
    groups : array of shape (n,), optional
        Group of each bag.

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
    effect, quantile = _design(influence, np.ones(len(hits)), groups)
    n = len(hits) / effect
    return _score_interval(share, lambda p: p * (1 - p) / n, quantile)


def auc_interval(
    positive: np.ndarray, score: np.ndarray, fold: np.ndarray, groups: np.ndarray | None = None
) -> tuple[float, float, float]:
    """Return the AUC within folds and its interval by Newcombe's method 5: value, low, high.

    Scores of different folds come from different models, so they are not compared. The AUC is the proportion
    of correctly ordered pairs of a positive and a negative bag in the same fold. At each candidate limit, the
    interval uses the variance of Hanley and McNeil with the mean number of bags per fold.

    Groups are taken into account as in `share_interval`. A bag contributes the number of its correctly
    ordered pairs minus their expected number (its number of pairs times the AUC), and groups are weighted by
    their pairs. Two degrees of freedom are subtracted, one for each class. The AUC itself is subtracted, not
    the mean of each fold: folds have only a few groups, and a mean per fold would use up all degrees of
    freedom.

    All values are NaN if no fold has both classes. The interval is NaN with fewer than four groups.

    Parameters
    ----------
    positive : array of bool, shape (n_bags,)
        Whether each bag is positive.
    score : array of shape (n_bags,)
        Score of each bag; higher for positive bags.
    fold : array of shape (n_bags,)
        Fold of each bag.
    groups : array of shape (n_bags,), optional
        Group of each bag; no group is in two folds.

    References
    ----------
    R. G. Newcombe (2006), Statistics in Medicine 25, 559-573; N. A. Obuchowski (1997), Nonparametric analysis
    of clustered ROC curve data, Biometrics 53, 567-578.
    """
    n_right, n_pairs, counts = np.zeros(len(score)), np.zeros(len(score)), []
    for fold_index in np.unique(fold):
        above, below = (np.flatnonzero((fold == fold_index) & (positive == side)) for side in (True, False))
        if not len(above) or not len(below):
            continue
        n_right[above], n_right[below] = _wins(score[above], score[below])
        n_pairs[above], n_pairs[below] = len(below), len(above)
        counts.append((len(above), len(below)))
    if not counts:
        return np.nan, np.nan, np.nan
    auc = float(n_right.sum() / n_pairs.sum())
    m, n = np.mean(counts, axis=0)
    used = n_pairs > 0
    effect, quantile = _design(
        (n_right - auc * n_pairs)[used], n_pairs[used], None if groups is None else groups[used], n_means=2
    )
    m_fold, n_fold, k = m / effect, n / effect, len(counts)
    half = max(0.0, (m_fold + n_fold) / 2 - 1)

    def variance(theta: float) -> float:
        spread = (1 - theta) / (2 - theta) + theta / (1 + theta)
        return theta * (1 - theta) * (1 + half * spread) / (m_fold * n_fold) / k

    return auc, *_score_interval(auc, variance, quantile)


def mean_interval(values: np.ndarray, groups: np.ndarray | None = None) -> Interval:
    """Return the t interval of a mean; with groups, the standard error is computed between groups."""
    mean, error, freedom = _mean_and_error(values, groups)
    if freedom < 1:
        return np.nan, np.nan
    width = float(t.ppf(0.5 + LEVEL / 2, freedom)) * error
    return mean - width, mean + width


def mean_test(values: np.ndarray, groups: np.ndarray | None = None) -> tuple[float, float]:
    """Return a mean, and the two-sided p value of the hypothesis that it is zero.

    The p value is 1 if all values are zero, and NaN if there is only one group.
    """
    mean, error, freedom = _mean_and_error(values, groups)
    if freedom < 1:
        return mean, np.nan
    return mean, 2 * float(t.sf(abs(mean) / error, freedom)) if error > 0 else float(mean == 0)


def _mean_and_error(values: np.ndarray, groups: np.ndarray | None) -> tuple[float, float, float]:
    """Return a mean, its standard error (with groups: between groups) and its degrees of freedom."""
    mean = float(np.mean(values))
    sums, n = (values - mean) / len(values), float(len(values))
    if groups is not None:
        sums = _sums(sums, groups)
        n = 1.0 if len(sums) < 2 else max(2.0, _n_equal_groups(np.ones(len(values)), groups))
    return mean, float(np.sqrt(n / max(1.0, n - 1) * float(sums @ sums))), n - 1


def _wins(above: np.ndarray, below: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count the wins of each score in `above` and the losses of each score in `below`; ties count 1/2."""
    order = np.sort(below)
    beats = (np.searchsorted(order, above, "left") + np.searchsorted(order, above, "right")) / 2
    order = np.sort(above)
    n = len(above)
    beaten = n - (np.searchsorted(order, below, "left") + np.searchsorted(order, below, "right")) / 2
    return beats, beaten


def _sums(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    return np.bincount(np.unique(groups, return_inverse=True)[1], weights=values)


def _design(
    influence: np.ndarray, weight: np.ndarray, groups: np.ndarray | None, n_means: int = 1
) -> tuple[float, float]:
    """Return the design effect (number of correlated bags that replace one independent bag) and a quantile.

    Parameters
    ----------
    influence : array of shape (n_bags,)
        Influence of each bag on the estimate, up to a factor.
    weight : array of shape (n_bags,)
        Weight of each bag in the estimate.
    groups : array of shape (n_bags,) or None
        Group of each bag. Without groups, the effect is 1 and the quantile that of the normal distribution.
    n_means : int
        Number of estimated means. Each costs one degree of freedom, and needs two groups: with fewer groups,
        both results are NaN.
    """
    if groups is None:
        return 1.0, float(norm.ppf(0.5 + LEVEL / 2))
    sums, n = _sums(influence, groups), len(influence)
    if len(sums) < 2 * n_means:
        return np.nan, np.nan
    n_groups = max(2.0 * n_means, _n_equal_groups(weight, groups))
    freedom = n_groups - n_means
    alone, together = n / (n - n_means) * float(influence @ influence), float(sums @ sums)
    effect = n / n_groups if alone == 0.0 else max(1.0, n_groups / freedom * together / alone)
    return effect, float(t.ppf(0.5 + LEVEL / 2, freedom))


def _n_equal_groups(weight: np.ndarray, groups: np.ndarray) -> float:
    """Return the effective number of groups: n for n groups of equal weights, otherwise less (Kish)."""
    sums = _sums(weight, groups)
    return float(sums.sum() ** 2 / (sums @ sums))


def _score_interval(value: float, variance: Callable[[float], float], quantile: float) -> Interval:
    """Return the interval of parameters under which the observed value is plausible (score interval).

    The standard error is computed at the parameter, not at the observed value. The limits are NaN if it is
    not finite.
    """
    if not np.isfinite(quantile * variance(0.5)):
        return np.nan, np.nan

    def beyond(theta: float) -> float:
        return (theta - value) ** 2 - quantile**2 * variance(theta)

    low, high = 0.0, 1.0
    if value > 0.0:  # at 0 and 1 the variance is zero; this root is not a limit
        low = float(brentq(beyond, 0.0, min(value, 1 - 1e-12)))
    if value < 1.0:
        high = float(brentq(beyond, max(value, 1e-12), 1.0))
    return low, high
