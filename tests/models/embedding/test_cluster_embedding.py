"""Bags described by clusters, compared with counting by hand."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.cluster import Birch, KMeans, MiniBatchKMeans
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bagwise import Bags, ClusterEmbedding, OnInstances, make_bag_pipeline
from bagwise.models.embedding.instances import n_different

CORNERS = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])


@pytest.fixture(scope="module")
def corners():
    """Return bags of points around four distant corners, and the true corner of every point."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 9, size=80)
    corner = rng.integers(4, size=sizes.sum())
    X = CORNERS[corner] + rng.normal(scale=0.3, size=(sizes.sum(), 2))
    return Bags(X, np.cumsum([0, *sizes])), corner


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_far_clusters_are_counted_exactly(corners, counts, sparse):
    bags, corner = corners
    if sparse:
        bags = bags.with_instances(sp.csr_array(bags.instances))
    embedding = ClusterEmbedding(4, counts=counts, random_state=0)
    vectors = embedding.fit_transform(bags)
    # The order of the clusters is arbitrary, so find the cluster of every corner.
    cluster = embedding.clusterer_.predict(embedding.scaler_.transform(CORNERS))
    for i in range(len(bags)):
        members = corner[bags.offsets[i] : bags.offsets[i + 1]]
        by_hand = np.bincount(members, minlength=4)
        expected = by_hand if counts else (by_hand > 0)
        np.testing.assert_array_equal(vectors[i, cluster], expected)


def test_units_of_features_do_not_matter(corners):
    bags, _ = corners
    other_units = bags.with_instances(bags.instances * [1e-3, 1e4][: bags.n_features])
    ours, theirs = (ClusterEmbedding(6, random_state=0).fit_transform(b) for b in (bags, other_units))
    np.testing.assert_array_equal(ours, theirs)


def test_presence_is_count_above_zero_and_counts_sum_to_the_size(corners):
    bags, _ = corners
    counted = ClusterEmbedding(7, counts=True, random_state=0).fit_transform(bags)
    present = ClusterEmbedding(7, random_state=0).fit_transform(bags)
    np.testing.assert_array_equal(present, counted > 0)
    np.testing.assert_array_equal(counted.sum(axis=1), bags.sizes)


def test_distinct_rows_are_counted_up_to_a_limit():
    rows = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 1.0], [0.0, 1.0], [2.0, 3.0]])
    assert [n_different(rows, most) for most in (1, 2, 3, 9)] == [1, 2, 3, 3]


def test_no_more_clusters_than_different_instances():
    bags = Bags(np.repeat([[0.0], [1.0], [5.0]], 4, axis=0), np.array([0, 5, 12]))
    embedding = ClusterEmbedding(20, counts=True, random_state=0).fit(bags)
    assert embedding.n_clusters_ == 3
    assert embedding.get_feature_names_out().tolist() == ["cluster0", "cluster1", "cluster2"]
    np.testing.assert_array_equal(np.sort(embedding.transform(bags)), [[0, 1, 4], [0, 3, 4]])


@pytest.mark.parametrize(
    "clusterer",
    [KMeans(4, n_init=1, random_state=0), MiniBatchKMeans(4, n_init=1, random_state=0), Birch(n_clusters=4)],
)
def test_any_clusterer_with_predict_is_accepted(corners, clusterer):
    bags, _ = corners
    assert ClusterEmbedding(clusterer=clusterer).fit_transform(bags).shape == (80, 4)


def test_clusters_without_training_instances_are_not_counted():
    class Rounding(BaseEstimator):
        def fit(self, X, y=None):
            return self

        def predict(self, X):
            return X[:, 0].astype(int)

    embedding = ClusterEmbedding(clusterer=Rounding(), counts=True, scale=None)
    embedding.fit([np.array([[0.0], [1.0]])])
    new = [np.array([[1.0], [2.0], [-1.0]]), np.array([[0.0], [0.0]])]
    np.testing.assert_array_equal(embedding.transform(new), [[0, 1], [2, 0]])


@pytest.mark.slow
def test_counts_decide_where_presence_does_not(corners):
    bags, corner = corners
    y = np.add.reduceat(corner == 0, bags.offsets[:-1], dtype=int) >= 2

    def accuracy(counts):
        model = make_bag_pipeline(
            OnInstances(StandardScaler()), ClusterEmbedding(counts=counts, random_state=0), SVC()
        )
        search = GridSearchCV(model, {"clusterembedding__n_clusters": [4, 8]}, cv=3)
        return cross_val_score(search, bags, y, cv=3).mean()

    assert accuracy(True) > max(0.95, accuracy(False) + 0.05)


def test_invalid_parameters_are_refused():
    with pytest.raises(ValueError, match="n_clusters"):
        ClusterEmbedding(0).fit([np.zeros((2, 1))])
    with pytest.raises(ValueError, match="clusterer"):
        ClusterEmbedding(clusterer="kmeans").fit([np.zeros((2, 1))])
