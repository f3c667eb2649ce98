"""The log loss of single bags, from log-odds or probabilities; callers apply weights and sum or average."""

from __future__ import annotations

import numpy as np


def loss_of_margin(margin: np.ndarray) -> np.ndarray:
    """Return minus the log probability of a label, ``log(1 + exp(-margin))``.

    Parameters
    ----------
    margin : array
        Log-odds of the label: the log-odds of the positive class, negated if the label is negative.
    """
    return np.logaddexp(0.0, -margin)


def log_probability(
    probability: np.ndarray, codes: np.ndarray, *, least: float = float(np.finfo(float).eps)
) -> np.ndarray:
    """Return the log probability of the label of every bag.

    Parameters
    ----------
    probability : array of shape (n_bags, n_classes)
        The probability of every class. Both columns of two classes are needed, because 1 - P rounds very
        small probabilities to zero.
    codes : array of shape (n_bags,)
        The index of every bag's label.
    least : float
        Probabilities are clipped to [least, 1 - least]. The default is that of scikit-learn: a bag whose
        label has probability zero then does not make the mean infinite. With 0 it does.
    """
    chosen = np.clip(probability[np.arange(len(codes)), codes], least, 1.0 - least)
    with np.errstate(divide="ignore"):
        return np.log(chosen)
