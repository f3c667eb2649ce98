"""Bags described by the nodes of a tree, also of trees that were fitted without them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

from bagwise import TreeEmbedding, load, make_bag_pipeline, make_noisy_or_bags, save, save_parquet, scan_bags


@pytest.fixture
def data():
    return make_noisy_or_bags(60, size=(2, 6), coef=[2.0, -2.0, 0.0, 1.0], intercept=-1.5, random_state=7)


def test_entries_count_the_instances_that_pass_scikit_learns_tree(data):
    bags, y = data.bags, data.y
    model = TreeEmbedding(max_depth=3, min_weight_leaf=0.0, random_state=0)
    vectors = model.fit_transform(bags, y)
    weight = np.repeat(1 / bags.sizes, bags.sizes)
    tree = DecisionTreeClassifier(criterion="entropy", max_depth=3, random_state=0)
    path = tree.fit(bags.instances, np.repeat(y, bags.sizes), weight).decision_path(bags.instances).toarray()
    expected = np.add.reduceat(path, bags.offsets[:-1])
    # Nodes of equally good splits can have another order.
    assert sorted(map(tuple, vectors.T)) == sorted(map(tuple, expected.T))
    np.testing.assert_array_equal(vectors[:, 0], bags.sizes)
    assert model.get_feature_names_out()[1] == "node1"


def test_leaves_have_the_least_weight(data):
    model = TreeEmbedding(min_weight_leaf=10.0, random_state=0).fit(data.bags, data.y)
    n = data.bags.n_instances
    weight = np.repeat(1 / data.bags.sizes, data.bags.sizes) * n / len(data.y)  # the mean is one
    alone = model.trees_.visits(data.bags.instances, np.arange(n + 1))
    assert (weight @ alone)[model.trees_.feature < 0].min() >= 10.0 - 1e-9
    assert model.trees_.n_nodes > 3


def test_cross_fitted_parts_come_from_trees_not_fitted_to_the_bag(data):
    model = TreeEmbedding(cross_fit=4, random_state=0)
    training = model.fit_transform(data.bags, data.y)
    new = model.transform(data.bags)
    parts = np.split(np.arange(training.shape[1]), model.trees_.roots[1:])
    filled = np.column_stack([training[:, part[0]] > 0 for part in parts])  # the root counts all instances
    assert len(parts) == 4 and (filled.sum(axis=1) == 1).all() and set(filled.sum(axis=0)) == {15}
    for part, mine in zip(parts, filled.T, strict=True):
        np.testing.assert_allclose(training[np.ix_(mine, part)], 4 * new[np.ix_(mine, part)])
        assert not training[np.ix_(~mine, part)].any()
    # The linear score of a new bag is the mean of the scores of the parts.
    w = np.random.default_rng(0).normal(size=new.shape[1])
    scores = np.column_stack([4 * new[:, part] @ w[part] for part in parts])
    np.testing.assert_allclose(new @ w, scores.mean(axis=1))
    assert model.get_feature_names_out()[parts[1][0]] == "tree1_node0"


def test_nodes_of_trees_fitted_to_the_bags_leak_labels():
    """Labels are noise, so a label can only be predicted by a tree that was fitted to it."""
    rng = np.random.default_rng(0)
    bags, y = rng.normal(size=(120, 3, 5)), rng.permutation(np.arange(120) % 2)
    correlations = []
    for cross_fit in (False, 5):
        model = TreeEmbedding(cross_fit=cross_fit, random_state=0)
        vectors = model.fit_transform(bags, y)[:, model.trees_.feature < 0]
        # Correlation of a bag's label with the mean label of other bags in its leaves.
        others = vectors.T @ y - vectors * y[:, None] + 0.5, vectors.sum(axis=0) - vectors + 1.0
        correlations.append(np.corrcoef((vectors * others[0] / others[1]).sum(axis=1), y)[0, 1])
    assert correlations[0] > 0.6 and abs(correlations[1]) < 0.3


def test_many_classes_and_no_labels(data):
    y = np.digitize(np.maximum.reduceat(data.bags.instances[:, 0], data.bags.offsets[:-1]), [0.5, 1.2])
    model = make_bag_pipeline(TreeEmbedding(random_state=0), LogisticRegression(max_iter=2000))
    assert len(np.unique(y)) == 3 and cross_val_score(model, data.bags, y, cv=4).mean() > 0.55
    with pytest.raises(ValueError, match="TreeEmbedding requires y"):
        TreeEmbedding().fit(data.bags, None)


def test_sparse_bags_and_bags_in_files_equal_dense_bags(data, tmp_path, large_from):
    X = np.where(np.abs(data.bags.instances) > 0.5, data.bags.instances, 0.0)
    dense, sparse = (data.bags.with_instances(Z) for Z in (X, sp.csr_array(X)))
    model = TreeEmbedding(max_depth=5, random_state=0)
    expected = model.fit_transform(dense, data.y)
    np.testing.assert_array_equal(model.fit_transform(sparse, data.y), expected)
    scan = scan_bags(save_parquet(tmp_path / "a.parquet", dense, data.y))
    large_from(0)
    vectors = model.fit_transform(scan, data.y)  # the sample has all bags, with equal weights
    np.testing.assert_array_equal(vectors, expected)


def test_bags_in_no_fold_are_treated_like_new_bags(data, monkeypatch, large_from):
    large_from(0)
    monkeypatch.setattr("bagwise.models.embedding.trees.SAMPLE_VALUES", 4 * 100)
    monkeypatch.setattr("bagwise.data.blocks.sampling._FEWEST", 10)
    model = TreeEmbedding(cross_fit=3, random_state=0)
    training, new = model.fit_transform(data.bags, data.y), model.transform(data.bags)
    as_new = (training == new).all(axis=1)
    assert 10 < as_new.sum() < 50


def test_a_saved_tree_needs_no_trust(data, tmp_path):
    model = TreeEmbedding(random_state=0).fit(data.bags, data.y)
    again = load(save(model, tmp_path / "a.bagwise"))
    np.testing.assert_array_equal(again.transform(data.bags), model.transform(data.bags))


@pytest.mark.parametrize("method", ["fit", "fit_transform"])
def test_labels_are_required(data, method):
    with pytest.raises(ValueError, match="TreeEmbedding requires y to be passed"):
        getattr(TreeEmbedding(), method)(data.bags)
