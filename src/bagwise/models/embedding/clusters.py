"""Describe a bag by the clusters that its instances fall into."""

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
    """Turn each bag into one vector: which clusters its instances touch, or how many fall into each.

    The instances of all training bags are clustered without a look at labels; with c(x) the cluster of an
    instance, entry k of the vector of bag i is ::

        counts=False:  1 if some j has c(x_ij) = k, else 0        (presence, CCE1)
        counts=True:   the number of j with c(x_ij) = k           (count, CCE2)

    and, of counts n_ik, with ``norm="share"`` n_ik / sum_k n_ik, the histogram of a bag of visual words
    (kmeans-SVM), or with ``norm="tfidf"`` n_ik (1 + log((1 + n) / (1 + d_k))), divided by the length of the
    vector, where d_k of the n training bags touch cluster k: kinds that every bag has count for little.
    After it any scikit-learn classifier can follow; a support vector machine makes constructive clustering
    (CCE). Use presence where one instance of a kind decides, and counts where it matters how many there
    are. It is quick and hard to beat where labels follow from what kinds of instances a bag has; the
    clusters know nothing of the labels, so it is weak where positive and negative instances lie close
    together, and it speaks of instances only through bags of one.

    Parameters
    ----------
    n_clusters : int, default=20
        Number of clusters; no more than there are different instances are made.
    counts : bool, default=False
        Whether instances are counted, or only their presence noted.
    norm : {"share", "tfidf"} or None, default=None
        What becomes of counts, so that large bags are comparable with small ones; see above.
    clusterer : clusterer or None, default=None
        A scikit-learn clusterer with `predict`, which then says itself how many clusters there are; by
        default `KMeans`.
    scale : {"standard", "minmax", "rank"}, transformer or None, default="standard"
        How the instances are scaled before they are clustered. Distances decide: without it the feature with
        the largest numbers does.
    random_state : int, RandomState or None, default=None
        Seed of the default clusterer, and of a sample.

    Attributes
    ----------
    clusterer_ : clusterer
        Fitted on the instances.
    scaler_ : transformer or None
        The fitted `scale`.
    n_clusters_ : int
        Number of clusters, the length of a bag's vector.
    idf_ : array with a number for every cluster, or None
        1 + log((1 + n) / (1 + d_k)) for ``norm="tfidf"``.
    n_features_in_ : int
        Number of features of an instance.

    Notes
    -----
    Clustering costs a few dozen passes over the instances, each O(n_instances * n_features * n_clusters);
    the vectors cost one. Of instances with more than 2**23 numbers in all, in memory or in files, a random
    sample with so many numbers is clustered. Another order of bags or instances can give other clusters,
    because k-means draws its starts by position. A clusterer may put new instances into a cluster that no
    training instance is in, or call them noise (-1): these are not counted.

    The published method votes over several numbers of clusters; scikit-learn's `VotingClassifier` over
    pipelines with different `n_clusters` is that ensemble.

    References
    ----------
    Z.-H. Zhou and M.-L. Zhang (2007), Solving multi-instance problems with classifier ensemble based on
    constructive clustering, Knowledge and Information Systems 11, doi:10.1007/s10115-006-0029-3.

    G. Csurka, C. Dance, L. Fan, J. Willamowski and C. Bray (2004), Visual categorization with bags of
    keypoints, ECCV workshop on statistical learning in computer vision: histograms and a support vector
    machine.

    A. T. Pham, R. Raich, X. Z. Fern, W.-K. Wong and X. Guan, Discriminative probabilistic framework for
    generalized multi-instance learning: the variants with presence and count.

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
        "instance_order_is_irrelevant": "k-means draws its starts by the positions of instances",
        "bag_order_is_irrelevant": "k-means draws its starts by the positions of instances",
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
            There for the sake of pipelines.

        Returns
        -------
        self
        """
        if self.norm is not None and not self.counts:
            raise ValueError(f"norm={self.norm!r} is of counts; set counts=True, or norm=None for presence.")
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
            touched = bags.blocks().total(self._bags_that_touch)
            self.idf_ = 1.0 + np.log((1.0 + len(bags)) / (1.0 + touched))
        return self

    def _bags_that_touch(self, block: Block) -> np.ndarray:
        return (self._counted(Bags(block.X, block.offsets)) > 0).sum(axis=0)

    def transform(self, X: BagsLike) -> np.ndarray:
        """Describe every bag: an array of shape ``(n_bags, n_clusters_)``."""
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
        """Count the instances of every bag in every cluster."""
        instances = _writable(self._scaled_instances(bags))
        # k-means takes instances only in the precision of those that it was fitted on.
        centers = getattr(self.clusterer_, "cluster_centers_", instances)
        cluster = self.clusterer_.predict(instances.astype(centers.dtype, copy=False))
        known = (cluster >= 0) & (cluster < self.n_clusters_)
        cell = (bags.bag_index * self.n_clusters_ + cluster)[known]
        counted = np.bincount(cell, minlength=len(bags) * self.n_clusters_).reshape(len(bags), -1)
        return counted.astype(np.float64)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names "cluster0", "cluster1", ..."""
        check_is_fitted(self)
        return np.array([f"cluster{k}" for k in range(self.n_clusters_)], dtype=object)


def _writable(instances: Any) -> Any:
    """Copy CSR instances, which bags keep read-only: scikit-learn's k-means wants to be able to write."""
    return instances.copy() if sp.issparse(instances) else instances
