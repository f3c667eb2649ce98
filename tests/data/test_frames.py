from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bagwise import (
    Bags,
    BagStatistics,
    MILogisticRegression,
    instance_frame,
    key_instances,
    make_noisy_or_bags,
)


def shapes():
    return {
        "molecule": ["m2", "m1", "m2", "m1", "m1"],
        "active": [1, 0, 1, 0, 0],
        "angle": [0.5, 0.1, 0.6, 0.2, 0.3],
        "charge": [1, 2, 3, 4, 4],
        "batch": [7, 7, 7, 7, 7],
        "conformer": ["a", "b", "c", "d", "e"],
    }


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_becomes_bags_and_the_label_never_a_feature(frame):
    df = frame(shapes())
    bags = Bags.from_frame(df, bag="molecule")
    assert bags.ids.tolist() == ["m2", "m1"]
    assert bags.feature_names.tolist() == ["angle", "charge", "batch"]
    assert bags.instances[:, 0].tolist() == [0.5, 0.6, 0.1, 0.2, 0.3]
    assert bags.source_rows.tolist() == [0, 2, 1, 3, 4]
    assert bags.bag_columns["active"].tolist() == [1, 0]
    assert bags.instance_columns["conformer"].tolist() == ["a", "c", "b", "d", "e"]
    assert bags.per_bag(df["active"]).tolist() == [1, 0]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_named_features_are_taken_as_named(frame):
    bags = Bags.from_frame(frame(shapes()), bag="molecule", features=["charge", "active"])
    assert bags.feature_names.tolist() == ["charge", "active"]
    assert "active" not in bags.bag_columns and "angle" in bags.instance_columns


def test_a_shuffled_frame_gives_the_same_bags():
    data = make_noisy_or_bags(20, size=(1, 5), random_state=0)
    df = pd.DataFrame(np.array(data.bags.instances), columns=["a", "b", "c"])
    df["bag"] = data.bags.bag_index
    shuffled = Bags.from_frame(df.sample(frac=1, random_state=0), bag="bag", features=["a", "b", "c"])
    order = np.argsort(shuffled.ids)
    for bag, expected in zip(shuffled[order], data.bags, strict=True):
        assert np.array_equal(np.sort(bag, axis=0), np.sort(expected, axis=0))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"bag": "id"}, ValueError, "no column 'id'; it has"),
        ({"bag": "molecule", "features": ["size"]}, ValueError, "no column 'size'"),
        ({"bag": "molecule", "features": ["molecule"]}, ValueError, "cannot be a feature as well"),
        ({"bag": "molecule", "features": ["conformer"]}, ValueError, "must be numeric columns"),
        ({"bag": "conformer"}, ValueError, "every bag has one instance"),
    ],
)
def test_mistakes_are_met_by_a_sentence(arguments, error, message):
    with pytest.raises(error, match=message):
        Bags.from_frame(pd.DataFrame(shapes()), **arguments)


def test_an_array_is_no_frame():
    with pytest.raises(TypeError, match=r"got ndarray. For arrays, use Bags\.from_groups"):
        Bags.from_frame(np.zeros((2, 2)), bag="a")


@pytest.fixture(scope="module")
def fitted():
    data = make_noisy_or_bags(40, size=(1, 6), random_state=0)
    columns = {"time": np.arange(data.bags.n_instances), "xy": np.zeros((data.bags.n_instances, 2))}
    bags = Bags(
        data.bags.instances,
        data.bags.offsets,
        ids=[f"b{i}" for i in range(40)],
        feature_names=["u", "v", "w"],
        instance_columns=columns,
        bag_columns={"rank": np.arange(40)},
    )
    return MILogisticRegression(random_state=0).fit(bags, data.y), bags, data.y


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_instance_frame_has_a_row_per_instance(fitted, backend):
    model, bags, y = fitted
    frame = instance_frame(model, bags, y, features=True, backend=backend)
    assert list(frame.columns) == [
        "bag", "instance", "rank_", "time", "xy_0", "xy_1", "u", "v", "w",
        "bag_probability", "instance_probability", "posterior", "rank",
    ]  # fmt: skip
    assert len(frame) == bags.n_instances
    assert np.array_equal(frame["bag"].to_numpy(), bags.ids[bags.bag_index])
    expected = model.predict_proba(bags)[bags.bag_index, 1]
    assert np.array_equal(frame["bag_probability"].to_numpy(), expected)
    assert np.array_equal(frame["posterior"].to_numpy(), model.posterior_instances(bags, y))
    assert np.array_equal(frame["v"].to_numpy(), bags.instances[:, 1])


def test_rank_one_is_the_most_probable_instance_of_each_bag(fitted):
    model, bags, _ = fitted
    frame = instance_frame(model, bags)
    best = frame[frame["rank"] == 1].set_index("bag")["instance_probability"]
    assert np.allclose(best, frame.groupby("bag", sort=False)["instance_probability"].max())
    assert frame.groupby("bag")["rank"].apply(lambda r: set(r) == set(range(1, len(r) + 1))).all()


def test_key_instances_are_the_best_k_of_each_bag_in_order(fitted):
    model, bags, _ = fitted
    frame = key_instances(model, bags, k=2)
    assert len(frame) == np.minimum(bags.sizes, 2).sum()
    assert frame["bag"].drop_duplicates().tolist() == bags.ids.tolist()
    assert (frame["rank"] <= 2).all()
    with pytest.raises(ValueError, match="k must be at least 1; got 0"):
        key_instances(model, bags, k=0)


def test_repeated_bags_are_ranked_one_by_one(fitted):
    model, bags, _ = fitted
    twice = key_instances(model, bags[[3, 3, 1]], k=1)
    assert twice["bag"].tolist() == ["b3", "b3", "b1"]


def test_a_model_without_instance_predictions_is_refused(fitted):
    _, bags, y = fitted
    with pytest.raises(TypeError, match="BagStatistics has no instance-level predictions"):
        instance_frame(BagStatistics().fit(bags, y), bags)


def test_a_frame_with_a_single_row_is_a_bag():
    bags = Bags.from_frame(pd.DataFrame({"bag": ["a"], "x": [1.0], "z": [2.0]}), bag="bag", features=["x"])
    assert len(bags) == 1 and bags.instance_columns["z"].tolist() == [2.0]


def test_containers_of_other_libraries_are_rejected_with_the_call_that_reads_them():
    frame = pd.DataFrame({"mol": np.repeat(np.arange(20), 2), "a": np.arange(40.0)})
    y = np.arange(20) % 2
    annotated = SimpleNamespace(X=frame[["a"]].to_numpy(), obs=frame[["mol"]])
    containers = {
        r"Bags\.from_list\(X\.values\(\), ids=list\(X\)\)": {k: g[["a"]] for k, g in frame.groupby("mol")},
        r"Bags\.from_frame\(frame, bag=NAME\)": frame.groupby("mol"),
        r"Bags\.from_groups\(X\.X, X\.obs\[NAME\]\)": annotated,
    }
    for remedy, X in containers.items():
        with pytest.raises(TypeError, match=remedy):
            MILogisticRegression().fit(X, y)
    X = next(iter(containers.values()))
    assert len(Bags.from_list(X.values(), ids=list(X))) == 20
    assert len(Bags.from_groups(annotated.X, annotated.obs["mol"])) == 20


def test_a_bag_column_that_is_the_index_is_named():
    frame = pd.DataFrame({"mol": np.repeat(np.arange(20), 2), "a": np.arange(40.0)}).set_index("mol")
    with pytest.raises(ValueError, match=r"this is its index: pass frame\.reset_index\(\)"):
        Bags.from_frame(frame, bag="mol")
    assert len(Bags.from_frame(frame.reset_index(), bag="mol")) == 20
