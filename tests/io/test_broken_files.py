"""Broken or unusual files: errors name the file and the row, and no partial files remain."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from bagwise import (
    Bags,
    load_bags,
    load_csv,
    load_h5,
    load_npy,
    load_parquet,
    make_noisy_or_bags,
    save_bags,
    save_csv,
    scan_bags,
)
from bagwise.io import files

WRITTEN = [name for name, about in files.FORMATS.items() if about.can_write]
TABLES = [name for name in WRITTEN if name != "npz"]


def small(**names):
    return Bags(np.arange(6.0).reshape(3, 2), [0, 1, 3], **{"ids": ["p", "q"], **names})


def path_for(tmp_path, format_name):
    return tmp_path / ("bags" + (files.FORMATS[format_name].suffix or ""))


# ---------------------------------------------------------------------- writing


@pytest.mark.parametrize("format_name", TABLES)
def test_what_a_format_cannot_keep_is_refused_before_anything_is_written(tmp_path, format_name):
    path = path_for(tmp_path, format_name)
    refusals = {
        "the bag id 'p' occurs twice, in entry 0 and entry 1": small(ids=["p", "p"]),
        "stores dense instances but these are sparse; use save": small().with_instances(sp.csr_array((3, 2))),
        "bag_columns/o contains Python objects": small(bag_columns={"o": np.array([object(), 1])}),
        "bag_columns/c has dtype complex128, which .* cannot store": small(bag_columns={"c": [1j, 2]}),
        "there are no bags to write": small()[:0],
        "needs at least one feature": small().with_instances(np.empty((3, 0))),
    }
    for sentence, bags in refusals.items():
        with pytest.raises(ValueError, match=sentence):
            save_bags(path, bags, format=format_name)
    with pytest.raises(ValueError, match=r"y has shape \(3,\), but there are 2 bags"):
        save_bags(path, small(), [1, 0, 1], format=format_name)
    with pytest.raises(TypeError, match="bags is a list; expected Bags"):
        save_bags(path, [np.zeros((2, 2))] if format_name != "parquet-long" else [], format="csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format_name", ["csv", "parquet-long"])
def test_a_long_table_cannot_store_an_empty_bag(tmp_path, format_name):
    with pytest.raises(ValueError, match="bag 1 is empty; a table with one row per instance"):
        save_bags(tmp_path / "a", Bags(np.zeros((2, 1)), [0, 2, 2]), format=format_name)
    assert list(tmp_path.iterdir()) == []


def test_folders_are_never_overwritten(tmp_path):
    (tmp_path / "bags").mkdir()
    save_bags(tmp_path / "bags", small(), [1, 0], format="npy")  # an empty folder is allowed
    for format_name in ("npy", "h5"):
        with pytest.raises(FileExistsError, match="already exists; pass the path of a new folder"):
            save_bags(tmp_path / "bags", small(), format=format_name)


@pytest.mark.parametrize("format_name", WRITTEN)
def test_a_write_that_breaks_off_leaves_nothing(tmp_path, format_name, monkeypatch):
    import h5py

    def broken(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", broken)
    monkeypatch.setattr(np, "save", broken)
    monkeypatch.setattr(h5py, "File", broken)
    monkeypatch.setattr(pq.ParquetWriter, "write_table", broken)
    monkeypatch.setattr("bagwise.io._table._texts", broken)
    with pytest.raises(OSError, match="disk full"):
        save_bags(path_for(tmp_path, format_name), small(), [1, 0], format=format_name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(tmp_path):
    for format_name in WRITTEN:
        with pytest.raises(FileNotFoundError, match=r"there is no folder '.*nowhere' to write to"):
            save_bags(tmp_path / "nowhere" / "a", small(), format=format_name)


# ---------------------------------------------------------------------- reading


@pytest.mark.parametrize("format_name", ["npz", "parquet", "parquet-long", "csv"])
def test_a_file_that_is_cut_off_is_refused_by_name(tmp_path, format_name):
    path = save_bags(path_for(tmp_path, format_name), small(), [1, 0], format=format_name)
    whole = path.read_bytes()
    reader = "parquet" if format_name == "parquet-long" else format_name
    for length in range(0, len(whole) - 3, max(1, len(whole) // 40)):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=path.name):
            load_bags(path, format=reader)


@pytest.mark.parametrize("format_name", ["h5", "npy"])
def test_a_bags_file_that_is_cut_off_is_refused_by_name(tmp_path, format_name):
    folder = save_bags(tmp_path / "bags", small(), [1, 0], format=format_name)
    file = next(folder.rglob(f"q.{format_name}"))
    whole = file.read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 10)):
        file.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=rf"q\.{format_name}' is not a readable"):
            load_bags(folder)
    file.unlink()
    with pytest.raises(ValueError, match=rf"labels\.csv', line 3: there is no file 'q\.{format_name}'"):
        load_bags(folder)


def test_missing_files_and_folders_are_reported(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file or folder"):
        load_bags(tmp_path / "nothing.csv")
    for reader in (load_csv, load_parquet):
        with pytest.raises(FileNotFoundError, match="there is no file"):
            reader(tmp_path / "nothing")
    for reader in (load_h5, load_npy):
        with pytest.raises(FileNotFoundError, match=r"there is no folder"):
            reader(tmp_path / "nothing")
        with pytest.raises(ValueError, match="files"):
            reader(tmp_path)
    with pytest.raises(ValueError, match=r"contains neither \.h5 nor \.npy files"):
        load_bags(tmp_path)


def test_an_unknown_format_lists_the_formats(tmp_path):
    (tmp_path / "a.docx").write_text("a")
    names = ", ".join(files.FORMATS)
    suffixes = ", ".join(about.suffix for about in files.FORMATS.values() if about.suffix)
    suffixes += ", .tsv, .tab, .txt"
    message = f"does not end in {suffixes}; specify the format: one of {names}."
    with pytest.raises(ValueError, match=re.escape(message)):
        load_bags(tmp_path / "a.docx")
    with pytest.raises(ValueError, match=re.escape(f"format is 'xls'; expected one of {names}.")):
        load_bags(tmp_path / "a.docx", format="xls")
    with pytest.raises(ValueError, match=r"\.h5 files contain one bag each; pass the folder"):
        save_bags(tmp_path / "a.h5", small())
    with pytest.raises(ValueError, match="arff files can be read but not written"):
        save_bags(tmp_path / "a.arff", small())
    path = save_bags(tmp_path / "a.npz", small())
    with pytest.raises(ValueError, match=r"a\.npz' is read as npz, which has no option 'bag'"):
        load_bags(path, bag="b")


def write(path, text):
    path.write_text(text)
    return path


def test_csv_errors_name_the_line(tmp_path):
    def refused(text, sentence, **options):
        with pytest.raises(ValueError, match=rf"a\.csv'.*{sentence}"):
            load_csv(write(tmp_path / "a.csv", text), **options)

    refused("", "is empty")
    refused("bag,x,x\na,1,2\n", "has two columns 'x'")
    refused("bag,x\na,1\nb\n", "line 3: got 1 values; expected 2, one per column")
    refused("bag,y,x\na,1,1\na,,2\n", "line 3: the label is missing")
    refused("bag,y,x\na,1,1\n,0,2\n", "line 3: the bag id is missing")
    refused("bag,y,x\na,1,1\na,0,2\n", "the bag 'a' has two values of 'y', 1 and 0")
    refused("molecule,x\na,1\n", "has no column called bag_id or bag or slide_id; name the column")
    refused("bag,x\na,1\n", "has no column 'mol' for the bag", bag="mol")
    refused("bag,x\na,u\na,v\n", "has no numeric column that could be a feature")
    refused('bag,x\n"a,1\n', "is not a readable CSV file")


def test_a_csv_file_with_its_description_names_line_and_type(tmp_path):
    path = save_csv(tmp_path / "a.csv", small(), np.array([1, 0], dtype=np.int8))
    text = path.read_text()
    path.write_text(text.replace("q,0", "q,zero", 1))
    with pytest.raises(ValueError, match=r"a\.csv', line 3: 'zero' in the column 'y' is not a valid int8"):
        load_csv(path)
    path.write_text(text.replace("bag_id", "bag"))
    with pytest.raises(ValueError, match="does not have the columns listed in its description; delete"):
        load_csv(path)
    (tmp_path / "a.csv-metadata.json").write_text("{")
    with pytest.raises(ValueError, match=r"a\.csv-metadata\.json' is not a readable description"):
        load_csv(path)


def test_a_plain_csv_file_is_read_by_what_its_columns_do(tmp_path):
    text = "bag,label,patient,x,note\nb,yes,7,1,u\na,no,8,2.5,v\nb,yes,7,3,w\n"
    bags, y = load_csv(write(tmp_path / "a.csv", text))
    assert bags.ids.tolist() == ["b", "a"] and y.tolist() == ["yes", "no"]
    assert bags.feature_names.tolist() == ["x"] and bags[0].tolist() == [[1.0], [3.0]]
    assert bags.bag_columns["patient"].tolist() == [7, 8]
    assert bags.instance_columns["note"].tolist() == ["u", "w", "v"]
    mixed, _ = load_csv(write(tmp_path / "b.csv", "bag,x,t\na,1,True\na,2.5,1\nb,3,u\n"))
    assert mixed.instances.ravel().tolist() == [1, 2.5, 3]
    assert mixed.instance_columns["t"].tolist() == ["True", "1", "u"]


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def test_parquet_errors_name_the_row(tmp_path):
    def refused(sentence, **columns):
        with pytest.raises(ValueError, match=rf"a\.parquet'.*{sentence}"):
            load_parquet(parquet(tmp_path / "a.parquet", **columns))

    good = [[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]]
    refused("row 1: the column 'y' has no value", bag_id=["a", "b"], y=[1, None], instances=good)
    refused("row 1: the column 'bag_id' has no value", bag_id=["a", None], instances=good)
    refused("the bag id 'a' occurs twice, in row 0 and row 1", bag_id=["a", "a"], instances=good)
    refused("has lists of string; expected lists of numeric lists", instances=[["a"], ["b"]])
    refused("the column 'instances' has the type double; expected lists", instances=[1.0, 2.0])
    refused("row 1: the column 'instances' has no value", instances=[good[0], None])
    refused(
        "row 1: an instance has a different number of features", instances=[[[1.0, 2.0]], [[3.0, 4.0], [5.0]]]
    )
    refused("row 1: an instance is missing", instances=[[[1.0, 2.0]], [None]])
    refused("row 1: an instance has a missing feature value", instances=[[[1.0, 2.0]], [[3.0, None]]])
    refused(
        "row 0: the column 't' has 2 values; expected 1, one per instance", instances=good, t=[[1, 2], [3]]
    )
    refused("row 1: the label is missing", bag_id=["a", "a"], y=[1.0, np.nan], x=[0.0, 1.0])


def test_parquet_files_of_others_are_read_by_what_their_columns_are(tmp_path):
    good = [[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]]
    path = parquet(
        tmp_path / "a.parquet", name=["a", "b"], hit=[1, 0], instances=good, t=[[1], [2, 3]], p=[7, 8]
    )
    bags, y = load_parquet(path, bag="name", label="hit")
    assert bags.ids.tolist() == ["a", "b"] and y.tolist() == [1, 0]
    assert bags[1].tolist() == [[3.0, 4.0], [5.0, 6.0]]
    assert bags.instance_columns["t"].tolist() == [1, 2, 3] and bags.bag_columns["p"].tolist() == [7, 8]
    path = parquet(tmp_path / "b.parquet", bag=["u", "v", "u"], y=[1, 0, 1], x=[0.1, 0.2, 0.3])
    bags, y = load_parquet(path)
    assert bags[0].ravel().tolist() == [0.1, 0.3] and y.tolist() == [1, 0]


def h5(path, **datasets):
    import h5py

    with h5py.File(path, "w") as file:
        for name, values in datasets.items():
            file[name] = values


def test_folders_as_clam_and_trident_write_them_are_read(tmp_path):
    h5(tmp_path / "s1.h5", features=np.ones((1, 3, 4), np.float32), coords=np.zeros((1, 3, 2), np.int64))
    h5(tmp_path / "s2.h5", features=np.zeros((2, 4), np.float32), coords=np.ones((2, 2), np.int64), level=0)
    bags, y = load_h5(tmp_path)
    assert y is None and bags.ids.tolist() == ["s1", "s2"] and bags.sizes.tolist() == [3, 2]
    assert bags.instance_columns["coords"].shape == (5, 2) and bags.instances.dtype == np.float32
    labels = write(tmp_path / "clam.csv", "case_id,slide_id,label\nc2,s2,tumor\nc1,s1,normal\n")
    bags, y = load_bags(tmp_path, labels=labels)
    assert bags.ids.tolist() == ["s2", "s1"] and y.tolist() == ["tumor", "normal"]
    assert bags.bag_columns["case_id"].tolist() == ["c2", "c1"]


def test_folder_errors_name_the_file_or_the_line(tmp_path):
    h5(tmp_path / "s1.h5", features=np.ones((3, 4)), coords=np.zeros((3, 2)))
    h5(tmp_path / "s2.h5", features=np.ones((3, 4)))

    def refused(sentence, table=None, **options):
        labels = None if table is None else write(tmp_path / "t.csv", table)
        with pytest.raises(ValueError, match=sentence):
            load_h5(tmp_path, labels=labels, **options)

    refused(r"s2\.h5' has no array 'coords', but '.*s1\.h5' has one")
    refused(r"s1\.h5' has no dataset 'feats'; it has \['coords', 'features'\]", key="feats")
    refused(r"t\.csv', line 3: there is no file 's9\.h5'", "slide_id,label\ns1,0\ns9,1\n")
    refused(r"s2\.h5' has no label because it is not listed in '.*t\.csv'", "slide_id,label\ns1,0\n")
    refused(r"t\.csv', line 3: the label is missing", "slide_id,label\ns1,0\ns2,\n")
    refused(r"t\.csv': .* 's1' occurs twice, in line 2 and line 4", "slide_id,label\ns1,0\ns2,1\ns1,0\n")
    refused(r"t\.csv' has no column 'slide_id', 'bag_id' or 'bag'; name the", "slide,label\ns1,0\n")
    refused(r"t\.csv' has no column 'target' for the labels", "slide_id,y\ns1,0\n", label="target")
    h5(tmp_path / "s2.h5", features=np.ones((3, 5)), coords=np.zeros((3, 2)))
    refused(r"s2\.h5' has 5 features, but '.*s1\.h5' has 4")
    h5(tmp_path / "s2.h5", features=np.ones(3))
    refused(r"s2\.h5' has features of shape \(3,\)")
    h5(tmp_path / "s2.h5", features=np.full((3, 4), b"a"))
    refused(r"s2\.h5' has features of dtype \|S1; expected a numeric dtype")


def test_npy_folders_need_no_table(tmp_path):
    for name, size in (("a", 2), ("b", 3)):
        np.save(tmp_path / name, np.full((size, 2), size))
    bags, y = load_bags(tmp_path)
    assert y is None and bags.sizes.tolist() == [2, 3] and bags.instances.dtype == np.int64
    (tmp_path / "coords").mkdir()
    for name, size in (("a", 2), ("b", 4)):
        np.save(tmp_path / "coords" / name, np.zeros((size, 2)))
    with pytest.raises(ValueError, match=r"b\.npy' has 4 values of 'coords', but 3 instances"):
        load_bags(tmp_path)


@pytest.mark.parametrize("kind", ["h5", "npy"])
def test_slides_or_labels_without_a_match_are_skipped_with_a_warning(tmp_path, kind):
    data = make_noisy_or_bags(5, random_state=0)
    bags = data.bags._replace(ids=np.array(["s1", "s2", "s3", "s4", "s5"]))
    folder = save_bags(tmp_path / "slides", bags, data.y, format=kind)
    table = tmp_path / "t.csv"
    table.write_text("slide_id,label,patient\ns4,1,p\ns9,0,q\ns1,0,r\ns2,,p\ns8,1,q\n")
    message = rf"t\.csv': 3 \.{kind} files have no label and 2 lines have no \.{kind} file; skipped\."
    with pytest.warns(UserWarning, match=message):
        loaded, y = load_bags(folder, labels=table, missing="skip")
    assert loaded.ids.tolist() == ["s4", "s1"] and y.tolist() == [1, 0] and y.dtype.kind == "i"
    assert loaded.bag_columns["patient"].tolist() == ["p", "r"]
    np.testing.assert_array_equal(loaded["s4"], bags["s4"])
    with pytest.warns(UserWarning, match="skipped"):
        scan = scan_bags(folder, labels=table, missing="skip")
    assert scan.ids.tolist() == ["s4", "s1"] and scan.y.tolist() == [1, 0]
    np.testing.assert_array_equal(scan["s4"], bags["s4"])
    with pytest.raises(
        ValueError, match=r'line 3: there is no file .* pass missing="skip" to skip such lines'
    ):
        load_bags(folder, labels=table)
    table.write_text("slide_id,label\ns1,0\ns2,\ns3,1\ns4,0\ns5,1\n")
    with pytest.raises(ValueError, match="line 3: the label is missing"):
        load_bags(folder, labels=table)
    with pytest.raises(ValueError, match=r"missing must be .* got 'drop'"):
        load_bags(folder, labels=table, missing="drop")
    table.write_text("slide_id,label\ns9,0\n")
    with pytest.warns(UserWarning), pytest.raises(ValueError, match=r"has no .* file with a label in"):
        load_bags(folder, labels=table, missing="skip")
    whole = tmp_path / "whole.csv"
    whole.write_text("slide_id,label\n" + "".join(f"s{i},1\n" for i in range(1, 6)))
    assert len(load_bags(folder, labels=whole, missing="skip")[0]) == 5  # without a warning


def test_only_folders_have_tables_of_labels(tmp_path):
    data = make_noisy_or_bags(5, random_state=0)
    path = save_bags(tmp_path / "a.parquet", data.bags, data.y)
    with pytest.raises(ValueError, match=r"'labels' is only for folders of h5 or npy files"):
        scan_bags(path, labels="t.csv")
