"""What the methods for positive and unlabeled bags compute with: features of bags."""

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

# Beyond this many bytes rows of the matrix of unlabeled bags are computed when asked for.
_DENSE_BYTES = 2**30

# With all bags as centers the cost grows with their third power.
_MOST_CENTERS = 5000


@dataclass(frozen=True)
class BagBasis:
    """Basis functions of a bag: its kernel with every center, ``sqrt(weight of the center) * k(X, center)``.

    A center of weight two is thereby the same as two equal centers, each with a coefficient of its own.

    Parameters
    ----------
    kernel : {"minimax", "mean", "set"} or callable
        "minimax" is ``(s(X)'s(Z) / (2 n_features) + 1) ** degree`` with the minimum and maximum of every
        feature, "mean" the same of the means, "set" the mean over all pairs of instances. A callable
        ``kernel(bags, other)`` returns the matrix of two `Bags`. Where the centers lie far from the origin,
        values of a polynomial are counted from its value at a place amid them: a constant for each center.
    degree : int
        Degree of the polynomial; a callable has no use for it.
    centers : Bags
        The centers, scaled as the bags are.
    weight : array of shape (n_centers,)
        Weights of the centers.
    """

    kernel: str | Callable[..., Any]
    degree: int
    centers: Bags
    weight: np.ndarray

    def __call__(self, bags: Bags) -> np.ndarray:
        """Features of bags: shape (n_bags, n_centers)."""
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
        # Dividing by the number of features keeps the values of scaled features within [1, 2 ** degree].
        n_statistics = bags.n_features * (2 if self.kernel == "minimax" else 1)
        parameters = ("poly", 1.0 / n_statistics, self.degree, 1.0)
        polynomial = InstanceKernel(*parameters)
        own = self.centers.instances if self.kernel == "set" else bag_statistics(self.centers, self.kernel)
        origin = far_origin(own)
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
        The width.
    centers : array of shape (n_centers, n_features) or CSR matrix
        The centers, scaled as the instances are.
    """

    gamma: float
    centers: Any

    def __call__(self, bags: Bags) -> np.ndarray:
        """Features of all instances of bags: shape (n_instances, n_centers)."""
        require_memory(bags.n_instances, self.centers.shape[0], "instances and centers")
        return InstanceKernel("rbf", self.gamma)(bags.instances, self.centers)


def choose_centers(
    centers: Any, n_centers: int, bags: Bags, kernel: Any, rng: np.random.RandomState
) -> np.ndarray:
    """Choose bags as centers: their numbers, rising.

    "random" draws without replacement; "kmeans" takes the bags nearest to the means of clusters of the
    bags' statistics.
    """
    n = len(bags)
    if centers == "all":
        if n > _MOST_CENTERS:
            raise ValueError(
                f'centers="all" of {n:,} bags would take hours; beyond {_MOST_CENTERS:,} bags choose '
                'centers="random" or centers="kmeans", n_centers=500.'
            )
        return np.arange(n)
    if n_centers >= n:
        return np.arange(n)
    if centers == "random":
        return np.sort(rng.permutation(n)[:n_centers])
    vectors = bag_statistics(bags, "minimax" if kernel == "minimax" else "mean")
    # Equal bags make fewer clusters than asked for, which k-means would warn about.
    n_clusters = min(n_centers, len(np.unique(vectors, axis=0)))
    clusters = KMeans(n_clusters, n_init=1, random_state=rng).fit(vectors)
    distance = ((vectors - clusters.cluster_centers_[clusters.labels_]) ** 2).sum(axis=1)
    order = np.lexsort((distance, clusters.labels_))
    _, first = np.unique(clusters.labels_[order], return_index=True)
    return np.sort(order[first])


class PUFeatures:
    """Features of positive and of unlabeled bags, with the mean of the unlabeled ones taken away.

    A constant in a score (its intercept, and the constant of a density ratio) takes up the mean, so nothing
    is lost, and kernels whose values are all nearly equal keep their precision.

    Parameters
    ----------
    positive, unlabeled : arrays of shape (n_positive, n_centers) and (n_unlabeled, n_centers)
        The features.
    positive_weight, unlabeled_weight : arrays
        Weights of the bags, which say how often each is there.

    Attributes
    ----------
    mean : array of shape (n_centers,)
        The weighted mean over unlabeled bags.
    positive, unlabeled : arrays
        The features less that mean.
    positive_share, unlabeled_share : arrays
        The weights, adding up to one each.
    n_positive, n_unlabeled : float
        The numbers of bags, as the weights count them.
    shift : array of shape (n_centers,)
        The mean of positive bags less the mean of unlabeled ones.
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
        # How many bags there are: one of weight two is there twice, and one of weight 0.1 is still there.
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
        """Inner products of the unlabeled bags' features, for the dual solver."""
        features = self.unlabeled
        if 8.0 * len(features) ** 2 <= _DENSE_BYTES:
            return DenseRows(features @ features.T)
        squares = np.einsum("ij,ij->i", features, features)
        return RowCache(lambda points: features[points] @ features.T, squares, max_bytes=_DENSE_BYTES)

    @cached_property
    def covariance(self) -> np.ndarray:
        """Covariance of the unlabeled bags' features: shape (n_centers, n_centers)."""
        half = np.sqrt(self.unlabeled_share)[:, None] * self.unlabeled
        return half.T @ half

    def is_graded(self, alpha: float) -> bool:
        """Whether a penalty `alpha` drowns in the rounding of squared features, as far from the origin."""
        largest = max(np.abs(part).max(initial=0.0) for part in (self.unlabeled, self.positive))
        return largest**2 * len(self.mean) > 1e10 * alpha

    @cached_property
    def turned(self) -> tuple[PUFeatures, np.ndarray]:
        """The same features by their principal axes, and these axes: shape (n_centers, rank).

        Large and small features are then columns of their own, which a Cholesky factor keeps apart.
        """
        n, stacked = len(self.unlabeled), np.vstack([self.unlabeled, self.positive])
        left, sizes, axes = svd(stacked, full_matrices=False)
        rank = max(1, int(np.count_nonzero(sizes > np.finfo(float).eps * max(stacked.shape) * sizes[0])))
        left = left[:, :rank] * sizes[:rank]
        return PUFeatures(left[n:], left[:n], self.positive_share, self.unlabeled_share), axes[:rank].T

    def scores(self, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores of positive and unlabeled bags without an intercept."""
        return self.positive @ coef, self.unlabeled @ coef


def split_features(matrix: np.ndarray, y: np.ndarray, weight: np.ndarray) -> PUFeatures:
    """Features of the positive and of the unlabeled bags among the rows of a matrix."""
    positive = y == 1
    return PUFeatures(matrix[positive], matrix[~positive], weight[positive], weight[~positive])
