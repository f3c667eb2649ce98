"""Simulated bags from the multi-instance mixture model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.special import logit
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


def make_mixture_bags(
    n_bags: int = 100,
    *,
    size: int | tuple[int, int] | ArrayLike = (3, 8),
    n_features: int | None = None,
    positive_rate: float = 0.2,
    separation: float = 3.0,
    means: ArrayLike | None = None,
    covariances: float | ArrayLike | None = None,
    random_state: Seed = None,
) -> Bunch:
    """Draw bags from the multi-instance mixture model with Gaussian classes.

    Every instance is positive with probability pi, and its features are drawn from the Gaussian of its
    class. A bag is positive if it contains a positive instance::

        z_ij ~ Bernoulli(pi),   x_ij | z_ij ~ N(mean[z_ij], covariance[z_ij]),   y_i = max_j z_ij

    A bag of m instances is positive with probability 1 - (1 - pi)^m, so nearly all large bags are positive.
    For balanced labels, decrease `positive_rate` if you increase `size`.

    Parameters
    ----------
    n_bags : int, default=100
        Number of bags.
    size : int, tuple (smallest, largest) or array of shape (n_bags,), default=(3, 8)
        Number of instances per bag. An integer is used for all bags. A tuple is an inclusive range from which
        the sizes are drawn uniformly. A list or array contains the size of every bag.
    n_features : int, default=None
        Number of features. The default is the number of features of `means`, or 2 without `means`.
    positive_rate : float in [0, 1], default=0.2
        Probability pi that an instance is positive.
    separation : float, default=3.0
        Euclidean distance between the class means, which are on the diagonal, symmetric around the origin.
        With the default covariances and pi = 1/2, the lowest possible instance error is
        Phi(-separation / 2). Only used without `means`.
    means : array of shape (2, n_features), default=None
        Means of the negative and the positive class.
    covariances : float, array (n_features, n_features) or (2, n_features, n_features), default=None
        A number v represents v times the identity matrix. A single matrix is used for both classes. Two
        matrices are used for the negative and the positive class. The default is the identity matrix.
    random_state : int, RandomState instance or None, default=None
        Random seed or generator; the same seed produces identical data.

    Returns
    -------
    data : Bunch
        `bags` (Bags); `y` (n_bags,) and `instance_y` (n_instances,), the true labels, 0 or 1;
        `means` (2, n_features), `covariances` (2, n_features, n_features) and `positive_rate` of the model;
        `log_odds` (n_instances,), the true log P(z=1 | x) - log P(z=0 | x).

    References
    ----------
    Foulds and Smyth, "Multi-instance mixture models and semi-supervised learning", SDM 2011.

    Examples
    --------
    The synthetic data of the paper (section 8.1, small overlap):

    >>> from bagwise.datasets import make_mixture_bags
    >>> data = make_mixture_bags(
    ...     100, size=5, means=[[5, 5], [0, 0]], covariances=5.0, random_state=0
    ... )
    >>> data.bags.instances.shape
    (500, 2)
    >>> bool(data.y[0] == data.instance_y[:5].max())
    True
    """
    n_bags = check_count("n_bags", n_bags, minimum=1)
    positive_rate = check_finite("positive_rate", positive_rate, minimum=0, maximum=1)
    means = _read_means(means, n_features, separation)
    covariances, factors = _read_covariances(covariances, means.shape[1])
    rng = check_random_state(random_state)

    sizes = draw_sizes(n_bags, size, rng)
    n_instances = int(sizes.sum())
    z = (rng.random_sample(n_instances) < positive_rate).astype(np.int64)
    X = rng.standard_normal((n_instances, means.shape[1]))
    for label in (0, 1):
        members = z == label
        X[members] = means[label] + X[members] @ factors[label].T

    offsets = offsets_of(sizes)
    log_density = [_gaussian_log_density(X, means[k], factors[k]) for k in (0, 1)]
    return ShownBunch(
        bags=Bags(X, offsets),
        y=np.maximum.reduceat(z, offsets[:-1]),
        instance_y=z,
        means=means,
        covariances=covariances,
        positive_rate=positive_rate,
        log_odds=logit(positive_rate) + log_density[1] - log_density[0],
    )


def _read_means(means: ArrayLike | None, n_features: int | None, separation: float) -> np.ndarray:
    if means is not None:
        expected = "shape (2, n_features): the means of the negative and the positive class"
        means = check_array("means", means, (2, None), expected=expected)
        return check_agreement("means", means, n_features)
    n_features = 2 if n_features is None else check_count("n_features", n_features, minimum=1)
    half = check_finite("separation", separation, minimum=0) / (2 * np.sqrt(n_features))
    return np.repeat([[-half], [half]], n_features, axis=1)


def _read_covariances(covariances: Any, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the covariances (2, n_features, n_features) and their lower Cholesky factors."""
    expected = f"a number, or one or two matrices of shape {n_features} x {n_features}"
    square = (n_features, n_features)
    values = 1.0 if covariances is None else covariances
    covariances = check_array("covariances", values, (), square, (2, *square), expected=expected)
    if covariances.ndim == 0:
        covariances = covariances * np.eye(n_features)
    # Copy the array, because writing to one class must not change the other class.
    covariances = np.broadcast_to(covariances, (2, *square)).copy()
    for label, matrix in zip(("negative", "positive"), covariances, strict=True):
        # Cholesky only reads the lower triangle, so symmetry must be checked separately.
        if not np.allclose(matrix, matrix.T) or np.linalg.eigvalsh(matrix)[0] <= 0:
            raise ValueError(
                f"covariances for the {label} class must be a symmetric positive definite matrix; "
                f"expected {expected}."
            )
    return covariances, np.linalg.cholesky(covariances)


def _gaussian_log_density(X: np.ndarray, mean: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Return log N(x; mean, factor factor'), up to a constant that is equal for both classes."""
    whitened = solve_triangular(factor, (X - mean).T, lower=True)
    return -0.5 * np.square(whitened).sum(axis=0) - np.log(np.diag(factor)).sum()
