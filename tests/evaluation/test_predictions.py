"""Predictions of bags and instances, as frames and in files."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.multiclass import OneVsRestClassifier

from bagwise import (
    Bags,
    BagStatistics,
    InstanceMISVC,
    MILogisticRegression,
    MultiLabelBagClassifier,
    PositiveClassWarning,
    instance_frame,
    key_instances,
    make_bag_pipeline,
    make_noisy_or_bags,
    predict_frame,
    save_parquet,
    scan_bags,
)


@pytest.fixture(scope="module")
def fitted():
    data = make_noisy_or_bags(60, size=(1, 6), random_state=0)
    n = data.bags.n_instances
    bags = Bags(
        data.bags.instances,
        data.bags.offsets,
        ids=[f"b{i}" for i in range(60)],
        feature_names=["u", "v", "w"],
        instance_columns={"time": np.arange(n), "xy": np.zeros((n, 2))},
        bag_columns={"patient": np.arange(60) // 2},
    )
    labels = np.where(data.y == 1, "active", "inactive")
    with pytest.warns(PositiveClassWarning, match="positive=.active."):
        model = MILogisticRegression(random_state=0).fit(bags, labels)
    return model, bags, labels


@pytest.fixture
def large(large_from):
    """Treat small data as if it did not fit in memory, with blocks of 11 instances."""
    large_from(0, block_bytes=11 * 3 * 8)


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_a_row_per_bag_names_the_positive_class(fitted, backend):
    model, bags, _ = fitted
    frame = predict_frame(model, bags, backend=backend)
    assert list(frame.columns) == ["bag", "prediction", "probability_active"]
    assert frame["bag"].to_numpy().tolist() == bags.ids.tolist()
    assert frame["prediction"].to_numpy().tolist() == model.predict(bags).tolist()
    np.testing.assert_array_equal(frame["probability_active"], model.predict_proba(bags)[:, 0])


def test_scores_many_classes_and_many_labels_have_columns_of_their_own(fitted):
    _, bags, labels = fitted
    y = (labels == "active").astype(int)
    scores = predict_frame(InstanceMISVC(random_state=0).fit(bags, y), bags)
    assert list(scores.columns) == ["bag", "prediction", "score"]
    three = y + (np.arange(60) % 2)
    many = OneVsRestClassifier(MILogisticRegression(random_state=0)).fit(bags, three)
    frame = predict_frame(many, bags)
    assert list(frame.columns) == ["bag", "prediction", "probability_0", "probability_1", "probability_2"]
    several = MultiLabelBagClassifier(MILogisticRegression(random_state=0)).fit(
        bags, np.column_stack([y, three == 1])
    )
    assert list(predict_frame(several, bags).columns) == [
        "bag", "prediction_0", "prediction_1", "probability_0", "probability_1",
    ]  # fmt: skip
    other = make_bag_pipeline(BagStatistics(), DummyClassifier()).fit(bags, y)
    assert list(predict_frame(other, [np.zeros((2, 3)), np.zeros((1, 3))])["bag"]) == [0, 1]


READ = {".csv": pd.read_csv, ".parquet": pd.read_parquet}


@pytest.mark.parametrize("suffix", READ)
@pytest.mark.parametrize("lies", ["in memory", "in a file"])
def test_tables_are_written_as_they_are_made(fitted, tmp_path, suffix, lies, request):
    model, bags, labels = fitted
    frames = predict_frame(model, bags), instance_frame(model, bags, labels, features=True)
    request.getfixturevalue("large")
    source = bags
    if lies == "in a file":
        source = scan_bags(save_parquet(tmp_path / "bags.parquet", bags, labels, layout="long"))
    written = tmp_path / f"a{suffix}"
    assert predict_frame(model, source, path=written) == written
    pd.testing.assert_frame_equal(READ[suffix](written), frames[0], rtol=1e-12)
    assert instance_frame(model, source, labels, features=True, path=written) == written
    pd.testing.assert_frame_equal(READ[suffix](written), frames[1], rtol=1e-12)
    pd.testing.assert_frame_equal(predict_frame(model, source), frames[0], rtol=1e-12)
    pd.testing.assert_frame_equal(instance_frame(model, source, labels, features=True), frames[1], rtol=1e-12)
    pd.testing.assert_frame_equal(
        key_instances(model, source, k=2).reset_index(drop=True),
        key_instances(model, bags, k=2).reset_index(drop=True),
        rtol=1e-12,
    )
    order = np.random.default_rng(0).permutation(60)
    for function in (predict_frame, instance_frame):
        pd.testing.assert_frame_equal(
            function(model, source[order]), function(model, bags[order]), rtol=1e-12
        )


def test_a_table_that_breaks_off_leaves_nothing(fitted, tmp_path, large):
    model, bags, _ = fitted
    X = bags.instances.copy()
    X[-1, 0] = np.nan
    with pytest.raises(ValueError, match="X contains NaN: bag 'b59'"):
        predict_frame(model, bags.with_instances(X), path=tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"ends in '\.txt'; tables are written to \.csv or \.parquet"):
        predict_frame(model, bags, path=tmp_path / "a.txt")
    with pytest.raises(ValueError, match="X has 60 bags but y has 1 labels"):
        instance_frame(model, bags, ["active"], path=tmp_path / "a.csv")
    assert list(tmp_path.iterdir()) == []


def test_ids_of_python_objects_are_text(fitted, tmp_path):
    model, bags, _ = fitted
    named = bags._replace(ids=np.array(bags.ids, dtype=object))
    predict_frame(model, named, path=tmp_path / "a.csv")
    assert pl.read_csv(tmp_path / "a.csv")["bag"].to_list() == bags.ids.tolist()
