"""``bagwise plot``."""

import json

import numpy as np
import pytest

from bagwise import Bags, make_noisy_or_bags, save_bags
from bagwise.cli import main

pytest.importorskip("matplotlib", reason="plots need it")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with training bags, new bags, and models fitted to the training bags."""
    folder = tmp_path_factory.mktemp("plot")
    for name, seed in (("train", 0), ("new", 1)):
        data = make_noisy_or_bags(60, coef=[3.0, -3.0], intercept=-3.0, random_state=seed)
        save_bags(folder / f"{name}.csv", data.bags, data.y)
    save_bags(folder / "bare.npz", data.bags)
    for name in ("milr", "softor", "statistics", "misssvm"):
        arguments = ["fit", str(folder / "train.csv"), "-m", name, "--cv", "0", "--positive", "1"]
        assert main([*arguments, "-o", str(folder / f"{name}.bagwise")]) in (0, 1)
    return folder


def plot(folder, model, data, kind, out, *options):
    return main(
        [
            "plot",
            str(folder / f"{model}.bagwise"),
            str(folder / data),
            "--what",
            kind,
            "-o",
            str(out),
            *options,
        ]
    )


@pytest.mark.parametrize(("model", "kind"), [("milr", "path"), ("softor", "rule"), ("milr", "calibration")])
def test_a_picture_is_written(folder, model, kind, tmp_path, capsys):
    assert plot(folder, model, "train.csv", kind, tmp_path / "a.png") == 0
    assert capsys.readouterr().out.endswith(f"written: {tmp_path / 'a.png'}\n")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("model", ["milr", "statistics"])
def test_bags_of_the_fit_are_judged_by_folds_and_others_by_themselves(folder, model, tmp_path, capsys):
    for data, message in (
        ("train.csv", "These are the training bags"),
        ("new.csv", "not fitted to these bags"),
    ):
        assert plot(folder, model, data, "calibration", tmp_path / "a.svg", "--json") == 0
        assert message in json.loads(capsys.readouterr().out)["remark"]


def test_a_slide_is_drawn_at_its_coordinates(tmp_path, capsys):
    data = make_noisy_or_bags(30, size=9, random_state=0)
    grid = np.stack(np.meshgrid(np.arange(3), np.arange(3)), axis=-1).reshape(9, 2) * 256
    bags = Bags(
        data.bags.instances, data.bags.offsets, ids=[f"s{i:02d}" for i in range(30)],
        instance_columns={"coords": np.tile(grid, (30, 1)), "px": np.tile(grid[:, 0], 30)},
    )  # fmt: skip
    slides, model = save_bags(tmp_path / "slides", bags, data.y, format="npy"), tmp_path / "m.bagwise"
    assert main(["fit", str(slides), "-m", "milr", "--cv", "0", "-o", str(model)]) == 0
    draw = ["plot", str(model), str(slides), "--what", "heatmap", "-o", str(tmp_path / "a.png")]
    capsys.readouterr()
    assert main([*draw, "--id", "s03"]) == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert main([*draw, "--id", "s04", "--image", str(tmp_path / "a.png")]) == 0
    capsys.readouterr()
    for options, message in (
        ([], "there are 30 bags; choose the one to draw with --id"),
        (["--id", "s3"], "there is no bag 's3'"),
        (["--id", "s03", "--coords", "px,py"], "py"),
    ):
        assert main([*draw, *options]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.slow
def test_other_models_are_shown_the_rules_that_the_data_support(folder, tmp_path, capsys):
    assert plot(folder, "statistics", "train.csv", "rule", tmp_path / "a.png") == 0
    assert "support the rule" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("model", "data", "kind", "out", "message"),
    [
        ("statistics", "train.csv", "path", "a.png", "has no penalty path; only milr and milr-cv have one"),
        (
            "misssvm",
            "train.csv",
            "calibration",
            "a.png",
            "has no predict_proba, but a calibration plot needs probabilities",
        ),
        ("milr", "bare.npz", "calibration", "a.png", "has no labels, but the plot needs them"),
        ("softor", "new.csv", "rule", "a.png", "is computed from the training bags"),
        ("milr", "train.csv", "path", "a.doc", "-o must end in one of"),
    ],
)
def test_mistakes_are_one_sentence(folder, model, data, kind, out, message, tmp_path, capsys):
    assert plot(folder, model, data, kind, tmp_path / out) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and not (tmp_path / out).exists()
