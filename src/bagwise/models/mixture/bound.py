"""Bag rates computed from instance rates: negative bags, and an upper bound on the Bayes error."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def negative_bag_rate(size: int | ArrayLike, *, positive_rate: float | ArrayLike) -> float | np.ndarray:
    """Return the probability that a bag is negative under the OR rule, P(-) = (1 - pi)^S.

    Parameters
    ----------
    size : int or array
        Number of instances of a bag, S.
    positive_rate : float or array
        Probability that an instance is positive, pi.

    Returns
    -------
    float or array
        The probability for every size and rate.

    References
    ----------
    J. Foulds and P. Smyth (2011), Multi-instance mixture models and semi-supervised learning, SDM.

    Examples
    --------
    >>> from bagwise import negative_bag_rate
    >>> negative_bag_rate([1, 5, 20], positive_rate=0.2).round(3)
    array([0.8  , 0.328, 0.012])
    """
    _check_rates(size, positive_rate=positive_rate)
    rate = (1 - np.asarray(positive_rate, dtype=np.float64)) ** np.asarray(size)
    return rate if np.ndim(rate) else float(rate)


def bayes_error_bound(
    size: int | ArrayLike,
    *,
    positive_rate: float | ArrayLike,
    false_positive_rate: float | ArrayLike,
    false_negative_rate: float | ArrayLike,
) -> float | np.ndarray:
    """Compute an upper bound on the Bayes error of bags from instance error rates, under the OR rule.

    Instances are positive with probability pi. The best instance classifier has the false positive rate e+
    and the false negative rate e-. Predict a bag of S instances as positive if any of its instances is
    predicted positive. This classifier has the error rate ::

        (1 - pi)^S + (pi e- + (1 - pi) (1 - e+))^S - 2 ((1 - pi) (1 - e+))^S

    which is an upper bound on the error rate of the best bag classifier. For S = 1, the bound is the instance
    error rate.

    Parameters
    ----------
    size : int or array
        Number of instances of a bag, S.
    positive_rate, false_positive_rate, false_negative_rate : float or array
        Rates of instances: pi, e+ and e-.

    Returns
    -------
    float or array
        The bound for every size and set of rates.

    Notes
    -----
    This is a closed form of the sum in section 6 of the paper. The instance error rate is
    e+ (1 - pi) + e- pi. The paper's text swaps the two priors here, but its bound is correct.

    References
    ----------
    J. Foulds and P. Smyth (2011), Multi-instance mixture models and semi-supervised learning, SDM.

    Examples
    --------
    >>> from bagwise.models.mixture import bayes_error_bound
    >>> rates = {"positive_rate": 0.2, "false_positive_rate": 0.01, "false_negative_rate": 0.1}
    >>> [round(float(bayes_error_bound(s, **rates)), 4) for s in (1, 5, 20)]
    [0.028, 0.0574, 0.0082]
    """
    _check_rates(
        size,
        positive_rate=positive_rate,
        false_positive_rate=false_positive_rate,
        false_negative_rate=false_negative_rate,
    )
    pi = np.asarray(positive_rate, dtype=np.float64)
    quiet = (1 - pi) * (1 - np.asarray(false_positive_rate))  # negative, and predicted negative
    called_negative = pi * np.asarray(false_negative_rate) + quiet
    sizes = np.asarray(size)
    bound = negative_bag_rate(sizes, positive_rate=pi) + called_negative**sizes - 2 * quiet**sizes
    return bound if np.ndim(bound) else float(bound)


def _check_rates(size: int | ArrayLike, **rates: float | ArrayLike) -> None:
    for name, value in rates.items():
        if not np.all((np.asarray(value) >= 0) & (np.asarray(value) <= 1)):
            raise ValueError(f"{name} must be between 0 and 1; got {value!r}.")
    if np.any(np.asarray(size) < 1):
        raise ValueError(f"size must be at least 1; got {size!r}.")
