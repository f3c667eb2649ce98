"""The log loss of a bag: of log-odds, and of probabilities. Callers weigh bags, and take sums or means."""

from __future__ import annotations

import numpy as np


def loss_of_margin(margin: np.ndarray) -> np.ndarray:
    """Return minus the log probability of a label, ``log(1 + exp(-margin))``.

    Parameters
    ----------
    margin : array
        Log-odds of the label: those of the positive class, with the sign changed where it is the other one.
    """
    return np.logaddexp(0.0, -margin)


def log_probability(
    probability: np.ndarray, codes: np.ndarray, *, least: float = float(np.finfo(float).eps)
) -> np.ndarray:
    """Return the log probability of the label of every bag.

    Parameters
    ----------
    probability : array of shape (n_bags, n_classes)
        The probability of every class. Both columns of two classes are needed: 1 - P takes what is only
        very probable for certain.
    codes : array of shape (n_bags,)
        The index of every bag's label.
    least : float
        Probabilities are clipped to [least, 1 - least]. By default, as scikit-learn does it: a bag whose
        label had a probability of zero does not make a mean infinite. With 0, it does.
    """
    chosen = np.clip(probability[np.arange(len(codes)), codes], least, 1.0 - least)
    with np.errstate(divide="ignore"):
        return np.log(chosen)
