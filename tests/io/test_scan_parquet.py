"""Scans of Parquet files: the same data as loading, bags across row groups and files, and all errors."""

import os
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bagwise import Bags, ScannedBags, load_parquet, make_noisy_or_bags, save_parquet, scan_bags
from bagwise.io._parquet_reader import Reader


def full_bags(n_bags=12, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, n_bags)
    n = int(sizes.sum())
    return Bags(
        rng.normal(size=(n, 3)).astype(dtype),
        np.cumsum([0, *sizes]),
        ids=[f"bag {i}" for i in rng.permutation(n_bags)],
        feature_names=["a", "b", "c"],
        instance_columns={"place": rng.integers(0, 9, (n, 2)), "kind": rng.choice(["p", "quark"], n)},
        bag_columns={"patient": np.arange(n_bags) % 3, "when": np.arange(n_bags).astype("M8[D]")},
    )


def assert_same(bags, other):
    assert bags.offsets.tolist() == other.offsets.tolist()
    assert bags.instances.dtype == other.instances.dtype
    np.testing.assert_array_equal(bags.instances, other.instances)
    assert (bags._ids is None) == (other._ids is None)
    np.testing.assert_array_equal(bags.ids, other.ids)
    assert (bags.feature_names is None) == (other.feature_names is None)
    if bags.feature_names is not None:
        assert bags.feature_names.tolist() == other.feature_names.tolist()
    for kind in ("instance_columns", "bag_columns"):
        mine, its = getattr(bags, kind), getattr(other, kind)
        assert list(mine) == list(its)
        for name in mine:
            assert mine[name].dtype.kind == its[name].dtype.kind
            np.testing.assert_array_equal(mine[name], its[name])


def long_table(ids, labels=None, **columns):
    ids = np.asarray(ids)
    labels = {} if labels is None else {"y": labels}
    columns = columns or {"a": np.arange(len(ids)) * 1.5, "b": np.arange(len(ids)) % 4}
    return pa.table({"bag_id": ids, **labels, **columns})


# ---------------------------------------------------------------------- the same data as loading


@pytest.mark.parametrize("layout", ["bags", "long"])
@pytest.mark.parametrize("held", [True, False])
def test_a_scan_knows_and_loads_what_is_in_the_file(tmp_path, large_from, layout, held):
    if not held:
        large_from(0)
    bags = full_bags()
    y = np.arange(len(bags)) % 2
    path = save_parquet(tmp_path / "a.parquet", bags, y, layout=layout)
    scan = scan_bags(path)
    loaded, z = load_parquet(path)
    assert_same(scan.load(), loaded)
    assert_same(scan.load(), bags)
    np.testing.assert_array_equal(scan.y, z)
    assert scan.y.dtype == z.dtype
    assert scan.shape == bags.shape and len(scan) == len(bags)
    assert (scan.n_features, scan.n_instances) == (bags.n_features, bags.n_instances)
    np.testing.assert_array_equal(scan.offsets, bags.offsets)
    np.testing.assert_array_equal(scan.sizes, bags.sizes)
    np.testing.assert_array_equal(scan.bag_index, bags.bag_index)
    np.testing.assert_array_equal(scan.ids, bags.ids)
    np.testing.assert_array_equal(scan.feature_names, bags.feature_names)
    np.testing.assert_array_equal(scan.bag_columns["patient"], bags.bag_columns["patient"])
    assert scan.nbytes == bags.instances.nbytes
    assert repr(scan) == repr(bags).replace("Bags", "ScannedBags")
    assert_same(scan.head(2), bags[:2])
    for i, part in enumerate(scan):
        np.testing.assert_array_equal(part, bags[i])
    np.testing.assert_array_equal(scan[-2], bags[-2])


@pytest.mark.parametrize("layout", ["bags", "long"])
@pytest.mark.parametrize("held", [True, False])
def test_selections_are_those_of_bags(tmp_path, large_from, layout, held):
    if not held:
        large_from(0)
    bags = full_bags()
    scan = scan_bags(save_parquet(tmp_path / "a.parquet", bags, np.arange(12), layout=layout))
    mask = np.arange(12) % 3 == 1
    for key in (slice(2, 7), slice(None, None, -2), [4, 1, 1, 9], mask, np.array([], dtype=int), (mask, ...)):
        few = scan[key]
        assert isinstance(few, ScannedBags)
        assert_same(few.load(), bags[key])
        np.testing.assert_array_equal(few.y, np.arange(12)[key[0] if isinstance(key, tuple) else key])
        for part, other in zip(few, bags[key], strict=True):
            np.testing.assert_array_equal(part, other)
    assert_same(scan[3:][[4, 2]].load(), bags[3:][[4, 2]])
    for key, why in ((12, "bag 12 is out of range"), ((0, 1), "indexed by bag only"), ([0.5], "integers")):
        with pytest.raises(IndexError, match=why):
            scan[key]


def test_sizes_of_bags_are_in_the_footer_of_our_files(tmp_path, monkeypatch):
    path = save_parquet(tmp_path / "a.parquet", full_bags(), np.arange(12))
    read = []
    usual = Reader.batches
    monkeypatch.setattr(
        Reader, "batches", lambda self, g, names, n: read.extend(names) or usual(self, g, names, n)
    )
    scan = scan_bags(path)
    assert sorted(read) == ["bag_id", "patient", "when", "y"]
    assert_same(scan.load(), full_bags())
    table, about = pq.read_table(path), pq.read_metadata(path).metadata
    with pq.ParquetWriter(path, table.schema) as writer:  # as another program that writes fewer bags
        writer.write_table(table.slice(0, 5))
        writer.add_key_value_metadata({k: v for k, v in about.items() if k.startswith(b"bagwise")})
    assert_same(scan_bags(path).load(), full_bags()[:5])


def test_bags_without_ids_keep_their_indices(tmp_path):
    data = make_noisy_or_bags(9, random_state=0)
    for layout in ("bags", "long"):
        scan = scan_bags(save_parquet(tmp_path / "a.parquet", data.bags, data.y, layout=layout))
        assert scan.load()._ids is None
        assert scan[[7, 2]].ids.tolist() == [7, 2] == scan[[7, 2]].load().ids.tolist()


def test_parts_are_all_bags_in_their_order(tmp_path):
    bags = full_bags()
    scan = scan_bags(save_parquet(tmp_path / "a.parquet", bags, np.arange(12), layout="long"))
    order = np.arange(12)[::-1]
    for selected, expected, y in ((scan, bags, np.arange(12)), (scan[order], bags[order], order)):
        parts = list(selected.parts(6))
        assert len(parts) > 3 and all(part.n_instances <= 6 for part, _ in parts)
        assert_same(Bags.concat([part for part, _ in parts]), expected)
        assert np.concatenate([labels for _, labels in parts]).tolist() == y.tolist()
    numbered = Bags(bags.instances, bags.offsets)
    scan = scan_bags(save_parquet(tmp_path / "b.parquet", numbered))
    assert all(part._ids is None and labels is None for part, labels in scan.parts(6))


def test_a_small_scan_is_read_once(tmp_path):
    path = save_parquet(tmp_path / "a.parquet", full_bags(), np.arange(12))
    scan = scan_bags(path)
    fold = scan[::2]
    assert scan.blocks().n_passes == 1
    path.unlink()
    assert fold.blocks().n_passes == 0
    assert_same(fold.load(), full_bags()[::2])


def test_a_scan_is_pickled_without_what_it_has_read(tmp_path):
    scan = scan_bags(save_parquet(tmp_path / "a.parquet", full_bags(200), np.arange(200)))
    before = len(pickle.dumps(scan))
    scan.load()
    assert len(pickle.dumps(scan)) == before
    assert_same(pickle.loads(pickle.dumps(scan))[3:5].load(), full_bags(200)[3:5])


def test_a_scan_is_no_array(tmp_path):
    scan = scan_bags(save_parquet(tmp_path / "a.parquet", full_bags()))
    assert scan.y is None
    with pytest.raises(TypeError, match=r"scan\.load\(\)"):
        np.asarray(scan)


# ---------------------------------------------------------------------- files of other programs


def test_roles_of_columns_are_inferred_as_loading_does(tmp_path):
    rng = np.random.default_rng(0)
    ids = np.repeat(["w", "a", "k", "c"], [3, 1, 4, 2])
    table = pa.table(
        {
            "slide_id": ids,
            "label": (ids == "k") | (ids == "a"),
            "f": rng.normal(size=10).astype(np.float32),
            "n": rng.integers(0, 5, 10),
            "gaps": pa.array([1, None, 3, 4, 5, 6, None, 8, 9, 10]),
            "patient": np.repeat([1, 2, 1, 7], [3, 1, 4, 2]),
            "text": rng.choice(["x", "yy"], 10),
            "same": np.full(10, 4.0),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=4)
    scan, (bags, y) = scan_bags(tmp_path / "a.parquet"), load_parquet(tmp_path / "a.parquet")
    assert_same(scan.load(), bags)
    np.testing.assert_array_equal(scan.y, y)
    assert list(scan.bag_columns) == ["patient"]
    named = scan_bags(tmp_path / "a.parquet", bag="slide_id", label="label", features=["n", "f"])
    assert named.feature_names.tolist() == ["n", "f"]
    np.testing.assert_array_equal(named.load().instances, np.column_stack([table["n"], table["f"]]))
    assert list(named.load().instance_columns) == ["gaps", "text", "same"]
    whole = scan_bags(tmp_path / "a.parquet", features=["n"])
    assert whole.load().instances.dtype == np.int64
    holes = scan_bags(tmp_path / "a.parquet", features=["gaps"]).load().instances
    assert np.isnan(holes).sum() == 2


def test_in_bags_of_one_instance_every_number_is_a_feature(tmp_path):
    pq.write_table(long_table([3, 1, 2], [0, 1, 1]), tmp_path / "a.parquet")
    assert scan_bags(tmp_path / "a.parquet").feature_names.tolist() == ["a", "b"]


def test_rows_per_bag_of_other_origin(tmp_path):
    table = pa.table(
        {"bag": ["u", "v"], "label": ["no", "yes"], "instances": [[[1.0, 2.0]], [[3.0, 4.0]] * 2]}
    )
    pq.write_table(table, tmp_path / "a.parquet")
    scan = scan_bags(tmp_path / "a.parquet", positive="yes")
    assert scan.y.tolist() == [False, True]
    assert_same(scan.load(), load_parquet(tmp_path / "a.parquet")[0])


# ---------------------------------------------------------------------- several files


@pytest.mark.parametrize("layout", ["bags", "long"])
def test_files_of_a_folder_or_pattern_are_read_in_the_order_of_their_names(
    tmp_path, layout, monkeypatch, large_from
):
    large_from(0)
    bags = full_bags()
    for name, rows in (("b", slice(5, 12)), ("a", slice(0, 5))):
        save_parquet(tmp_path / f"part-{name}.parquet", bags[rows], np.arange(12)[rows], layout=layout)
    for path in (tmp_path, str(tmp_path / "part-*.parquet")):
        scan = scan_bags(path)
        assert_same(scan.load(), bags)
        assert scan.y.tolist() == list(range(12))
        assert_same(scan[[11, 0, 6]].load(), bags[[11, 0, 6]])
    monkeypatch.chdir(tmp_path)
    assert len(scan_bags("part-b*")) == 7


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_a_bag_may_go_on_in_the_next_row_groups_and_files(tmp_path, large_from, rows):
    large_from(0)
    ids = np.repeat([4, 2, 9, 1], [2, 7, 1, 3])
    table = long_table(ids, ids % 2)
    for i, (begin, stop) in enumerate([(0, 4), (4, 6), (6, 6), (6, 13)]):
        pq.write_table(table.slice(begin, stop - begin), tmp_path / f"{i}.parquet", row_group_size=rows)
    scan = scan_bags(tmp_path)
    pq.write_table(table, tmp_path / "all.pq")
    bags, y = load_parquet(tmp_path / "all.pq")
    assert scan.ids.tolist() == [4, 2, 9, 1] and scan.sizes.tolist() == [2, 7, 1, 3]
    assert_same(scan.load(), bags)
    assert_same(scan[[1]].load(), bags[[1]])
    np.testing.assert_array_equal(scan.y, y)


def test_numbered_bags_of_several_files_are_numbered_through(tmp_path):
    for layout in ("bags", "long"):
        folder = tmp_path / layout
        folder.mkdir()
        for name in "ab":
            save_parquet(folder / f"{name}.parquet", Bags(np.ones((3, 2)), [0, 3]), layout=layout)
        scan = scan_bags(folder)
        assert scan.sizes.tolist() == [3, 3] and scan.ids.tolist() == [0, 1]


# ---------------------------------------------------------------------- errors


def refused(path, match, **options):
    with pytest.raises(ValueError, match=match):
        scan_bags(path, **options)


def test_a_bag_that_comes_back_is_refused_with_the_remedy(tmp_path):
    pq.write_table(long_table([1, 1, 2, 3, 1]), tmp_path / "a.parquet", row_group_size=2)
    refused(
        tmp_path / "a.parquet",
        r"a\.parquet', row 4: the bag 1 starts again after .*first row is 0.*bagwise convert SRC DST",
    )


def test_a_bag_in_two_files_is_refused(tmp_path):
    pq.write_table(long_table([1, 2]), tmp_path / "a.parquet")
    pq.write_table(long_table([3, 3, 1]), tmp_path / "b.parquet")
    refused(tmp_path, r"b\.parquet', row 2: the bag 1 is also in '.*a\.parquet' \(row 0\)")
    folder = tmp_path / "rows"
    folder.mkdir()
    for name in "ab":
        save_parquet(folder / f"{name}.parquet", Bags(np.ones((3, 2)), [0, 1, 3], ids=["u", name]))
    refused(folder, r"the bag id 'u' occurs twice, in '.*a\.parquet', row 0 and '.*b\.parquet', row 0")


def test_a_bag_that_comes_twice_in_one_file_is_refused(tmp_path):
    table = pa.table({"bag": [1, 2, 1], "instances": [[[1.0]]] * 3})
    pq.write_table(table, tmp_path / "a.parquet")
    refused(tmp_path / "a.parquet", r"a\.parquet': the bag id 1 occurs twice, in row 0 and row 2")


def test_a_bag_without_a_label_is_refused(tmp_path):
    pq.write_table(long_table([1, 1, 2], pa.array([1, 1, None])), tmp_path / "a.parquet", row_group_size=1)
    refused(tmp_path / "a.parquet", r"a\.parquet', row 2: the label is missing \('y'\)")
    table = pa.table({"bag": [1, 2], "y": pa.array([0, None]), "instances": [[[1.0]]] * 2})
    pq.write_table(table, tmp_path / "b.parquet")
    refused(tmp_path / "b.parquet", r"b\.parquet', row 1: the column 'y' has no value")
    pq.write_table(long_table(pa.array([1, None])), tmp_path / "c.parquet")
    refused(tmp_path / "c.parquet", r"row 1: the bag id is missing")


def test_a_bag_with_two_labels_is_refused(tmp_path):
    pq.write_table(long_table([1, 1, 2, 2], [1, 1, 0, 1]), tmp_path / "a.parquet", row_group_size=1)
    refused(tmp_path / "a.parquet", r"a\.parquet': the bag 2 has two values of 'y', 0 and 1")


def test_other_columns_in_a_later_file_are_refused(tmp_path):
    pq.write_table(long_table([1, 1]), tmp_path / "a.parquet")
    pq.write_table(long_table([2, 2], a=[1.0, 2.0]), tmp_path / "b.parquet")
    refused(tmp_path, r"columns of '.*b\.parquet' and '.*a\.parquet' differ: 'b' is absent instead of int64")
    pq.write_table(long_table([2, 2], a=[1.0, 2.0], b=[1.0, 2.0]), tmp_path / "b.parquet")
    refused(tmp_path, "'b' is double instead of int64")


@pytest.mark.parametrize("layout", ["bags", "long"])
def test_a_file_that_has_changed_is_refused(tmp_path, layout):
    path = save_parquet(tmp_path / "a.parquet", full_bags(), layout=layout)
    scan = scan_bags(path)
    os.utime(path, ns=(1, 1))
    with pytest.raises(ValueError, match=r"a\.parquet' has changed since it was scanned"):
        scan.load()
    path.unlink()
    with pytest.raises(ValueError, match=r"a\.parquet' no longer exists; scan the files again"):
        scan[0]


@pytest.mark.skipif(os.name != "posix", reason="needs the time of the last status change")
def test_a_file_that_was_written_again_with_its_time_is_refused(tmp_path):
    path = save_parquet(tmp_path / "a.parquet", full_bags(seed=0))
    scan, before = scan_bags(path), path.stat()
    path.write_bytes(path.read_bytes())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ValueError, match=r"a\.parquet' has changed since it was scanned"):
        scan.load()


def test_what_cannot_be_scanned_is_refused(tmp_path):
    pq.write_table(long_table([1, 1, 2], ["u", "u", "v"]), tmp_path / "a.parquet")
    refused(tmp_path / "a.parquet", "has no column 'c' for a feature", features=["c"])
    refused(tmp_path / "a.parquet", "cannot be a feature as well", features=["bag_id"])
    refused(tmp_path / "a.parquet", "'y' has the type", features=["y"], label="b")
    refused(tmp_path / "a.parquet", "has no column 'slide' for the bag", bag="slide")
    refused(tmp_path / "a.parquet", "no bag of .* has this label; the labels are", positive="w")
    refused(tmp_path / "a.parquet", "format is 'zip'; expected one of parquet", format="zip")
    pq.write_table(long_table([1, 1, 2]), tmp_path / "b.parquet")
    refused(tmp_path / "b.parquet", "has no labels", positive=1)
    save_parquet(tmp_path / "c.parquet", full_bags())
    refused(tmp_path / "c.parquet", "does not have one column per feature", features=["a"])
    (tmp_path / "d.csv").write_text("a,b\n")
    refused(tmp_path / "d.csv", r"ends in '\.csv'; expected \.parquet")
    (tmp_path / "e.parquet").write_text("no Parquet")
    refused(tmp_path / "e.parquet", "is not a readable Parquet file")
    pq.write_table(long_table(np.array([], dtype=int)), tmp_path / "f.parquet")
    refused(tmp_path / "f.parquet", "has no bags")
    for nothing in (tmp_path / "g.parquet", tmp_path / "*.pq"):
        with pytest.raises(FileNotFoundError, match="there is no file"):
            scan_bags(nothing)
