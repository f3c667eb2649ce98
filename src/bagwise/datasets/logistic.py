"""Simulated bags: instance labels from a logistic regression, and bag labels from instance labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.utils import Bunch, check_random_state

from bagwise._core.types import Seed
from bagwise._display.bunch import ShownBunch
from bagwise.data.bags import Bags
from bagwise.datasets._draw import (
    check_agreement,
    check_array,
    check_count,
    check_finite,
    draw_sizes,
    offsets_of,
)


def make_noisy_or_bags(
    n_bags: int = 100,
    *,
    size: int | tuple[int, int] | ArrayLike = 3,
    coef: ArrayLike | None = None,
    intercept: float = -2.0,
    n_features: int | None = None,
    n_informative: int = 2,
    random_state: Seed = None,
) -> Bunch:
    """Draw bags from multiple-instance logistic regression with the noisy-OR rule.

    The instance labels follow a logistic regression, and the bag label is their maximum::

        x_ij ~ N(0, I),   P(z_ij = 1 | x_ij) = sigma(intercept + x_ij . coef),   y_i = max_j z_ij

    Therefore, P(y_i = 0 | x) = prod_j (1 - P(z_ij = 1 | x_ij)), which is the noisy-OR rule. With the same
    seed, `make_count_bags` with ``labeler=1`` returns exactly the same data.

    Parameters
    ----------
    n_bags : int, default=100
        Number of bags.
    size : int, tuple (smallest, largest) or array of shape (n_bags,), default=3
        Number of instances per bag. An integer is used for all bags. A tuple is an inclusive range from which
        the sizes are drawn uniformly. A list or array contains the size of every bag.
    coef : array of shape (n_features,), default=None
        Weights of the features. The default is 1, -1, 1, ... for the first `n_informative` features and 0 for
        the others.
    intercept : float, default=-2.0
        Log-odds of an instance at the origin. With lower values, positive instances and positive bags are
        rarer.
    n_features : int, default=None
        Number of features. The default is the length of `coef`, or 3 without `coef`.
    n_informative : int, default=2
        Number of features with a nonzero weight. Only used without `coef`.
    random_state : int, RandomState instance or None, default=None
        Random seed or generator; the same seed produces identical data.

    Returns
    -------
    data : Bunch
        `bags` (Bags); `y` (n_bags,) and `instance_y` (n_instances,), the true labels, 0 or 1;
        `coef` (n_features,), `intercept`; `log_odds` (n_instances,), the log-odds of all instances.

    References
    ----------
    Chen et al., "Multiple-instance logistic regression with LASSO penalty", 2016.

    Examples
    --------
    The setting of Table I in the paper:

    >>> from bagwise.datasets import make_noisy_or_bags
    >>> data = make_noisy_or_bags(100, size=3, coef=[1, -1, 0], intercept=-2, random_state=0)
    >>> len(data.bags), data.bags[0].shape
    (100, (3, 3))
    >>> bool(data.y[0] == data.instance_y[:3].max())
    True
    """
    rng = check_random_state(random_state)
    data = _draw_logistic(n_bags, size, coef, intercept, n_features, n_informative, rng)
    data.y = np.maximum.reduceat(data.instance_y, data.bags.offsets[:-1])
    return data


def make_count_bags(
    n_bags: int = 100,
    *,
    size: int | tuple[int, int] | ArrayLike = (3, 8),
    labeler: int | ArrayLike | Callable[..., Any] = 2,
    coef: ArrayLike | None = None,
    intercept: float = -1.0,
    n_features: int | None = None,
    n_informative: int = 2,
    random_state: Seed = None,
) -> Bunch:
    """Draw bags whose label depends on the number of their positive instances.

    The instance labels follow a logistic regression. The probability of a positive bag label is a function
    phi, the labeler, of the number of positive instances::

        x_ij ~ N(0, I),   P(z_ij = 1 | x_ij) = sigma(intercept + x_ij . coef)
        n_i = sum_j z_ij,   y_i ~ Bernoulli(phi(n_i))

    Parameters
    ----------
    n_bags : int, default=100
        Number of bags.
    size : int, tuple (smallest, largest) or array of shape (n_bags,), default=(3, 8)
        Number of instances per bag. An integer is used for all bags. A tuple is an inclusive range from which
        the sizes are drawn uniformly. A list or array contains the size of every bag.
    labeler : int, array or callable, default=2
        With an integer k, a bag is positive if it contains at least k positive instances. With an array,
        ``labeler[n]`` is the probability that a bag with n positive instances is positive, for every n from
        0 to the largest size. A callable ``labeler(n, m)`` receives the counts and the sizes of all bags as
        arrays and returns the probabilities.
    coef : array of shape (n_features,), default=None
        Weights of the features. The default is 1, -1, 1, ... for the first `n_informative` features and 0 for
        the others.
    intercept : float, default=-1.0
        Log-odds of an instance at the origin. With higher values, positive instances are more frequent.
    n_features : int, default=None
        Number of features. The default is the length of `coef`, or 3 without `coef`.
    n_informative : int, default=2
        Number of features with a nonzero weight. Only used without `coef`.
    random_state : int, RandomState instance or None, default=None
        Random seed or generator; the same seed produces identical data.

    Returns
    -------
    data : Bunch
        `bags` (Bags); `y` (n_bags,) and `instance_y` (n_instances,), the true labels, 0 or 1;
        `coef` (n_features,), `intercept`; `log_odds` (n_instances,), the log-odds of all instances; `counts`
        (n_bags,), the number n of positive instances; `label_proba` (n_bags,), P(y=1 | n).

    References
    ----------
    Pham, Raich, Fern, Wong and Guan, "Discriminative probabilistic framework for generalized
    multi-instance learning".

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.datasets import make_count_bags
    >>> data = make_count_bags(50, labeler=2, random_state=0)
    >>> np.array_equal(data.y, data.counts >= 2)
    True
    >>> vote = make_count_bags(50, labeler=lambda n, m: n / m, random_state=0)
    >>> np.array_equal(vote.label_proba, vote.counts / vote.bags.sizes)
    True
    """
    rng = check_random_state(random_state)
    data = _draw_logistic(n_bags, size, coef, intercept, n_features, n_informative, rng)
    data.counts = np.add.reduceat(data.instance_y, data.bags.offsets[:-1])
    data.label_proba = _label_proba(labeler, data.counts, data.bags.sizes)
    # Uniform draws are in [0, 1), so probabilities of exactly 0 and 1 (all thresholds) are handled correctly.
    data.y = (rng.random_sample(data.counts.size) < data.label_proba).astype(np.int64)
    return data


def _draw_logistic(
    n_bags: int,
    size: int | tuple[int, int] | ArrayLike,
    coef: ArrayLike | None,
    intercept: float,
    n_features: int | None,
    n_informative: int,
    rng: np.random.RandomState,
) -> Bunch:
    """Draw standard normal instances and their labels from a logistic regression."""
    n_bags = check_count("n_bags", n_bags, minimum=1)
    intercept = check_finite("intercept", intercept)
    coef = _read_coef(coef, n_features, n_informative)
    offsets = offsets_of(draw_sizes(n_bags, size, rng))
    X = rng.standard_normal((offsets[-1], coef.size))
    log_odds = intercept + X @ coef
    z = (rng.random_sample(log_odds.size) < expit(log_odds)).astype(np.int64)
    return ShownBunch(bags=Bags(X, offsets), instance_y=z, coef=coef, intercept=intercept, log_odds=log_odds)


def _read_coef(coef: ArrayLike | None, n_features: int | None, n_informative: int) -> np.ndarray:
    if coef is not None:
        coef = check_array("coef", coef, (None,), expected="one weight per feature")
        return check_agreement("coef", coef, n_features)
    n_features = 3 if n_features is None else check_count("n_features", n_features, minimum=1)
    n_informative = check_count("n_informative", n_informative, minimum=0, maximum=n_features)
    coef = np.zeros(n_features)
    coef[:n_informative] = 1.0
    coef[1:n_informative:2] = -1.0
    return coef


def _label_proba(labeler: Any, counts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return P(y=1 | n) for every bag, from a threshold, a table or a function."""
    if callable(labeler):
        proba = np.asarray(labeler(counts, sizes), dtype=np.float64)
        if proba.shape not in ((), counts.shape):
            raise ValueError(
                f"labeler returned an array of shape {proba.shape}; expected one probability for each of "
                f"the {counts.size} bags, computed from the arrays of counts and sizes."
            )
        _refuse_improbable("labeler returned", proba)
        return np.array(np.broadcast_to(proba, counts.shape))
    if np.ndim(labeler) == 0:
        return (counts >= check_count("labeler", labeler, minimum=1)).astype(np.float64)
    expected = "one probability for every count from 0 to the largest bag size"
    table = check_array("labeler", labeler, (None,), expected=expected)
    if table.size <= sizes.max():
        raise ValueError(
            f"labeler has {table.size} entries, but the largest bag has {sizes.max()} instances; "
            f"expected {expected}, {sizes.max() + 1} in total."
        )
    _refuse_improbable("labeler contains", table)
    return table[counts]


def _refuse_improbable(subject: str, proba: np.ndarray) -> None:
    # This form of the condition also rejects NaN.
    if not ((proba >= 0) & (proba <= 1)).all():
        raise ValueError(f"{subject} values outside [0, 1]; expected probabilities.")
