"""Overwriting a file keeps links and modes, and removes temporary files of killed saves."""

import os
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

from bagwise import Bags, load_csv, load_npz, save_bags, save_csv, save_npz
from bagwise._core.files.atomic import replacing

BAGS = Bags(np.zeros((2, 1)), [0, 1, 2])
pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX links, modes and signals")


@pytest.mark.parametrize("name", ["a.npz", "a.csv", "a.parquet"])
def test_links_and_modes_survive_a_save(tmp_path, name):
    (tmp_path / "far").mkdir()
    real, link = tmp_path / "far" / name, tmp_path / name
    save_bags(real, BAGS)
    real.chmod(0o600)
    link.symlink_to(real)
    save_bags(link, BAGS.with_instances(np.ones((2, 1))))
    assert link.is_symlink() and stat.S_IMODE(real.stat().st_mode) == 0o600
    save_bags(real, BAGS)
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


def test_what_a_killed_save_left_is_cleared_by_the_next_and_nothing_else(tmp_path):
    path = tmp_path / "a[1].npz"
    code = """
import os, signal, sys
from bagwise._core.files.atomic import replacing, replacing_folder
with replacing(sys.argv[1]) as part, replacing_folder(sys.argv[1] + "-folder") as folder:
    part.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert len(list(tmp_path.iterdir())) == 2
    with replacing(path) as part:
        part.write_text("another process is writing")
        save_npz(path, BAGS)
        assert part.exists()
        save_bags(f"{path}-folder", BAGS, format="npy")
        part.write_bytes(path.read_bytes())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a[1].npz", "a[1].npz-folder"]
    assert len(load_npz(path)[0]) == 2


def test_two_writers_of_a_csv_file_never_mix_their_contents(tmp_path):
    path = tmp_path / "a.csv"
    float64_bags = Bags(np.zeros((6, 2)), [0, 2, 4, 6], ids=["1", "2", "3"])
    float32_bags = Bags(np.ones((6, 2), np.float32), [0, 2, 4, 6])
    save_csv(path, float64_bags, [0, 1, 1])
    stop = threading.Event()

    def write(bags):
        while not stop.is_set():
            save_csv(path, bags, [0, 1, 1])

    writers = [threading.Thread(target=write, args=(bags,)) for bags in (float64_bags, float32_bags)]
    for writer in writers:
        writer.start()
    seen = set()
    for _ in range(200):
        bags, _y = load_csv(path)
        seen.add((bags.instances.dtype.name, float(bags.instances[0, 0])))
    stop.set()
    for writer in writers:
        writer.join()
    assert seen <= {("float64", 0.0), ("float32", 1.0)}


def test_the_description_of_a_csv_file_is_stored_next_to_the_linked_file(tmp_path):
    (tmp_path / "far").mkdir()
    real, link = tmp_path / "far" / "real.csv", tmp_path / "link.csv"
    link.symlink_to(real)
    bags = Bags(np.zeros((3, 2), np.float32), [0, 2, 3], ids=["007", "8"])
    save_csv(link, bags, [0, 1])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["far", "link.csv"] and link.is_symlink()
    for name in (real, link):
        bags_read, _ = load_csv(name)
        assert bags_read.instances.dtype == np.float32 and bags_read.ids.tolist() == ["007", "8"]
