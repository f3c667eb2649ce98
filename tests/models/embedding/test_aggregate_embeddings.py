"""VLAD and Fisher vectors, compared with loops over instances and with the gradient of a likelihood."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.svm import LinearSVC

from bagwise import (
    Bags,
    ClusterEmbedding,
    FisherEmbedding,
    VLADEmbedding,
    make_bag_pipeline,
    make_mixture_bags,
    save_parquet,
    scan_bags,
)


@pytest.fixture
def data():
    return make_mixture_bags(40, n_features=3, separation=3.0, random_state=0)


def of_length_one(parts):
    v = np.concatenate([np.ravel(part) for part in parts])
    v = np.sign(v) * np.sqrt(np.abs(v))
    return v / np.linalg.norm(v)


def each_bag(model, bags):
    return np.split(model.scaler_.transform(bags.instances), bags.offsets[1:-1])


def test_vlad_sums_differences_from_the_centres(data):
    model = VLADEmbedding(3, random_state=0).fit(data.bags)
    centres, vectors = model.clusterer_.cluster_centers_, model.transform(data.bags)
    for bag, vector in zip(each_bag(model, data.bags), vectors, strict=True):
        parts = np.zeros((3, 3))
        for x in bag:
            k = np.argmin(np.sum((x - centres) ** 2, axis=1))
            parts[k] += x - centres[k]
        np.testing.assert_allclose(vector, of_length_one([parts]), atol=1e-7)
    assert model.get_feature_names_out().tolist()[:4] == [
        "cluster0_0",
        "cluster0_1",
        "cluster0_2",
        "cluster1_0",
    ]


@pytest.mark.parametrize("pca", [None, 2, 0.9])
def test_fisher_vectors_are_the_published_sums(data, pca):
    model = FisherEmbedding(2, pca=pca, random_state=0).fit(data.bags)
    mixture, vectors = model.mixture_, model.transform(data.bags)
    for bag, vector in zip(each_bag(model, data.bags), vectors, strict=True):
        Z = bag if pca is None else model.pca_.transform(bag)
        parts = []
        for k, (share, mean, variance) in enumerate(
            zip(mixture.weights_, mixture.means_, mixture.covariances_, strict=True)
        ):
            g = mixture.predict_proba(Z)[:, k]
            standard = (Z - mean) / np.sqrt(variance)
            parts += [
                np.mean(g - share) / np.sqrt(share),
                np.mean([a * s for a, s in zip(g, standard, strict=True)], axis=0) / np.sqrt(share),
                np.mean([a * (s**2 - 1) for a, s in zip(g, standard, strict=True)], axis=0)
                / np.sqrt(2 * share),
            ]
        np.testing.assert_allclose(vector, of_length_one(parts), atol=1e-7)


def test_fisher_vectors_follow_the_slope_of_the_mixtures_likelihood(data):
    """Before normalization, the entry of a mean is its gradient times sigma / sqrt(pi) / bag size."""
    model = FisherEmbedding(2, pca=None, random_state=0).fit(data.bags)
    mixture, bag, step = model.mixture_, each_bag(model, data.bags)[0], 1e-6
    raw = model._sums(bag, np.array([0, len(bag)]))[0].reshape(2, 7)
    for k in range(2):
        for j in range(3):
            ends = []
            for sign in (1, -1):
                mixture.means_[k, j] += sign * step
                ends.append(mixture.score(bag))
                mixture.means_[k, j] -= sign * step
            slope = (ends[0] - ends[1]) / (2 * step)
            scale = np.sqrt(mixture.covariances_[k, j] / mixture.weights_[k])
            np.testing.assert_allclose(raw[k, 1 + j], scale * slope, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("embedding", [VLADEmbedding(3, random_state=0), FisherEmbedding(random_state=0)])
def test_vectors_have_length_one_and_suit_a_linear_svm(embedding, data):
    vectors = embedding.fit_transform(data.bags)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0)
    model = make_bag_pipeline(embedding, LinearSVC(C=10.0)).fit(data.bags, data.y)
    assert model.score(data.bags, data.y) > 0.75


@pytest.mark.parametrize("embedding", [VLADEmbedding(3, random_state=0), FisherEmbedding(random_state=0)])
def test_units_do_not_matter(embedding, data):
    factor = np.array([1e-6, 1.0, 1e6])
    other = data.bags.with_instances(data.bags.instances * factor + 7.0 * factor)
    expected = embedding.fit_transform(data.bags)
    np.testing.assert_allclose(embedding.fit_transform(other), expected, atol=1e-6)


@pytest.mark.parametrize("embedding", [VLADEmbedding(3, random_state=0), FisherEmbedding(random_state=0)])
def test_sparse_bags_and_bags_in_files_equal_dense_bags(embedding, data, tmp_path, large_from):
    X = np.where(data.bags.instances > 0, data.bags.instances, 0.0)
    dense, sparse = (data.bags.with_instances(Z) for Z in (X, sp.csr_array(X)))
    embedding.set_params(scale=None)
    expected = embedding.fit_transform(dense)
    np.testing.assert_allclose(embedding.fit_transform(sparse), expected, atol=1e-10)
    scan = scan_bags(save_parquet(tmp_path / "a.parquet", dense, data.y))
    large_from(0)
    np.testing.assert_allclose(embedding.fit_transform(scan), expected, atol=1e-10)
    embedding.set_params(scale="standard")


def test_large_sparse_bags_are_sampled(data, monkeypatch):
    sparse = data.bags.with_instances(sp.csr_array(data.bags.instances))
    monkeypatch.setattr("bagwise.models.embedding.instances.SAMPLE_VALUES", 3 * 50)
    model = FisherEmbedding(2, pca=None, scale=None, random_state=0).fit(sparse)
    whole = FisherEmbedding(2, pca=None, scale=None, random_state=0)
    monkeypatch.undo()
    assert np.abs(model.mixture_.means_ - whole.fit(sparse).mixture_.means_).max() > 1e-3
    assert np.isfinite(model.transform(sparse)).all()


def test_the_axes_of_two_features_point_the_same_way_for_any_order_of_bags():
    """After scaling, both features have equal shares in every axis, so rounding errors decided its sign."""
    bags = make_mixture_bags(9, size=1, n_features=2, random_state=0).bags
    orders = [np.random.default_rng(seed).permutation(9) for seed in range(12)]
    axes = [FisherEmbedding(2, pca=2, random_state=0).fit(bags[order]).pca_.components_ for order in orders]
    for others in axes[1:]:
        np.testing.assert_allclose(others, axes[0], atol=1e-12)


@pytest.mark.parametrize("pca", [None, 2, 4])
def test_constant_training_features_do_not_change_vectors(data, pca):
    """With the mixture's minimum width, a constant feature that changes would dominate all others."""
    more = np.insert(data.bags.instances, 1, 5.0, axis=1)
    training = data.bags.with_instances(more)
    model = FisherEmbedding(2, pca=pca, random_state=0).fit(training)
    expected = FisherEmbedding(2, pca=pca, random_state=0).fit_transform(data.bags)
    np.testing.assert_allclose(model.transform(training), expected, atol=1e-9)
    more[:, 1] += 1e3
    np.testing.assert_allclose(model.transform(data.bags.with_instances(more)), expected, atol=1e-9)
    if pca is None:
        assert model.get_feature_names_out().tolist()[:4] == ["share0", "mean0_0", "mean0_2", "mean0_3"]
    assert len(model.get_feature_names_out()) == expected.shape[1]


@pytest.mark.parametrize("embedding", [VLADEmbedding(), FisherEmbedding()])
def test_equal_instances_are_a_vector_of_zeros_or_of_length_one(embedding):
    vectors = embedding.fit_transform(Bags(np.ones((6, 2)), [0, 2, 6]))
    assert np.isfinite(vectors).all()


def test_tfidf_is_that_of_scikit_learn(data):
    params = {"n_clusters": 6, "counts": True, "random_state": 0}
    counted = ClusterEmbedding(**params).fit_transform(data.bags)
    model = ClusterEmbedding(**params, norm="tfidf")
    expected = TfidfTransformer().fit_transform(counted).toarray()
    np.testing.assert_allclose(model.fit_transform(data.bags), expected, rtol=1e-12)
    shares = ClusterEmbedding(**params, norm="share").fit_transform(data.bags)
    np.testing.assert_allclose(shares, counted / data.bags.sizes[:, None], rtol=1e-12)


def test_a_norm_needs_counts(data):
    with pytest.raises(ValueError, match="norm='share' needs counts; set counts=True"):
        ClusterEmbedding(norm="share").fit(data.bags)
