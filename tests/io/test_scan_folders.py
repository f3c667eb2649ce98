"""Scans of folders with one file per bag and of npz files: the same data as loading, and all errors."""

import os

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import Bags, load_bags, load_npz, save_h5, save_npy, save_npz, scan_bags
from bagwise.data.blocks import FileBlocks
from bagwise.data.scanned import source as source_module
from bagwise.io.scan import folder as folder_module
from bagwise.io.scan import npz as npz_module

SAVE = {"h5": save_h5, "npy": save_npy}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BAGWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def make_bags(dtype=np.float32):
    rng = np.random.default_rng(0)
    sizes = [3, 1, 0, 8, 2, 5]
    return Bags(
        rng.normal(scale=9, size=(19, 3)).astype(dtype),
        np.cumsum([0, *sizes]),
        ids=["s/1", "b", "c", "z", "e", "f"],
        feature_names=["a", "b", "c"],
        instance_columns={"coords": rng.integers(0, 99, (19, 2)), "kind": rng.choice(["p", "quark"], 19)},
        bag_columns={"patient": np.arange(6) % 2},
    )


def assert_same(bags, other):
    np.testing.assert_array_equal(bags.offsets, other.offsets)
    assert bags.instances.dtype == other.instances.dtype
    np.testing.assert_array_equal(bags.instances, other.instances)
    np.testing.assert_array_equal(bags.ids, other.ids)
    np.testing.assert_array_equal(bags.feature_names, other.feature_names)
    for kind in ("instance_columns", "bag_columns"):
        assert list(getattr(bags, kind)) == list(getattr(other, kind))
        for name, values in getattr(bags, kind).items():
            np.testing.assert_array_equal(values, getattr(other, kind)[name])


def save_open_npz(path, bags, y=None):
    """Write the arrays of `save_npz` without compression."""
    save_npz(path, bags, y)
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **arrays)
    return path


@pytest.fixture(params=["h5", "npy", "npz"])
def path(request, tmp_path):
    if request.param == "npz":
        return save_open_npz(tmp_path / "a.npz", make_bags(), np.arange(6))
    return SAVE[request.param](tmp_path / "slides", make_bags(), np.arange(6))


@pytest.mark.parametrize("held", [True, False])
def test_a_scan_knows_and_loads_what_loading_gives(path, large_from, held):
    if not held:
        large_from(0)
    scan, (bags, y) = scan_bags(path), load_bags(path)
    assert_same(scan.load(), bags)
    assert_same(scan.load(), make_bags())
    np.testing.assert_array_equal(scan.y, y)
    for key in ([5, 0, 0, 3], slice(1, 4), [2], []):
        assert_same(scan[key].load(), bags[key])
        np.testing.assert_array_equal(scan[key].y, y[key])


def test_blocks_are_those_of_memory(path, monkeypatch, large_from):
    large_from(0)
    for module in ("bagwise.data.blocks.layout", "bagwise.io.scan.folder"):
        monkeypatch.setattr(f"{module}.block_rows", lambda _: 4)
    monkeypatch.setattr(npz_module, "block_rows", lambda _: 3)
    scan, bags = scan_bags(path), make_bags()
    blocks = scan.blocks()
    assert isinstance(blocks, FileBlocks) and blocks.n_blocks == 4
    for block in blocks.each(lambda b: b):
        np.testing.assert_array_equal(block.X, bags.instances[block.rows(block.part_of(bags.offsets[:-1]))])
        assert block.X.dtype == np.float32
    chosen = [4, 3, 0]
    few = scan[chosen].blocks()
    np.testing.assert_array_equal(few.take(np.arange(few.n_instances)), bags[chosen].instances)


@pytest.mark.parametrize("name", ["h5", "npy"])
def test_a_folder_is_opened_once_and_remembered(name, tmp_path, cache, monkeypatch, large_from):
    path = SAVE[name](tmp_path / "slides", make_bags(), np.arange(6))
    large_from(0)
    looked = []
    usual = folder_module.look_at_shapes
    monkeypatch.setattr(folder_module, "look_at_shapes", lambda *a: looked.append(1) or usual(*a))
    first, second = scan_bags(path), scan_bags(path)
    assert looked == [1] and len(list((cache / "scans").iterdir())) == 1
    assert_same(first.load(), second.load())
    changed = path / ("b.h5" if name == "h5" else "features/b.npy")
    os.utime(changed, ns=(1, 1))
    scan_bags(path)
    assert looked == [1, 1]
    with pytest.raises(ValueError, match=rf"b\.{name}' has changed since it was scanned"):
        second.load()
    changed.unlink()
    with pytest.raises(ValueError, match="no longer exists; scan the files again"):
        second[1]
    np.testing.assert_array_equal(second[0], make_bags()[0])  # the file of this bag is unchanged


def rewrite(path, array):
    """Replace the content of an npy file, but keep its size and modification time."""
    before = path.stat()
    np.save(path, array)
    assert path.stat().st_size == before.st_size
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.skipif(os.name != "posix", reason="needs the time of the last status change")
def test_a_file_of_the_same_size_and_time_is_noticed(tmp_path, large_from):
    large_from(0)
    path = save_npy(tmp_path / "slides", Bags(np.arange(36.0).reshape(12, 3), [0, 6, 12]))
    scan = scan_bags(path)
    file = path / "features" / "1.npy"
    rewrite(file, np.zeros((3, 6)))
    with pytest.raises(ValueError, match=r"1\.npy' has changed since it was scanned"):
        scan.load()
    with pytest.raises(ValueError, match=r"1\.npy' has 6 features, but '.*0\.npy' has 3"):
        scan_bags(path)
    rewrite(file, np.full((6, 3), 7.0))
    np.testing.assert_array_equal(scan_bags(path)[1], np.full((6, 3), 7.0))


def test_an_index_with_another_shape_is_refused_and_removed(tmp_path, cache, monkeypatch, large_from):
    large_from(0)
    path = save_npy(tmp_path / "slides", Bags(np.arange(36.0).reshape(12, 3), [0, 6, 12]))
    scan_bags(path)
    with monkeypatch.context() as context:  # as if the file system did not report the changes
        context.setattr(folder_module, "_as_arrays", lambda _: {})
        np.save(path / "features" / "1.npy", np.zeros((3, 3)))
        scan = scan_bags(path)
    with pytest.raises(ValueError, match=r"1\.npy' has features of shape \(3, 3\), but 6 instances of 3"):
        scan.load()
    assert not list((cache / "scans").iterdir())
    assert scan_bags(path).load().sizes.tolist() == [6, 3]


def test_a_worker_can_have_a_copy_of_a_file(tmp_path, monkeypatch, large_from):
    large_from(0)
    path = save_npy(tmp_path / "slides", make_bags())
    scan = scan_bags(path)
    file = path / "features" / "b.npy"
    rewrite(file, np.load(file))
    monkeypatch.setattr(source_module.platform, "node", lambda: "another machine")
    assert_same(scan.load(), make_bags())


def test_a_cache_that_cannot_be_written_does_no_harm(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BAGWISE_CACHE", str(tmp_path / "file"))
    assert len(scan_bags(save_npy(tmp_path / "slides", make_bags()))) == 6


def test_a_broken_index_is_rebuilt(tmp_path, cache):
    path = save_npy(tmp_path / "slides", make_bags())
    scan_bags(path)
    index = next((cache / "scans").iterdir())
    whole = index.read_bytes()
    for broken in (b"PK no archive", whole[:-30], whole[:40] + bytes(8) + whole[48:]):
        index.write_bytes(broken)
        assert scan_bags(path).n_instances == 19


def test_slides_with_a_leading_dimension_and_a_table_of_other_origin(tmp_path):
    for name, size in (("s1", 4), ("s2", 2)):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file["features"] = np.arange(size * 3, dtype=np.float16).reshape(1, size, 3)
            file["coords"] = np.zeros((1, size, 2), dtype=int)
    (tmp_path / "labels.csv").write_text("slide_id,label\ns2,tumor\ns1,normal\n")
    scan = scan_bags(tmp_path, positive="tumor")
    assert scan.y.tolist() == [True, False] and scan.sizes.tolist() == [2, 4]
    bags, _ = load_bags(tmp_path)
    np.testing.assert_array_equal(scan.load().instances, bags.instances)
    assert scan.load().instances.dtype == np.float16
    assert scan.blocks().X.dtype == np.float32


# ---------------------------------------------------------------------- errors


def refused(path, match, **options):
    with pytest.raises(ValueError, match=match):
        scan_bags(path, **options)


def test_a_compressed_npz_file_is_refused_with_the_remedy(tmp_path):
    path = save_npz(tmp_path / "a.npz", make_bags())
    refused(path, r"a\.npz' is compressed .*; load it with load_npz, or convert it with bagwise convert")
    assert_same(load_npz(path)[0], make_bags())


def test_other_npz_files_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", Z=np.ones(3))
    refused(tmp_path / "a.npz", r"has no array 'X'; it has \['Z'\]")
    np.savez(tmp_path / "a.npz", X=np.ones((3, 2)))
    refused(tmp_path / "a.npz", "has no array 'offsets'")
    np.savez(tmp_path / "a.npz", X=np.asfortranarray(np.ones((3, 2))), offsets=[0, 3])
    refused(tmp_path / "a.npz", "in Fortran order; a scan needs a numeric matrix in C order")
    np.savez(tmp_path / "a.npz", X=np.ones((3, 2)), offsets=[0, 3])
    refused(tmp_path / "a.npz", "npz files have no columns", bag="b")
    refused(tmp_path / "a.npz", "does not have one column per feature", features=["a"])
    save_npz(tmp_path / "b.npz", Bags(sp.csr_array(np.eye(3)), [0, 3]))
    refused(tmp_path / "b.npz", "sparse instances, which cannot be scanned")
    (tmp_path / "a.npz").write_bytes(b"no archive")
    refused(tmp_path / "a.npz", "is not a readable npz file")
    refused(str(tmp_path / "*.npz"), "path matches 2 npz files")


def test_folders_with_a_broken_file_or_label_are_refused(tmp_path):
    path = save_npy(tmp_path / "slides", make_bags(), np.arange(6))
    np.save(path / "features" / "b.npy", np.ones((3, 2)))
    refused(path, r"b\.npy' has 2 features, but '.*s%2F1\.npy' has 3")
    (path / "features" / "b.npy").unlink()
    refused(path, r"labels\.csv', line 3: there is no file 'b\.npy'")
    refused(path / "labels.csv", "is a file; expected the folder that contains one npy file", format="npy")
    with pytest.raises(ValueError, match=r"neither \.h5 nor \.npy"):
        scan_bags(tmp_path)
