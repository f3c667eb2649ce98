"""Basis functions and features for the methods for positive and unlabeled bags."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import svd
from sklearn.cluster import KMeans

from bagwise.data.bags import Bags
from bagwise.similarity import InstanceKernel, bag_statistics, require_memory, set_kernel, statistic_kernel
from bagwise.similarity.centred import RisingPolynomial, far_origin
from bagwise.solvers.rows import DenseRows, RowCache

# If the Gram matrix of the unlabeled bags is larger than this, its rows are computed on demand.
_DENSE_BYTES = 2**30

# With all bags as centers, the cost grows with the cube of their number.
_MOST_CENTERS = 5000


@dataclass(frozen=True)
class BagBasis:
    """Basis functions of a bag: ``sqrt(weight of the center) * k(X, center)`` for every center.

    A center of weight two is equivalent to two equal centers with separate coefficients.

    Parameters
    ----------
    kernel : {"minimax", "mean", "set"} or callable
        "minimax" is ``(s(X)'s(Z) / (2 n_features) + 1) ** degree``, where s(X) contains the minimum and
        maximum of every feature. "mean" uses the means instead. "set" averages the polynomial over all pairs
        of instances. A callable ``kernel(bags, other)`` returns the kernel matrix of two `Bags`. If the
        centers are far from the origin, each polynomial basis function is reduced by its value at a point
        between the centers; this subtracts a constant per center.
    degree : int
        Degree of the polynomial; ignored for a callable.
    centers : Bags
        The centers, with the same scaling as the bags.
    weight : array of shape (n_centers,)
        Weights of the centers.
    n_features : int or None
        Number of features that are not constant in training; None for all.
    """

    kernel: str | Callable[..., Any]
    degree: int
    centers: Bags
    weight: np.ndarray
    n_features: int | None = None

    def __call__(self, bags: Bags) -> np.ndarray:
        """Return the features of bags, shape (n_bags, n_centers)."""
        require_memory(len(bags), len(self.centers), "bags and centers")
        return self._kernel_matrix(bags) * np.sqrt(self.weight)

    def _kernel_matrix(self, bags: Bags) -> np.ndarray:
        if callable(self.kernel):
            matrix = np.asarray(self.kernel(bags, self.centers), dtype=np.float64)
            if matrix.shape != (len(bags), len(self.centers)) or not np.isfinite(matrix).all():
                raise ValueError(
                    "kernel(bags, other) must return a finite number for every pair of bags, shape "
                    f"{(len(bags), len(self.centers))}; it returned an array of shape {matrix.shape}."
                )
            return matrix
        # Dividing by the number of statistics keeps the kernel of scaled features within [1, 2 ** degree].
        n_statistics = (self.n_features or bags.n_features) * (2 if self.kernel == "minimax" else 1)
        parameters = ("poly", 1.0 / n_statistics, self.degree, 1.0)
        polynomial = InstanceKernel(*parameters)
        center_vectors = (
            self.centers.instances if self.kernel == "set" else bag_statistics(self.centers, self.kernel)
        )
        origin = far_origin(center_vectors)
        if origin is not None:
            polynomial = RisingPolynomial(*parameters, origin=origin)
        if self.kernel == "set":
            return set_kernel(bags, self.centers, kernel=polynomial)
        return statistic_kernel(bags, self.centers, statistic=self.kernel, kernel=polynomial)


@dataclass(frozen=True)
class InstanceBasis:
    """Basis functions of an instance: ``exp(-gamma |x - center|^2)`` for every center.

    Parameters
    ----------
    gamma : float
        Parameter of the Gaussian.
    centers : array of shape (n_centers, n_features) or CSR matrix
        The centers, with the same scaling as the instances.
    """

    gamma: float
    centers: Any

    def __call__(self, bags: Bags) -> np.ndarray:
        """Return the features of all instances of bags, shape (n_instances, n_centers)."""
        require_memory(bags.n_instances, self.centers.shape[0], "instances and centers")
        return InstanceKernel("rbf", self.gamma)(bags.instances, self.centers)


def choose_centers(
    centers: Any, n_centers: int, bags: Bags, kernel: Any, rng: np.random.RandomState
) -> np.ndarray:
    """Choose bags as centers and return their indices in ascending order.

    "random" draws without replacement. "kmeans" clusters bag statistics and chooses the bag nearest to the
    mean of every cluster.
    """
    n = len(bags)
    if centers == "all":
        if n > _MOST_CENTERS:
            raise ValueError(
                f'centers="all" would take hours for {n:,} bags; for more than {_MOST_CENTERS:,} bags use '
                'centers="random" or centers="kmeans", with n_centers=500.'
            )
        return np.arange(n)
    if n_centers >= n:
        return np.arange(n)
    if centers == "random":
        return np.sort(rng.permutation(n)[:n_centers])
    vectors = bag_statistics(bags, "minimax" if kernel == "minimax" else "mean")
    # With equal bags there are fewer distinct points than clusters, and k-means would warn.
    n_clusters = min(n_centers, len(np.unique(vectors, axis=0)))
    clusters = KMeans(n_clusters, n_init=1, random_state=rng).fit(vectors)
    distance = ((vectors - clusters.cluster_centers_[clusters.labels_]) ** 2).sum(axis=1)
    order = np.lexsort((distance, clusters.labels_))
    _, first = np.unique(clusters.labels_[order], return_index=True)
    return np.sort(order[first])


class PUFeatures:
    """Features of positive and of unlabeled bags, centered by the mean over the unlabeled bags.

    Centering loses no information, because a constant term absorbs the mean: the intercept of a score, or the
    constant of a density ratio. It preserves the precision of kernels with nearly constant values.

    Parameters
    ----------
    positive, unlabeled : arrays of shape (n_positive, n_centers) and (n_unlabeled, n_centers)
        The features.
    positive_weight, unlabeled_weight : arrays
        Weights of the bags; a weight of two is equivalent to two copies.

    Attributes
    ----------
    mean : array of shape (n_centers,)
        The weighted mean over unlabeled bags.
    positive, unlabeled : arrays
        The centered features.
    positive_share, unlabeled_share : arrays
        The weights, normalized to sum to one for each kind of bag.
    n_positive, n_unlabeled : float
        Effective numbers of bags, according to their weights.
    shift : array of shape (n_centers,)
        Mean of the positive bags minus mean of the unlabeled bags.
    """

    n_positive: float
    n_unlabeled: float
    positive_share: np.ndarray
    unlabeled_share: np.ndarray
    mean: np.ndarray
    positive: np.ndarray
    unlabeled: np.ndarray
    shift: np.ndarray

    def __init__(
        self,
        positive: np.ndarray,
        unlabeled: np.ndarray,
        positive_weight: np.ndarray,
        unlabeled_weight: np.ndarray,
    ):
        # Large weights count as copies, but a bag of weight 0.1 still counts as one bag.
        self.n_positive = max(float(positive_weight.sum()), len(positive_weight))
        self.n_unlabeled = max(float(unlabeled_weight.sum()), len(unlabeled_weight))
        self.positive_share = positive_weight / positive_weight.sum()
        self.unlabeled_share = unlabeled_weight / unlabeled_weight.sum()
        self.mean = self.unlabeled_share @ unlabeled
        self.positive = positive - self.mean
        self.unlabeled = unlabeled - self.mean
        self.shift = self.positive_share @ self.positive

    @cached_property
    def gram(self) -> DenseRows | RowCache:
        """Return inner products of the unlabeled bags' features, for the dual solver."""
        features = self.unlabeled
        if 8.0 * len(features) ** 2 <= _DENSE_BYTES:
            return DenseRows(features @ features.T)
        squares = np.einsum("ij,ij->i", features, features)
        return RowCache(lambda points: features[points] @ features.T, squares, max_bytes=_DENSE_BYTES)

    @cached_property
    def covariance(self) -> np.ndarray:
        """Return the covariance of the unlabeled bags' features, shape (n_centers, n_centers)."""
        half = np.sqrt(self.unlabeled_share)[:, None] * self.unlabeled
        return half.T @ half

    def is_graded(self, alpha: float) -> bool:
        """Return whether features are so large that rounding errors of their squares exceed the penalty."""
        largest = max(np.abs(part).max(initial=0.0) for part in (self.unlabeled, self.positive))
        return largest**2 * len(self.mean) > 1e10 * alpha

    @cached_property
    def turned(self) -> tuple[PUFeatures, np.ndarray]:
        """Return the features in their principal axes, and these axes, shape (n_centers, rank).

        This separates large and small components into different columns, so that a Cholesky factorization
        keeps the precision of the small ones.
        """
        n, stacked = len(self.unlabeled), np.vstack([self.unlabeled, self.positive])
        left, sizes, axes = svd(stacked, full_matrices=False)
        rank = max(1, int(np.count_nonzero(sizes > np.finfo(float).eps * max(stacked.shape) * sizes[0])))
        left = left[:, :rank] * sizes[:rank]
        return PUFeatures(left[n:], left[:n], self.positive_share, self.unlabeled_share), axes[:rank].T


def split_features(matrix: np.ndarray, y: np.ndarray, weight: np.ndarray) -> PUFeatures:
    """Split the rows of a feature matrix into those of positive and those of unlabeled bags."""
    positive = y == 1
    return PUFeatures(matrix[positive], matrix[~positive], weight[positive], weight[~positive])
