import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsOneClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC

from bagwise import (
    Bags,
    BagStatistics,
    MILogisticRegression,
    OneVsOneBagClassifier,
    SingleInstanceClassifier,
    load_digit_bags,
    make_noisy_or_bags,
)


@pytest.fixture(scope="module")
def data():
    return make_noisy_or_bags(60, size=(1, 6), coef=[3.0, -3.0, 0.0], intercept=-1.0, random_state=0)


def test_the_wrapped_classifier_learns_bag_labels_of_instances(data):
    model = SingleInstanceClassifier(LogisticRegression()).fit(data.bags, data.y)
    direct = LogisticRegression().fit(data.bags.instances, data.y[data.bags.bag_index])
    np.testing.assert_allclose(model.estimator_.coef_, direct.coef_, rtol=1e-6)
    proba = direct.predict_proba(data.bags.instances)
    np.testing.assert_allclose(model.predict_proba_instances(data.bags), proba, rtol=1e-9)
    means = np.add.reduceat(proba[:, 1], data.bags.offsets[:-1]) / data.bags.sizes
    np.testing.assert_allclose(model.predict_proba(data.bags)[:, 1], means, rtol=1e-9)


@pytest.mark.parametrize("rule", ["or", "mean", "max", "softmax", "geometric_mean"])
@pytest.mark.parametrize("classifier", [RandomForestClassifier(5, random_state=0), GaussianNB()])
def test_a_classifier_that_is_certain_makes_no_nan(data, rule, classifier):
    model = SingleInstanceClassifier(classifier, rule=rule).fit(data.bags, data.y)
    proba = model.predict_proba(data.bags)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    if hasattr(model, "posterior_instances"):
        assert np.isfinite(model.posterior_instances(data.bags, data.y)).all()
    assert np.isfinite(cross_val_score(model, data.bags, data.y, scoring="roc_auc", cv=3)).all()


def test_classifiers_without_probabilities_give_scores(data):
    model = SingleInstanceClassifier(LinearSVC(), rule="max").fit(data.bags, data.y)
    for absent in ("predict_proba", "predict_log_proba", "predict_proba_instances", "posterior_instances"):
        assert not hasattr(model, absent)
    score = model.estimator_.decision_function(data.bags.instances)
    np.testing.assert_allclose(
        model.decision_function(data.bags), np.maximum.reduceat(score, data.bags.offsets[:-1])
    )
    assert (model.predict(data.bags) == (model.decision_function(data.bags) > 0)).all()


def test_weights_need_a_classifier_that_takes_them(data):
    model = SingleInstanceClassifier(KNeighborsClassifier(3))
    model.fit(data.bags, data.y)
    with pytest.raises(ValueError, match="KNeighborsClassifier does not support weights"):
        model.fit(data.bags, data.y, sample_weight=np.linspace(1, 2, 60))


@pytest.mark.parametrize("sparse", [False, True])
def test_statistics_are_those_of_numpy_bag_by_bag(sparse):
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 9, size=50)
    X = rng.normal(size=(sizes.sum(), 4)) * (rng.random((sizes.sum(), 4)) < 0.5)
    bags = Bags(sp.csr_array(X) if sparse else X, np.cumsum([0, *sizes]))
    names = ("max", "std", "min", "median", "size", "mean")
    embedding = BagStatistics(names, quantiles=[0.1, 0.75])
    out = embedding.fit_transform(bags)
    dense = Bags(X, bags.offsets)
    expected = [
        np.concatenate(
            [
                b.max(0),
                b.std(0),
                b.min(0),
                np.median(b, 0),
                [len(b)],
                b.mean(0),
                *np.quantile(b, [0.1, 0.75], axis=0),
            ]
        )
        for b in dense
    ]
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-14)
    columns = embedding.get_feature_names_out()
    assert len(columns) == out.shape[1]
    assert columns[0] == "max_x0" and columns[16] == "size" and columns[-1] == "q0.75_x3"


def test_blocks_of_sparse_bags_change_nothing(large_from):
    X = sp.random(200, 7, density=0.3, format="csr", random_state=0)
    bags = Bags(X, np.arange(0, 201, 5))
    whole = BagStatistics().fit_transform(bags)
    large_from(block_bytes=8 * 7 * 12)
    assert np.array_equal(BagStatistics().fit_transform(bags), whole)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"statistics": ("min", "mode")}, "statistics contains 'mode'; expected some of min, max"),
        ({"quantiles": [1.5]}, "quantiles contains 1.5; expected values from 0 to 1"),
        ({"statistics": ()}, "both empty"),
        ({"statistics": "min"}, "The 'statistics' parameter of BagStatistics"),
    ],
)
def test_statistics_are_checked(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        BagStatistics(**parameters).fit(data.bags)


def test_one_vs_one_is_that_of_scikit_learn_on_bags_of_one(data):
    X = np.array(data.bags.instances)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    classifier = SVC(kernel="linear")
    ours = OneVsOneBagClassifier(SingleInstanceClassifier(classifier, rule="max")).fit(X, y)
    theirs = OneVsOneClassifier(classifier).fit(X, y)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X))


@pytest.mark.slow
def test_one_vs_one_takes_bags_weights_and_jobs():
    data = load_digit_bags(60, random_state=0)
    y = data.y + (np.arange(60) % 2)
    serial = OneVsOneBagClassifier(MILogisticRegression(l1_ratio=0.0, n_init=1, tol=1e-9))
    parallel = OneVsOneBagClassifier(MILogisticRegression(l1_ratio=0.0, n_init=1, tol=1e-9), n_jobs=2)
    unweighted = serial.fit(data.bags, y).decision_function(data.bags)
    assert np.array_equal(parallel.fit(data.bags, y).decision_function(data.bags), unweighted)
    assert len(serial.estimators_) == 3
    weight = np.random.default_rng(0).integers(1, 4, size=60)
    weighted = serial.fit(data.bags, y, sample_weight=weight).decision_function(data.bags)
    again = np.repeat(np.arange(60), weight)
    repeated = parallel.fit(data.bags[again], y[again]).decision_function(data.bags)
    np.testing.assert_allclose(weighted, repeated, atol=1e-4)
    assert np.abs(weighted - unweighted).max() > 0.1
    with pytest.raises(ValueError, match="all bags of the class 2 have weight zero"):
        serial.fit(data.bags, y, sample_weight=(y != 2).astype(float))


def test_instances_are_predicted_from_bag_labels_alone():
    data = load_digit_bags(random_state=0)
    model = MILogisticRegression(alpha=10.0, random_state=0).fit(data.bags[:150], data.y[:150])
    test = data.bags[150:]
    truth = data.instance_y[data.bags.offsets[150] :]
    assert roc_auc_score(truth, model.predict_proba_instances(test)[:, 1]) > 0.9


def test_names_of_statistics_need_a_fit(data):
    with pytest.raises(NotFittedError):
        BagStatistics().get_feature_names_out()
    model = BagStatistics(statistics=("min",)).fit(data.bags)
    with pytest.raises(ValueError, match="input_features should have length"):
        model.get_feature_names_out(["a"])


def test_probabilities_of_single_precision_add_up_in_double_precision():
    data = make_noisy_or_bags(40, random_state=0)
    bags = data.bags.with_instances(data.bags.instances.astype(np.float32))
    for classifier in (LogisticRegression(), GaussianNB()):
        model = SingleInstanceClassifier(classifier).fit(bags, data.y)
        for proba in (model.predict_proba_instances(bags), model.predict_proba(bags)):
            assert proba.dtype == np.float64
            np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=0, atol=1e-15)
        alone = np.concatenate([model.predict_proba(bags[i : i + 1]) for i in range(len(bags))])
        np.testing.assert_allclose(alone, model.predict_proba(bags), rtol=1e-12)
