"""Tests of embeddings by nearest distances to prototypes against loops."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from bagwise import (
    EMDD,
    DiverseDensity,
    PrototypeEmbedding,
    make_bag_pipeline,
    make_mixture_bags,
    save_parquet,
    scan_bags,
)
from bagwise.models.prototypes.points import Prototypes


@pytest.fixture
def data():
    return make_mixture_bags(30, n_features=2, separation=4.0, random_state=0)


def each_bag(data, embedding):
    Z = embedding.scaler_.transform(data.bags.instances)
    return np.split(Z, data.bags.offsets[1:-1])


def least_squares(bags, points, scales):
    """Return the squared distance from the nearest instance of every bag to every point."""
    pairs = list(zip(points, scales, strict=True))
    return np.array([[min(np.sum((s * (x - t)) ** 2) for x in bag) for t, s in pairs] for bag in bags])


@pytest.mark.parametrize("prototypes", ["all", "sample", "kmeans"])
def test_vectors_depend_on_the_nearest_instance(prototypes, data):
    model = PrototypeEmbedding(prototypes, n_prototypes=7, width=0.8, random_state=0).fit(data.bags)
    points = model.prototypes_.points
    assert len(points) == (data.bags.n_instances if prototypes == "all" else 7)
    least = least_squares(each_bag(data, model), points, np.ones_like(points))
    np.testing.assert_allclose(model.transform(data.bags), np.exp(-least / 0.8**2), atol=1e-12)
    model.output = "distance"
    np.testing.assert_allclose(model.transform(data.bags), np.sqrt(least), atol=1e-7)
    assert list(model.get_feature_names_out()[:2]) == ["prototype0", "prototype1"]


def test_the_width_is_the_median_distance_to_prototypes_of_others(data):
    model = PrototypeEmbedding().fit(data.bags)
    points = model.prototypes_.points
    least = least_squares(each_bag(data, model), points, np.ones_like(points))
    distances = np.sort(least[least > 1e-12])
    assert np.isclose(1 / model.prototypes_.gamma, distances[(len(distances) - 1) // 2])


def test_a_weight_counts_as_copies_for_the_width():
    squares = np.arange(12.0).reshape(3, 4)
    copies = np.repeat(np.arange(3), [3, 1, 2])
    weighted = Prototypes(np.zeros((4, 1))).with_width(None, squares, np.array([3.0, 1.0, 2.0]))
    repeated = Prototypes(np.zeros((4, 1))).with_width(None, squares[copies], np.ones(6))
    assert weighted.gamma == repeated.gamma


def test_targets_of_diverse_density_come_with_their_scales(data):
    model = PrototypeEmbedding("density", n_prototypes=6, output="distance", random_state=0)
    fitted = model.fit(data.bags, data.y)
    targets, scales = fitted.prototypes_.points, fitted.prototypes_.scales
    least = least_squares(each_bag(data, model), targets, scales)
    np.testing.assert_allclose(model.transform(data.bags), np.sqrt(least), atol=1e-4)
    model.output = "similarity"
    np.testing.assert_allclose(model.transform(data.bags), np.exp(-least), atol=1e-7)
    # The best target of the positive bags is one of the prototypes.
    alone = DiverseDensity(n_init=6, random_state=0).fit(data.bags, data.y)
    assert np.abs(targets - alone.target_).max(axis=1).min() < 1e-6


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_diverse_density_accepts_many_classes_and_needs_labels(data):
    y = np.arange(30) % 3
    model = make_bag_pipeline(
        PrototypeEmbedding(EMDD(n_init=3, random_state=0), output="distance"), LogisticRegression()
    )
    assert set(model.fit(data.bags, y).predict(data.bags)) <= {0, 1, 2}
    with pytest.raises(ValueError, match="PrototypeEmbedding requires y"):
        PrototypeEmbedding("density").fit(data.bags)
    with pytest.raises(TypeError, match="does not support sparse instances"):
        PrototypeEmbedding("density").fit(data.bags.with_instances(sp.csr_array(data.bags.instances)), y)


@pytest.mark.parametrize("prototypes", ["sample", "kmeans"])
def test_prototypes_come_from_files_as_from_memory(prototypes, data, tmp_path, large_from):
    scan = scan_bags(save_parquet(tmp_path / "a.parquet", data.bags, data.y))
    model = PrototypeEmbedding(prototypes, n_prototypes=5, random_state=0)
    expected = model.fit_transform(data.bags)
    np.testing.assert_allclose(model.fit_transform(scan), expected, rtol=1e-9)
    large_from(0)
    if prototypes == "kmeans":
        np.testing.assert_allclose(model.fit_transform(scan), expected, rtol=1e-6)
    assert model.fit_transform(scan).shape == (30, 5)


def test_sparse_bags_are_dense_ones(data):
    X = np.where(data.bags.instances > 0, data.bags.instances, 0.0)
    sparse = data.bags.with_instances(sp.csr_array(X))
    model = PrototypeEmbedding(scale=None).fit(sparse)
    similarities = np.sort(model.transform(sparse), axis=1)
    # The prototypes of sparse instances are in another order than those of dense ones.
    points = model.prototypes_.points.toarray()
    least = least_squares(np.split(X, data.bags.offsets[1:-1]), points, np.ones_like(points))
    expected = np.exp(-model.prototypes_.gamma * least)
    np.testing.assert_allclose(similarities, np.sort(expected, axis=1), atol=1e-12)
