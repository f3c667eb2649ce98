"""``bagwise compare``: comparing models on a data file."""

import json
from html import unescape

import numpy as np
import pandas as pd
import pytest

from bagwise import make_noisy_or_bags
from bagwise.cli import main

COLUMNS = ["--bag", "molecule", "--label", "activity"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    data = make_noisy_or_bags(40, coef=[3.0, -3.0], intercept=-3.0, random_state=0)
    frame = pd.DataFrame(data.bags.instances, columns=["angle", "charge"])
    frame["molecule"] = data.bags.bag_index
    frame["activity"] = np.where(data.y[data.bags.bag_index] == 1, "yes", "no")
    frame["batch"] = data.bags.bag_index // 2
    path = tmp_path_factory.mktemp("compare") / "shapes.csv"
    frame.to_csv(path, index=False)
    return str(path)


def test_a_comparison_is_told_before_and_shown_after(table, capsys):
    command = ["compare", table, *COLUMNS, "--positive", "yes", "--groups", "batch", "--cv", "3"]
    assert main([*command, "--models", "single,statistics"]) == 0
    out = capsys.readouterr().out
    before, after = out.split("accuracy", 1)
    assert "2 models and 2 baselines: single; statistics." in before
    assert "40 bags in 3 folds, 20 groups kept together." in before and "Estimated time: " in before
    for name in ("single", "statistics", "most frequent label", "size of the bag"):
        assert f"\n{name} " in after


def test_scripts_get_scores_choices_and_what_repeats_it(table, capsys):
    command = ["compare", table, *COLUMNS, "--positive", "yes", "--cv", "2", "--json"]
    assert main([*command, "--models", "single", "--scoring", "f1,accuracy"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert {model["model"] for model in content["models"]} == {
        "single",
        "most frequent label",
        "size of the bag",
    }
    assert len(content["models"][0]["scores"]["f1"]["splits"]) == 2
    assert content["seed"] == 0 and len(content["digest"]) == 32 and "bagwise" in content["versions"]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--cv", "1"], "--cv is 1; expected at least 2."),
        (["--repeats", "0"], "--repeats is 0; expected at least 1."),
        (["--jobs", "0"], "--jobs is 0"),
        (["--models", "sinlge"], "did you mean 'single'?"),
        (["--models", "single,pu"], "compare them separately"),
        (["--scoring", "acuracy"], "did you mean 'accuracy'?"),
        (["--groups", "bach"], "did you mean 'batch'?"),
        (["--checkpoint", "/nowhere/run"], "/nowhere"),
    ],
)
def test_what_cannot_work_is_a_sentence(more, sentence, table, capsys):
    assert main(["compare", table, *COLUMNS, "--positive", "yes", "--models", "single", *more]) == 2
    assert sentence in capsys.readouterr().err


def test_a_model_that_fails_ends_with_status_1(table, capsys, monkeypatch):
    def fails(self, X, y, sample_weight=None):
        raise ValueError("it does not like these bags.")

    monkeypatch.setattr("bagwise.models.wrappers.single_instance.SingleInstanceClassifier.fit", fails)
    command = ["compare", table, *COLUMNS, "--positive", "yes", "--cv", "2", "--models", "single,statistics"]
    assert main(command) == 1
    assert "single failed: split 1 of 2: it does not like these bags." in capsys.readouterr().out


def test_the_page_calls_classes_by_the_words_of_the_labels(table, tmp_path, capsys):
    page = tmp_path / "shapes.html"
    command = ["compare", table, *COLUMNS, "--positive", "yes", "--cv", "2", "--models", "milr"]
    assert main([*command, "--html", str(page)]) == 0
    assert "written" in capsys.readouterr().out
    text = page.read_text("utf-8")
    assert "probability of yes" in text and "probability of positive" not in text


def test_the_page_uses_the_original_labels_and_advice_for_the_command_line(table, tmp_path, capsys):
    page, gaps = tmp_path / "shapes.html", tmp_path / "gaps.csv"
    frame = pd.read_csv(table)
    frame.loc[0, "angle"] = np.nan
    frame.to_csv(gaps, index=False)
    command = ["compare", str(gaps), *COLUMNS, "--positive", "yes", "--cv", "2", "--models", "milr"]
    assert main([*command, "--html", str(page)]) == 0
    text = unescape(page.read_text("utf-8"))
    assert "'no': " in text and "True: " not in text
    assert "1 missing value, replaced by medians" in text and "in a pipeline" not in text
