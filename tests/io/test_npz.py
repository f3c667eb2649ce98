import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import Bags, load_npz, save_npz


def everything(X):
    return Bags(
        X,
        [0, 1, 3],
        ids=np.array(["p", "q"], dtype=object),
        feature_names=["u", "v"],
        instance_columns={"time": np.array(["2020-01-01"] * 3, dtype="datetime64[D]")},
        bag_columns={"patient": [7, 8]},
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_a_round_trip_keeps_every_bit_name_and_column(tmp_path, sparse):
    X = np.array([[1, 0], [0, 2], [3, 4]], dtype=np.int16)
    bags = everything(sp.csr_array(X) if sparse else X)
    path = save_npz(tmp_path / "bags", bags, y=[1, 0])
    assert path.name == "bags.npz"
    again, y = load_npz(path)
    assert again.instances.dtype == np.int16
    assert np.array_equal(again.instances.toarray() if sparse else again.instances, X)
    assert again.ids.tolist() == ["p", "q"] and again.feature_names.tolist() == ["u", "v"]
    assert np.array_equal(again.instance_columns["time"], bags.instance_columns["time"])
    assert again.bag_columns["patient"].tolist() == [7, 8]
    assert y.tolist() == [1, 0]


def test_labels_may_be_absent(tmp_path):
    _, y = load_npz(save_npz(tmp_path / "bags.npz", Bags(np.zeros((1, 1)), [0, 1])))
    assert y is None


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = save_npz(tmp_path / "bags.npz", Bags(np.ones((1, 1)), [0, 1]))
    objects = Bags(np.zeros((1, 1)), [0, 1], bag_columns={"o": np.array([object()])})
    with pytest.raises(ValueError, match="bag_columns/o contains Python objects"):
        save_npz(path, objects)
    assert load_npz(path)[0].instances[0, 0] == 1.0
    assert [p.name for p in tmp_path.iterdir()] == ["bags.npz"]


def test_a_write_that_breaks_off_leaves_no_half_file(tmp_path, monkeypatch):
    def broken(file, **arrays):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", broken)
    with pytest.raises(OSError, match="disk full"):
        save_npz(tmp_path / "bags.npz", Bags(np.ones((1, 1)), [0, 1]))
    assert list(tmp_path.iterdir()) == []


def test_unreadable_files_are_met_by_a_sentence(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        load_npz(tmp_path / "nothing.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(ValueError, match="is not a readable npz file"):
        load_npz(tmp_path / "text.npz")
    whole = save_npz(tmp_path / "whole.npz", Bags(np.ones((50, 50)), [0, 50])).read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="is not a readable npz file"):
        load_npz(tmp_path / "cut.npz")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(ValueError, match="has no array 'X'; it has"):
        load_npz(tmp_path / "other.npz")
    np.savez(tmp_path / "flat.npz", X=np.zeros((3, 2)))
    with pytest.raises(ValueError, match="has no array 'offsets'"):
        load_npz(tmp_path / "flat.npz")
    np.savez(tmp_path / "labels.npz", X=np.zeros((3, 2)), offsets=[0, 3], y=[1, 0])
    with pytest.raises(ValueError, match="has 1 bags but y of shape"):
        load_npz(tmp_path / "labels.npz")
