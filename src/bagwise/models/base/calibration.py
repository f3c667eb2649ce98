"""Calibration inside a fit: calibrated probabilities from the scores of held-out bags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit

from bagwise._core.checkpoint import NO_CHECKPOINT, CheckpointLocation
from bagwise.exceptions import warn_user
from bagwise.models.base.folds import bag_folds
from bagwise.models.base.held_out import cross_predict
from bagwise.models.base.labels import Training
from bagwise.models.base.log_loss import loss_of_margin

_FOLDS = 5
# Range of the exponent; the smallest exponent still preserves the order of the probabilities.
_LEAST, _LARGEST = 1e-9, 1e3
# Newton's method: maximum number of steps, gradient tolerance, and a ridge that keeps the steps finite.
_STEPS, _GRADIENT, _RIDGE = 100, 1e-10, 1e-12
# Increases of the mean log loss up to this value are rounding errors.
_ROUNDING = 1e-14
# Scores whose standard deviation, relative to the largest score, is smaller are treated as equal.
_EQUAL = 1e-10
# Scores are clipped to this size, because an infinite score for the wrong class would have likelihood zero.
_MOST_CERTAIN = 1e12


def held_out_scores(
    model: Any,
    training: Training,
    fit: Callable[..., Any],
    score: Callable[[Any, Any], np.ndarray],
    checkpoint: CheckpointLocation = NO_CHECKPOINT,
) -> np.ndarray:
    """Return held-out scores of all bags from five folds, each with both classes.

    Parameters
    ----------
    model : estimator
        A clone is fitted to the training bags of every fold.
    training : Training
        All training bags.
    fit : callable
        ``(clone, bags, y, sample_weight)``, and ``checkpoint`` if it is used: fits a clone, without
        calibration, and returns it.
    score : callable
        ``(fitted, bags)``: returns one score per bag.
    checkpoint : CheckpointLocation, optional
        Stores the scores of every fold.

    Returns
    -------
    array of shape (n_bags,)
        The folds are deterministic, so the scores are the same for the same bags.
    """
    bags, y, weight = training
    splits = bag_folds(_FOLDS, training, None, seed=0, remedy="Fit without calibrate=True.")
    held = cross_predict(
        model, bags, y, splits, outputs=[score], sample_weight=weight, fit=fit, checkpoint=checkpoint
    )
    return held.outputs[score]


def fit_exponent(log_odds: np.ndarray, y: np.ndarray, weight: np.ndarray, offset: float = 0.0) -> float:
    """Return the maximum-likelihood exponent a > 0 in P = sigma(offset + a * log-odds).

    The log-likelihood is concave in a. If the log-odds are uninformative or point in the wrong direction,
    the smallest a is returned: all probabilities are then close to sigma(offset), but still ordered.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.models.base.calibration import fit_exponent
    >>> y = np.array([1, 1, 1, 0, 0, 0, 0, 1])  # three of four predictions are correct
    >>> round(fit_exponent(np.array([10.0, 10, 10, 10, -10, -10, -10, -10]), y, np.ones(8)), 3)
    0.11
    """
    sign = np.where(y == 1, 1.0, -1.0)
    agreement = sign * np.clip(log_odds, -_MOST_CERTAIN, _MOST_CERTAIN)

    def loss(log_exponent: float) -> float:
        margin = sign * offset + np.exp(log_exponent) * agreement
        return float(weight @ loss_of_margin(margin)) / weight.sum()

    # A search would stop at the ends of the logarithmic scale, where the loss is flat: start at the best grid
    # value.
    grid = np.linspace(np.log(_LEAST), np.log(_LARGEST), 61)
    best = int(np.argmin([loss(value) for value in grid]))
    low, high = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
    optimum = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-8})
    return float(np.exp(optimum.x))


def platt_targets(y: np.ndarray, weight: np.ndarray, added: float = 1.0) -> np.ndarray:
    """Return smoothed labels: (n + 1) / (n + 2) and 1 / (n + 2) instead of 1 and 0 (Platt, 1999).

    With smoothed labels, the log-odds stay finite if the scores separate the classes. n is the weight of the
    bags of a class. `added` replaces the 1 in the formulas: it is the number of pseudo-bags with each label
    that are added to each class.
    """
    n_negative, n_positive = np.bincount(y, weights=weight, minlength=2)
    total = np.where(y == 1, n_positive, n_negative) + 2 * added
    return np.where(y == 1, 1.0 - added / total, added / total)


def fit_lines(scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the maximum-likelihood slope and shift of P = sigma(slope * score + shift) for every row.

    Labels are smoothed as proposed by Platt (`platt_targets`). If higher scores do not indicate the positive
    class, or if all scores are equal up to rounding, the slope is zero and the shift is the log-odds of the
    class frequency.

    Parameters
    ----------
    scores : array of shape (n_rows, n_bags)
        Scores of all bags; every row is calibrated separately.
    y, weight : arrays of shape (n_bags,)
        Labels 0 and 1, and weights.

    Returns
    -------
    slope, shift : arrays of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.models.base.calibration import fit_lines
    >>> slope, shift = fit_lines(np.array([[-3.0, -1.0, 1.0, 3.0]]), np.array([0, 1, 0, 1]), np.ones(4))
    >>> round(float(slope[0]), 3), bool(abs(shift[0]) < 1e-9)
    (0.206, True)
    """
    target = platt_targets(y, weight)
    share = weight / weight.sum()
    mean = scores @ share
    centred = scores - mean[:, None]
    spread = np.sqrt(centred**2 @ share)
    # Rounding differences between equal scores must not determine the order of the bags.
    is_flat = spread <= _EQUAL * np.abs(scores).max(axis=1)
    centred[is_flat], spread[is_flat] = 0.0, 1.0
    slope, shift = _newton(centred / spread[:, None], target, share)
    is_informative = slope > _LEAST
    slope, constant = np.where(is_informative, slope / spread, 0.0), logit(share @ target)
    return slope, np.where(is_informative, shift - slope * mean, constant)


def _newton(z: np.ndarray, target: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Minimize the convex cross entropy of sigma(slope z + shift) per row by damped Newton steps."""

    def loss(slope: np.ndarray, shift: np.ndarray) -> np.ndarray:
        log_odds = slope[:, None] * z + shift[:, None]
        return (loss_of_margin(-log_odds) - target * log_odds) @ share

    slope, shift = np.zeros(len(z)), np.zeros(len(z))
    value = loss(slope, shift)
    for _ in range(_STEPS):
        p = expit(slope[:, None] * z + shift[:, None])
        error, curvature = share * (p - target), share * p * (1.0 - p)
        by_slope, by_shift = (error * z).sum(axis=1), error.sum(axis=1)
        if max(np.abs(by_slope).max(), np.abs(by_shift).max()) < _GRADIENT:
            break
        a, b = (curvature * z * z).sum(axis=1) + _RIDGE, (curvature * z).sum(axis=1)
        c = curvature.sum(axis=1) + _RIDGE
        determinant = a * c - b * b
        steps = (c * by_slope - b * by_shift) / determinant, (a * by_shift - b * by_slope) / determinant
        length = np.ones(len(z))
        while True:
            after = loss(slope - length * steps[0], shift - length * steps[1])
            rising = (after > value + _ROUNDING) & (length > _LEAST)
            if not rising.any():
                break
            length[rising] *= 0.5
        slope, shift, value = slope - length * steps[0], shift - length * steps[1], after
    return slope, shift


def fit_threshold(scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Return the maximum-likelihood threshold t and exponent a > 0 of P = sigma(a (score - t)).

    Labels are smoothed as proposed by Platt (1999): see `fit_lines`. If higher scores do not indicate the
    positive class, the threshold stays at zero, and a warning is issued.

    Returns
    -------
    threshold, exponent : float
    """
    slope, shift = (float(values[0]) for values in fit_lines(scores[None], y, weight))
    if slope == 0.0:
        warn_user(
            "calibrate=True could not fit a threshold: held-out scores of positive bags are not higher than "
            "those of negative bags, so the model does not generalize. The threshold stays at 0."
        )
        return 0.0, _LEAST
    return -shift / slope, slope
