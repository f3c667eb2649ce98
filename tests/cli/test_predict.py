"""``bagwise predict``: predictions of a saved model for new bags, in the original labels."""

import csv
import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from tests.hidden import run_without

from bagwise import (
    BagStatistics,
    MILogisticRegression,
    instance_frame,
    load,
    load_bags,
    make_noisy_or_bags,
    predict_frame,
    save,
    save_bags,
)
from bagwise.cli import main

HEADER = "molecule,activity,batch,angle,charge"
COLUMNS = ["--bag", "molecule", "--label", "activity", "--positive", "active"]


def write(path, data, first=0, columns=HEADER, labels=("inactive", "active")):
    """Write bags to a CSV file with these columns."""
    lines = [columns]
    for index, (X, label) in enumerate(zip(data.bags, data.y, strict=True), start=first):
        for angle, charge in X.tolist():
            cells = {"molecule": f"{index:03d}", "activity": labels[label], "batch": str(index % 5)}
            cells |= {"angle": str(angle), "charge": str(charge)}
            lines.append(",".join(cells[name] for name in columns.split(",")))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with training bags, a model fitted to them, several new bags, and a file with a single bag."""
    folder = tmp_path_factory.mktemp("predict")
    train, new, single = (
        make_noisy_or_bags(n, coef=[3.0, -3.0], intercept=-3.0, random_state=seed)
        for n, seed in ((60, 0), (7, 1), (1, 2))
    )
    write(folder / "train.csv", train)
    write(folder / "new.csv", new, 100, "charge,molecule,angle")
    write(folder / "one.csv", single, 7, "batch,charge,molecule,angle")
    arguments = ["fit", str(folder / "train.csv"), *COLUMNS, "-m", "milr", "--set", "n_init=1", "--cv", "0"]
    assert main([*arguments, "-o", str(folder / "m.bagwise")]) == 0
    return folder


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", ["new.csv", "one.csv"])
def test_predictions_are_in_words_and_ids_are_as_they_came(folder, name, tmp_path, capsys):
    out = tmp_path / "p.csv"
    assert main(["predict", str(folder / "m.bagwise"), str(folder / name), "-o", str(out)]) == 0
    assert f"written: {out}" in capsys.readouterr().out
    rows = read(out)
    assert list(rows[0]) == ["bag", "prediction", "probability_active"]
    assert rows[0]["bag"] == ("100" if name == "new.csv" else "007")
    model = load(folder / "m.bagwise")
    bags, _ = load_bags(folder / name, bag="molecule", like=model)
    probability = model.predict_proba(bags)[:, 1]
    assert [float(row["probability_active"]) for row in rows] == probability.tolist()
    assert [row["prediction"] for row in rows] == ["active" if p >= 0.5 else "inactive" for p in probability]


def test_instances_have_a_row_each(folder, tmp_path, capsys):
    out = tmp_path / "p.parquet"
    arguments = ["predict", str(folder / "m.bagwise"), str(folder / "new.csv"), "--instances"]
    assert main([*arguments, "-o", str(out)]) == 0
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["predictions"]
    model = load(folder / "m.bagwise")
    bags, _ = load_bags(folder / "new.csv", bag="molecule", like=model)
    expected = instance_frame(model, bags)
    assert [row["instance_probability"] for row in rows] == expected["instance_probability"].tolist()
    assert [row["bag"] for row in rows] == expected["bag"].tolist()
    pandas = pytest.importorskip("pandas", reason="to read it back")
    assert pandas.read_parquet(out)["rank"].tolist() == expected["rank"].tolist()


def test_without_a_file_the_first_rows_are_shown(folder, capsys):
    assert main(["predict", str(folder / "m.bagwise"), str(folder / "train.csv")]) == 0
    out = capsys.readouterr().out
    assert out.startswith("bag  prediction  probability_active\n") and "and 40 more rows; use -o FILE" in out


def test_labels_of_new_bags_may_be_missing_or_others(folder, tmp_path, capsys):
    data = make_noisy_or_bags(3, coef=[3.0, -3.0], random_state=4)
    path = write(tmp_path / "a.csv", data, labels=("", ""))
    assert main(["predict", str(folder / "m.bagwise"), str(path), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["predictions"]) == 3


def test_a_scan_gives_the_same(folder, tmp_path, capsys):
    bags, _ = load_bags(folder / "new.csv", bag="molecule", like=load(folder / "m.bagwise"))
    for layout in ("parquet", "parquet-long"):
        path = save_bags(tmp_path / f"{layout}.parquet", bags, format=layout)
        answers = []
        for scan in ([], ["--scan"]):
            assert main(["predict", str(folder / "m.bagwise"), str(path), "--json", *scan]) == 0
            answers.append(json.loads(capsys.readouterr().out))
        assert answers[0] == answers[1] and answers[0]["predictions"][0]["bag"] == "100"
    (tmp_path / "parts").mkdir()
    path.rename(tmp_path / "parts" / "one.parquet")
    for parts in (tmp_path / "parts", tmp_path / "parts" / "*.parquet"):
        assert main(["predict", str(folder / "m.bagwise"), str(parts), "--json", "--scan"]) == 0
        assert json.loads(capsys.readouterr().out) == answers[0]
    assert main(["predict", str(folder / "m.bagwise"), str(tmp_path / "parts")]) == 2
    assert "use --scan to read all of them" in capsys.readouterr().err


def test_models_that_python_saved_answer_in_their_own_labels(tmp_path, capsys):
    data = make_noisy_or_bags(40, random_state=0)
    model = MILogisticRegression(n_init=1).fit(data.bags, data.y)
    path, bags = save(model, tmp_path / "m.bagwise"), save_bags(tmp_path / "a.npz", data.bags, data.y)
    assert main(["predict", str(path), str(bags), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["predictions"]
    assert [row["prediction"] for row in rows] == model.predict(data.bags).tolist()


def test_types_that_are_not_known_are_named_until_they_are_trusted(tmp_path, capsys):
    data = make_noisy_or_bags(40, random_state=0)
    model = make_pipeline(BagStatistics(), DecisionTreeClassifier(random_state=0)).fit(data.bags, data.y)
    with pytest.warns(UserWarning, match="trusted"):
        path = save(model, tmp_path / "m.bagwise")
    bags = save_bags(tmp_path / "a.npz", data.bags, data.y)
    assert main(["predict", str(path), str(bags)]) == 2
    names = ("sklearn.tree._classes.DecisionTreeClassifier", "sklearn.tree._tree.Tree")
    options = [part for name in names for part in ("--trust", name)]
    assert " ".join(options) in capsys.readouterr().err
    assert main(["predict", str(path), str(bags), *options]) == 0


def test_mistakes_are_one_sentence(folder, tmp_path, capsys):
    model, new = str(folder / "m.bagwise"), str(folder / "new.csv")
    (tmp_path / "less.csv").write_text("molecule,angle\n1,2\n1,3\n")
    (tmp_path / "text.csv").write_text("molecule,angle,charge\n1,2,high\n1,3,1\n")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "other.csv").write_text("mol,angle,charge\n1,2,3\n1,3,1\n")
    for arguments, message in (
        ([str(tmp_path / "no.bagwise"), new], "cannot read"),
        ([new, new], "is not a model written by bagwise.save"),
        ([model, str(tmp_path / "no.csv")], "there is no file or folder"),
        ([model, str(tmp_path / "less.csv")], "has no column 'charge' for a feature"),
        ([model, str(tmp_path / "text.csv")], "the column 'charge' is a feature, but 'high' in line 2"),
        ([model, str(tmp_path / "other.csv")], "name the column that contains the bag id"),
        ([model, new, "-o", str(tmp_path / "a.txt")], "-o must end in .csv or .parquet"),
        ([model, new, "-o", new], "is an input file and would be overwritten"),
        ([model, new, "-o", str(tmp_path / "no" / "a.csv")], "there is no folder"),
        ([model, new, "-o", str(tmp_path / "folder.csv")], "is a folder; pass the path of a file"),
    ):
        assert main(["predict", *arguments]) == 2
        out, err = capsys.readouterr()
        assert message in err and err.count("\n") == 1 and out == ""


@pytest.mark.slow
def test_the_program_needs_no_library_of_frames(folder):
    code = """
from bagwise.cli import main
assert main(["predict", *sys.argv[1:]]) == 0
"""
    out = run_without(["pandas", "polars", "rich"], code, folder / "m.bagwise", folder / "new.csv")
    assert "probability_active" in out


def test_frames_come_as_dictionaries_on_request():
    data = make_noisy_or_bags(20, random_state=0)
    model = MILogisticRegression(n_init=1).fit(data.bags, data.y)
    columns, frame = predict_frame(model, data.bags, backend=dict), predict_frame(model, data.bags)
    assert list(columns) == list(frame.columns)
    assert all(np.array_equal(columns[name], frame[name].to_numpy()) for name in columns)
