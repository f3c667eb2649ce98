"""Calibration inside a fit: from scores of bags that were held out to probabilities that may be trusted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit

from bagwise.bags import Bags
from bagwise.base import Training
from bagwise.checkpoints import Checkpoint, cell_of
from bagwise.exceptions import warn_user
from bagwise.folds import bag_folds
from bagwise.solvers.interrupt import raise_if_stopped

_FOLDS = 5
# Exponents are looked for between these; the least still keeps the order of probabilities.
_LEAST, _LARGEST = 1e-9, 1e3
# A score beyond this is taken as this: certainty that may be wrong has no likelihood.
_MOST_CERTAIN = 1e12


def held_out_scores(
    training: Training,
    fit_and_score: Callable[[Training, Bags, Checkpoint | None], np.ndarray],
    checkpoint: Checkpoint | None = None,
) -> np.ndarray:
    """Score every bag by a model that has not learned from it, over five folds with both classes in each.

    Parameters
    ----------
    training : Training
        All bags of the fit.
    fit_and_score : callable
        ``(training, bags, checkpoint)``: fits a model to the first and scores the second, a number per bag;
        the third is a place for the fit.
    checkpoint : Checkpoint, optional
        Keeps the scores of every fold.

    Returns
    -------
    array of shape (n_bags,)
        The folds, and with them the scores, are the same for the same bags.
    """
    scores = np.empty(len(training.y))
    splits = bag_folds(_FOLDS, training, None, seed=0, remedy="Fit without calibrate=True.")
    for number, (train, test) in enumerate(splits):
        part = Training(training.bags[train], training.y[train], training.weight[train])
        held = training.bags[test]
        name = f"held-out scores of fold {number + 1}"
        place = None if checkpoint is None else checkpoint.within(name)
        scores[test] = cell_of(checkpoint, name, fit_and_score, part, held, place)
        raise_if_stopped()
    return scores


def fit_exponent(log_odds: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """Find a > 0 that makes labels most probable under P = sigma(a * log-odds).

    The likelihood is concave in a. Where the log-odds say nothing of the labels, or the opposite, the least
    a is the answer: all probabilities near a half, none of them exactly.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.calibration import fit_exponent
    >>> y = np.array([1, 1, 1, 0, 0, 0, 0, 1])  # three of four calls are right
    >>> round(fit_exponent(np.array([10.0, 10, 10, 10, -10, -10, -10, -10]), y, np.ones(8)), 3)
    0.11
    """
    agreement = np.where(y == 1, 1.0, -1.0) * np.clip(log_odds, -_MOST_CERTAIN, _MOST_CERTAIN)

    def loss(log_exponent: float) -> float:
        return float(weight @ np.logaddexp(0.0, -np.exp(log_exponent) * agreement)) / weight.sum()

    # Over orders of magnitude the loss has flat ends, on which a search would rest: begin at the best.
    grid = np.linspace(np.log(_LEAST), np.log(_LARGEST), 61)
    best = int(np.argmin([loss(value) for value in grid]))
    low, high = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
    found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-8})
    return float(np.exp(found.x))


def fit_threshold(scores: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Find the threshold t and the exponent a > 0 of P = sigma(a (score - t)) that make labels most probable.

    Labels count as Platt (1999) has them, (n + 1) / (n + 2) and 1 / (n + 2) in place of 1 and 0, so that
    scores without an error do not make a infinite. Where high scores do not speak for the positive class at
    all, a warning says so, and the threshold stays at zero.

    Returns
    -------
    threshold, exponent : float
    """
    n_negative, n_positive = np.bincount(y, weights=weight, minlength=2)
    target = np.where(y == 1, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    share = weight / weight.sum()
    middle = float(share @ scores)
    spread = float(np.sqrt(share @ (scores - middle) ** 2)) or 1.0
    z = (scores - middle) / spread

    def loss(line: np.ndarray) -> tuple[float, np.ndarray]:
        log_odds = line[0] * z + line[1]
        error = share * (expit(log_odds) - target)
        value = share @ (np.logaddexp(0.0, log_odds) - target * log_odds)
        return float(value), np.array([error @ z, error.sum()])

    slope, shift = minimize(loss, np.zeros(2), jac=True, method="BFGS", options={"gtol": 1e-9}).x
    if not slope > _LEAST:
        warn_user(
            "calibrate=True found no threshold: scores of held-out bags are no higher for positive bags than "
            "for negative ones, so that the model has learned nothing that holds. The threshold stays at 0."
        )
        return 0.0, _LEAST
    return middle - spread * float(shift / slope), float(slope / spread)
