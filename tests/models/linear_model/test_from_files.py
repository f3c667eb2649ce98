"""Linear fits to bags in files: with the same blocks, results are bit-identical to those in memory."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, train_test_split

from bagwise import (
    Bags,
    MILogisticRegression,
    MILogisticRegressionCV,
    MIMLLogisticRegression,
    SoftORLogisticRegression,
    make_noisy_or_bags,
    milr_path,
    save_bags,
    scan_bags,
)
from bagwise.data.blocks import FileBlocks

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    drawn = make_noisy_or_bags(1500, size=4, coef=[2.0, -2.0, 1.0, 0.0, 0.0], random_state=0)
    bags = Bags(drawn.bags.instances.astype(np.float32), drawn.bags.offsets)
    path = tmp_path_factory.mktemp("bags") / "bags.parquet"
    save_bags(path, bags, y=drawn.y)
    return path, bags, drawn.y


@pytest.fixture(autouse=True)
def large(monkeypatch, large_from):
    """Treat small data as large, in blocks of 500 instances."""
    large_from(1000, block_bytes=5 * 8 * 500)
    monkeypatch.setattr("bagwise.models.linear_model.engine.large_fit._SAMPLE_VALUES", 5_000)


MODELS = {
    "ridge": MILogisticRegression(l1_ratio=0.0, n_init=2, random_state=0),
    "lasso": MILogisticRegression(alpha=10.0, n_init=1, random_state=0),
    "softmax": MILogisticRegression("softmax", l1_ratio=0.0, n_init=1, random_state=0),
    "no scale": MILogisticRegression(
        l1_ratio=0.0, scale=None, class_weight="balanced", n_init=1, random_state=0
    ),
    "minmax": MILogisticRegression(l1_ratio=0.0, scale="minmax", n_init=1, random_state=0),
    "cv": MILogisticRegressionCV(alphas=3, cv=2, n_init=1, random_state=0),
    "soft-or": SoftORLogisticRegression(n_init=1, random_state=0),
    "many labels": MIMLLogisticRegression(n_init=1, random_state=0),
}


@pytest.mark.parametrize(
    "name", [*sorted(set(MODELS) - {"soft-or"}), pytest.param("soft-or", marks=pytest.mark.slow)]
)
def test_the_same_cut_gives_the_same_bits(name, data):
    path, bags, y = data
    scan = scan_bags(path)
    in_memory = MODELS[name].fit(bags, y)
    coef, intercept, passes = in_memory.coef_.copy(), in_memory.intercept_.copy(), in_memory.n_passes_
    from_file = MODELS[name].fit(scan, scan.y)
    np.testing.assert_array_equal(from_file.coef_, coef)
    np.testing.assert_array_equal(from_file.intercept_, intercept)
    assert from_file.n_passes_ == passes
    np.testing.assert_array_equal(from_file.predict_proba(scan), from_file.predict_proba(bags))


def test_a_path_from_a_file_is_that_in_memory(data):
    path, bags, y = data
    scan = scan_bags(path)
    ours, expected = milr_path(scan, scan.y, alphas=4), milr_path(bags, y, alphas=4)
    np.testing.assert_array_equal(ours.coefs, expected.coefs)
    assert ours.n_passes == expected.n_passes


def test_a_path_says_how_often_the_file_was_read(data, monkeypatch):
    scan, reads = scan_bags(data[0]), []
    each = FileBlocks.each
    monkeypatch.setattr(FileBlocks, "each", lambda *args: reads.append(1) or each(*args))
    assert milr_path(scan, scan.y, alphas=4).n_passes == len(reads) > 4


def test_scikit_learn_cuts_a_scan(data):
    path, bags, y = data
    scan = scan_bags(path)
    model = MILogisticRegression(l1_ratio=0.0, n_init=1, random_state=0)
    groups = np.arange(len(y)) // 10
    scores = [cross_val_score(model, X, y, groups=groups, cv=GroupKFold(3)) for X in (scan, bags)]
    np.testing.assert_allclose(*scores, rtol=1e-12)
    train, _, y_train, _ = train_test_split(scan, y, random_state=0)
    search = GridSearchCV(model, {"alpha": [1.0, 100.0]}, cv=2).fit(train, y_train)
    assert search.best_score_ > 0.6


@pytest.mark.study
def test_few_reads(tmp_path, large_from):
    """Count passes over 24,000 noisy-or bags of 5 x 100: L-BFGS for ridge, and a sample for the LASSO."""
    large_from(0)
    drawn = make_noisy_or_bags(24_000, size=5, n_features=100, n_informative=5, random_state=0)
    save_bags(tmp_path / "bags.parquet", drawn.bags, y=drawn.y)
    scan = scan_bags(tmp_path / "bags.parquet")
    assert MILogisticRegression(l1_ratio=0.0, random_state=0).fit(scan, scan.y).n_passes_ <= 80
    assert MILogisticRegression(random_state=0).fit(scan, scan.y).n_passes_ <= 20
