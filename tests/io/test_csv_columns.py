"""Columns of plain CSV files: missing values, ids, and a feature with the name of a label."""

import numpy as np
import pytest

from bagwise import Bags, load_bags, load_csv, save_bags, save_csv
from bagwise.cli import main

MISSING = ["", "NA", "N/A", "n/a", "null", "None", "?", "-", "nan", " "]


def write(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize("cell", MISSING)
@pytest.mark.parametrize("value", ["1.5", "1"])
def test_a_missing_cell_leaves_the_column_a_feature(tmp_path, cell, value):
    text = f"bag_id,x,z,y\na,{value},1,1\na,{cell},2,1\nb,3,3,0\nb,2,4,0\n"
    bags, y = load_csv(write(tmp_path / "a.csv", text))
    assert bags.feature_names.tolist() == ["x", "z"] and not bags.instance_columns
    expected = [[float(value), 1], [np.nan, 2], [3, 3], [2, 4]]
    np.testing.assert_array_equal(bags.instances, expected)
    assert y.tolist() == [1, 0] and y.dtype.kind == "i"


def test_missing_values_in_late_rows_are_read(tmp_path):
    rows = [f"{i // 3},{i}" for i in range(30_000)]
    rows[25_000] = f"{25_000 // 3},NA"
    bags, _ = load_csv(write(tmp_path / "a.csv", "bag,x\n" + "\n".join(rows) + "\n"))
    assert np.flatnonzero(np.isnan(bags.instances)).tolist() == [25_000]


def test_a_bag_column_with_missing_values_is_not_a_feature(tmp_path):
    text = "bag,x,age,y\na,1,,1\na,2,,1\nb,1,40,0\nb,2,40,0\n"
    bags, _ = load_csv(write(tmp_path / "a.csv", text))
    assert bags.feature_names.tolist() == ["x"]
    np.testing.assert_array_equal(bags.bag_columns["age"], [np.nan, 40])


def test_check_counts_missing_values(tmp_path, capsys):
    text = "bag_id,x,z,y\na,1,1,1\na,NA,2,1\nb,3,3,0\nb,,4,0\n"
    main(["check", str(write(tmp_path / "a.csv", text))])
    assert "2 NaN values" in capsys.readouterr().out


def test_a_column_mostly_of_numbers_becomes_text_with_a_word_only(tmp_path):
    path = write(tmp_path / "a.csv", "bag,x,z\na,1,1\na,2..5,2\nb,3,3\nb,,4\n")
    with pytest.warns(UserWarning, match=r"a\.csv': the column 'x' is read as text.*'2\.\.5' in line 3 is"):
        bags, _ = load_csv(path)
    assert bags.instance_columns["x"].tolist() == ["1", "2..5", "3", ""]
    text = "bag,x,note\na,1,?\na,2,7\nb,3,fine\nb,4,good\n"  # a text column can contain a number
    bags, _ = load_csv(write(path, text))
    assert bags.instance_columns["note"].tolist() == ["?", "7", "fine", "good"]


@pytest.mark.parametrize(
    "ids",
    [
        ["007", "7"],
        ["12e4", "120e3"],
        ["1e400", "2e400"],
        ["18446744073709551615", "18446744073709551614"],
        ["True", "False"],
        ["NA", "None"],
    ],
)
def test_ids_stay_text(tmp_path, ids):
    first, second = ids
    path = write(tmp_path / "a.csv", f"bag_id,x,y\n{first},1,1\n{second},5,1\n{first},2,1\n{second},4,1\n")
    for options in ({}, {"bag": "bag_id"}, {"label": "y"}):
        assert load_csv(path, **options)[0].ids.tolist() == ids
    bags, y = load_csv(path)
    for name in ("b.csv", "b.npz", "b.parquet", "b-h5", "b-npy"):  # and in all other formats
        kind = {"b-h5": "h5", "b-npy": "npy"}.get(name)
        save_bags(tmp_path / name, bags, y, **({"format": kind} if kind else {}))
        assert load_bags(tmp_path / name)[0].ids.tolist() == ids


def test_a_feature_called_y_is_no_label_when_another_column_is(tmp_path):
    text = "bag,x,y,active\na,1,0.5,1\na,2,0.7,1\nb,3,0.1,0\nb,4,0.2,0\n"
    bags, y = load_bags(write(tmp_path / "a.csv", text), label="active")
    assert bags.feature_names.tolist() == ["x", "y"] and y.tolist() == [1, 0]
    again, labels = load_csv(save_csv(tmp_path / "b.csv", bags, y))
    assert again.feature_names.tolist() == ["x", "y"] and labels.tolist() == [1, 0]
    np.testing.assert_array_equal(again.instances, bags.instances)


def test_a_header_alone_has_no_rows(tmp_path):
    (tmp_path / "bags.csv").write_text("bag_id,x,y\n")
    with pytest.raises(ValueError, match=r"bags.csv' has a header but no rows\."):
        load_csv(tmp_path / "bags.csv")


def test_what_no_reader_takes_in_a_cell_is_not_written(tmp_path):
    bags = Bags(np.zeros((2, 1)), [0, 1, 2], bag_columns={"note": ["x" * 131_073, "y"]})
    with pytest.raises(ValueError, match=r"131,073 characters, .* csv module reads at most 131,072"):
        save_csv(tmp_path / "bags.csv", bags, [0, 1])
    assert not list(tmp_path.iterdir())
