"""Parquet columns of other programs: decimals, lists, dictionaries, timestamps; loaded and scanned alike."""

import datetime
import re
from decimal import Decimal

import numpy as np
import pytest

from bagwise import MILogisticRegression, load_bags, load_parquet, save_parquet, scan_bags

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N = 12
X = np.random.default_rng(0).normal(size=(N, 3)).round(3)


def write(path, rows=5, **columns):
    """Write a table with one row per instance, of four bags with three instances each."""
    ids = {} if "bag" in columns else {"bag": np.repeat(list("abcd"), 3)}
    table = pa.table({**ids, "y": np.repeat([0, 1, 0, 1], 3), **columns})
    pq.write_table(table, path, row_group_size=rows)
    return path


def read_both(path, **options):
    """Load and scan a file, check that the results are equal, and return the bags and the labels."""
    bags, y = load_parquet(path, **options)
    scan = scan_bags(path, **options)
    scanned = scan.load()
    np.testing.assert_array_equal(scanned.instances, bags.instances)
    assert scanned.instances.dtype == bags.instances.dtype
    names = [None if b.feature_names is None else b.feature_names.tolist() for b in (scan, scanned, bags)]
    assert names[0] == names[1] == names[2]
    assert scanned.ids.tolist() == bags.ids.tolist() and scanned.ids.dtype.kind == bags.ids.dtype.kind
    for mine, its in (
        (scanned.bag_columns, bags.bag_columns),
        (scanned.instance_columns, bags.instance_columns),
    ):
        assert list(mine) == list(its)
        for name in mine:
            np.testing.assert_array_equal(mine[name], its[name])
    np.testing.assert_array_equal(scan.y, y)
    return bags, y


def refuse_both(path, match, **options):
    for read in (load_parquet, lambda path, **options: scan_bags(path, **options).load()):
        with pytest.raises(ValueError, match=f"(?s)^{re.escape(repr(str(path)))}.*{match}"):
            read(path, **options)


@pytest.mark.parametrize("decimal_type", [pa.decimal128(20, 3), pa.decimal256(50, 3)])
def test_decimals_are_features(tmp_path, decimal_type):
    prices = [Decimal(str(value)) for value in X[:, 0]]
    prices[4] = None
    path = write(tmp_path / "a.parquet", x=X[:, 1], price=pa.array(prices, decimal_type))
    expected = X[:, [1, 0]].copy()
    expected[4, 1] = np.nan
    for options in ({}, {"features": ["x", "price"]}):
        bags, _ = read_both(path, **options)
        assert bags.feature_names.tolist() == ["x", "price"] and bags.instances.dtype == np.float64
        np.testing.assert_array_equal(bags.instances, expected)


def test_decimals_are_values_of_files_with_one_row_per_bag(tmp_path):
    def decimals(values):
        return [None if v is None else Decimal(str(v)) for v in values]

    instances = [[decimals(row) for row in X[i : i + 3]] for i in range(0, N, 3)]
    table = pa.table(
        {
            "bag": pa.array(decimals([7, 2**60 + 1, 2**60, 9]), pa.decimal128(38, 0)),
            "y": pa.array(decimals([0, 1, 0, 1]), pa.decimal128(1, 0)),
            "instances": pa.array(instances, pa.list_(pa.list_(pa.decimal128(10, 3)))),
            "price": pa.array(decimals([0.5, 1.5, 2.5, None]), pa.decimal128(10, 3)),
            "cost": pa.array(
                [decimals(X[i : i + 3, 0]) for i in range(0, N, 3)], pa.list_(pa.decimal128(10, 3))
            ),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=3)
    bags, y = read_both(tmp_path / "a.parquet")
    np.testing.assert_array_equal(bags.instances, X)
    assert bags.ids.tolist() == [7, 2**60 + 1, 2**60, 9]
    assert y.tolist() == [0, 1, 0, 1] and y.dtype == np.int64
    np.testing.assert_array_equal(bags.bag_columns["price"], [0.5, 1.5, 2.5, np.nan])
    np.testing.assert_array_equal(bags.instance_columns["cost"], X[:, 0])


def test_whole_decimals_are_exact_ids(tmp_path):
    ids = np.repeat([2**60, 2**60 + 1, 3, 4], 3).tolist()  # the first two are equal as float64
    path = write(
        tmp_path / "a.parquet", bag=pa.array([Decimal(i) for i in ids], pa.decimal128(38, 0)), x=X[:, 0]
    )
    assert read_both(path)[0].ids.tolist() == [2**60, 2**60 + 1, 3, 4]
    ids = pa.array([Decimal(2) ** 70 + i for i in ids], pa.decimal128(38, 0))
    path = write(tmp_path / "b.parquet", bag=ids, x=X[:, 0])
    refuse_both(path, "the column 'bag' has integers beyond 64 bits; store them as text")


LISTS = {
    "variable": pa.list_(pa.float32()),
    "large": pa.large_list(pa.float64()),
    "fixed": pa.list_(pa.float64(), 3),
    "decimals": pa.list_(pa.decimal128(10, 3)),
}


@pytest.mark.parametrize("name", LISTS)
def test_entries_of_lists_are_features(tmp_path, name):
    rows = X.tolist() if name != "decimals" else [[Decimal(str(v)) for v in row] for row in X.tolist()]
    path = write(tmp_path / "a.parquet", x=X[:, 1], z=pa.array(rows, LISTS[name]))
    expected = np.column_stack([X[:, 1], X.astype(np.float32) if name == "variable" else X])
    bags, y = read_both(path)
    assert bags.feature_names.tolist() == ["x", "z_0", "z_1", "z_2"]
    np.testing.assert_array_equal(bags.instances, expected)
    np.testing.assert_array_equal(read_both(path, features=["z"])[0].instances, expected[:, 1:])
    model = MILogisticRegression(random_state=0).fit(bags, y)
    again, _ = load_bags(path, like=model)
    np.testing.assert_array_equal(again.instances, expected)


def test_single_entries_of_lists_can_be_selected(tmp_path):
    path = write(tmp_path / "a.parquet", x=X[:, 1], z=pa.array(X.tolist()))
    bags, _ = read_both(path, features=["z_2", "x"])
    np.testing.assert_array_equal(bags.instances, X[:, [2, 1]])
    assert list(bags.instance_columns) == ["z_0", "z_1"]
    refuse_both(path, "has no column 'z_3' for a feature", features=["z_3"])


def test_names_of_entries_do_not_replace_columns(tmp_path):
    path = write(tmp_path / "a.parquet", z=pa.array(X.tolist()), z_1=X[:, 0])
    bags, _ = read_both(path)
    assert sorted(bags.feature_names.tolist()) == ["z_0", "z_1", "z_1_", "z_2"]
    np.testing.assert_array_equal(bags.instances[:, bags.feature_names.tolist().index("z_1")], X[:, 0])


def test_a_list_has_one_role(tmp_path):
    of_bags = np.repeat(X[::3], 3, axis=0)
    mixed = np.column_stack([X[:, 0], of_bags[:, 0]])  # its second entry is constant in every bag
    path = write(
        tmp_path / "a.parquet", z=pa.array(mixed.tolist()), b=pa.array(of_bags.tolist()), x=of_bags[:, 1]
    )
    bags, _ = read_both(path)
    assert bags.feature_names.tolist() == ["z_0", "z_1"]
    assert list(bags.bag_columns) == ["b_0", "b_1", "b_2", "x"]
    np.testing.assert_array_equal(bags.bag_columns["b_2"], X[::3, 2])


def test_missing_entries_of_lists_are_nan(tmp_path):
    rows = [[1, 2]] * N
    rows[7] = [1, None]
    path = write(tmp_path / "a.parquet", z=pa.array(rows), x=X[:, 0])
    for options in ({}, {"features": ["z_1", "x"]}):
        assert np.argwhere(np.isnan(read_both(path, **options)[0].instances))[:, 0].tolist() == [7]
    whole = write(tmp_path / "b.parquet", z=pa.array([[i, 2] for i in range(N)]))
    for options in ({}, {"features": ["z"]}):
        assert read_both(whole, **options)[0].instances.dtype == np.int64


@pytest.mark.parametrize("row", [1, 7])  # in the first row group, and in another one
def test_lists_of_other_lengths_are_refused(tmp_path, row):
    rows = X.tolist()
    rows[row] = [1.0]
    path = write(tmp_path / "a.parquet", z=pa.array(rows), x=X[:, 0])
    message = f"row {row}: the list in the column 'z' has length 1, but earlier lists have length 3"
    for options in ({}, {"features": ["z"]}):
        refuse_both(path, message, **options)


def test_lists_of_other_lengths_in_another_file_are_refused(tmp_path):
    write(tmp_path / "a.parquet", z=pa.array(X.tolist()))
    write(tmp_path / "b.parquet", z=pa.array(X[:, :2].tolist()), bag=np.repeat(list("efgh"), 3))
    for options in ({}, {"features": ["z"]}):
        with pytest.raises(
            ValueError, match=r"b\.parquet', row 0: .* length 2, but earlier lists have length 3"
        ):
            scan_bags(tmp_path, **options).load()


def test_rows_without_a_list_and_nested_lists_are_refused(tmp_path):
    rows = X.tolist()
    rows[7] = None
    refuse_both(write(tmp_path / "a.parquet", z=pa.array(rows)), "row 7: the column 'z' has no value")
    nested = write(tmp_path / "b.parquet", z=pa.array([[[1.0], [2.0, 3.0]]] * N), x=X[:, 0])
    refuse_both(nested, "'z' has the type list<.*list<.*; expected one value or one list of values per row")


def test_a_file_without_rows_is_refused(tmp_path):
    table = pa.table(
        {
            "bag": pa.array([], pa.string()),
            "x": pa.array([], pa.float64()),
            "z": pa.array([], pa.list_(pa.float64())),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    refuse_both(tmp_path / "a.parquet", "has no bags")


def test_dictionaries_are_decoded_and_timestamps_are_side_columns(tmp_path):
    days = [datetime.datetime(2020, 1, 1 + i) for i in range(N)]
    path = write(
        tmp_path / "a.parquet",
        bag=pa.array(np.repeat(list("abcd"), 3)).dictionary_encode(),
        x=pa.array(X[:, 0]).dictionary_encode(),
        when=pa.array(days),
        there=pa.array(days, pa.timestamp("us", tz="Europe/Berlin")),
    )
    for options in ({}, {"features": ["x"]}):
        bags, _ = read_both(path, **options)
        assert bags.ids.tolist() == list("abcd")
        np.testing.assert_array_equal(bags.instances, X[:, :1])
        assert bags.instance_columns["when"].tolist() == days
    refuse_both(path, "the column 'when'.* numeric", features=["when"])


def test_side_columns_with_several_values_of_our_files_stay_whole(tmp_path):
    bags, y = read_both(write(tmp_path / "a.parquet", x=X[:, 0]))
    bags = bags._replace(instance_columns={"place": X[:, 1:]})
    path = save_parquet(tmp_path / "b.parquet", bags, y, layout="long")
    assert read_both(path)[0].instance_columns["place"].shape == (N, 2)
    assert scan_bags(path, features=["x"]).load().instance_columns["place"].shape == (N, 2)
