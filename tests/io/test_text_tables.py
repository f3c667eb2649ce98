"""Tables of other programs: semicolons, tabs, decimal commas, workbooks."""

import datetime
import zipfile

import numpy as np
import pytest

from bagwise import load_bags, load_csv, load_xlsx, save_bags

ROWS = [
    ["mol", "active", "a", "b", "note"],
    ["007", "yes", "0.5", "1", "x"],
    ["007", "yes", "0.25", "", "y"],
    ["m2", "no", "-1.5", "3", "x"],
    ["m2", "no", "2", "4", "z"],
]
EXPECTED = np.array([[0.5, 1], [0.25, np.nan], [-1.5, 3], [2, 4]])


def write(path, rows, delimiter, encoding="utf-8", decimal="."):
    lines = [delimiter.join(cell.replace(".", decimal) for cell in row) for row in rows]
    path.write_bytes("\r\n".join([*lines, ""]).encode(encoding))
    return path


def assert_as_expected(bags, y):
    assert bags.ids.tolist() == ["007", "m2"] and y.tolist() == ["yes", "no"]
    assert bags.feature_names.tolist() == ["a", "b"]
    np.testing.assert_array_equal(bags.instances, EXPECTED)
    assert bags.instance_columns["note"].tolist() == ["x", "y", "x", "z"]


@pytest.mark.parametrize(
    ("name", "delimiter", "decimal", "encoding"),
    [
        ("a.csv", ",", ".", "utf-8"),
        ("a.csv", ";", ".", "utf-8"),
        ("a.csv", ";", ",", "utf-8-sig"),
        ("a.tsv", "\t", ".", "utf-8"),
        ("a.txt", "\t", ",", "utf-16"),  # "Unicode text" of a spreadsheet program
        ("a.TAB", ";", ",", "utf-8"),
    ],
)
def test_what_parts_the_cells_is_seen_from_the_first_line(tmp_path, name, delimiter, decimal, encoding):
    path = write(tmp_path / name, ROWS, delimiter, encoding, decimal)
    assert_as_expected(*load_bags(path, bag="mol", label="active"))


def test_a_quoted_name_with_a_semicolon_does_not_make_a_file_of_semicolons(tmp_path):
    (tmp_path / "a.csv").write_text('bag,"a;b;c",y\n1,2,0\n1,3,0\n')
    bags, y = load_csv(tmp_path / "a.csv")
    assert bags.feature_names.tolist() == ["a;b;c"] and y.tolist() == [0]


def test_a_comma_between_commas_is_no_decimal_mark(tmp_path):
    (tmp_path / "a.csv").write_text('bag,x,z\n1,"0,5",1\n1,"0,7",2\n')
    bags, _ = load_csv(tmp_path / "a.csv")
    assert bags.feature_names.tolist() == ["z"] and bags.instance_columns["x"].tolist() == ["0,5", "0,7"]


def test_thousands_or_decimals_between_tabs_are_not_guessed(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("bag\tx\n1\t1,234\n1\t2,500\n")
    with pytest.raises(ValueError, match=r"'1,234' in line 2 in the column 'x' is ambiguous: its comma"):
        load_bags(path)
    path.write_text("bag\tx\n1\t1,234\n1\t0,5\n")  # another cell shows the format
    assert load_bags(path)[0].instances[:, 0].tolist() == [1.234, 0.5]
    path.write_text("bag;x\n1;1,234\n1;2,500\n")  # the semicolon shows the format
    assert load_bags(path)[0].instances[:, 0].tolist() == [1.234, 2.5]
    path.write_text("bag;x;z\n1;1.234,5;1\n1;2,5;2\n1;3,5;3\n")
    with pytest.warns(UserWarning, match=r"'1\.234,5' in line 2 is not a number"):
        assert load_bags(path)[0].feature_names.tolist() == ["z"]


def test_text_of_other_programs_is_read_but_not_written(tmp_path):
    bags, y = load_bags(write(tmp_path / "a.tsv", ROWS, "\t"), bag="mol")
    for name in ("b.tsv", "b.xlsx"):
        with pytest.raises(ValueError, match="files can be read but not written"):
            save_bags(tmp_path / name, bags, y)


# ---------------------------------------------------------------------- workbooks


@pytest.fixture
def make_book(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="workbooks need openpyxl")

    def make(**sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, rows in sheets.items():
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(row)
        book.save(tmp_path / "book.xlsx")
        return tmp_path / "book.xlsx"

    return make


def test_a_workbook_is_read_as_the_same_table_in_text(make_book):
    rows = [ROWS[0], ["007", "yes", 0.5, 1, "x"], ["007", "yes", 0.25, None, "y"], [None] * 5]
    rows += [["m2", "no", -1.5, 3.0, "x"], ["m2", "no", 2, 4, "z"]]
    path = make_book(data=rows, other=[["bag", "x"], [7, 0.1], [7, 0.3]])
    assert_as_expected(*load_bags(path, bag="mol", label="active"))
    bags, y = load_xlsx(path, sheet="other")
    assert bags.ids.tolist() == ["7"] and y is None
    assert bags.instances[:, 0].tolist() == [0.1, 0.3]


def test_truth_values_and_dates_of_a_workbook_are_kept(make_book):
    day = datetime.date(2024, 2, 29)
    path = make_book(s=[["bag", "y", "x", "day"], [1, True, 1, day], [1, True, 2, day], [2, False, 3, day]])
    bags, y = load_bags(path)
    assert y.dtype == bool and y.tolist() == [True, False]
    assert bags.instance_columns["day"][0].startswith("2024-02-29")


def test_mistakes_in_workbooks_are_one_sentence(make_book, tmp_path):
    path = make_book(data=[["bag", "y", "x"], [1, 0, 1.0], [1, None, 2.0]])
    for options, message in (
        ({"sheet": "no"}, "has no sheet 'no'; it has 'data'"),
        ({}, "row 3: the label is"),
    ):
        with pytest.raises(ValueError, match=rf"book\.xlsx'.*{message}"):
            load_bags(path, **options)
    whole = path.read_bytes()
    for content in (b"", b"text", whole[: len(whole) // 2], whole[:-40]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"book\.xlsx' is not a readable workbook"):
            load_bags(path)
    with pytest.raises(FileNotFoundError, match=r"no\.xlsx"):
        load_xlsx(tmp_path / "no.xlsx")


@pytest.mark.parametrize("dimension", ["A1:B2", "A1:XFD1048576"])
def test_rows_outside_of_the_declared_dimension_are_read(make_book, dimension):
    path = make_book(data=[["bag", "y", "x"], *([i // 2, i // 4, float(i)] for i in range(8))])
    edit_sheet(path, b'ref="A1:C9"', f'ref="{dimension}"'.encode())
    bags, _ = load_bags(path)
    assert bags.instances[:, 0].tolist() == list(range(8))


def test_a_row_beyond_the_last_one_of_workbooks_is_refused(make_book):
    path = make_book(data=[["bag", "x"], [1, 2.0], [1, 3.0]])
    edit_sheet(path, b'<row r="3"', b'<row r="999999999999"')
    with pytest.raises(ValueError, match=r"book\.xlsx' has a row after row 1,048,576"):
        load_bags(path)


def test_rows_with_a_cell_in_the_last_column_of_workbooks_do_not_exhaust_the_memory(make_book):
    path = make_book(data=[["bag", "x"], [1, 2.0], [1, 3.0]])
    rows = b"".join(b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (i, i) for i in range(4, 1000))
    edit_sheet(path, b"</sheetData>", rows + b"</sheetData>")
    with pytest.raises(ValueError, match=r"book\.xlsx' has more than 8,388,608 cells up to row 515, which"):
        load_bags(path)


def test_entities_that_grow_are_refused(make_book):
    path = make_book(data=[["bag", "x"], [1, 2.0], [1, 3.0]])
    entities = b"".join(b'<!ENTITY e%d "%s">' % (i, b"&e%d;" % (i - 1) * 10) for i in range(1, 8))
    entities = b'<!DOCTYPE w [<!ENTITY e0 "1111111111">' + entities + b"]>"
    edit_sheet(path, b"<worksheet", entities + b"<worksheet")
    edit_sheet(path, b"<v>2</v>", b"<v>&e7;</v>")
    with pytest.raises(ValueError, match=r"book\.xlsx' is not a readable workbook .*amplification"):
        load_bags(path)


def edit_sheet(path, old, new):
    """Replace bytes in the first sheet of a workbook."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert old in parts["xl/worksheets/sheet1.xml"]
    parts["xl/worksheets/sheet1.xml"] = parts["xl/worksheets/sheet1.xml"].replace(old, new)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_a_workbook_that_unfolds_to_far_more_than_it_holds_is_refused(make_book, tmp_path):
    path = make_book(data=[["bag", "x"], [1, 2.0]])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet9.xml", b"0" * 2**25)
    with pytest.raises(ValueError, match="declares 33,554,432 bytes but is stored in"):
        load_bags(path)


def test_labels_of_a_folder_may_be_a_workbook_or_text_between_tabs(make_book, tmp_path):
    folder = tmp_path / "slides"
    folder.mkdir()
    for name in ("s1", "s2"):
        np.save(folder / f"{name}.npy", np.ones((2, 3)))
    rows = [["slide_id", "label"], ["s1", "tumor"], ["s2", "normal"]]
    for labels in (make_book(l=rows), write(tmp_path / "labels.tsv", rows, "\t")):
        assert load_bags(folder, labels=labels)[1].tolist() == ["tumor", "normal"]
