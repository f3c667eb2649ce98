"""Arrow tables with a row per bag, without a Parquet file around them."""

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest

from bagwise import Bags
from bagwise.data.description import describe
from bagwise.io._arrow import BagTables, table_from_bags


@pytest.fixture
def bags():
    return Bags(
        np.arange(14.0, dtype=np.float32).reshape(7, 2),
        [0, 1, 3, 3, 7],
        ids=["p", "q", "r", "s"],
        feature_names=["u", "v"],
        instance_columns={"place": np.arange(21, dtype=np.int16).reshape(7, 3)},
        bag_columns={"when": np.array(["2020-01-01", "2021-01-01", "2022-01-01", "2023-01-01"], "M8[D]")},
    )


Y = np.array([[1, 0], [0, 0], [1, 1], [0, 1]], dtype=np.int8)


def bags_from_table(table, description=None, *, first=0, **meaning):
    return BagTables(description, **meaning).read(table, first)


def assert_same(actual, bags):
    np.testing.assert_array_equal(actual.instances, bags.instances)
    assert actual.instances.dtype == bags.instances.dtype
    assert actual.offsets.tolist() == bags.offsets.tolist() and actual.ids.tolist() == bags.ids.tolist()
    assert actual.feature_names.tolist() == bags.feature_names.tolist()
    for columns in ("instance_columns", "bag_columns"):
        for name, column in getattr(bags, columns).items():
            np.testing.assert_array_equal(getattr(actual, columns)[name], column)
            assert getattr(actual, columns)[name].dtype == column.dtype


def test_bags_come_back_from_a_table_in_a_feather_file(bags, tmp_path):
    description = describe(bags, Y, instances="instances")
    pa.feather.write_feather(table_from_bags(bags, Y, description), tmp_path / "bags.feather")
    bags_read, y = bags_from_table(pa.feather.read_table(tmp_path / "bags.feather"), description)
    assert_same(bags_read, bags)
    np.testing.assert_array_equal(y, Y)
    assert y.dtype == Y.dtype


def test_rows_of_a_table_are_a_selection_of_bags(bags):
    description = describe(bags, Y, instances="instances")
    bags_read, y = bags_from_table(table_from_bags(bags, Y, description).slice(1, 3), description)
    assert_same(bags_read, bags[1:])
    np.testing.assert_array_equal(y, Y[1:])


def test_bags_without_names_are_numbered_from_the_first_row(bags):
    bags = Bags(bags.instances, bags.offsets)
    description = describe(bags, None, instances="instances")
    bags_read, y = bags_from_table(table_from_bags(bags, None, description), description, first=10)
    assert bags_read.ids.tolist() == [10, 11, 12, 13] and y is None


def test_other_tables_are_read_and_errors_name_the_row():
    instances = [[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]]
    table = pa.table({"slide": ["a", "b"], "instances": instances, "y": [0, 1]})
    bags, y = bags_from_table(table, bag="slide")
    assert bags.ids.tolist() == ["a", "b"] and bags.sizes.tolist() == [1, 2] and y.tolist() == [0, 1]
    broken = table.set_column(1, "instances", pa.array([[[1.0, 2.0]], [[3.0]]]))
    with pytest.raises(ValueError, match="the table, row 6: an instance has a different number of features"):
        bags_from_table(broken, bag="slide", first=5)
    with pytest.raises(ValueError, match="partition 3, row 0: the column 'y' has no value"):
        bags_from_table(table.set_column(2, "y", pa.array([None, 1])), bag="slide", where="partition 3")
