"""Bags drawn from the multi-instance mixture model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.special import logit
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
    """Draw bags from the multi-instance mixture model, with Gaussian classes.

    Every instance is positive with probability pi, its features come from the Gaussian of its
    class, and a bag is positive if it holds a positive instance::

        z_ij ~ Bernoulli(pi),   x_ij | z_ij ~ N(mean[z_ij], covariance[z_ij]),   y_i = max_j z_ij

    A bag of m instances is positive with probability 1 - (1 - pi)^m, so that large bags are almost
    all positive: to keep the labels balanced let `positive_rate` fall as `size` grows.

    Parameters
    ----------
    n_bags : int, default=100
        Number of bags.
    size : int, tuple (smallest, largest) or array of shape (n_bags,), default=(3, 8)
        Instances per bag: one number for all bags; a range, both ends included, from which every
        bag draws its own uniformly; or, as a list or array, the size of every bag.
    n_features : int, default=None
        Number of features; None means 2, or that of `means`.
    positive_rate : float in [0, 1], default=0.2
        The probability pi that an instance is positive.
    separation : float, default=3.0
        Euclidean distance between the class means, which lie on the diagonal, half of it on
        either side of the origin. With the default covariances and pi = 1/2 the best possible
        instance error is Phi(-separation / 2). Used only when `means` is None.
    means : array of shape (2, n_features), default=None
        The mean of the negative class, then that of the positive class.
    covariances : float, array (n_features, n_features) or (2, n_features, n_features), default=None
        A number v stands for v times the identity, one matrix serves both classes, two are
        those of the negative and the positive class. None means the identity.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw: the same seed gives the same bits.

    Returns
    -------
    data : Bunch
        `bags` (Bags); `y` (n_bags,) and `instance_y` (n_instances,), the true labels, 0 or 1;
        `means` (2, n_features), `covariances` (2, n_features, n_features) and `positive_rate` of
        the model; `log_odds` (n_instances,), log P(z=1 | x) - log P(z=0 | x) under it.

    References
    ----------
    Foulds and Smyth, "Multi-instance mixture models and semi-supervised learning", SDM 2011.

    Examples
    --------
    The synthetic data of that paper (section 8.1, small overlap):

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
    positive_rate = check_number("positive_rate", positive_rate, minimum=0, maximum=1)
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
    return Bunch(
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
        expected = "shape (2, n_features): the mean of the negative class, then of the positive"
        means = check_array("means", means, (2, None), expected=expected)
        return check_agreement("means", means, n_features)
    n_features = 2 if n_features is None else check_count("n_features", n_features, minimum=1)
    half = check_number("separation", separation, minimum=0) / (2 * np.sqrt(n_features))
    return np.repeat([[-half], [half]], n_features, axis=1)


def _read_covariances(covariances: Any, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the covariances (2, n_features, n_features) and their lower Cholesky factors."""
    expected = f"a number, one {n_features} x {n_features} matrix or two of them"
    square = (n_features, n_features)
    given = 1.0 if covariances is None else covariances
    covariances = check_array("covariances", given, (), square, (2, *square), expected=expected)
    if covariances.ndim == 0:
        covariances = covariances * np.eye(n_features)
    # A copy, so that a caller who writes to one class leaves the other alone.
    covariances = np.broadcast_to(covariances, (2, *square)).copy()
    for label, matrix in zip(("negative", "positive"), covariances, strict=True):
        # Cholesky reads only the lower triangle, so symmetry is a question of its own.
        if not np.allclose(matrix, matrix.T) or np.linalg.eigvalsh(matrix)[0] <= 0:
            raise ValueError(
                f"covariances of the {label} class are not a symmetric positive definite matrix; "
                f"expected {expected}."
            )
    return covariances, np.linalg.cholesky(covariances)


def _gaussian_log_density(X: np.ndarray, mean: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Return log N(x; mean, factor factor'), without the constant that both classes share."""
    whitened = solve_triangular(factor, (X - mean).T, lower=True)
    return -0.5 * np.square(whitened).sum(axis=0) - np.log(np.diag(factor)).sum()
