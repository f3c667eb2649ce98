"""All estimators on scans and large bags: predictions by blocks, and fits on a scan."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    ShuffleSplit,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler
from tests.studies import marked

from bagwise import (
    MISVC,
    Bags,
    BagStatistics,
    ByIndex,
    ClusterEmbedding,
    MILogisticRegression,
    MultiLabelBagClassifier,
    OneVsOneBagClassifier,
    OnInstances,
    SingleInstanceClassifier,
    instance_kernel,
    make_bag_pipeline,
    make_noisy_or_bags,
    minimax_kernel,
    save_parquet,
    scan_bags,
    set_kernel,
    statistic_kernel,
)
from bagwise.data.blocks import Sums
from bagwise.models.base import ScoreClassifier
from bagwise.testing import all_estimators, example_of

EXAMPLES = [example_of(cls) for cls in all_estimators()]
OF_BAGS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score_samples")
OF_INSTANCES = ("predict_instances", "predict_proba_instances", "decision_function_instances")


@pytest.fixture
def everything_is_large(large_from):
    """Treat a few bags as larger than memory: blocks of 13 instances, and no instances kept in memory."""
    large_from(0, block_bytes=13 * 4 * 8)


def make_data():
    data = make_noisy_or_bags(48, size=(2, 6), coef=[2.0, -2.0, 0.0, 1.0], intercept=-1.5, random_state=7)
    return Bags(data.bags.instances.astype(np.float32), data.bags.offsets), data.y


def predictions(model, bags, y):
    values = {name: getattr(model, name)(bags) for name in (*OF_BAGS, *OF_INSTANCES) if hasattr(model, name)}
    if hasattr(model, "posterior_instances"):
        values["posterior_instances"] = model.posterior_instances(bags, y)
    return values


def assert_same_predictions(ours, expected):
    assert ours.keys() == expected.keys()
    for name, values in expected.items():
        mine = ours[name]
        if hasattr(values, "instances"):
            mine, values = (mine.load() if hasattr(mine, "load") else mine).instances, values.instances
        assert mine.dtype == values.dtype and mine.shape == values.shape
        np.testing.assert_allclose(mine, values, rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
@pytest.mark.parametrize("estimator", marked(EXAMPLES))
def test_every_estimator_predicts_from_a_scan_and_from_large_bags(estimator, tmp_path, request):
    bags, y = make_data()
    model = clone(estimator).fit(bags, y)
    order = np.random.default_rng(0).permutation(48)[:40]
    in_order, shuffled = predictions(model, bags, y), predictions(model, bags[order], y[order])
    request.getfixturevalue("everything_is_large")
    scan = scan_bags(save_parquet(tmp_path / "a.parquet", bags, y, layout="long"))
    assert_same_predictions(predictions(model, scan, y), in_order)
    assert_same_predictions(predictions(model, scan[order], y[order]), shuffled)
    assert_same_predictions(predictions(model, bags, y), in_order)
    whole = bags.with_instances(np.round(bags.instances * 8).astype(np.int16))
    assert_same_predictions(
        predictions(model, whole, y), predictions(model, whole.with_instances(whole.instances * 1.0), y)
    )


@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
@pytest.mark.parametrize("estimator", marked(EXAMPLES))
def test_every_estimator_learns_from_a_scan_or_says_that_it_cannot(estimator, tmp_path):
    bags, y = make_data()
    scan = scan_bags(save_parquet(tmp_path / "a.parquet", bags, y))
    if not estimator._streams:
        with pytest.raises(ValueError, match=r"if its [\d.]+ kB fit in memory, .*MILogisticRegression"):
            clone(estimator).fit(scan, scan.y)
        return
    ours, theirs = clone(estimator).fit(scan, scan.y), clone(estimator).fit(bags, y)
    assert_same_predictions(predictions(ours, scan, y), predictions(theirs, bags, y))


class Nearest(ScoreClassifier):
    """A minimal model that is fitted on blocks: compares the summed distances to two class means."""

    _streams = True

    def fit(self, X, y, sample_weight=None):
        training = self._read_training(X, y, sample_weight)
        blocks = training.bags.blocks(training.y, training.weight)

        def sums(block, label):
            weight = block.weight_of_each * np.repeat(block.y == label, np.diff(block.offsets))
            return Sums((weight @ block.X, weight.sum()))

        self.means_ = np.array([total / n for total, n in (blocks.total(sums, label) for label in (0, 1))])
        return self

    def _bag_scores(self, bags):
        far = [np.square(bags.instances - mean).sum(axis=1) for mean in self.means_]
        return np.add.reduceat(far[0] - far[1], bags.offsets[:-1])


@pytest.fixture
def scan_and_bags(everything_is_large, tmp_path):
    bags, y = make_data()
    bags = Bags(bags.instances.astype(float), bags.offsets, bag_columns={"patient": np.arange(48) // 4})
    return scan_bags(save_parquet(tmp_path / "a.parquet", bags, y, layout="long")), bags, y


def test_scikit_learns_tools_work_on_a_scan(scan_and_bags):
    scan, bags, y = scan_and_bags
    patients = scan.bag_columns["patient"]
    for cv, groups in ((4, None), (GroupKFold(3), patients), (ShuffleSplit(3, random_state=0), None)):
        ours = cross_val_score(Nearest(), scan, scan.y, cv=cv, groups=groups)
        np.testing.assert_array_equal(ours, cross_val_score(Nearest(), bags, y, cv=cv, groups=groups))
    ours = cross_val_predict(Nearest(), scan, scan.y, method="decision_function", cv=5)
    theirs = cross_val_predict(Nearest(), bags, y, method="decision_function", cv=5)
    np.testing.assert_allclose(ours, theirs, rtol=1e-11)
    train, test, y_train, y_test = train_test_split(scan, scan.y, stratify=scan.y, random_state=0)
    assert Nearest().fit(train, y_train).score(test, y_test) > 0.5
    search = GridSearchCV(make_bag_pipeline(Nearest()), {"nearest": [Nearest()]}, cv=3, n_jobs=2)
    with parallel_config(backend="threading"):
        assert search.fit(scan, scan.y).predict(scan).shape == (48,)


def test_weights_and_labels_of_a_fit_are_those_of_bags(scan_and_bags):
    scan, bags, y = scan_and_bags
    weight = np.arange(48) % 3
    order = np.random.default_rng(1).permutation(48)
    ours = Nearest().fit(scan[order], y[order], weight[order])
    np.testing.assert_allclose(ours.means_, Nearest().fit(bags, y, weight).means_, rtol=1e-13)
    with pytest.raises(ValueError, match="X has 48 bags but y has 47 labels; pass one label per bag"):
        Nearest().fit(scan, y[:-1])
    with pytest.raises(ValueError, match=r"sample_weight has .* values, one per instance"):
        Nearest().fit(scan, y, np.ones(scan.n_instances))
    with pytest.raises(ValueError, match="needs at least one bag"):
        Nearest().fit(scan[:0], y[:0])


def test_what_a_scan_lacks_is_refused_as_in_memory(scan_and_bags, tmp_path):
    scan, bags, y = scan_and_bags
    model = Nearest().fit(scan, y)
    narrow = bags.with_instances(bags.instances[:, :3])
    with pytest.raises(ValueError, match="X has 3 features, but Nearest is expecting 4"):
        model.predict(scan_bags(save_parquet(tmp_path / "narrow.parquet", narrow)))
    with pytest.raises(ValueError, match=r"bag 1 \('v'\) is empty"):
        hollow = Bags(np.ones((3, 4)), [0, 2, 2, 3], ids=["u", "v", "w"])
        model.predict(scan_bags(save_parquet(tmp_path / "hollow.parquet", hollow)))
    X = bags.instances.copy()
    X[70, 2] = np.inf
    bag = int(np.searchsorted(bags.offsets, 70, side="right")) - 1
    where = f"X contains infinity: bag {bag}, instance {70 - bags.offsets[bag]}, feature 2"
    broken = bags.with_instances(X)
    for spoiled in (broken, scan_bags(save_parquet(tmp_path / "broken.parquet", broken))):
        with pytest.raises(ValueError, match=where):
            model.predict(spoiled)
    with pytest.raises(NotFittedError):
        Nearest().predict(scan)
    with pytest.raises(ValueError, match="X has 48 bags but y has 2 labels"):
        MILogisticRegression().fit(bags, y).posterior_instances(scan, [0, 1])


def test_bags_are_looked_up_by_index_in_a_scan(scan_and_bags):
    scan, bags, y = scan_and_bags
    ours, theirs = (ByIndex(Nearest(), X).fit(np.arange(40)[:, None], y[:40]) for X in (scan, bags))
    np.testing.assert_allclose(ours.estimator_.means_, theirs.estimator_.means_, rtol=1e-13)
    np.testing.assert_array_equal(ours.predict(ours.index), theirs.predict(theirs.index))


def test_classes_and_labels_are_learned_from_a_scan_one_by_one(scan_and_bags):
    scan, bags, y = scan_and_bags
    three = y + np.arange(48) % 2
    for model in (OneVsOneBagClassifier(Nearest()), OneVsRestClassifier(Nearest())):
        ours, theirs = clone(model).fit(scan, three), clone(model).fit(bags, three)
        np.testing.assert_array_equal(ours.predict(scan), theirs.predict(bags))
    labels = np.column_stack([y, three == 1])
    ours, theirs = (MultiLabelBagClassifier(Nearest()).fit(X, labels) for X in (scan, bags))
    np.testing.assert_array_equal(ours.predict(scan), theirs.predict(bags))
    with pytest.raises(ValueError, match="OneVsOneBagClassifier needs all instances in memory"):
        OneVsOneBagClassifier(MISVC()).fit(scan, three)


def test_what_needs_all_instances_refuses_a_large_scan(scan_and_bags):
    scan, _, _ = scan_and_bags
    with pytest.raises(ValueError, match=r"scan take [\d.]+ kB, .* scan\.head\(100\)"):
        instance_kernel(scan)
    assert len(instance_kernel(scan.head(3))) == 3


KERNELS = {
    "gaussian": lambda *bags: set_kernel(*bags),
    "polynomial": lambda *bags: set_kernel(*bags, kernel="poly", gamma=0.1, coef0=1.0, normalize="feature"),
    "linear": lambda *bags: set_kernel(*bags, kernel="linear"),
    "minimax": lambda *bags: minimax_kernel(*bags),
    "mean": lambda *bags: statistic_kernel(*bags, statistic="mean", kernel="rbf"),
    "transformer": lambda *bags: statistic_kernel(*bags, statistic=BagStatistics(["std"]).fit(bags[0])),
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_kernels_of_bags_in_files_are_those_of_memory(kernel, tmp_path, request):
    bags, y = make_data()
    order = np.random.default_rng(0).permutation(48)[:30]
    whole, picked, both = kernel(bags), kernel(bags[order]), kernel(bags[order], bags)
    request.getfixturevalue("everything_is_large")
    scan = scan_bags(save_parquet(tmp_path / "a.parquet", bags, y, layout="long"))
    np.testing.assert_array_equal(kernel(scan), kernel(bags))  # the same blocks, so the same bits
    np.testing.assert_array_equal(kernel(bags[order], scan), kernel(bags[order], bags))
    for actual, expected in (
        (kernel(scan), whole),
        (kernel(scan[order]), picked),
        (kernel(scan[order], bags), both),
        (kernel(scan[order], scan), both),
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-14)
    for square in (kernel(scan), kernel(scan[order])):
        np.testing.assert_array_equal(square, square.T)


def test_a_transformer_of_instances_is_applied_as_they_are_read(scan_and_bags):
    scan, bags, y = scan_and_bags
    transformer = OnInstances(PCA(2, random_state=0)).fit(bags)
    ours, theirs = transformer.transform(scan), transformer.transform(bags)
    assert repr(ours) == "ScannedBags(48 bags, 202 instances, 2 features)".replace(
        "202", str(bags.n_instances)
    )
    np.testing.assert_allclose(ours.load().instances, theirs.instances, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours[5], theirs[5], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(np.concatenate(list(ours)), theirs.instances, rtol=1e-10, atol=1e-12)
    order = np.arange(48)[::-1]
    model = Nearest().fit(ours[order], y[order])
    np.testing.assert_allclose(model.means_, Nearest().fit(theirs, y).means_, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(ours), model.predict(theirs))


# ---------------------------------------------------------------------- third-party estimators on blocks


@pytest.fixture
def many(large_from, tmp_path):
    large_from(0, block_bytes=150 * 4 * 8)
    data = make_noisy_or_bags(300, size=(2, 6), coef=[2.0, -2.0, 0.0, 1.0], intercept=-1.5, random_state=7)
    path = save_parquet(tmp_path / "many.parquet", data.bags, data.y, layout="long")
    return scan_bags(path), data.bags, data.y


def test_a_classifier_with_partial_fit_learns_from_a_scan(many):
    scan, bags, y = many
    sgd = SGDClassifier(loss="log_loss", alpha=0.01, random_state=0)
    model = SingleInstanceClassifier(sgd, random_state=0)
    ours = clone(model).fit(scan, y)
    assert ours.n_passes_ == 10
    in_memory = SingleInstanceClassifier(model.estimator).fit(bags, y)
    assert ours.score(scan, y) > in_memory.score(bags, y) - 0.05
    again = clone(model).fit(scan, y)
    np.testing.assert_array_equal(again.estimator_.coef_, ours.estimator_.coef_)
    other = clone(model).set_params(random_state=1).fit(scan, y)
    assert (other.estimator_.coef_ != ours.estimator_.coef_).any()
    assert clone(model).set_params(max_passes=2).fit(scan, y, np.arange(300) % 3).n_passes_ == 2
    by_class = np.argsort(y, kind="stable")  # the first blocks have only one class
    assert clone(model).fit(scan[by_class], y[by_class]).score(scan, y) > 0.6


def test_a_classifier_without_partial_fit_says_who_learns_from_a_scan(many):
    scan, _, y = many
    with pytest.raises(
        ValueError, match=r"SingleInstanceClassifier needs all instances .* MILogisticRegression"
    ):
        SingleInstanceClassifier(LogisticRegression()).fit(scan, y)
    with pytest.raises(ValueError, match="sample_weight must be constant, because UnweightedMLP"):
        SingleInstanceClassifier(UnweightedMLP()).fit(scan, y, np.arange(300))


class UnweightedMLP(MLPClassifier):
    """A classifier whose `partial_fit` accepts no weights."""

    def partial_fit(self, X, y, classes=None):
        return super().partial_fit(X, y, classes)


def test_a_small_scan_is_learned_from_as_in_memory(tmp_path):
    bags, y = make_data()
    scan = scan_bags(save_parquet(tmp_path / "a.parquet", bags, y))
    model = SingleInstanceClassifier(SGDClassifier(loss="log_loss", random_state=0))
    ours, theirs = clone(model).fit(scan, y), clone(model).fit(bags, y)
    np.testing.assert_array_equal(ours.estimator_.coef_, theirs.estimator_.coef_)
    pipeline = make_bag_pipeline(OnInstances(StandardScaler()), MILogisticRegression(random_state=0))
    ours, theirs = clone(pipeline).fit(scan, y), clone(pipeline).fit(bags, y)
    np.testing.assert_array_equal(ours[-1].coef_, theirs[-1].coef_)


def test_a_transformer_with_partial_fit_learns_from_a_scan(many):
    scan, bags, y = many
    ours, theirs = (OnInstances(StandardScaler()).fit(X, y).transformer_ for X in (scan, bags))
    np.testing.assert_allclose(ours.mean_, theirs.mean_, rtol=1e-10)
    np.testing.assert_allclose(ours.scale_, theirs.scale_, rtol=1e-10)
    with pytest.raises(ValueError, match="OnInstances needs all instances in memory"):
        OnInstances(PCA(2)).fit(scan)
    with pytest.raises(ValueError, match="X has 300 bags but y has 3 labels"):
        OnInstances(StandardScaler()).fit(scan, y[:3])
    turned = OnInstances(IncrementalPCA(2), max_passes=2, random_state=0).fit(scan[::-1])
    assert turned.n_passes_ == 2 and turned.transform(scan).n_features == 2


def test_a_pipeline_learns_and_predicts_from_a_scan(many):
    scan, bags, y = many
    model = make_bag_pipeline(OnInstances(StandardScaler()), MILogisticRegression(random_state=0, tol=1e-9))
    ours, theirs = clone(model).fit(scan, y), clone(model).fit(bags, y)
    np.testing.assert_allclose(ours.predict_proba(scan), theirs.predict_proba(bags), rtol=1e-3, atol=1e-4)
    assert ours.predict_proba_instances(scan).shape == (bags.n_instances, 2)
    assert cross_val_score(model, scan, y, cv=2).mean() > 0.6


def test_values_may_be_missing_where_a_transformer_fills_them_in(everything_is_large, tmp_path, monkeypatch):
    bags, y = make_data()
    X = bags.instances.copy()
    X[::7, 1] = np.nan
    gaps = bags.with_instances(X)
    scan = scan_bags(save_parquet(tmp_path / "a.parquet", gaps, y, layout="long"))
    steps = (OnInstances(SimpleImputer()).fit(gaps), OnInstances(StandardScaler()).fit(bags))
    ours, theirs = scan, gaps
    for step in steps:
        ours, theirs = step.transform(ours), step.transform(theirs)
    model = Nearest().fit(theirs, y)
    np.testing.assert_allclose(Nearest().fit(ours, y).means_, model.means_, rtol=1e-5)
    np.testing.assert_array_equal(model.predict(ours), model.predict(theirs))
    unfilled = steps[1].transform(scan)
    with pytest.raises(ValueError, match="returned infinity or NaN"):
        model.predict(unfilled)
    with pytest.raises(ValueError, match="X contains NaN: bag 0, instance 0, feature 1"):
        model.predict(scan)
    monkeypatch.undo()
    np.testing.assert_array_equal(model.predict(ours), model.predict(theirs))  # small: loaded into memory
    with pytest.raises(ValueError, match="X contains NaN"):
        model.predict(unfilled)


def test_embeddings_learn_from_a_scan(many, monkeypatch):
    scan, bags, y = many
    model = make_bag_pipeline(BagStatistics(("min", "mean")), LogisticRegression())
    np.testing.assert_allclose(
        model.fit(scan, y).predict_proba(scan), clone(model).fit(bags, y).predict_proba(bags), rtol=1e-9
    )
    ours, theirs = (ClusterEmbedding(5, random_state=0).fit(X) for X in (scan, bags))  # all instances fit
    np.testing.assert_array_equal(ours.transform(scan), theirs.transform(bags))
    monkeypatch.setattr("bagwise.models.embedding.instances.SAMPLE_VALUES", 4 * 200)
    few, again = (ClusterEmbedding(5, random_state=0).fit(X) for X in (scan, bags))
    np.testing.assert_array_equal(few.clusterer_.labels_, again.clusterer_.labels_)
    assert len(few.clusterer_.labels_) == 200
    assert few.transform(scan[::-1]).sum(axis=1).min() >= 1


def test_blocks_in_a_random_order_are_all_blocks(many):
    scan, bags, _ = many
    for selected, expected in ((scan, bags), (scan[::-2], bags[::-2])):
        seen = np.full_like(expected.instances, np.nan)
        indices = np.arange(len(selected))
        order = []
        for block in selected.shuffled_blocks(np.random.RandomState(0), indices, np.ones(len(selected))):
            seen[block.rows(block.part_of(expected.offsets[:-1]))] = block.X
            np.testing.assert_array_equal(block.y, indices[block.bags])
            order.append(block.y[0])
        np.testing.assert_array_equal(seen, expected.instances)
        assert order != sorted(order)
