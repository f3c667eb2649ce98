import numpy as np
import pytest

from bagwise import load_arff, load_bags

HEAD = """% a comment
@RELATION 'two molecules'
@attribute molecule_name {m1,'m 2'}
@attribute bag relational
  @attribute angle numeric
  @attribute 'the charge' REAL
  @attribute color {red, green}
@end bag
@attribute weight numeric
@attribute class {0,1}

@data
"""


def arff(tmp_path, data, head=HEAD):
    path = tmp_path / "a.arff"
    path.write_text(head + data)
    return path


def test_a_relational_file_is_read_as_weka_writes_it(tmp_path):
    rows = "% first\nm1,\"0.5,1,red\\n-1e-3,?,'green'\\n\",2.5,1\n\n'm 2','{0 3, 2 green}',?,0\n"
    bags, y = load_bags(arff(tmp_path, rows))
    assert bags.ids.tolist() == ["m1", "m 2"] and y.tolist() == [1, 0]
    assert bags.feature_names.tolist() == ["angle", "the charge", "color"]
    assert np.array_equal(bags[0], [[0.5, 1, 0], [-0.001, np.nan, 1]], equal_nan=True)
    assert bags[1].tolist() == [[3, 0, 1]]
    assert np.array_equal(bags.bag_columns["weight"], [2.5, np.nan], equal_nan=True)


def test_labels_that_are_words_stay_words_and_may_be_absent(tmp_path):
    rows = "m1,'1,1,red',1,a\n'm 2','1,1,red',1,b\n"
    _, y = load_arff(arff(tmp_path, rows, HEAD.replace("{0,1}", "{a,b}")))
    assert y.tolist() == ["a", "b"]
    head = "@relation r\n@attribute b relational\n@attribute x numeric\n@end b\n@data\n"
    bags, y = load_arff(arff(tmp_path, "'1\\n2'\n3\n", head))
    assert y is None and bags.instances.ravel().tolist() == [1, 2, 3] and bags.ids.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("m1,'1,1,red',1,1\nm1,'1,1,red',1,1\n", "the bag id 'm1' occurs twice, in line 13 and line 14"),
        ("m1,'1,1,red',1,?\n", "line 13: the label is missing"),
        ("m1,'1,1,red',1\n", "line 13: got 3 values; expected 4, one per attribute; is the file truncated"),
        ("m1,'1,1,red\n", "line 13: the quote at column 4 is not closed"),
        ("m1,'1,red',1,1\n", "line 13: instance 0 of the bag has 2 values; expected 3, one per feature"),
        ("m1,'1,x,red',1,1\n", "line 13: 'x' is not a value of the attribute 'the charge'; expected a"),
        ("m1,'1,1,blue',1,1\n", "line 13: 'blue' is not a value of the attribute 'color'; expected one"),
        ("m1,'1,1,red',1,2\n", "'2' is not a declared value of 'class'"),
        ("", "has no bags after @data"),
    ],
)
def test_broken_rows_are_named_by_their_line(tmp_path, rows, sentence):
    with pytest.raises(ValueError, match=rf"a\.arff'.*{sentence}"):
        load_arff(arff(tmp_path, rows))


def test_files_that_are_no_relational_arff_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        load_arff(tmp_path / "nothing.arff")
    with pytest.raises(ValueError, match="has no @data section; it is truncated or not an ARFF file"):
        load_arff(arff(tmp_path, "", HEAD.replace("@data", "")))
    with pytest.raises(ValueError, match="has 0 relational attributes; expected one"):
        load_arff(arff(tmp_path, "1\n", "@attribute x numeric\n@data\n"))
    with pytest.raises(ValueError, match="line 1: an attribute needs a name and a type; got 'x'"):
        load_arff(arff(tmp_path, "", "@attribute x\n@data\n"))
    (tmp_path / "a.arff").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="is not a readable ARFF file"):
        load_arff(tmp_path / "a.arff")
