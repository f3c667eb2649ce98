"""`ClusterEmbedding`: presence or counts of instance clusters in a bag."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from bagwise._core.interrupt import interruptible
from bagwise._core.sklearn_private import HasMethods, Interval, StrOptions
from bagwise._core.types import Scale, Seed
from bagwise.data.bags import Bags
from bagwise.data.blocks import Block
from bagwise.models.base import SCALE_CONSTRAINT, BagsLike, BagTransformer, Scaled, fit_scaler, validated_fit
from bagwise.models.embedding.instances import draw_instances, n_different


class ClusterEmbedding(Scaled, BagTransformer):
    """Embed each bag as a vector of the presence, or the instance count, of every instance cluster.

    The instances of all training bags are clustered, without labels. Let c(x) be the cluster of an instance.
    Entry k of the vector of bag i is ::

        counts=False:  1 if some j has c(x_ij) = k, else 0        (presence, CCE1)
        counts=True:   the number of j with c(x_ij) = k           (count, CCE2)

    Counts n_ik can be normalized. With ``norm="share"``, the entry is n_ik / sum_k n_ik, the histogram of a
    bag of visual words (kmeans-SVM). With ``norm="tfidf"``, it is n_ik (1 + log((1 + n) / (1 + d_k))), and
    the vector is divided by its norm. Here d_k of the n training bags contain instances of cluster k, so
    clusters that occur in every bag have a low weight.

    Any scikit-learn classifier can use the vectors; with an SVM, the method is constructive clustering (CCE).
    Use presence if a single instance of a kind determines the label, and counts if the number of instances
    matters. The embedding is fast, and a strong baseline if the label depends on the kinds of instances in a
    bag. The clusters do not depend on the labels, so the embedding is weak if positive and negative instances
    are similar. Instances can only be predicted as bags of one instance.

    Parameters
    ----------
    n_clusters : int, default=20
        Number of clusters, at most the number of distinct instances.
    counts : bool, default=False
        Whether the entries are instance counts; otherwise they are indicators of presence.
    norm : {"share", "tfidf"} or None, default=None
        Normalization of the counts, which makes bags of different sizes comparable; see above.
    clusterer : clusterer or None, default=None
        A scikit-learn clusterer with `predict`, which replaces the default `KMeans`. `n_clusters` is then
        ignored.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="standard"
        How the instances are scaled before clustering. Without scaling, features with large values dominate
        the distances.
    random_state : int, RandomState or None, default=None
        Seed of the default clusterer, and of the sample of large data.

    Attributes
    ----------
    clusterer_ : clusterer
        Fitted to the scaled instances.
    scaler_ : transformer or None
        The fitted `scale`.
    n_clusters_ : int
        Number of clusters, the length of a bag's vector.
    idf_ : array of shape (n_clusters,) or None
        The weights 1 + log((1 + n) / (1 + d_k)) for ``norm="tfidf"``.
    n_features_in_ : int
        Number of features of an instance.

    Notes
    -----
    Clustering costs a few dozen passes over the instances, each O(n_instances * n_features * n_clusters).
    Computing the vectors costs one pass. If the instances have more than 2**23 values in total, in memory or
    in files, a random sample with this number of values is clustered. The clusters can depend on the order of
    bags and instances, because k-means draws its initial centers by index. New instances are not counted if
    the clusterer assigns them to a cluster without training instances or marks them as noise (-1).

    CCE is an ensemble: classifiers on several numbers of clusters vote. scikit-learn's `VotingClassifier`
    builds this ensemble from pipelines with different `n_clusters` (last example). A single number of
    clusters can miss the kind of instances that determines the label.

    References
    ----------
    Z.-H. Zhou and M.-L. Zhang (2007), Solving multi-instance problems with classifier ensemble based on
    constructive clustering, Knowledge and Information Systems 11, doi:10.1007/s10115-006-0029-3.

    G. Csurka, C. Dance, L. Fan, J. Willamowski and C. Bray (2004), Visual categorization with bags of
    keypoints, ECCV workshop on statistical learning in computer vision: histograms and an SVM.

    A. T. Pham, R. Raich, X. Z. Fern, W.-K. Wong and X. Guan (2018), Discriminative probabilistic framework
    for generalized multi-instance learning, ICASSP: the variants with presence and counts.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from bagwise import ClusterEmbedding, load_digit_bags, make_bag_pipeline
    >>> bags = [np.array([[0.0], [0.1], [9.0]]), np.array([[9.1]])]
    >>> vectors = ClusterEmbedding(2, counts=True, random_state=0).fit_transform(bags)
    >>> sorted(vectors[0].tolist()), sorted(vectors[1].tolist())
    ([1.0, 2.0], [0.0, 1.0])
    >>> data = load_digit_bags(60, random_state=0)
    >>> model = make_bag_pipeline(ClusterEmbedding(random_state=0), SVC()).fit(data.bags, data.y)
    >>> model.predict(data.bags).shape
    (60,)

    CCE, an ensemble over numbers of clusters:

    >>> from sklearn.ensemble import VotingClassifier
    >>> members = [
    ...     (f"{k} clusters", make_bag_pipeline(ClusterEmbedding(k, random_state=0), SVC()))
    ...     for k in (10, 20, 30)
    ... ]
    >>> cce = VotingClassifier(members).fit(data.bags, data.y)
    >>> cce.predict(data.bags).shape
    (60,)
    """

    scaler_: Any
    clusterer_: Any
    n_clusters_: int
    idf_: np.ndarray | None

    _streams = True
    _parameter_constraints: dict[str, Any] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "counts": ["boolean"],
        "norm": [StrOptions({"share", "tfidf"}), None],
        "clusterer": [HasMethods(["fit", "predict"]), None],
        "scale": SCALE_CONSTRAINT,
        "random_state": ["random_state"],
    }
    _expected_failed_checks = {
        "instance_order_is_irrelevant": "k-means draws its initial centers by instance index",
        "bag_order_is_irrelevant": "k-means draws its initial centers by instance index",
    }

    def __init__(
        self,
        n_clusters: int = 20,
        *,
        counts: bool = False,
        norm: Literal["share", "tfidf"] | None = None,
        clusterer: Any = None,
        scale: Scale = "standard",
        random_state: Seed = None,
    ):
        self.n_clusters = n_clusters
        self.counts = counts
        self.norm = norm
        self.clusterer = clusterer
        self.scale = scale
        self.random_state = random_state

    @property
    def _accepts_sparse(self) -> bool:
        return self.clusterer is None or get_tags(self.clusterer).input_tags.sparse

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike | None = None) -> Self:
        """Cluster the instances of all bags.

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
        if self.norm is not None and not self.counts:
            raise ValueError(f"norm={self.norm!r} needs counts; set counts=True, or norm=None for presence.")
        bags = self._read(X, reset=True)
        self.scaler_ = fit_scaler(self.scale, bags.blocks())
        instances = draw_instances(self, bags)
        if self.scaler_ is not None:
            instances = self.scaler_.transform(instances)
        if self.clusterer is None:
            is_sparse, most = sp.issparse(instances), self.n_clusters
            n_clusters = min(most, instances.shape[0]) if is_sparse else n_different(instances, most)
            clusterer = KMeans(n_clusters, n_init=3, random_state=self.random_state)
        else:
            clusterer = clone(self.clusterer)
        with interruptible(at_once=True):
            self.clusterer_ = clusterer.fit(instances)
        self.n_clusters_ = 1 + int(self.clusterer_.predict(instances).max())
        self.idf_ = None
        if self.norm == "tfidf":
            n_bags_with = bags.blocks().total(self._bags_per_cluster)
            self.idf_ = 1.0 + np.log((1.0 + len(bags)) / (1.0 + n_bags_with))
        return self

    def _bags_per_cluster(self, block: Block) -> np.ndarray:
        return (self._counted(Bags(block.X, block.offsets)) > 0).sum(axis=0)

    def transform(self, X: BagsLike) -> np.ndarray:
        """Return the vector of every bag: shape ``(n_bags, n_clusters_)``."""
        return self._by_blocks(X, self._describe)

    def _describe(self, bags: Bags) -> np.ndarray:
        counted = self._counted(bags)
        if not self.counts:
            return (counted > 0).astype(np.float64)
        if self.norm is None:
            return counted
        if self.idf_ is None:
            length = counted.sum(axis=1, keepdims=True)
        else:
            counted = counted * self.idf_
            length = np.linalg.norm(counted, axis=1, keepdims=True)
        return counted / np.where(length > 0, length, 1.0)

    def _counted(self, bags: Bags) -> np.ndarray:
        """Return the number of instances of every bag in every cluster."""
        instances = _writable(self._scaled_instances(bags))
        # k-means accepts instances only in the precision of its training instances.
        centers = getattr(self.clusterer_, "cluster_centers_", instances)
        cluster = self.clusterer_.predict(instances.astype(centers.dtype, copy=False))
        is_counted = (cluster >= 0) & (cluster < self.n_clusters_)
        cell = (bags.bag_index * self.n_clusters_ + cluster)[is_counted]
        counted = np.bincount(cell, minlength=len(bags) * self.n_clusters_).reshape(len(bags), -1)
        return counted.astype(np.float64)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Return the names "cluster0", "cluster1", ..."""
        check_is_fitted(self)
        return np.array([f"cluster{k}" for k in range(self.n_clusters_)], dtype=object)


def _writable(instances: Any) -> Any:
    """Copy CSR instances: arrays in bags are read-only, and scikit-learn's k-means needs writable arrays."""
    return instances.copy() if sp.issparse(instances) else instances
