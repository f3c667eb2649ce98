"""Bags as sums of instance statistics per cluster or mixture component: VLAD and Fisher vectors."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.utils.validation import check_is_fitted

from bagwise._core.compiled.arrays import ALL_ROWS, readonly, refuse_other_widths
from bagwise._core.interrupt import interruptible
from bagwise._core.sklearn_private import Interval
from bagwise._core.types import Scale, Seed
from bagwise.data.bags import Bags
from bagwise.models.base import SCALE_CONSTRAINT, BagsLike, BagTransformer, Scaled, validated_fit
from bagwise.models.base.scaling import fit_scaler
from bagwise.models.embedding.instances import draw_dense_instances, n_different
from bagwise.similarity.statistics import dense_runs


class _Aggregate(Scaled, BagTransformer):
    """Base class of embeddings: sums over instances, signed square roots, and division by the norm."""

    scaler_: Any
    random_state: Any

    _expected_failed_checks = {
        "instance_order_is_irrelevant": "k-means draws its initial centers by instance index",
        "bag_order_is_irrelevant": "k-means draws its initial centers by instance index",
    }

    _streams = True

    @abstractmethod
    def _learn(self, X: np.ndarray) -> None:
        """Fit the clusters or the mixture to scaled instances."""

    @abstractmethod
    def _sums(self, X: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the sum or mean of the instance vectors of every bag: shape (n_bags, n_features_out)."""

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike | None = None) -> Self:
        """Fit to the instances of all bags.

        Parameters
        ----------
        X : Bags, ScannedBags, list of arrays, 3-D or 2-D array
            The training bags.
        y : ignored
            Present for compatibility with pipelines.

        Returns
        -------
        self
        """
        bags = self._read(X, reset=True)
        self.scaler_ = fit_scaler(self.scale, bags.blocks())
        instances = draw_dense_instances(self, bags)
        with interruptible(at_once=True):
            self._learn(self._scaled(Bags(instances, [0, len(instances)])).instances)
        return self

    def transform(self, X: BagsLike) -> np.ndarray:
        """Return the vector of every bag: shape (n_bags, n_features_out)."""
        return self._by_blocks(X, self._describe)

    def _describe(self, bags: Bags) -> np.ndarray:
        parts = dense_runs(self._scaled(bags).instances, bags.offsets)
        return _of_length_one(np.concatenate([self._sums(X, offsets) for X, offsets in parts]))


def _of_length_one(vectors: np.ndarray) -> np.ndarray:
    """Take signed square roots, and divide every row by its norm; rows of zeros do not change."""
    rooted = np.sign(vectors) * np.sqrt(np.abs(vectors))
    length = np.linalg.norm(rooted, axis=1, keepdims=True)
    return rooted / np.where(length > 0, length, 1.0)


class VLADEmbedding(_Aggregate):
    """Embed each bag as a VLAD vector: differences between its instances and the cluster centers.

    The instances of all training bags are clustered. Let c(x) be the cluster of an instance and m_k the
    center of cluster k. Cluster k contributes this part to the vector of bag i ::

        v_ik = sum_{j: c(x_ij) = k} (x_ij - m_k)

    The concatenated parts are transformed by a signed square root and divided by their norm (miVLAD). Unlike
    the counts of `ClusterEmbedding`, the vectors also contain the direction from the centers to the
    instances. A linear classifier on these vectors is usually sufficient. The embedding does not predict
    instances.

    Parameters
    ----------
    n_clusters : int, default=5
        Number of clusters, at most the number of distinct instances.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="standard"
        How the instances are scaled first.
    random_state : int, RandomState or None, default=None
        Seed of k-means, and of the random sample of large data.

    Attributes
    ----------
    clusterer_ : KMeans
        Fitted to the scaled instances.
    scaler_ : transformer or None
        The fitted `scale`.
    n_features_in_ : int
        Number of features of an instance.

    Notes
    -----
    Computing the vectors takes one pass, O(n_instances * n_features * n_clusters). Each vector has
    n_features * n_clusters entries. If the instances have more than 2**23 values in total, in memory or in
    files, a random sample with this number of values is clustered. CSR instances are converted to dense
    arrays a few bags at a time. The clusters can depend on the order of bags and instances, because k-means
    draws its initial centers by index.

    References
    ----------
    X.-S. Wei, J. Wu and Z.-H. Zhou (2017), Scalable algorithms for multi-instance learning, IEEE Transactions
    on Neural Networks and Learning Systems 28.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> from bagwise import VLADEmbedding, load_digit_bags, make_bag_pipeline
    >>> data = load_digit_bags(60, random_state=0)
    >>> VLADEmbedding(3, random_state=0).fit_transform(data.bags).shape
    (60, 192)
    """

    clusterer_: Any

    _parameter_constraints: dict[str, Any] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "scale": SCALE_CONSTRAINT,
        "random_state": ["random_state"],
    }

    def __init__(self, n_clusters: int = 5, *, scale: Scale = "standard", random_state: Seed = None):
        self.n_clusters = n_clusters
        self.scale = scale
        self.random_state = random_state

    def _learn(self, X: np.ndarray) -> None:
        n_clusters = n_different(X, self.n_clusters)
        self.clusterer_ = KMeans(n_clusters, n_init=3, random_state=self.random_state).fit(X)

    def _sums(self, X: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        centers, cluster = self.clusterer_.cluster_centers_, self.clusterer_.predict(X)
        residual = X - centers[cluster]
        parts = [
            np.add.reduceat(np.where((cluster == k)[:, None], residual, 0.0), offsets[:-1], axis=0)
            for k in range(len(centers))
        ]
        return np.hstack(parts)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return the names "cluster0_0", "cluster0_1", ...: the indices of the cluster and the feature."""
        check_is_fitted(self)
        n_clusters, n_features = self.clusterer_.cluster_centers_.shape
        names = [f"cluster{k}_{j}" for k in range(n_clusters) for j in range(n_features)]
        return np.array(names, dtype=object)


class FisherEmbedding(_Aggregate):
    """Embed each bag as a Fisher vector: gradients of a Gaussian mixture's log-likelihood for the bag.

    A mixture of K Gaussians with diagonal covariances is fitted to the instances of all training bags, or to
    their principal components if `pca` is set. The mixture has weights pi_k, means mu_k and standard
    deviations sigma_k. Let g_jk be the probability that instance j of a bag with n instances belongs to
    component k. The parts of the bag for component k are ::

        1/n sum_j (g_jk - pi_k)                            / sqrt(pi_k)
        1/n sum_j  g_jk (x_j - mu_k) / sigma_k             / sqrt(pi_k)
        1/n sum_j  g_jk [((x_j - mu_k) / sigma_k)^2 - 1]   / sqrt(2 pi_k)

    The concatenated parts are transformed by a signed square root and divided by their norm (miFV). A linear
    classifier is usually sufficient after it. Use it for large bags that differ in the distribution of their
    instances rather than in single instances. The cost is linear in the number of instances, and data in
    files are supported. It does not predict instances.

    Parameters
    ----------
    n_components : int, default=2
        Number K of mixture components, at most the number of distinct instances.
    pca : float, int or None, default=None
        Fraction of the variance that the principal components explain, the number of principal components,
        or None for the original features.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="standard"
        How the instances are scaled first.
    random_state : int, RandomState or None, default=None
        Seed of the mixture's initialization, and of the sample of large data.

    Attributes
    ----------
    varies_ : array of shape (n_features,)
        Mask of the features that are used: the features that vary, or all features if none varies.
    pca_ : PCA or None
        Principal components of the used features.
    mixture_ : GaussianMixture
        The fitted mixture.
    scaler_ : transformer or None
        The fitted `scale`.
    n_features_in_ : int
        Number of features of an instance.

    Notes
    -----
    Computing the vectors takes one pass, O(n_instances * n_features * n_axes). Each vector has (2 n_axes + 1)
    K entries, where n_axes is the number of principal components or features. If the instances have more than
    2**23 values in total, in memory or in files, principal components and mixture are fitted to a random
    sample with this number of values. CSR instances are converted to dense arrays a few bags at a time. The
    mixture can depend on the order of bags and instances, because it is initialized by k-means, which draws
    its initial centers by index.

    Features that are constant in all training instances are not used. The mixture would have the smallest
    allowed variance for such a feature, so if the feature varied in a new bag, it would dominate the bag's
    vector.

    References
    ----------
    X.-S. Wei, J. Wu and Z.-H. Zhou (2017), Scalable algorithms for multi-instance learning, IEEE Transactions
    on Neural Networks and Learning Systems 28.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> from bagwise import FisherEmbedding, load_digit_bags, make_bag_pipeline
    >>> data = load_digit_bags(60, random_state=0)
    >>> model = make_bag_pipeline(FisherEmbedding(1, pca=10, random_state=0), LinearSVC())
    >>> model.fit(data.bags, data.y)[0].transform(data.bags).shape
    (60, 21)
    """

    varies_: np.ndarray
    pca_: Any
    mixture_: Any

    _parameter_constraints: dict[str, Any] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "pca": [
            Interval(Real, 0, 1, closed="neither"),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
        "scale": SCALE_CONSTRAINT,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        pca: float | int | None = None,
        scale: Scale = "standard",
        random_state: Seed = None,
    ):
        self.n_components = n_components
        self.pca = pca
        self.scale = scale
        self.random_state = random_state

    def _learn(self, X: np.ndarray) -> None:
        varies = X.min(axis=0) < X.max(axis=0)
        self.varies_ = varies if varies.any() else np.ones_like(varies)
        self.pca_ = None
        if self.pca is not None and varies.any():
            n_axes, varying = self.pca, X[:, self.varies_]
            if isinstance(n_axes, Integral):
                n_axes = min(int(n_axes), *varying.shape)
            pca = PCA(n_axes, svd_solver="full").set_output(transform="default")
            self.pca_ = pca.fit(varying)
            _fix_signs(self.pca_.components_)
        self.mixture_ = GaussianMixture(
            n_different(X, self.n_components),
            covariance_type="diag",
            reg_covar=1e-3,
            max_iter=1000,
            random_state=self.random_state,
        ).fit(self._on_axes(X))

    def _on_axes(self, X: np.ndarray) -> np.ndarray:
        varying = X if self.varies_.all() else X[:, self.varies_]
        return varying if self.pca_ is None else self.pca_.transform(varying)

    def _sums(self, X: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        from bagwise._core.compiled.aggregates import standardized_sums
        from bagwise._core.compiled.mixture import diagonal_form

        Z, starts = readonly(self._on_axes(X), offsets)
        mixture = self.mixture_
        nothing, factors = np.zeros(Z.shape[1]), 1.0 / np.sqrt(mixture.covariances_)
        for array in (*mixture.means_, *factors):
            refuse_other_widths(Z, array)
        log_joint = np.stack(
            [
                diagonal_form(Z, ALL_ROWS, *readonly(mean, nothing, -0.5 * factor**2), constant)
                for mean, factor, constant in zip(
                    mixture.means_,
                    factors,
                    np.log(mixture.weights_) + np.log(factors).sum(axis=1),
                    strict=True,
                )
            ]
        )
        of_each = softmax(log_joint, axis=0)
        parts = []
        for k, share in enumerate(mixture.weights_):
            (g,) = readonly(of_each[k])
            sums = standardized_sums(Z, starts, g, *readonly(mixture.means_[k], factors[k]))
            means, spreads = np.split(sums, 2, axis=1)
            parts.append(np.add.reduceat(g - share, offsets[:-1])[:, None] / np.sqrt(share))
            parts += [means / np.sqrt(share), spreads / np.sqrt(2.0 * share)]
        return np.hstack(parts) / np.diff(offsets)[:, None]

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return names such as "share0", "mean0_3", "spread0_3": component, then feature or axis index."""
        check_is_fitted(self)
        n_components, n_axes = self.mixture_.means_.shape
        axes = np.flatnonzero(self.varies_) if self.pca_ is None else range(n_axes)
        names = []
        for k in range(n_components):
            names += [f"share{k}", *(f"{statistic}{k}_{j}" for statistic in ("mean", "spread") for j in axes)]
        return np.array(names, dtype=object)


def _fix_signs(axes: np.ndarray) -> None:
    """Choose the sign of every axis so that the first of its largest absolute entries is positive.

    Entries that are equal up to rounding count as ties. With two standardized features, both entries always
    tie. scikit-learn uses the largest entry, so the sign would depend on rounding and on the order of the
    instances.
    """
    size = np.abs(axes)
    first = np.argmax(size >= (1.0 - 1e-6) * size.max(axis=1, keepdims=True), axis=1)
    axes *= np.sign(np.take_along_axis(axes, first[:, None], axis=1))
