"""``bagwise explain``."""

import json

import pytest

from bagwise import explain_bag, load, load_bags, make_noisy_or_bags
from bagwise.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with bags that have text labels, and a model fitted to them."""
    folder = tmp_path_factory.mktemp("explain")
    data = make_noisy_or_bags(40, coef=[3.0, -3.0], intercept=-3.0, random_state=0)
    lines = ["molecule;activity;conformer;angle;charge"]
    for index, (X, label) in enumerate(zip(data.bags, data.y, strict=True)):
        word = "active" if label else "inactive"
        lines += [f"{index:03d};{word};c{j};{a};{b}" for j, (a, b) in enumerate(X.tolist())]
    (folder / "train.csv").write_text("\n".join(lines) + "\n")
    (folder / "one.csv").write_text("molecule,angle,charge\n9,1,0\n9,0,1\n")
    arguments = ["fit", str(folder / "train.csv"), "--bag", "molecule", "--label", "activity", "--cv", "0"]
    arguments += ["--positive", "active", "-m", "milr", "--set", "alpha=0.1", "-o", str(folder / "m.bagwise")]
    assert main(arguments) == 0
    return folder


def test_a_bag_is_explained_in_words_with_table_and_picture(folder, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="the plot needs it")
    model, data = str(folder / "m.bagwise"), str(folder / "train.csv")
    assert main(["explain", model, data, "--id", "007", "-o", str(tmp_path / "a.png")]) == 0
    out = capsys.readouterr().out
    assert out.startswith("bag '007', 3 instances: probability of 'active' ")
    assert "Its label is '" in out and "conformer" in out and "without" in out and "log-odds" in out
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_scripts_get_the_same_as_python(folder, capsys):
    model, data = str(folder / "m.bagwise"), str(folder / "train.csv")
    assert main(["explain", model, data, "--id", "007", "--json", "-k", "2"]) == 0
    content = json.loads(capsys.readouterr().out)
    bags, y = load_bags(data, bag="molecule", label="activity", positive="active")
    expected = explain_bag(load(model), bags, "007", y=y, n_instances=2)
    assert content["columns"]["without"] == expected.columns["without"].tolist()
    assert content["value"] == expected.value and content["positive"] == "active"
    assert content["label"] == ("active" if expected.label else "inactive")
    effects = [effect._asdict() for effect in expected.features[0][1]]
    assert content["features"][0]["features"] == effects


def test_one_bag_without_a_label_needs_no_id(folder, capsys):
    assert main(["explain", str(folder / "m.bagwise"), str(folder / "one.csv")]) == 0
    out = capsys.readouterr().out
    assert "bag '9', 2 instances" in out and "given that the bag is 'active'" in " ".join(out.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "there are 40 bags; choose the one to explain with --id"),
        (["--id", "7"], "there is no bag '7'; similar ids:"),
        (["--id", "007", "-k", "0"], "-k must be at least 1"),
        (["--id", "007", "-o", "a.docx"], "-o must end in one of"),
        (["--id", "007", "-o", "nowhere/a.png"], "there is no folder 'nowhere'"),
    ],
)
def test_mistakes_are_one_sentence(options, message, folder, capsys):
    assert main(["explain", str(folder / "m.bagwise"), str(folder / "train.csv"), *options]) == 2
    out, err = capsys.readouterr()
    assert message in err and err.count("\n") == 1 and out == ""
