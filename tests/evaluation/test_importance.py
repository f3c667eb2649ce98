"""Permutation importance of features for bag models."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from bagwise import (
    Bags,
    CitationKNNClassifier,
    MILogisticRegression,
    MIMixture,
    OnInstances,
    bag_permutation_importance,
    make_bag_pipeline,
    make_noisy_or_bags,
    milr_path,
    save_parquet,
    scan_bags,
)


@pytest.fixture(scope="module")
def data():
    data = make_noisy_or_bags(120, size=(1, 5), coef=[4.0, -4.0, 0.0], random_state=0)
    data.bags = Bags(data.bags.instances, data.bags.offsets, feature_names=["width", "height", "noise"])
    return data


@pytest.fixture(scope="module")
def model(data):
    return MILogisticRegression(alpha=1.0, n_init=1, random_state=0).fit(data.bags, data.y)


def test_importances_are_what_the_score_loses(data, model):
    result = bag_permutation_importance(model, data.bags, data.y, n_repeats=3, random_state=5)
    assert result.score == model.score(data.bags, data.y) and result.names == ["width", "height", "noise"]
    rng = np.random.RandomState(5)
    for repeat in range(3):
        order = rng.permutation(data.bags.n_instances)
        for k in range(3):
            X = data.bags.instances.copy()
            X[:, k] = X[order, k]
            expected = result.score - model.score(data.bags.with_instances(X), data.y)
            assert result.importances[k, repeat] == expected
    np.testing.assert_array_equal(result.importances_mean, result.importances.mean(axis=1))
    np.testing.assert_array_equal(result.importances_std, result.importances.std(axis=1))
    assert result.importances_mean[:2].min() > 0.05 > abs(result.importances_mean[2])


@pytest.mark.slow
def test_in_bags_of_one_instance_they_are_those_of_scikit_learn(data):
    X, y = data.bags.instances, data.instance_y
    model = MILogisticRegression(n_init=1, random_state=0).fit(X, y)
    options = {"n_repeats": 60, "random_state": 0, "scoring": "neg_log_loss"}
    ours, theirs = (
        bag_permutation_importance(model, X, y, **options),
        permutation_importance(model, X, y, **options),
    )
    error = np.sqrt((ours.importances_std**2 + theirs.importances_std**2) / 60)
    assert (np.abs(ours.importances_mean - theirs.importances_mean) <= 4 * error + 1e-12).all()
    assert ours.importances_mean[0] > 20 * error[0]


def test_features_that_stand_in_for_each_other_are_worth_something_together(data):
    twice = data.bags.with_instances(np.hstack([data.bags.instances, data.bags.instances[:, :1]]))
    model = MILogisticRegression(alpha=1.0, l1_ratio=0.0, n_init=1, random_state=0).fit(twice, data.y)
    options = {"n_repeats": 4, "random_state": 0, "scoring": "roc_auc"}
    alone = bag_permutation_importance(model, twice, data.y, **options)
    groups = {"both": [0, 3], "height": 1}
    together = bag_permutation_importance(model, twice, data.y, groups=groups, **options)
    assert together.names == ["both", "height"] and alone.names == ["x0", "x1", "x2", "x3"]
    assert together.importances_mean[0] > 1.5 * max(alone.importances_mean[[0, 3]])
    # All features of a group have the same order, so their dependence on each other is preserved.
    np.testing.assert_array_equal(together.importances[1], alone.importances[1])
    listed = bag_permutation_importance(model, twice, data.y, groups=[[3, 0], [1]], **options)
    assert listed.names == ["x0, x3", "x1"]
    np.testing.assert_array_equal(listed.importances, together.importances)


def test_sparse_instances_have_the_same(data, model):
    dense = data.bags.with_instances(np.where(np.abs(data.bags.instances) > 0.5, data.bags.instances, 0.0))
    sparse = dense.with_instances(sp.csr_array(dense.instances))
    groups = [["width", "noise"], ["height"]]
    results = [
        bag_permutation_importance(model, bags, data.y, groups=groups, scoring="roc_auc", random_state=0)
        for bags in (dense, sparse)
    ]
    np.testing.assert_allclose(results[0].importances, results[1].importances, atol=1e-12)
    assert results[1].names == ["width, noise", "height"]


@pytest.mark.parametrize(
    "model",
    [
        MIMixture(n_init=1, random_state=0),
        CitationKNNClassifier(),
        make_bag_pipeline(OnInstances(StandardScaler()), MILogisticRegression(n_init=1)),
        GridSearchCV(MILogisticRegression(n_init=1, random_state=0), {"alpha": [0.5, 2.0]}, cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_model_of_bags_has_importances(data, model):
    model.fit(data.bags, data.y)
    result = bag_permutation_importance(model, data.bags, data.y, n_repeats=2, random_state=0)
    assert result.importances.shape == (3, 2) and result.importances_mean[:2].max() > 0.0


def test_what_cannot_be_shuffled_is_refused(data, model, tmp_path):
    scan = scan_bags(save_parquet(tmp_path / "bags.parquet", data.bags, data.y))
    with pytest.raises(ValueError, match=r"needs all of them in memory; pass scan\[indices\]\.load\(\)"):
        bag_permutation_importance(model, scan, data.y)
    for arguments, message in (
        ({"n_repeats": 0}, "n_repeats must be an integer >= 1; got 0"),
        ({"groups": "width"}, "groups must be a non-empty list"),
        ({"groups": {}}, "groups must be a non-empty list"),
        ({"groups": [[]]}, "groups contains an empty list"),
        ({"groups": [["depth"]]}, "there is no feature 'depth'; the features are"),
        ({"groups": [[7]]}, "feature must be between 0 and 2; got 7"),
    ):
        with pytest.raises(ValueError, match=message):
            bag_permutation_importance(model, data.bags, data.y, **arguments)


def test_tools_of_scikit_learn_that_need_a_matrix_say_what_to_use(data, model):
    unnamed = Bags(data.bags.instances, data.bags.offsets)
    what_to_use = "bag_permutation_importance, refit_selected and forward_selection"
    for tool in (
        lambda: permutation_importance(model, data.bags, data.y),
        lambda: SelectFromModel(model).fit(unnamed, data.y).transform(unnamed),
        lambda: RFE(model).fit(data.bags, data.y),
    ):
        with pytest.raises(TypeError, match=what_to_use):
            tool()
    with pytest.raises(IndexError, match=re.escape("rate_change(model, bags, feature, change)")):
        partial_dependence(model, data.bags, [0])
    # For bags of one instance, these tools work.
    X, y = data.bags.instances, data.instance_y
    single = MILogisticRegression(n_init=1, random_state=0)
    assert RFE(single, n_features_to_select=2).fit(X, y).support_.tolist() == [True, True, False]
    assert partial_dependence(single.fit(X, y), X, [0], grid_resolution=3)["average"].shape == (1, 3)
    assert SelectFromModel(single, threshold=0.1).fit(X, y).transform(X).shape[1] == 2


def test_a_path_is_shown_as_a_table_with_the_names_of_its_features(data):
    path = milr_path(data.bags, data.y, alphas=5)
    lines = repr(path).splitlines()
    assert lines[0].startswith(f"Path of {len(path.alphas)} penalties, 3 features, rule Or(")
    assert lines[1].split() == ["alpha", "features", "log-likelihood", "largest", "coefficients"]
    assert len(lines) == 2 + len(path.alphas)
    alpha, inside, log_likelihood, *rest = lines[-1].split()
    assert float(alpha) == pytest.approx(path.alphas[-1], rel=1e-3) and int(inside) == path.n_nonzero[-1]
    assert float(log_likelihood) == pytest.approx(path.log_likelihoods[-1], abs=1e-4)
    leading = int(np.argmax(np.abs(path.coefs[-1])))
    assert rest[:2] == [["width", "height", "noise"][leading], f"{path.coefs[-1, leading]:.3g},"]
