"""Folders with one file per bag: column names, dtypes, and the cost of many small files."""

import os
import time

import h5py
import numpy as np
import pytest

from bagwise import Bags, load_bags, load_h5, load_npy, save_bags, save_h5, save_npy, scan_bags

COLUMNS = ["labels.csv", "labels.csv-metadata.json", "x.h5", "x.npy", "features", "."]


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("kind", ["npy", "h5"])
def test_a_column_may_have_the_name_of_a_file(tmp_path, kind, column):
    bags = Bags(np.zeros((3, 1)), [0, 2, 3], instance_columns={column: [1, 2, 3]})
    save_bags(tmp_path / "bags", bags, [0, 1], format=kind)
    bags_read, y = load_bags(tmp_path / "bags")
    assert {name: values.tolist() for name, values in bags_read.instance_columns.items()} == {
        column: [1, 2, 3]
    }
    assert y.tolist() == [0, 1]


def test_files_of_different_types_and_orders_are_joined(tmp_path):
    parts = [
        np.arange(6, dtype=np.int16).reshape(3, 2),
        np.asfortranarray(np.arange(4.0).reshape(2, 2)),
        np.ones((1, 4, 2), dtype=">f4"),
        np.zeros((0, 2)),
        np.random.default_rng(0).normal(size=(40_000, 2)),  # too large for a single read
    ]
    for i, part in enumerate(parts):
        np.save(tmp_path / f"{i}.npy", part)
    bags, _ = load_npy(tmp_path)
    assert bags.instances.dtype == np.float64 and bags.sizes.tolist() == [3, 2, 4, 0, 40_000]
    np.testing.assert_array_equal(bags.instances, np.vstack([part.reshape(-1, 2) for part in parts]))
    bags.instances.sum()  # the instances were copied to memory


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["npy", "h5"])
def test_many_small_bags_cost_hardly_more_than_the_bare_calls(tmp_path, kind):
    """Compare the lowest of three processor times with that of the bare calls; the goal is a ratio of 1.5."""
    n, X = 500, np.random.default_rng(0).normal(size=(2500, 10))
    bags = Bags(X, np.arange(0, 2501, 5))
    bare, ours = tmp_path / "bare", tmp_path / "ours"
    bare.mkdir()

    def save_bare(i):
        path = bare / f"{i}.{kind}"
        if kind == "npy":
            np.save(path, X[5 * i : 5 * i + 5])
        else:
            with h5py.File(path, "w") as file:
                file["features"] = X[5 * i : 5 * i + 5]
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)  # as `save_npy` and `save_h5` do
        os.close(descriptor)

    def load_bare(i):
        if kind == "npy":
            return np.load(bare / f"{i}.npy")
        with h5py.File(bare / f"{i}.h5") as file:
            return file["features"][()]

    save, load = (save_npy, load_npy) if kind == "npy" else (save_h5, load_h5)
    best = dict.fromkeys(("save bare", "save", "load bare", "load"), np.inf)
    folders = iter([ours / str(turn) for turn in range(3)])
    ours.mkdir()
    runs = {
        "save bare": lambda: [save_bare(i) for i in range(n)],
        "save": lambda: save(next(folders), bags),
        "load bare": lambda: [load_bare(i) for i in range(n)],
        "load": lambda: load(ours / "0"),
    }
    for _ in range(3):
        for name, run in runs.items():
            started = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - started)
    assert best["save"] < 2 * best["save bare"] and best["load"] < 2 * best["load bare"]


@pytest.mark.parametrize("read", [load_h5, scan_bags])
def test_a_dataset_without_values_is_refused(tmp_path, read):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["features"] = h5py.Empty("f8")
    with pytest.raises(ValueError, match=r"a\.h5': 'features' has no values; expected shape \(n_instances"):
        read(tmp_path)
