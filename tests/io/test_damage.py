"""Damaged and malicious files raise a ValueError that names the file; claimed sizes are checked."""

import io
import zipfile

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import Bags, load_arff, load_bags, load_h5, load_npz, save_bags, save_npz

GOOD = Bags(
    np.random.default_rng(0).normal(size=(12, 4)),
    [0, 3, 5, 12],
    ids=["p", "q", "ä"],
    feature_names=list("abcd"),
    instance_columns={"where": np.arange(24).reshape(12, 2), "word": np.array(list("abcdefghijkl"))},
    bag_columns={"patient": [7, 8, 9]},
)


def damaged(whole: bytes, rng) -> bytes:
    """Flip bits, or overwrite, remove or truncate bytes, as a failing disk does."""
    data, start = bytearray(whole), int(rng.integers(len(whole)))
    method = rng.integers(4)
    if method == 0:
        for i in rng.integers(len(data), size=rng.integers(1, 4)):
            data[i] ^= 1 << int(rng.integers(8))
    elif method == 1:
        data[start : start + 8] = rng.bytes(8)
    elif method == 2:
        del data[start : start + int(rng.integers(1, 40))]
    else:
        del data[start:]
    return bytes(data)


def load_or_sentence(path, name):
    try:
        load_bags(path)
    except ValueError as error:
        assert name in str(error), str(error)


@pytest.mark.parametrize("kind", ["npz", "csr"])
def test_damaged_npz_files(tmp_path, kind):
    bags = GOOD if kind == "npz" else Bags(sp.csr_array(GOOD.instances), GOOD.offsets)
    path = save_npz(tmp_path / "a.npz", bags, [0, 1, 1])
    whole = path.read_bytes()
    for seed in range(300):
        path.write_bytes(damaged(whole, np.random.default_rng(seed)))
        load_or_sentence(path, "a.npz")


@pytest.mark.parametrize("format_name", ["parquet", "parquet-long", "csv"])
@pytest.mark.filterwarnings("ignore::UserWarning")  # a mostly numeric column
def test_damaged_tables(tmp_path, format_name):
    name = "a.csv" if format_name == "csv" else "a.parquet"
    path = save_bags(tmp_path / name, GOOD, [0, 1, 1], format=format_name)
    whole = path.read_bytes()
    for seed in range(150):
        path.write_bytes(damaged(whole, np.random.default_rng(seed)))
        load_or_sentence(path, name)


@pytest.mark.parametrize("format_name", ["npy", "h5"])
def test_damaged_files_of_folders(tmp_path, format_name):
    folder = save_bags(tmp_path / "bags", GOOD, [0, 1, 1], format=format_name)
    for file in sorted(folder.rglob(f"q.{format_name}")):
        whole = file.read_bytes()
        for seed in range(120):
            file.write_bytes(damaged(whole, np.random.default_rng(seed)))
            load_or_sentence(folder, "q." + format_name)
        file.write_bytes(whole)


def test_sizes_that_an_npz_file_claims_are_compared_with_what_it_holds(tmp_path):
    header = io.BytesIO()
    claim = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 4)}
    np.lib.format.write_array_header_1_0(header, claim)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", header.getvalue() + bytes(64))
    with pytest.raises(ValueError, match=r"a\.npz'.*'X' has shape \(1000000000000, 4\), which takes"):
        load_npz(tmp_path / "a.npz")


def test_arrays_that_a_damaged_list_hides_are_missed(tmp_path):
    path = save_npz(tmp_path / "a.npz", Bags(GOOD.instances, GOOD.offsets), [0, 1, 1])
    whole = path.read_bytes()
    last = whole.rindex(b"PK\x01\x02")
    before = whole.rindex(b"PK\x01\x02", 0, last)
    assert whole[last + 46 :].startswith(b"y.npy")
    hidden, renamed = bytearray(whole), bytearray(whole)
    hidden[before + 32] = whole.rindex(b"PK\x05\x06") - last  # hides the last entry in a comment
    renamed[last + 50] = ord("z")
    for data, sentence in ((hidden, "declares 3 arrays, but lists 2"), (renamed, "y.npz.*differ")):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=rf"a\.npz.*{sentence}"):
            load_npz(path)


def test_arrays_that_nobody_asked_for_are_not_read(tmp_path):
    X = np.zeros((2, 1))
    np.savez(tmp_path / "a.npz", X=X, offsets=[0, 2], other=np.array([object()], dtype=object))
    assert len(load_npz(tmp_path / "a.npz")[0]) == 1


def test_an_npz_file_without_a_part_of_its_matrix(tmp_path):
    np.savez(tmp_path / "a.npz", X_data=[1.0], X_indices=[0], X_indptr=[0, 1], offsets=[0, 1])
    with pytest.raises(ValueError, match=r"a\.npz' has an array 'X_data' but no 'X_shape'"):
        load_npz(tmp_path / "a.npz")


def h5_refused(folder, sentence):
    with pytest.raises(ValueError, match=rf"a\.h5'.*{sentence}"):
        load_h5(folder)


def test_h5_files_with_links_groups_and_false_sizes(tmp_path):
    folder = tmp_path / "h"
    folder.mkdir()
    secret = tmp_path / "secret.txt"
    secret.write_bytes(b"password=hunter2")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = np.zeros((4, 4))

    def external_storage(file, name):
        file.create_dataset(name, (4, 4), dtype="u1", external=[(str(secret), 0, 16)])

    def external_link(file, name):
        file[name] = h5py.ExternalLink(str(tmp_path / "other.h5"), "x")

    def link_to_a_link(file, name):
        file["group/inner"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "x")
        file[name] = h5py.SoftLink("/group/inner")

    def virtual(file, name):
        layout = h5py.VirtualLayout((4, 4), dtype="f8")
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "x", (4, 4))
        file.create_virtual_dataset(name, layout)

    for make in (external_storage, external_link, link_to_a_link, virtual):
        with h5py.File(folder / "a.h5", "w") as file:
            make(file, "features")
        h5_refused(folder, "another file")
        with h5py.File(folder / "a.h5", "w") as file:
            file["features"] = np.zeros((4, 4))
            make(file, "coords")
        h5_refused(folder, "another file")
    with h5py.File(folder / "a.h5", "w") as file:
        file["features"] = h5py.SoftLink("/nowhere")
    h5_refused(folder, "is not a readable HDF5 file")
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_group("features")
    h5_refused(folder, "'features' is a group; expected a dataset")
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("features", (10**12, 4), dtype="f8", chunks=(1000, 4))
    h5_refused(folder, r"'features' has shape \(1000000000000, 4\), which needs .* but only 0 bytes are")


@pytest.mark.parametrize("pair", ["-1 7", "2 7", "9 7", "a 7", "1", "1 ", "0x1 7", "² 7"])
def test_places_of_sparse_arff_rows_are_checked(tmp_path, pair):
    text = """@relation m\n@attribute id {a,b}\n@attribute bag relational\n@attribute f1 numeric
@attribute f2 numeric\n@end bag\n@attribute class {0,1}\n@data\na,"{0 3,1 4}",1\nb,"{PAIR}",0\n"""
    path = tmp_path / "c.arff"
    path.write_text(text.replace("PAIR", pair), encoding="utf-8")
    with pytest.raises(ValueError, match=r"c\.arff', line 10: .* in a sparse row; expected an index"):
        load_arff(path)
    path.write_text(text.replace("PAIR", "1 7"))
    assert load_arff(path)[0].instances.tolist() == [[3, 4], [0, 7]]
