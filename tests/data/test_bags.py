import itertools
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from bagwise import Bags
from bagwise.data.bags import as_bags, describes_bags


@st.composite
def sizes_and_index(draw):
    sizes = draw(st.lists(st.integers(0, 4), min_size=1, max_size=8))
    index = draw(st.lists(st.integers(-len(sizes), len(sizes) - 1), max_size=12))
    return sizes, index


def make(sizes, **names):
    n = sum(sizes)
    X = np.arange(2.0 * n).reshape(n, 2)
    return Bags(X, np.cumsum([0, *sizes]), **names)


def everything(sizes):
    n = sum(sizes)
    return make(
        sizes,
        ids=[f"b{i}" for i in range(len(sizes))],
        feature_names=["u", "v"],
        instance_columns={"time": np.arange(n), "xy": np.arange(2 * n).reshape(n, 2)},
        bag_columns={"patient": np.arange(len(sizes)) // 2},
    )


@given(sizes_and_index())
@settings(deadline=None)
def test_selection_equals_a_list_of_arrays(drawn):
    sizes, index = drawn
    bags = everything(sizes)
    taken = bags[np.array(index, dtype=int)]
    expected = [bags[i] for i in index]
    assert len(taken) == len(index)
    assert all(np.array_equal(a, b) for a, b in zip(taken, expected, strict=True))
    assert taken.offsets[0] == 0 and taken.offsets[-1] == taken.n_instances
    assert taken.ids.tolist() == [f"b{i % len(sizes)}" for i in index]
    # Side columns are selected, too: the first coordinate of an instance is twice its index.
    assert np.array_equal(taken.instance_columns["time"] * 2.0, taken.instances[:, 0])
    assert taken.instance_columns["xy"].shape == (taken.n_instances, 2)
    assert taken.bag_columns["patient"].tolist() == [i % len(sizes) // 2 for i in index]
    assert taken.feature_names.tolist() == ["u", "v"]


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=8),
    st.slices(8),
)
@settings(deadline=None)
def test_slices_and_masks_equal_index_arrays(sizes, key):
    bags = everything(sizes)
    chosen = np.arange(len(sizes))[key]
    mask = np.isin(np.arange(len(sizes)), chosen)
    by_slice, by_index = bags[key], bags[chosen]
    assert np.array_equal(by_slice.instances, by_index.instances)
    assert np.array_equal(by_slice.offsets, by_index.offsets)
    assert np.array_equal(bags[mask].ids, bags[np.sort(chosen)].ids)


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=1, max_size=4))
@settings(deadline=None)
def test_concat_undoes_a_split(parts):
    whole = everything([size for part in parts for size in part])
    borders = np.cumsum([0, *map(len, parts)])
    pieces = [whole[a:b] for a, b in itertools.pairwise(borders)]
    again = Bags.concat(pieces)
    assert np.array_equal(again.instances, whole.instances)
    assert np.array_equal(again.offsets, whole.offsets)
    assert np.array_equal(again.ids, whole.ids)
    assert np.array_equal(again.instance_columns["xy"], whole.instance_columns["xy"])


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=20))
@settings(deadline=None)
def test_groups_come_in_order_of_first_appearance(ids):
    X = np.arange(float(len(ids)))[:, None]
    bags = Bags.from_groups(X, ids)
    assert bags.ids.tolist() == list(dict.fromkeys(ids))
    for name, bag in zip(bags.ids, bags, strict=True):
        assert bag[:, 0].tolist() == [i for i, other in enumerate(ids) if other == name]
    assert np.array_equal(bags.instances[:, 0], bags.source_rows)


def test_instances_are_a_read_only_view_without_a_copy():
    X = np.zeros((3, 2), dtype=np.int16)
    bags = Bags(X, [0, 1, 3])
    assert np.shares_memory(bags.instances, X)
    assert bags.instances.dtype == np.int16
    with pytest.raises(ValueError, match="read-only"):
        bags.instances[0, 0] = 1.0
    X[0, 0] = 1  # the caller's array stays writable


def test_a_slice_and_a_run_of_indices_are_views():
    bags = make([1, 2, 3, 1])
    assert np.shares_memory(bags[1:3].instances, bags.instances)
    assert np.shares_memory(bags[np.array([1, 2])].instances, bags.instances)
    assert bags[1:3].offsets.tolist() == [0, 2, 5]


def test_offsets_cannot_be_moved_from_outside():
    offsets = np.array([0, 1, 3])
    bags = Bags(np.zeros((3, 2)), offsets)
    offsets[1] = 2
    assert bags.offsets.tolist() == [0, 1, 3]
    assert bags.offsets.dtype == np.int64


def test_csr_stays_csr_through_selection_concat_and_pickle():
    X = sp.random(6, 5, density=0.5, format="csr", random_state=0)
    bags = Bags(X, [0, 1, 3, 6])
    assert np.shares_memory(bags.instances.data, X.data)
    for other in (
        bags[[2, 0]],
        bags[1:],
        Bags.concat([bags, bags]),
        pickle.loads(pickle.dumps(bags)),
    ):
        assert sp.issparse(other.instances) and other.instances.format == "csr"
    assert np.array_equal(bags[[2, 0]].instances.toarray(), X.toarray()[[3, 4, 5, 0]])


def test_unsorted_csr_is_put_in_order_without_touching_the_input():
    X = sp.csr_array((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    bags = Bags(X, [0, 1])
    assert bags.instances.indices.tolist() == [0, 1]
    assert X.indices.tolist() == [1, 0]


def test_three_dimensional_arrays_are_bags_of_one_size_without_a_copy():
    cube = np.arange(12.0).reshape(2, 3, 2)
    bags = Bags.from_list(cube)
    assert bags.sizes.tolist() == [3, 3]
    assert np.shares_memory(bags.instances, cube)


def test_as_bags_understands_every_container():
    arrays = [np.zeros((2, 3)), np.ones((1, 3))]
    objects = np.empty(2, dtype=object)
    objects[:] = arrays
    for X in (arrays, tuple(arrays), objects, [a.tolist() for a in arrays], Bags.from_list(arrays)):
        assert describes_bags(X)
        assert as_bags(X).sizes.tolist() == [2, 1]
    for X in (np.zeros((4, 3)), [[0.0, 1.0, 2.0]] * 4, sp.csr_array((4, 3))):
        assert not describes_bags(X)
        assert as_bags(X).sizes.tolist() == [1, 1, 1, 1]


def test_selection_keeps_indices_as_ids_and_concat_renumbers():
    bags = make([1, 1, 1])
    assert bags[[2, 0]].ids.tolist() == [2, 0]
    assert Bags.concat([bags, bags]).ids.tolist() == [0, 1, 2, 3, 4, 5]


def test_pickle_keeps_everything_and_stays_read_only():
    bags = Bags.from_groups(np.arange(8.0).reshape(4, 2), ["b", "a", "b", "a"])
    again = pickle.loads(pickle.dumps(bags))
    assert np.array_equal(again.instances, bags.instances)
    assert again.ids.tolist() == ["b", "a"]
    assert again.source_rows.tolist() == [0, 2, 1, 3]
    assert again.per_bag([1, 0, 1, 0]).tolist() == [1, 0]
    assert not again.instances.flags.writeable


def test_parts_are_pickled_by_name_whatever_their_order(monkeypatch):
    bags = Bags(np.eye(3), [0, 1, 3], ids=["p", "q"], feature_names=list("uvw"), bag_columns={"n": [5, 6]})
    monkeypatch.setattr(Bags, "__slots__", Bags.__slots__[::-1])
    again = pickle.loads(pickle.dumps(bags))
    assert again.ids.tolist() == ["p", "q"] and again.feature_names.tolist() == list("uvw")
    assert again.offsets.tolist() == [0, 1, 3] and again.bag_columns["n"].tolist() == [5, 6]
    np.testing.assert_array_equal(again.instances, np.eye(3))


def test_clone_shares_the_data():
    bags = make([1, 2])
    assert clone(bags) is bags


def test_scikit_learn_style_tuple_keys_select_bags():
    bags = make([1, 2, 1])
    assert bags.shape == (3, 2)
    assert bags[np.array([2, 0]), ...].ids.tolist() == [2, 0]
    with pytest.raises(IndexError, match="indexed by bag only"):
        bags[:, 0]


def test_bags_refuse_to_become_an_array():
    with pytest.raises(TypeError, match=r"use bags\.instances"):
        np.asarray(make([1, 2]))


def test_per_bag_takes_rows_of_the_input_in_their_order():
    bags = Bags.from_groups(np.zeros((4, 1)), ["b", "a", "b", "a"])
    assert bags.per_bag(np.array([1, 0, 1, 0])).tolist() == [1, 0]
    assert bags[[1]].per_bag(np.array([1, 0, 1, 0])).tolist() == [0]


def test_per_bag_refuses_a_bag_with_two_labels_by_its_name():
    bags = Bags.from_groups(np.zeros((3, 1)), ["m16", "m17", "m17"])
    with pytest.raises(ValueError, match="bag 'm17' has labels 0 and 1"):
        bags.per_bag([1, 0, 1])


def test_per_bag_names_bags_whose_ids_are_objects_and_rows_without_a_label():
    bags = Bags.from_groups(np.zeros((2, 1)), np.array(["m1", "m1"], dtype=object))
    with pytest.raises(ValueError, match="bag 'm1' has labels 'a' and 'b'"):
        bags.per_bag(np.array(["a", "b"], dtype=object))
    with pytest.raises(ValueError, match="bag 'm1' has a row without a label"):
        bags.per_bag([1.0, np.nan])


def test_per_bag_reads_side_columns_by_name():
    bags = make([2, 1], instance_columns={"plate": ["p", "p", "q"]}, bag_columns={"day": [3, 4]})
    assert bags.per_bag("plate").tolist() == ["p", "q"]
    assert bags.per_bag("day").tolist() == [3, 4]
    with pytest.raises(KeyError, match="no side column 'week'"):
        bags.per_bag("week")


def test_per_bag_refuses_a_column_of_another_length():
    bags = Bags.from_groups(np.zeros((3, 1)), ["a", "b", "b"])
    with pytest.raises(ValueError, match=r"shape \(2,\), but there are 3 input rows"):
        bags.per_bag([1, 0])


def test_with_instances_keeps_bags_and_drops_names_that_no_longer_fit():
    bags = make([1, 2], feature_names=["u", "v"], ids=["p", "q"])
    assert bags.with_instances(np.ones((3, 2))).feature_names.tolist() == ["u", "v"]
    narrow = bags.with_instances(np.ones((3, 1)))
    assert narrow.feature_names is None and narrow.ids.tolist() == ["p", "q"]
    with pytest.raises(ValueError, match="2 rows; expected 3, one per instance"):
        bags.with_instances(np.ones((2, 2)))


def test_repr_counts():
    assert repr(make([1, 2])) == "Bags(2 bags, 3 instances, 2 features)"
    assert repr(Bags(np.zeros((1, 1)), [0, 1])) == "Bags(1 bag, 1 instance, 1 feature)"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Bags(np.zeros(3), [0, 3]), r"instances has shape \(3,\); expected a 2-D array"),
        (lambda: Bags(np.zeros((3, 2)), [0, 2]), "end at the number of instances, 3"),
        (
            lambda: Bags(np.zeros((3, 2)), [0, 2, 1, 3]),
            "must not decrease; they go from 2 to 1 at bag 1",
        ),
        (lambda: Bags(np.zeros((3, 2)), [0.0, 3.0]), "1-D array of integers"),
        (lambda: Bags(np.zeros((3, 2)), [0, 3], ids=["a", "b"]), "ids has shape"),
        (
            lambda: Bags(np.zeros((3, 2)), [0, 3], feature_names=["a"]),
            "1 names; expected 2, one per feature",
        ),
        (
            lambda: Bags(np.zeros((3, 2)), [0, 3], instance_columns={"t": [1]}),
            r"instance_columns\['t'\] has shape \(1,\), but there are 3 instances",
        ),
        (lambda: Bags.from_list([]), "the list is empty"),
        (lambda: Bags.from_list([np.zeros((1, 2)), np.zeros(2)]), r"bag 1 has shape \(2,\)"),
        (
            lambda: Bags.from_list([np.zeros((1, 2)), np.zeros((1, 3))]),
            "bag 1 has 3 features but bag 0 has 2",
        ),
        (lambda: Bags.from_groups(np.zeros((3, 2)), [1, 2]), "pass one bag id for every row"),
        (lambda: Bags.from_groups(np.zeros((2, 2)), [1.0, np.nan]), "no value for row 1"),
        (
            lambda: Bags.from_groups(np.zeros((2, 2)), np.array(["a", None], dtype=object)),
            "no value for row 1",
        ),
        (lambda: Bags.concat([]), "the list is empty"),
        (
            lambda: Bags.concat([make([1]), Bags(np.zeros((1, 3)), [0, 1])]),
            "part 1 has 3 features but part 0 has 2",
        ),
        (lambda: Bags.concat([make([1]), everything([1])]), "part 1 and part 0 have different feature names"),
        (
            lambda: Bags.concat([make([1]), make([1], bag_columns={"day": [1]})]),
            "all parts need the same side columns",
        ),
    ],
)
def test_mistakes_are_met_by_a_sentence(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (5, "bag 5 is out of range; there are 2 bags"),
        ([0, 7], "bag 7 is out of range"),
        ([True], "mask has 1 entries; expected 2, one per bag"),
        ([0.5], "indexed by integers or a boolean mask"),
        ([[0], [1]], "an integer, a slice or a 1-D array"),
    ],
)
def test_bad_keys_are_met_by_a_sentence(key, message):
    with pytest.raises(IndexError, match=message):
        make([1, 2])[key]


def test_bags_are_found_by_their_text_ids():
    bags = Bags(np.arange(12.0).reshape(6, 2), [0, 1, 3, 6], ids=["slide_1", "slide_2", "other"])
    np.testing.assert_array_equal(bags["slide_2"], bags[1])
    assert bags[["other", "slide_1"]].ids.tolist() == ["other", "slide_1"]
    assert bags[np.array(["other"])].ids.tolist() == ["other"]
    with pytest.raises(KeyError, match="there is no bag 'slide_9'; similar ids: 'slide_"):
        bags["slide_9"]
    with pytest.raises(KeyError, match="there is no bag 'slid_1'; similar ids"):
        bags[["other", "slid_1"]]
    with pytest.raises(KeyError, match="2 bags have the id 'other'; select one by index"):
        bags[[2, 2]]["other"]
    numbered = Bags(np.zeros((3, 1)), [0, 1, 3])
    np.testing.assert_array_equal(numbered["1"], numbered[1])


# ------------------------------------------------------------ tables, descriptions and notebooks


def make_described_bags(**more):
    rng = np.random.default_rng(0)
    columns = {"patient": ["p", "q", "p"], "age": [30, np.nan, 30], "slide": ["s1", "s2", "s3"]}
    return Bags(
        rng.normal(size=(6, 2)), [0, 2, 3, 6], ids=["a", "b", "c"], feature_names=["u", "v"],
        instance_columns={"xy": np.arange(12).reshape(6, 2)}, bag_columns=columns, **more,
    )  # fmt: skip


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_bags_become_a_frame_and_back(backend):
    bags = make_described_bags()
    frame = bags.to_frame(backend=backend)
    assert list(frame.columns) == ["bag", "patient", "age", "slide", "xy_0", "xy_1", "u", "v"]
    back = Bags.from_frame(frame, bag="bag", features=["u", "v"])
    np.testing.assert_array_equal(back.instances, bags.instances)
    assert back.ids.tolist() == bags.ids.tolist() and back.offsets.tolist() == bags.offsets.tolist()
    assert back.bag_columns["slide"].tolist() == ["s1", "s2", "s3"]
    sparse = Bags(sp.csr_array(np.eye(3)), [0, 1, 3], instance_columns={"x1": [5, 6, 7]})
    table = sparse.to_frame(backend="pandas")
    assert list(table.columns) == ["bag", "x1", "x0", "x1_", "x2"] and table["x1_"].tolist() == [0, 1, 0]


def test_a_description_has_a_row_per_feature():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) * [1, 100, 1, 0] + [0, 5, 0, 3]
    offsets = np.array([0, 10, 10, 30, 50])
    X[:, 2] = np.repeat([1.0, 2.0, 4.0], [10, 20, 20])
    X[3, 0] = np.nan
    for instances in (X, sp.csr_array(X), X.astype(np.float32)):
        frame = (
            Bags(instances, offsets, feature_names=list("abcd"))
            .describe(backend="pandas")
            .set_index("feature")
        )
        assert frame["missing"].tolist() == [1, 0, 0, 0]
        np.testing.assert_allclose(frame["mean"], np.nanmean(X, axis=0), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(frame["std"], np.nanstd(X, axis=0), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(frame["min"], np.nanmin(X, axis=0), rtol=1e-6)
        np.testing.assert_allclose(frame["max"], np.nanmax(X, axis=0), rtol=1e-6)
        assert frame["between"]["c"] == pytest.approx(1.0) and np.isnan(frame["between"]["d"])
        column, bag = X[:, 1], np.repeat(np.arange(4), np.diff(offsets))
        means = np.array([column[bag == b].mean() for b in bag])
        assert frame["between"]["b"] == pytest.approx(means.var() / column.var(), rel=1e-4)
    assert len(Bags(np.empty((2, 0)), [0, 2]).describe(backend="pandas")) == 0


def test_bags_of_a_group_are_merged_and_their_ids_kept():
    bags = make_described_bags()
    merged = bags.merge("patient")
    assert merged.ids.tolist() == ["p", "q"] and merged.sizes.tolist() == [5, 1]
    np.testing.assert_array_equal(merged["p"], np.vstack([bags["a"], bags["c"]]))
    assert merged.instance_columns["bag"].tolist() == ["a", "a", "c", "c", "c", "b"]
    assert merged.instance_columns["slide"].tolist() == ["s1", "s1", "s3", "s3", "s3", "s2"]
    np.testing.assert_array_equal(merged.instance_columns["xy"][-1], bags.instance_columns["xy"][2])
    assert set(merged.bag_columns) == {"patient", "age"}
    np.testing.assert_array_equal(merged.bag_columns["age"], [30, np.nan])
    again = bags.merge([2, 1, 1], column="slide")
    assert again.ids.tolist() == [2, 1] and again.instance_columns["slide_"].tolist()[-1] == "c"
    for groups, error, message in (
        ("doctor", KeyError, "no bag column 'doctor'; the bag columns are .'age', 'patient', 'slide'"),
        ([1, 2], ValueError, "groups has the shape .2,., but there are 3 bags"),
        (["p", None, "q"], ValueError, "groups has no value for bag 'b'"),
        ("age", ValueError, "groups has no value for bag 'b'"),
        (["p", np.nan, np.nan], ValueError, "groups has no value for bag 'b' and 1 more; every bag needs a"),
        (["p", "", "q"], ValueError, "groups has no value for bag 'b'; every bag needs a group"),
        (pd.array([1, 2, pd.NA]), ValueError, "groups has no value for bag 'c'"),
        (np.array(["2026-01-01", "NaT", "NaT"], "M8[D]"), ValueError, "groups has no value for bag 'b'"),
        (np.array([1, "a", 2], object), TypeError, r"values of different types \(int, str\), which cannot"),
    ):
        with pytest.raises(error, match=message):
            bags.merge(groups)


def test_notebooks_show_the_first_bags():
    bags = make_described_bags()._replace(ids=np.array(["<a>", "b", "c"]))
    html = bags._repr_html_()
    assert "&lt;a&gt;" in html and "<a>" not in html and ">patient</th>" in html and "more" not in html
    many = Bags(np.zeros((30, 1)), np.arange(31))
    assert "and 22 more" in many._repr_html_() and many._repr_html_().count("<tr>") == 9


def test_sequences_are_not_tabulated():
    from bagwise import Sequences

    bags = Bags(Sequences.from_list([[0, 1], [1]]), [0, 1, 2])
    for method in ("to_frame", "describe"):
        with pytest.raises(TypeError, match=f"{method} requires vector instances; these bags"):
            getattr(bags, method)()


def test_the_page_of_data_shows_bags_that_are_there():
    page = (Path(__file__).parents[2] / "docs/data.md").read_text()
    block = page.split("## Work with bags in memory")[1].split("```python\n")[1].split("```")[0]
    scope = {}
    exec(block, scope)
    assert scope["patients"].sizes.tolist() == [5, 1]
