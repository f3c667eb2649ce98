"""From scores of held-out bags to log-odds, and from log-odds of many settings to one: the blend."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from bagwise.models.base.calibration import fit_exponent, fit_lines, platt_targets
from bagwise.models.base.folds import Split
from bagwise.models.base.log_loss import loss_of_margin

# Settings whose held-out bags are less probable by this, each, count e times less.
TEMPERATURE = 0.02
# Half of what Platt adds to labels: his one makes log-odds too cautious where classes are told apart well.
ADDED = 0.5


class Blend(NamedTuple):
    """The settings of a family as one: log-odds are the sum of ``weight (slope score + shift)``.

    Attributes
    ----------
    slope, shift : arrays of shape (n_settings,)
        Log-odds of a bag by each setting, from its score (Platt's).
    weight : array of shape (n_settings,)
        What each setting counts for, in all 1.
    log_likelihood : array of shape (n_settings,)
        Mean log probability of the label of a held-out bag.
    """

    slope: np.ndarray
    shift: np.ndarray
    weight: np.ndarray
    log_likelihood: np.ndarray

    def log_odds(self, scores: np.ndarray) -> np.ndarray:
        """Give what all settings say together, from the scores of each: shape (n_settings, n_bags)."""
        return self.weight @ (self.slope[:, None] * scores + self.shift[:, None])


def log_likelihood(log_odds: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Mean log probability of labels, bags counted by their weight; along the last axis of the log-odds."""
    sign = 2.0 * y - 1.0
    return -(loss_of_margin(sign * log_odds) @ weight) / weight.sum()


def blend(scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Blend:
    """Make one of the settings of a family, by what they say of bags that they have not seen.

    Every setting is calibrated (`fit_lines`), and its log-odds count by softmax(mean log-likelihood / 0.02).
    So settings that are nearly as good as the best share in the answer: an average of them is steadier than
    the one that happened to be best.

    Parameters
    ----------
    scores : array of shape (n_settings, n_bags)
        Of bags that were held out.
    y, weight : arrays of shape (n_bags,)
        Labels 0 and 1, and weights.
    """
    slope, shift = fit_lines(scores, y, weight)
    found = log_likelihood(slope[:, None] * scores + shift[:, None], y, weight)
    return Blend(slope, shift, softmax(found / TEMPERATURE), found)


def held_out_log_odds(
    scores: np.ndarray, y: np.ndarray, weight: np.ndarray, splits: list[Split]
) -> np.ndarray:
    """Give the log-odds of every bag by a blend that was made of the scores of the other folds.

    The blend of all bags knows their labels: it would flatter itself. NaN for bags that no fold holds out.
    """
    is_held = np.isfinite(scores[0])
    total, times = np.zeros(len(y)), np.zeros(len(y))
    for _, test in splits:
        others = is_held.copy()
        others[test] = False
        if len(np.unique(y[others])) < 2:  # one fold alone: there are no others to learn from
            others = is_held
        made = blend(scores[:, others], y[others], weight[others])
        total[test] += made.log_odds(scores[:, test])
        times[test] += 1
    return np.where(times > 0, total / np.maximum(times, 1), np.nan)


class Sharpening(NamedTuple):
    """From the mean log-odds of several families to those of all: ``base + exponent (mean - base)``.

    Attributes
    ----------
    base : float
        Log-odds of the second class before anything is known of a bag.
    exponent : float
        What the evidence beyond that is multiplied by.
    """

    base: float
    exponent: float

    def __call__(self, log_odds: np.ndarray | float) -> Any:
        """Sharpen log-odds."""
        return self.base + self.exponent * (log_odds - self.base)


def sharpening(log_odds: np.ndarray, y: np.ndarray, weight: np.ndarray, base: float) -> Sharpening:
    """Find the factor of the evidence that makes the labels of held-out bags most probable.

    The mean of log-odds that are right one by one is too cautious where they are right about different bags:
    of evidence that does not repeat itself the sum would be right. How frequent a class is is no such
    evidence: all families know it, and a sum would count it several times. So it stays out of the factor.
    Labels count as a little of both, half as much as Platt has it.
    """
    target = platt_targets(y, weight, ADDED)
    both = np.concatenate([log_odds, log_odds]) - base
    labels = np.repeat([1, 0], len(y))
    counts = np.concatenate([weight * target, weight * (1.0 - target)])
    return Sharpening(base, fit_exponent(both, labels, counts, base))
