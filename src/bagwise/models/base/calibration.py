"""Calibration inside a fit: from scores of bags that were held out to probabilities that may be trusted."""

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
# Exponents are looked for between these; the least still keeps the order of probabilities.
_LEAST, _LARGEST = 1e-9, 1e3
# Newton steps of a line, at most, the gradient at which they end, and what keeps them finite.
_STEPS, _GRADIENT, _RIDGE = 100, 1e-10, 1e-12
# A rise of a mean log loss that rounding makes.
_ROUNDING = 1e-14
# Scores whose deviation is a smaller share of the largest of them are equal but for rounding.
_EQUAL = 1e-10
# A score beyond this is taken as this: certainty that may be wrong has no likelihood.
_MOST_CERTAIN = 1e12


def held_out_scores(
    model: Any,
    training: Training,
    fit: Callable[..., Any],
    score: Callable[[Any, Any], np.ndarray],
    checkpoint: CheckpointLocation = NO_CHECKPOINT,
) -> np.ndarray:
    """Score every bag by a model that has not learned from it, over five folds with both classes in each.

    Parameters
    ----------
    model : estimator
        A clone of it is fitted to every fold.
    training : Training
        All bags of the fit.
    fit : callable
        ``(clone, bags, y, sample_weight)``, and ``checkpoint`` if there is one: fits a clone, without
        calibration, and returns it.
    score : callable
        ``(fitted, bags)``: scores bags, a number per bag.
    checkpoint : CheckpointLocation, optional
        Keeps the scores of every fold.

    Returns
    -------
    array of shape (n_bags,)
        The folds, and with them the scores, are the same for the same bags.
    """
    bags, y, weight = training
    splits = bag_folds(_FOLDS, training, None, seed=0, remedy="Fit without calibrate=True.")
    held = cross_predict(
        model, bags, y, splits, outputs=[score], sample_weight=weight, fit=fit, checkpoint=checkpoint
    )
    return held.outputs[score]


def fit_exponent(log_odds: np.ndarray, y: np.ndarray, weight: np.ndarray, offset: float = 0.0) -> float:
    """Find a > 0 that makes labels most probable under P = sigma(offset + a * log-odds).

    The likelihood is concave in a. Where the log-odds say nothing of the labels, or the opposite, the least
    a is the answer: all probabilities near sigma(offset), none of them exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.models.base.calibration import fit_exponent
    >>> y = np.array([1, 1, 1, 0, 0, 0, 0, 1])  # three of four calls are right
    >>> round(fit_exponent(np.array([10.0, 10, 10, 10, -10, -10, -10, -10]), y, np.ones(8)), 3)
    0.11
    """
    sign = np.where(y == 1, 1.0, -1.0)
    agreement = sign * np.clip(log_odds, -_MOST_CERTAIN, _MOST_CERTAIN)

    def loss(log_exponent: float) -> float:
        margin = sign * offset + np.exp(log_exponent) * agreement
        return float(weight @ loss_of_margin(margin)) / weight.sum()

    # Over orders of magnitude the loss has flat ends, on which a search would rest: begin at the best.
    grid = np.linspace(np.log(_LEAST), np.log(_LARGEST), 61)
    best = int(np.argmin([loss(value) for value in grid]))
    low, high = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
    found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-8})
    return float(np.exp(found.x))


def platt_targets(y: np.ndarray, weight: np.ndarray, added: float = 1.0) -> np.ndarray:
    """Give what labels count as: (n + 1) / (n + 2) and 1 / (n + 2) in place of 1 and 0 (Platt, 1999).

    So scores without an error do not make log-odds infinite; n is the weight of the bags of a class, and
    `added` what stands for 1 there: as if so many bags of each class had been seen with either label.
    """
    n_negative, n_positive = np.bincount(y, weights=weight, minlength=2)
    total = np.where(y == 1, n_positive, n_negative) + 2 * added
    return np.where(y == 1, 1.0 - added / total, added / total)


def fit_lines(scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find slope and shift of P = sigma(slope * score + shift) that make labels most probable, for every row.

    Labels count as Platt has them (`platt_targets`). Where high scores do not speak for the positive class,
    or all are equal but for rounding, the slope is zero, and the shift says how frequent that class is.

    Parameters
    ----------
    scores : array of shape (n_rows, n_bags)
        Several scores of every bag.
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
    middle = scores @ share
    centred = scores - middle[:, None]
    spread = np.sqrt(centred**2 @ share)
    # What rounding makes of equal scores would otherwise be taken for an order of the bags.
    is_flat = spread <= _EQUAL * np.abs(scores).max(axis=1)
    centred[is_flat], spread[is_flat] = 0.0, 1.0
    slope, shift = _newton(centred / spread[:, None], target, share)
    speaks = slope > _LEAST
    slope, constant = np.where(speaks, slope / spread, 0.0), logit(share @ target)
    return slope, np.where(speaks, shift - slope * middle, constant)


def _newton(z: np.ndarray, target: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Minimise the cross entropy of sigma(slope z + shift), which is convex, row by row: steps that fall."""

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
    """Find the threshold t and the exponent a > 0 of P = sigma(a (score - t)) that make labels most probable.

    Labels count as Platt (1999) has them (`fit_lines`). Where high scores do not speak for the positive class
    at all, a warning says so, and the threshold stays at zero.

    Returns
    -------
    threshold, exponent : float
    """
    slope, shift = (float(found[0]) for found in fit_lines(scores[None], y, weight))
    if slope == 0.0:
        warn_user(
            "calibrate=True found no threshold: scores of held-out bags are no higher for positive bags than "
            "for negative ones, so that the model has learned nothing that holds. The threshold stays at 0."
        )
        return 0.0, _LEAST
    return -shift / slope, slope
