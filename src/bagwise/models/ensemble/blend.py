"""Conversion of held-out scores to log-odds, and weighting of a family's settings (the blend)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from bagwise.models.base.calibration import fit_exponent, fit_lines, platt_targets
from bagwise.models.base.folds import Split
from bagwise.models.base.held_out import mean_of_splits
from bagwise.models.base.log_loss import loss_of_margin

# Softmax temperature of the weights, in mean held-out log-likelihood per bag.
TEMPERATURE = 0.02
# Pseudo-count for label smoothing. Platt's method uses twice this value, which makes log-odds too cautious
# for well-separated classes.
ADDED = 0.5


class Blend(NamedTuple):
    """Weighted settings of a family: the log-odds are the sum of ``weight * (slope * score + shift)``.

    Attributes
    ----------
    slope, shift : arrays of shape (n_settings,)
        Platt's calibration line for each setting: its log-odds are ``slope * score + shift``.
    weight : array of shape (n_settings,)
        Weight of each setting; the weights sum to 1.
    log_likelihood : array of shape (n_settings,)
        Mean log-likelihood of the held-out labels, for each setting.
    """

    slope: np.ndarray
    shift: np.ndarray
    weight: np.ndarray
    log_likelihood: np.ndarray

    def log_odds(self, scores: np.ndarray) -> np.ndarray:
        """Return the log-odds of bags from the scores of all settings, shape (n_settings, n_bags)."""
        return self.weight @ (self.slope[:, None] * scores + self.shift[:, None])


def log_likelihood(log_odds: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the weighted mean log probability of the labels, along the last axis of the log-odds."""
    sign = 2.0 * y - 1.0
    return -(loss_of_margin(sign * log_odds) @ weight) / weight.sum()


def blend(scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Blend:
    """Calibrate and weight the settings of a family, based on their held-out scores.

    Every setting is calibrated (`fit_lines`) and weighted by softmax(mean log-likelihood / 0.02). Settings
    that are nearly as good as the best therefore contribute as well. Their weighted average has a lower
    variance than the single best setting.

    Parameters
    ----------
    scores : array of shape (n_settings, n_bags)
        Scores of held-out bags.
    y, weight : arrays of shape (n_bags,)
        Labels (0 or 1) and weights.
    """
    slope, shift = fit_lines(scores, y, weight)
    likelihood = log_likelihood(slope[:, None] * scores + shift[:, None], y, weight)
    return Blend(slope, shift, softmax(likelihood / TEMPERATURE), likelihood)


def held_out_log_odds(
    scores: np.ndarray, y: np.ndarray, weight: np.ndarray, splits: list[Split]
) -> np.ndarray:
    """Return the log-odds of every bag from a blend fitted to the scores of the other folds.

    A blend fitted to all bags uses the bag's own label, so its log-odds would be too optimistic. The result
    is NaN for bags that no fold holds out.
    """
    is_held = np.isfinite(scores[0])
    parts = []
    for _, test in splits:
        others = is_held.copy()
        others[test] = False
        if len(np.unique(y[others])) < 2:  # there are no other folds, or a class is missing from them
            others = is_held
        made = blend(scores[:, others], y[others], weight[others])
        parts.append(made.log_odds(scores[:, test]))
    return mean_of_splits(len(y), splits, parts)


class Sharpening(NamedTuple):
    """Sharpening of the mean log-odds of the families: ``base + exponent * (mean - base)``.

    Attributes
    ----------
    base : float
        Prior log-odds of the second class.
    exponent : float
        Factor that multiplies the evidence, that is, the mean log-odds minus the prior log-odds.
    """

    base: float
    exponent: float

    def __call__(self, log_odds: np.ndarray | float) -> Any:
        """Return the sharpened log-odds."""
        return self.base + self.exponent * (log_odds - self.base)


def sharpening(log_odds: np.ndarray, y: np.ndarray, weight: np.ndarray, base: float) -> Sharpening:
    """Fit the evidence factor that maximizes the likelihood of the held-out labels.

    The mean of well-calibrated log-odds is too cautious if the families use different evidence: for
    independent evidence, the sum would be correct. The class prior is not multiplied by the factor, because
    all families include it and a sum would count it several times. Labels are smoothed as in Platt's method,
    with half of its pseudo-count.
    """
    target = platt_targets(y, weight, ADDED)
    both = np.concatenate([log_odds, log_odds]) - base
    labels = np.repeat([1, 0], len(y))
    counts = np.concatenate([weight * target, weight * (1.0 - target)])
    return Sharpening(base, fit_exponent(both, labels, counts, base))
