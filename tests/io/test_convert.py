"""``bagwise convert``."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bagwise import Bags, load_bags, make_noisy_or_bags, save_bags, save_parquet, scan_bags
from bagwise.cli import main


@pytest.fixture
def source(tmp_path):
    data = make_noisy_or_bags(10, random_state=0)
    return save_bags(tmp_path / "a.npz", data.bags, data.y)


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("b.parquet", []),
        ("b.csv", []),
        ("b.parquet", ["--to", "parquet-long"]),
        ("b", ["--to", "h5"]),
        ("b", ["--to", "npy"]),
    ],
)
def test_bags_go_from_one_kind_of_file_to_another_and_back(source, target, options, tmp_path, capsys):
    assert main(["convert", str(source), str(tmp_path / target), *options]) == 0
    assert (
        capsys.readouterr().out
        == f"written: {tmp_path / target}  10 bags, 30 instances, 3 features, with labels\n"
    )
    assert main(["convert", str(tmp_path / target), str(tmp_path / "back.npz")]) == 0
    (bags, y), (again, z) = load_bags(source), load_bags(tmp_path / "back.npz")
    assert np.array_equal(bags.instances, again.instances) and np.array_equal(y, z)


def test_columns_are_named_by_options(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("molecule,active,angle\nm1,1,0.1\nm2,0,0.7\nm1,1,0.3\n")
    arguments = ["convert", str(tmp_path / "a.csv"), str(tmp_path / "a.npz"), "--bag", "molecule"]
    assert main([*arguments, "--label", "active"]) == 0
    bags, y = load_bags(tmp_path / "a.npz")
    assert bags.feature_names.tolist() == ["angle"] and y.tolist() == [1, 0]


def test_mistakes_are_one_sentence_and_leave_nothing(source, tmp_path, capsys):
    for arguments, sentence in (
        ([tmp_path / "no.npz", tmp_path / "b.csv"], "there is no file or folder"),
        ([source, tmp_path / "b"], "specify the format"),
        ([source, tmp_path / "b.arff"], "arff files can be read but not written"),
        ([source, tmp_path / "b.csv", "--bag", "x"], "is read as npz, which has no option 'bag'"),
        ([source, tmp_path / "b.csv", "--to", "xls"], "format is 'xls'"),
    ):
        assert main(["convert", *map(str, arguments)]) == 2
        message = capsys.readouterr().err
        assert message.startswith("bagwise: ") and sentence in message and message.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]


# ---------------------------------------------------------------------- larger than memory


def assert_same(bags, y, other, z):
    assert bags.offsets.tolist() == other.offsets.tolist() and np.array_equal(bags.instances, other.instances)
    assert np.array_equal(bags.ids, other.ids) and np.array_equal(y, z)
    for kind in ("bag_columns", "instance_columns"):
        mine, its = getattr(bags, kind), getattr(other, kind)
        assert list(mine) == list(its) and all(np.array_equal(mine[name], its[name]) for name in mine)


def shuffled_table(text_ids):
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 40, 500)
    table = {"bag": [f"b{i}" for i in ids] if text_ids else ids, "label": ids % 3 == 0, "patient": ids // 4}
    return pa.table({**table, "a": rng.normal(size=500), "b": rng.normal(size=500).astype(np.float32)})


@pytest.mark.parametrize("target_options", [[], ["--to", "parquet-long"]])
@pytest.mark.parametrize("text_ids", [True, False])
@pytest.mark.parametrize("pile_bytes", [3000, 10**9])
def test_rows_of_a_bag_are_brought_together(
    tmp_path, monkeypatch, large_from, target_options, text_ids, pile_bytes
):
    from bagwise.io.scan import converting

    monkeypatch.setattr(converting, "_PILE_BYTES", pile_bytes)
    monkeypatch.setattr(converting, "_PART_BYTES", 1000)
    large_from(0)
    table = shuffled_table(text_ids)
    (tmp_path / "parts").mkdir()
    pq.write_table(table, tmp_path / "all.parquet", row_group_size=70)
    pq.write_table(table.slice(0, 123), tmp_path / "parts" / "a.parquet", row_group_size=70)
    pq.write_table(table.slice(123), tmp_path / "parts" / "b.parquet")
    expected = load_bags(tmp_path / "all.parquet")
    target = tmp_path / "sorted.parquet"
    for source in (tmp_path / "all.parquet", tmp_path / "parts", tmp_path / "parts" / "*.parquet"):
        assert main(["convert", str(source), str(target), *target_options]) == 0
        assert_same(*expected, *load_bags(target))
        scan = scan_bags(target)
        assert_same(*expected, scan.load(), scan.y)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.parquet", "parts", "sorted.parquet"]


def test_a_file_of_ours_keeps_what_it_says_of_itself(tmp_path, capsys):
    data = make_noisy_or_bags(30, random_state=0)
    columns = {"place": np.arange(data.bags.n_instances)}
    bags = Bags(data.bags.instances, data.bags.offsets, ids=np.arange(30) + 7, instance_columns=columns)
    path = save_parquet(tmp_path / "a.parquet", bags, data.y, layout="long")
    about = pq.read_metadata(path).metadata[b"bagwise"]
    order = np.random.default_rng(0).permutation(bags.n_instances)
    table = pq.read_table(path).take(pa.array(order))
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"bagwise": about})
    assert main(["convert", str(path), str(tmp_path / "b.parquet")]) == 0
    assert "30 bags, 90 instances, 3 features, with labels" in capsys.readouterr().out
    assert_same(*load_bags(path), *load_bags(tmp_path / "b.parquet"))


def test_folders_are_converted_part_by_part(tmp_path, monkeypatch, large_from):
    monkeypatch.setenv("BAGWISE_CACHE", str(tmp_path / "cache"))
    large_from(0)
    data = make_noisy_or_bags(10, random_state=0)
    source = save_bags(tmp_path / "slides", data.bags, data.y, format="npy")
    assert main(["convert", str(source), str(tmp_path / "b.parquet")]) == 0
    assert_same(*load_bags(source), *load_bags(tmp_path / "b.parquet"))


def test_a_table_that_cannot_be_sorted_is_refused(tmp_path, capsys):
    pq.write_table(pa.table({"bag": [1, 2, 1, None], "a": [1.0, 2, 3, 4]}), tmp_path / "a.parquet")
    assert main(["convert", str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]) == 2
    assert "row 3: the bag id is missing" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


# ---------------------------------------------------------------------- sources and positive labels


def test_the_source_is_never_overwritten(tmp_path, capsys):
    data = make_noisy_or_bags(10, random_state=0)
    table = save_bags(tmp_path / "a.csv", data.bags, data.y)
    folder = save_bags(tmp_path / "folder", data.bags, data.y, format="npy")
    link = tmp_path / "link.csv"
    link.symlink_to(table)
    before = table.read_bytes()
    for source, target in ((table, table), (table, link), (folder, folder), (folder, folder / "labels.csv")):
        assert main(["convert", str(source), str(target), "--to", "csv"]) == 2
        message = capsys.readouterr().err
        assert "SRC, which would be overwritten; choose another path." in message
    assert table.read_bytes() == before


def test_the_positive_label_is_written_as_true(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("bag,x,y\n1,5,active\n1,6,active\n2,6,no\n2,7,no\n")
    arguments = ["convert", str(tmp_path / "a.csv"), str(tmp_path / "a.npz"), "--positive"]
    assert main([*arguments, "aktiv"]) == 2
    assert "--positive 'aktiv' is not a label in the data; the labels are 'active', 'no'." in (
        capsys.readouterr().err
    )
    assert main([*arguments, "active", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "written": str(tmp_path / "a.npz"), "bags": 2, "instances": 4, "features": 1, "labels": True,
        "warnings": [],
    }  # fmt: skip
    assert load_bags(tmp_path / "a.npz")[1].tolist() == [True, False]
