"""Bags as sums of what their instances say of clusters or of components: VLAD and Fisher vectors."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.utils.validation import check_is_fitted

from bagwise._core.interrupt import interruptible
from bagwise._core.sklearn_private import Interval
from bagwise._core.types import Scale, Seed
from bagwise.data.bags import Bags
from bagwise.models.base import SCALE_CONSTRAINT, BagsLike, BagTransformer, Scaled, validated_fit
from bagwise.models.base.scaling import fit_scaler
from bagwise.models.embedding.instances import draw_dense_instances, n_different
from bagwise.similarity.statistics import dense_runs


class _Aggregate(Scaled, BagTransformer):
    """A vector per bag that is a sum over its instances, then made comparable: signed roots of length one."""

    scaler_: Any
    random_state: Any

    _expected_failed_checks = {
        "instance_order_is_irrelevant": "k-means draws its starts by the positions of instances",
        "bag_order_is_irrelevant": "k-means draws its starts by the positions of instances",
    }

    _streams = True

    @abstractmethod
    def _learn(self, X: np.ndarray) -> None:
        """Learn from instances, scaled."""

    @abstractmethod
    def _sums(self, X: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Sum or average what instances say over every bag: shape (n_bags, n_features_out)."""

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike | None = None) -> Self:
        """Learn from the instances of all bags.

        Parameters
        ----------
        X : Bags, ScannedBags, list of arrays, 3-D or 2-D array
            The training bags.
        y : ignored
            There for the sake of pipelines.

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
        """Describe every bag: shape (n_bags, n_features_out)."""
        return self._by_blocks(X, self._describe)

    def _describe(self, bags: Bags) -> np.ndarray:
        parts = dense_runs(self._scaled(bags).instances, bags.offsets)
        return _of_length_one(np.concatenate([self._sums(X, offsets) for X, offsets in parts]))


def _of_length_one(vectors: np.ndarray) -> np.ndarray:
    """Take signed roots, and divide every row by its length; a row of zeros stays one."""
    rooted = np.sign(vectors) * np.sqrt(np.abs(vectors))
    length = np.linalg.norm(rooted, axis=1, keepdims=True)
    return rooted / np.where(length > 0, length, 1.0)


class VLADEmbedding(_Aggregate):
    """Turn each bag into one vector: how its instances lie about the centre of every cluster.

    The instances of all training bags are clustered; with c(x) the cluster of an instance and m_k the centre
    of cluster k, the part of bag i for cluster k is ::

        v_ik = sum_{j: c(x_ij) = k} (x_ij - m_k)

    All parts together go through a signed square root and are divided by their length (miVLAD). Where
    `ClusterEmbedding` counts, this also says on which side of the centres the instances are. A linear
    classifier is enough after it. It says nothing of instances.

    Parameters
    ----------
    n_clusters : int, default=5
        Number of clusters; no more than there are different instances are made.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="standard"
        How the instances are scaled first.
    random_state : int, RandomState or None, default=None
        Seed of k-means, and of a sample.

    Attributes
    ----------
    clusterer_ : KMeans
        Fitted on the scaled instances.
    scaler_ : transformer or None
        As used.
    n_features_in_ : int
        Number of features of an instance.

    Notes
    -----
    Vectors cost one pass, O(n_instances * n_features * n_clusters), and have n_features * n_clusters entries.
    Of instances with more than 2**23 numbers in all, in memory or in files, a random sample with so many is
    clustered. CSR instances are made dense a few bags at a time. Another order of bags or instances can give
    other clusters, because k-means draws its starts by position.

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
        """Names "cluster0_0", "cluster0_1", ...: a cluster, and the number of a feature."""
        check_is_fitted(self)
        n_clusters, n_features = self.clusterer_.cluster_centers_.shape
        names = [f"cluster{k}_{j}" for k in range(n_clusters) for j in range(n_features)]
        return np.array(names, dtype=object)


class FisherEmbedding(_Aggregate):
    """Turn each bag into one vector: how a mixture of all instances would have to change to fit this bag.

    The instances of all training bags, on their main axes if `pca` says so, are described by a mixture of K
    Gaussians with diagonal covariances (shares pi_k, means mu_k, deviations sigma_k). With g_jk the
    probability that instance j of the n of a bag is of component k, the parts of the bag for component k are
    ::

        1/n sum_j (g_jk - pi_k)                            / sqrt(pi_k)
        1/n sum_j  g_jk (x_j - mu_k) / sigma_k             / sqrt(pi_k)
        1/n sum_j  g_jk [((x_j - mu_k) / sigma_k)^2 - 1]   / sqrt(2 pi_k)

    All parts together go through a signed square root and are divided by their length (miFV). A linear
    classifier is enough after it. Use it where bags are large, and differ in the distribution of their
    instances rather than in a single one: it is linear in the number of instances, and streams. It says
    nothing of instances.

    Parameters
    ----------
    n_components : int, default=2
        K; no more than there are different instances are used.
    pca : float, int or None, default=None
        The share of the variance that is kept on the main axes, a number of axes, or None for the features as
        they are.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="standard"
        How the instances are scaled first.
    random_state : int, RandomState or None, default=None
        Seed of the mixture's start, and of a sample.

    Attributes
    ----------
    varies_ : array of shape (n_features,)
        Which features are used: those that vary, or all if none does.
    pca_ : PCA or None
        The main axes of these.
    mixture_ : GaussianMixture
        The mixture.
    scaler_ : transformer or None
        As used.
    n_features_in_ : int
        Number of features of an instance.

    Notes
    -----
    Vectors cost one pass, O(n_instances * n_features * n_axes), and have (2 n_axes + 1) K entries. Of
    instances with more than 2**23 numbers in all, in memory or in files, axes and mixture are learned from a
    random sample with so many. CSR instances are made dense a few bags at a time. Another order of bags or
    instances can give another mixture, because it starts from k-means, which draws its starts by position.

    Features that are the same in all training instances are left out. A mixture has no width for them but
    the least one allowed, so a new bag in which such a feature moves would be that feature and nothing else.

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
            self.pca_ = PCA(n_axes, svd_solver="full").fit(varying)
            _settle_signs(self.pca_.components_)
        self.mixture_ = GaussianMixture(
            n_different(X, self.n_components),
            covariance_type="diag",
            reg_covar=1e-3,
            max_iter=1000,
            random_state=self.random_state,
        ).fit(self._on_axes(X))

    def _on_axes(self, X: np.ndarray) -> np.ndarray:
        varying = X[:, self.varies_]
        return varying if self.pca_ is None else self.pca_.transform(varying)

    def _sums(self, X: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        Z, mixture, parts = self._on_axes(X), self.mixture_, []
        of_each = mixture.predict_proba(Z)
        for k, share in enumerate(mixture.weights_):
            standard = (Z - mixture.means_[k]) / np.sqrt(mixture.covariances_[k])
            g = of_each[:, k : k + 1]
            for of_instances in (
                (g - share) / np.sqrt(share),
                g * standard / np.sqrt(share),
                g * (standard**2 - 1.0) / np.sqrt(2.0 * share),
            ):
                parts.append(np.add.reduceat(of_instances, offsets[:-1], axis=0))
        return np.hstack(parts) / np.diff(offsets)[:, None]

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names such as "share0", "mean0_3", "spread0_3": of a component, and of a feature or an axis."""
        check_is_fitted(self)
        n_components, n_axes = self.mixture_.means_.shape
        axes = np.flatnonzero(self.varies_) if self.pca_ is None else range(n_axes)
        names = []
        for k in range(n_components):
            names += [f"share{k}", *(f"{what}{k}_{j}" for what in ("mean", "spread") for j in axes)]
        return np.array(names, dtype=object)


def _settle_signs(axes: np.ndarray) -> None:
    """Let the first of the largest entries of every axis be positive, which may be several but for rounding.

    Of two standardised features it is always both; scikit-learn takes the largest, and so rounding, and with
    it the order of the instances, says which way an axis points.
    """
    size = np.abs(axes)
    first = np.argmax(size >= (1.0 - 1e-6) * size.max(axis=1, keepdims=True), axis=1)
    axes *= np.sign(np.take_along_axis(axes, first[:, None], axis=1))
