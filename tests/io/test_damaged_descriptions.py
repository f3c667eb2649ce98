"""Damaged file descriptions: loading returns the bags or raises a ValueError that names the file."""

import copy
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bagwise import Bags, load_bags, load_csv, load_parquet, save_bags, save_csv
from bagwise.io import files

GOOD = Bags(
    np.arange(12.0).reshape(6, 2),
    [0, 3, 5, 6],
    ids=["p", "q", "r"],
    feature_names=["a", "b"],
    instance_columns={"where": np.arange(12).reshape(6, 2)},
    bag_columns={"patient": [7, 8, 9]},
)
HOSTILE = [None, -1, 10**12, 0.5, "", "x", "object", "V8", [], [10**12], [-1], [0], ["a"], {}, True]


def damages(value):
    """Yield copies of a description in which one entry is replaced or missing."""
    yield from (copy.deepcopy(other) for other in HOSTILE)
    for key in (
        list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    ):
        without = copy.deepcopy(value)
        del without[key]
        yield without
        for damaged in damages(value[key]):
            changed = copy.deepcopy(value)
            changed[key] = damaged
            yield changed


def load_or_sentence(path, *names):
    try:
        load_bags(path)
    except ValueError as error:
        assert any(name in str(error) for name in names), str(error)


@pytest.mark.parametrize("format_name", ["csv", "npy"])
def test_a_damaged_description_beside_a_table(tmp_path, format_name):
    path = save_bags(
        tmp_path / ("a.csv" if format_name == "csv" else "a"), GOOD, [1, 0, 1], format=format_name
    )
    about = next(tmp_path.rglob("*-metadata.json"))
    for damaged in damages(json.loads(about.read_text())):
        about.write_text(json.dumps(damaged))
        load_or_sentence(path, about.name, about.name.removesuffix("-metadata.json"))


@pytest.mark.parametrize("layout", ["bags", "long"])
def test_a_damaged_description_in_a_parquet_file(tmp_path, layout):
    path = save_bags(
        tmp_path / "a.parquet", GOOD, [1, 0, 1], format="parquet" + ("-long" if layout == "long" else "")
    )
    with pq.ParquetFile(path) as file:
        table, about = file.read(), json.loads(file.metadata.metadata[b"bagwise"])
    texts = [json.dumps(damaged).encode() for damaged in damages(about)]
    for text in [*texts, b"{", b"\xff", b"[" * 100_000, b""]:
        pq.write_table(table.replace_schema_metadata({b"bagwise": text}), path)
        load_or_sentence(path, path.name)


def test_a_shape_of_a_billion_is_counted_not_made(tmp_path):
    path = save_csv(tmp_path / "a.csv", GOOD, [1, 0, 1])
    about = tmp_path / "a.csv-metadata.json"
    description = json.loads(about.read_text())
    description["y"]["shape"] = [10**9]
    about.write_text(json.dumps(description))
    with pytest.raises(ValueError, match=r"a\.csv' does not have the columns listed in its description"):
        load_csv(path)


@pytest.mark.parametrize("text", ['{"bagwise": 1}', "[" * 100_000, "{", '{"bagwise": 99}'])
def test_what_is_no_description_is_named(tmp_path, text):
    path = save_csv(tmp_path / "a.csv", GOOD, [1, 0, 1])
    (tmp_path / "a.csv-metadata.json").write_text(text)
    with pytest.raises(ValueError, match=r"a\.csv-metadata\.json' is not a readable description"):
        load_csv(path)


def test_two_parquet_columns_of_one_name(tmp_path):
    table = pa.table([pa.array([0, 0, 1]), pa.array([1.0, 2, 3]), pa.array([1.0, 2, 3])], ["bag", "x", "x"])
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"a\.parquet' has two columns 'x'"):
        load_parquet(tmp_path / "a.parquet")


@pytest.mark.parametrize("format_name", [name for name, about in files.FORMATS.items() if about.can_write])
def test_nul_inside_text_comes_back(tmp_path, format_name):
    bags = Bags(
        np.zeros((2, 1)),
        [0, 1, 2],
        ids=["a\0b", "\0c"],
        instance_columns={"t": ["x\0y", "z"]},
        bag_columns={"u": ["k\0l", "m"]},
    )
    path = tmp_path / ("a" + (files.FORMATS[format_name].suffix or ""))
    reader = "parquet" if format_name == "parquet-long" else format_name
    again, _ = load_bags(save_bags(path, bags, format=format_name), format=reader)
    assert again.ids.tolist() == ["a\0b", "\0c"]
    assert again.instance_columns["t"].tolist() == ["x\0y", "z"]
    assert again.bag_columns["u"].tolist() == ["k\0l", "m"]


def test_nul_at_the_end_of_text_which_numpy_drops_is_refused(tmp_path):
    ids = ["a", "a\0"]
    with pytest.raises(ValueError, match=r"'a\\x00' ends with a NUL"):
        Bags(np.zeros((2, 1)), [0, 1, 2], ids=ids)
    (tmp_path / "a.csv").write_text("bag,x\na,1\na\0,2\n")
    pq.write_table(pa.table({"bag": ids, "x": [1.0, 2.0]}), tmp_path / "a.parquet")
    for name in ("a.csv", "a.parquet"):
        with pytest.raises(ValueError, match=rf"{name}.*ends with a NUL"):
            load_bags(tmp_path / name)
