"""Text tables: encodings, separator line, missing labels, and labels in a separate table."""

import codecs

import numpy as np
import pytest

from bagwise import load_bags, load_csv, make_noisy_or_bags, save_bags
from bagwise.io._rows import detect_encoding

TABLE = "Molekül;Aktivität;größe\r\nä1;aktiv;0,5\r\nä1;aktiv;1,5\r\nb;inaktiv;2,5\r\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_the_encodings_that_excel_writes_are_recognized(encoding, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(TABLE.encode(encoding))
    bags, y = load_csv(path, bag="Molekül", label="Aktivität")
    assert bags.ids.tolist() == ["ä1", "b"] and y.tolist() == ["aktiv", "inaktiv"]
    assert bags.feature_names.tolist() == ["größe"] and bags.instances.tolist() == [[0.5], [1.5], [2.5]]


def test_another_encoding_is_passed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(TABLE.encode("mac-roman"))
    bags, _ = load_bags(path, bag="Molekül", label="Aktivität", encoding="mac-roman")
    assert bags.ids.tolist() == ["ä1", "b"]
    with pytest.raises(ValueError, match="unknown encoding 'mac-romn'; pass, for example, 'utf-8'"):
        load_csv(path, bag="Molekül", encoding="mac-romn")
    with pytest.raises(ValueError, match=r"is not valid utf-8-sig text: .* Pass the encoding of the"):
        load_csv(path, bag="Molekül", encoding="utf8")


def test_a_late_character_and_one_on_the_border_of_two_reads_are_decoded(tmp_path, monkeypatch):
    monkeypatch.setattr("bagwise.io._rows._BYTES", 7)
    path = tmp_path / "a.csv"
    for text, encoding in (("bag,x\n" + "b,1\n" * 20 + "ü,2\n", "cp1252"), ("bag,x\nüüüüüüü,1\n", "utf-8")):
        path.write_bytes(text.encode(encoding))
        assert detect_encoding(path) == ("utf-8-sig" if encoding == "utf-8" else encoding)
        assert "ü" in load_csv(path, features=["x"])[0].ids[-1]
    path.write_bytes("bag,x\nü".encode()[:-1])
    assert detect_encoding(path) == "cp1252"


def test_binary_files_are_not_read_as_text(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"bag,x\n\xff\x00\x01,2\n")
    with pytest.raises(ValueError, match="is not valid utf-8-sig text"):
        load_csv(path)


@pytest.mark.parametrize("line", ["sep=;", '"sep=;"', "SEP=;"])
def test_the_separator_line_of_excel_is_not_the_header(line, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(codecs.BOM_UTF8 + f"{line}\r\n{TABLE}".encode())
    bags, _ = load_csv(path, bag="Molekül", label="Aktivität")
    assert bags.instances.tolist() == [[0.5], [1.5], [2.5]]
    path.write_text("sep=,\nbag;1,x\nb,1\n")  # it overrides the detected delimiter
    assert load_csv(path, bag="bag;1")[0].ids.tolist() == ["b"]
    path.write_text(f"{line}\nbag;x\nb;1\nb;y;2\n")
    with pytest.raises(ValueError, match="line 4: got 3 values; expected 2, one per column"):
        load_csv(path)


LABELLED = "bag,label,x\na,yes,1\na,yes,2\nb,,3\nc,no,4\n"


def test_bags_without_a_label_raise_are_skipped_or_kept(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(LABELLED)
    with pytest.raises(ValueError, match=r'line 4: the label is missing .* pass missing="skip"'):
        load_bags(path)
    with pytest.warns(UserWarning, match="1 bag has no label; skipped"):
        bags, y = load_bags(path, missing="skip")
    assert bags.ids.tolist() == ["a", "c"] and y.tolist() == ["yes", "no"]
    bags, y = load_bags(path, missing="keep")
    assert bags.ids.tolist() == ["a", "b", "c"] and y.tolist() == ["yes", None, "no"]
    path.write_text(LABELLED.replace("yes", "1").replace("no", "0"))
    with pytest.warns(UserWarning, match="no label"):
        assert load_bags(path, missing="skip")[1].dtype.kind == "i"
    assert np.isnan(load_bags(path, missing="keep")[1]).tolist() == [False, True, False]
    with pytest.raises(ValueError, match=r'missing must be "raise", "skip" or "keep"; got "?\'drop'):
        load_bags(path, missing="drop")


@pytest.mark.parametrize("name", ["a.csv", "a.npz", "a_h5"])
def test_labels_are_read_from_a_separate_table_for_every_format(name, tmp_path):
    data = make_noisy_or_bags(4, random_state=0)
    if name == "a_h5":
        pytest.importorskip("h5py", reason="reads h5 files")
    save_bags(tmp_path / name, data.bags, data.y, format="h5" if name == "a_h5" else None)
    table = tmp_path / "labels.csv"
    table.write_bytes("bag_id,Befund,site\n3,gut,s\n0,übel,t\n1,gut,t\n2,gut,s\n".encode("mac-roman"))
    bags, y = load_bags(tmp_path / name, labels=table, label="Befund", encoding="mac-roman")
    order = bags.ids.astype(str).tolist()
    assert dict(zip(order, y.tolist(), strict=True)) == {"0": "übel", "1": "gut", "2": "gut", "3": "gut"}
    assert dict(zip(order, bags.bag_columns["site"].tolist(), strict=True))["3"] == "s"


def test_rows_and_bags_that_do_not_match_raise_or_are_skipped(tmp_path):
    (tmp_path / "a.csv").write_text("bag,x\na,1\na,2\nb,3\n")
    table = tmp_path / "t.csv"
    for rows, message in (
        ("a,1", r"has no label for bag 'b' of .*a.csv'; pass missing=\"skip\""),
        ("a,1\nb,0\nc,1", "line 4: .* has no bag 'c'"),
        ("a,1\nb,", "line 3: the label is missing"),
        ("u,1", "lists none of the bags"),
    ):
        table.write_text(f"bag,label\n{rows}\n")
        with pytest.raises(ValueError, match=message):
            load_bags(tmp_path / "a.csv", labels=table)
    table.write_text("bag,label\na,1\nc,1\n")
    with pytest.warns(UserWarning, match="1 bag has no label and 1 row has no bag; skipped"):
        bags, y = load_bags(tmp_path / "a.csv", labels=table, missing="skip")
    assert bags.ids.tolist() == ["a"] and y.tolist() == [1]
    table.write_text("id,label\na,1\n")
    with pytest.raises(ValueError, match="rename its column with the bag ids to one of these"):
        load_bags(tmp_path / "a.csv", labels=table)
