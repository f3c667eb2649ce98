"""``bagwise convert``."""

import numpy as np
import pytest

from bagwise import load_bags, make_noisy_or_bags, save_bags
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
        ([source, tmp_path / "b"], "say its format"),
        ([source, tmp_path / "b.arff"], "arff files are read but not written"),
        ([source, tmp_path / "b.csv", "--bag", "x"], "is read as npz, which has no option 'bag'"),
        ([source, tmp_path / "b.csv", "--to", "xls"], "format is 'xls'"),
    ):
        assert main(["convert", *map(str, arguments)]) == 2
        told = capsys.readouterr().err
        assert told.startswith("bagwise: ") and sentence in told and told.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]
