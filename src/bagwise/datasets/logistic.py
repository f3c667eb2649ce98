"""Bags whose instances follow a logistic regression and whose label follows from theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.utils import Bunch, check_random_state

from bagwise._core.types import Seed
from bagwise.data.bags import Bags
from bagwise.datasets._draw import (
    check_agreement,
    check_array,
    check_count,
    check_number,
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
    """Draw bags from multiple-instance logistic regression: positive if any instance is.

    The labels of the instances follow a logistic regression and the bag takes their maximum::

        x_ij ~ N(0, I),   P(z_ij = 1 | x_ij) = sigma(intercept + x_ij . coef),   y_i = max_j z_ij

    so that P(y_i = 0 | x) = prod_j (1 - P(z_ij = 1 | x_ij)): the noisy-or. This is
    `make_count_bags` with ``labeler=1``, bit for bit.

    Parameters
    ----------
    n_bags : int, default=100
        Number of bags.
    size : int, tuple (smallest, largest) or array of shape (n_bags,), default=3
        Instances per bag: one number for all bags; a range, both ends included, from which every
        bag draws its own uniformly; or, as a list or array, the size of every bag.
    coef : array of shape (n_features,), default=None
        Weights of the features. None means 1, -1, 1, ... on the first `n_informative` features
        and 0 on the others.
    intercept : float, default=-2.0
        Log-odds of an instance at the origin; lower it to make positive instances, and with them
        positive bags, rarer.
    n_features : int, default=None
        Number of features; None means 3, or the length of `coef`.
    n_informative : int, default=2
        Number of features with a weight. Used only when `coef` is None.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw: the same seed gives the same bits.

    Returns
    -------
    data : Bunch
        `bags` (Bags); `y` (n_bags,) and `instance_y` (n_instances,), the true labels, 0 or 1;
        `coef` (n_features,), `intercept`; `log_odds` (n_instances,) of every instance.

    References
    ----------
    Chen et al., "Multiple-instance logistic regression with LASSO penalty", 2016.

    Examples
    --------
    The setting of Table I of that paper:

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
    """Draw bags whose label depends on how many of their instances are positive.

    The labels of the instances follow a logistic regression; the bag counts them and a labeler
    phi decides, for certain or by chance::

        x_ij ~ N(0, I),   P(z_ij = 1 | x_ij) = sigma(intercept + x_ij . coef)
        n_i = sum_j z_ij,   y_i ~ Bernoulli(phi(n_i))

    Parameters
    ----------
    n_bags : int, default=100
        Number of bags.
    size : int, tuple (smallest, largest) or array of shape (n_bags,), default=(3, 8)
        Instances per bag: one number for all bags; a range, both ends included, from which every
        bag draws its own uniformly; or, as a list or array, the size of every bag.
    labeler : int, array or callable, default=2
        A whole number k: the bag is positive if it holds at least k positive instances. An array:
        ``labeler[n]`` is the probability that a bag with n positive instances is positive, with an
        entry for every n from 0 to the largest size. A callable: ``labeler(n, m)`` receives
        the counts and the sizes of all bags as arrays and returns their probabilities.
    coef : array of shape (n_features,), default=None
        Weights of the features. None means 1, -1, 1, ... on the first `n_informative` features
        and 0 on the others.
    intercept : float, default=-1.0
        Log-odds of an instance at the origin; raise it to make positive instances more frequent.
    n_features : int, default=None
        Number of features; None means 3, or the length of `coef`.
    n_informative : int, default=2
        Number of features with a weight. Used only when `coef` is None.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw: the same seed gives the same bits.

    Returns
    -------
    data : Bunch
        `bags` (Bags); `y` (n_bags,) and `instance_y` (n_instances,), the true labels, 0 or 1;
        `coef` (n_features,), `intercept`; `log_odds` (n_instances,) of every instance; `counts`
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
    # Uniform draws lie in [0, 1), so probabilities of 0 and 1 (every threshold) are exact.
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
    intercept = check_number("intercept", intercept)
    coef = _read_coef(coef, n_features, n_informative)
    offsets = offsets_of(draw_sizes(n_bags, size, rng))
    X = rng.standard_normal((offsets[-1], coef.size))
    log_odds = intercept + X @ coef
    z = (rng.random_sample(log_odds.size) < expit(log_odds)).astype(np.int64)
    return Bunch(bags=Bags(X, offsets), instance_y=z, coef=coef, intercept=intercept, log_odds=log_odds)


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
    """Return P(y=1 | n) of every bag under a threshold, a table or a function."""
    if callable(labeler):
        proba = np.asarray(labeler(counts, sizes), dtype=np.float64)
        if proba.shape not in ((), counts.shape):
            raise ValueError(
                f"labeler returned the shape {proba.shape}; expected one probability for each of "
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
            f"labeler has {table.size} entries but the largest bag has {sizes.max()} instances; "
            f"expected {expected}, {sizes.max() + 1} in all."
        )
    _refuse_improbable("labeler holds", table)
    return table[counts]


def _refuse_improbable(what: str, proba: np.ndarray) -> None:
    # NaN fails both comparisons, so it is refused here too.
    if not ((proba >= 0) & (proba <= 1)).all():
        raise ValueError(f"{what} numbers outside [0, 1]; expected probabilities.")
