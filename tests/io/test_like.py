"""`load_bags` with the features of a model, named features, and a positive label."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from bagwise import (
    Bags,
    MILogisticRegression,
    OnInstances,
    load_bags,
    make_bag_pipeline,
    make_noisy_or_bags,
    save_bags,
)

TRAIN = "mol,active,batch,plate,a,b\n" + "".join(
    f"m{i},{i % 2},x{i % 3},{i % 4},{i * 0.37 % 1 + j},{(i * 7 + j) % 5}\n" for i in range(12) for j in (0, 1)
)
NEW_BAG = "b,plate,mol,a\n3,2,new,0.5\n1,2,new,0.25\n"


@pytest.fixture
def train(tmp_path):
    (tmp_path / "train.csv").write_text(TRAIN)
    return load_bags(tmp_path / "train.csv", bag="mol", label="active")


def models():
    base = MILogisticRegression(n_init=1, alpha=1.0, l1_ratio=0.0)
    yield base
    yield make_bag_pipeline(OnInstances(StandardScaler()), base)
    yield GridSearchCV(base, {"alpha": [1.0, 3.0]}, cv=2)


@pytest.mark.parametrize("model", list(models()), ids=lambda model: type(model).__name__)
def test_one_new_bag_has_the_features_of_the_model_in_their_order(train, model, tmp_path):
    bags, y = train
    assert bags.feature_names.tolist() == ["a", "b"]
    model.fit(bags, y)
    (tmp_path / "one.csv").write_text(NEW_BAG)
    plain, _ = load_bags(tmp_path / "one.csv", bag="mol")
    assert plain.feature_names.tolist() == ["b", "plate", "a"]  # one bag cannot show column roles
    new_bag, _ = load_bags(tmp_path / "one.csv", bag="mol", like=model)
    assert new_bag.feature_names.tolist() == ["a", "b"] and new_bag.instances.tolist() == [
        [0.5, 3],
        [0.25, 1],
    ]
    assert new_bag.instance_columns["plate"].tolist() == [2, 2]
    named = Bags.from_list([np.array([[0.5, 3], [0.25, 1]])])._replace(feature_names=np.array(["a", "b"]))
    assert np.array_equal(model.predict_proba(new_bag), model.predict_proba(named))


def test_bags_read_without_the_model_are_refused_with_advice(train, tmp_path):
    model = MILogisticRegression(n_init=1).fit(*train)
    (tmp_path / "one.csv").write_text(NEW_BAG)
    for options in ({}, {"features": ["b", "a"]}):
        new_bag, _ = load_bags(tmp_path / "one.csv", bag="mol", **options)
        with pytest.raises(ValueError, match=r"load_bags\(\.\.\., like=model\)"):
            model.predict(new_bag)


@pytest.mark.parametrize(
    ("name", "options"), [("a.parquet", {}), ("a.parquet", {"format": "parquet-long"}), ("a.npz", {})]
)
def test_features_are_found_by_name_in_every_kind_of_file(tmp_path, name, options):
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(6, 3)), [0, 2, 6], feature_names=["a", "b", "c"], ids=["u", "v"])
    bags = Bags(
        bags.instances, bags.offsets, ids=bags.ids, feature_names=bags.feature_names,
        bag_columns={"weight": np.array([1.0, 2.0])}, instance_columns={"t": np.arange(6)},
    )  # fmt: skip
    path = save_bags(tmp_path / name, bags, [0, 1], **options)
    selected, y = load_bags(path, features=["c", "a"])
    assert np.array_equal(selected.instances, bags.instances[:, [2, 0]]) and y.tolist() == [0, 1]
    assert np.array_equal(selected.instance_columns["b"], bags.instances[:, 1]) and selected.ids.tolist() == [
        "u",
        "v",
    ]
    more, _ = load_bags(path, features=["t", "weight", "b"])
    expected = np.column_stack([np.arange(6), [1, 1, 2, 2, 2, 2], bags.instances[:, 1]])
    assert np.array_equal(more.instances, expected) and "weight" not in more.bag_columns
    with pytest.raises(ValueError, match="has no numeric column 'd' for a feature"):
        load_bags(path, features=["a", "d"])
    assert load_bags(path, like=bags)[0].feature_names.tolist() == ["a", "b", "c"]


def test_a_feature_that_is_constant_in_every_bag_is_one_when_it_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("bag,x,y\n1,5,0\n1,5,0\n2,6,1\n2,6,1\n")
    with pytest.raises(ValueError, match="no numeric column that could be a feature"):
        load_bags(tmp_path / "a.csv")
    bags, y = load_bags(tmp_path / "a.csv", features=["x"])
    assert bags.instances[:, 0].tolist() == [5, 5, 6, 6] and y.tolist() == [0, 1]


def test_a_feature_called_y_is_no_label(tmp_path):
    (tmp_path / "a.csv").write_text("bag,x,y,label\n1,5,0,1\n1,5,3,1\n")
    bags, y = load_bags(tmp_path / "a.csv", features=["x", "y"])
    assert bags.feature_names.tolist() == ["x", "y"] and y.tolist() == [1]


def test_cells_of_named_features_are_numbers_or_missing(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("bag,x,z\n1,,1\n1,NA,2\n")
    assert np.isnan(load_bags(path, features=["x", "z"])[0].instances[:, 0]).all()
    path.write_text("bag,x,z\n1,1,1\n1,high,2\n")
    with pytest.raises(ValueError, match=r"the column 'x' is a feature, but 'high' in line 3 is not a"):
        load_bags(path, features=["x", "z"])


def test_labels_are_left_alone_on_request(tmp_path):
    (tmp_path / "a.csv").write_text("bag,x,y\n1,5,\n1,6,\n2,6,1\n2,7,1\n")
    with pytest.raises(ValueError, match="the label is missing"):
        load_bags(tmp_path / "a.csv")
    bags, y = load_bags(tmp_path / "a.csv", label=False)
    assert y is None and bags.feature_names.tolist() == ["x"]
    data = make_noisy_or_bags(5, random_state=0)
    for name in ("b.npz", "b.parquet", "b.csv"):
        assert load_bags(save_bags(tmp_path / name, data.bags, data.y), label=False)[1] is None


def test_the_positive_label_makes_labels_true_and_false(tmp_path):
    (tmp_path / "a.csv").write_text("bag,x,y\n1,5,active\n1,6,active\n2,6,inactive\n3,7,unclear\n")
    _, y = load_bags(tmp_path / "a.csv", positive="active")
    assert y.dtype == bool and y.tolist() == [True, False, False]
    with pytest.raises(ValueError, match=r"positive is 'aktiv', but no bag .*the labels are \['active'"):
        load_bags(tmp_path / "a.csv", positive="aktiv")
    with pytest.raises(ValueError, match="has no labels; name the label column"):
        load_bags(tmp_path / "a.csv", positive="active", label=False)
    data = make_noisy_or_bags(5, random_state=0)
    _, y = load_bags(save_bags(tmp_path / "b.npz", data.bags, data.y), positive=0)
    assert np.array_equal(y, data.y == 0)


def test_wrong_features_or_models_are_refused(train, tmp_path):
    (tmp_path / "one.csv").write_text(NEW_BAG)
    bags, y = train
    unnamed = MILogisticRegression(n_init=1).fit(bags._replace(feature_names=None), y)
    for options, error, message in (
        ({"features": ["a"], "like": bags}, ValueError, "pass only one of them"),
        ({"features": "a"}, ValueError, "expected a list of names"),
        ({"features": []}, ValueError, "features is empty"),
        ({"features": ["a", "a"]}, ValueError, "contains 'a' twice"),
        ({"features": ["a", "c"]}, ValueError, "has no column 'c' for a feature"),
        ({"like": MILogisticRegression()}, ValueError, "is not fitted"),
        ({"like": 3}, TypeError, "expected a fitted model or bags"),
        ({"like": unnamed}, ValueError, "has 3 features, but MILogisticRegression has 2 features without"),
    ):
        with pytest.raises(error, match=message):
            load_bags(tmp_path / "one.csv", bag="mol", **options)
    nameless = save_bags(tmp_path / "a.npz", Bags(np.ones((2, 2)), [0, 2]))
    with pytest.raises(ValueError, match="features without names, so 'a' cannot be selected"):
        load_bags(nameless, features=["a"])
