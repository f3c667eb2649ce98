"""Overwriting a file keeps links and modes, removes temporary files of killed saves, and flushes the disk."""

import errno
import os
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

from bagwise import Bags, load_csv, load_npz, save_bags, save_csv, save_npz
from bagwise._core.files.atomic import replacing, replacing_folder
from bagwise.persist.checkpoints import opened

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


@pytest.mark.parametrize("is_linked", [False, True])
@pytest.mark.parametrize("name", ["a.npz", "a.csv", "a.parquet"])
def test_a_fifo_is_refused_and_stays(tmp_path, name, is_linked):
    fifo = target = tmp_path / name
    if is_linked:
        fifo = tmp_path / "fifo"
        target.symlink_to(fifo)
    os.mkfifo(fifo)
    with pytest.raises(FileExistsError, match=f"{name}' is a device, a FIFO or a socket"):
        save_bags(target, BAGS)
    assert stat.S_ISFIFO(fifo.stat().st_mode) and len(list(tmp_path.iterdir())) == 1 + is_linked


def test_a_fifo_as_checkpoint_and_a_folder_as_file_are_refused(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with (
        pytest.raises(FileExistsError, match=r"checkpoint .*fifo' is a device, a FIFO or a socket"),
        opened(tmp_path / "fifo", dict),
    ):
        pass
    with pytest.raises(IsADirectoryError, match="is a folder; pass the path of a file"):
        save_npz(_make_folder(tmp_path / "a.npz"), BAGS)


def _make_folder(path):
    path.mkdir()
    return path


def test_files_are_flushed_before_the_rename_and_the_folder_after_it(tmp_path, monkeypatch):
    calls = []
    flush, rename = os.fsync, os.replace

    def fsync(handle):
        calls.append(os.path.basename(os.readlink(f"/proc/self/fd/{handle}")))
        flush(handle)

    def replace(source, target):
        calls.append("rename")
        rename(source, target)

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc to name open files")
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    save_npz(tmp_path / "a.npz", BAGS)
    part, *others = calls
    assert part.startswith(".a.npz.") and others == ["rename", tmp_path.name]
    calls.clear()
    save_bags(tmp_path / "b", BAGS, format="npy")
    end = calls.index("rename", len(calls) - 2)
    assert {"0.npy", "1.npy", "features"} <= set(calls[:end])
    assert calls[end + 1 :] == [tmp_path.name]


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP])
def test_file_systems_that_cannot_flush_are_no_error(tmp_path, monkeypatch, code):
    def fsync(_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fsync)
    save_npz(tmp_path / "a.npz", BAGS)
    save_bags(tmp_path / "b", BAGS, format="npy")
    assert len(load_npz(tmp_path / "a.npz")[0]) == 2


def test_an_error_while_flushing_leaves_the_old_file(tmp_path, monkeypatch):
    path = save_npz(tmp_path / "a.npz", BAGS)
    before = path.read_bytes()

    def fsync(_):
        raise OSError(errno.EIO, os.strerror(errno.EIO), "the temporary file")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match="the temporary file"):
        save_npz(path, BAGS.with_instances(np.ones((2, 1))))
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_errors_of_a_full_disk_name_the_file(tmp_path):
    for writing, name in ((replacing, "a.npz"), (replacing_folder, "b")):
        with (
            pytest.raises(OSError, match=f"No space left on device: '{tmp_path / name}'"),
            writing(tmp_path / name),
        ):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with pytest.raises(PermissionError, match=f"'{tmp_path / name}'"), writing(tmp_path / name) as part:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(part))
        with (
            pytest.raises(OSError, match=f"Read-only file system: '{tmp_path / name}'"),
            writing(tmp_path / name) as part,
        ):
            raise OSError(errno.EROFS, f"Failed to open local file '{part}'")  # as pyarrow reports it
        with pytest.raises(OSError, match=r"'input\.csv'"), writing(tmp_path / name):
            raise OSError(errno.EIO, os.strerror(errno.EIO), "input.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "h5", "npy"])
def test_ids_that_are_not_valid_text_are_refused(tmp_path, name):
    bags = BAGS._replace(ids=["a", "b\ud800"])
    with pytest.raises(
        ValueError, match=rf"/{name}(/labels.csv)?' cannot be written: 'b\\ud800(,0.0)?' is not valid text"
    ):
        save_bags(tmp_path / name, bags, format=None if "." in name else name)
    assert not list(tmp_path.iterdir())
