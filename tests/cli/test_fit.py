"""``bagwise fit``: fitting, evaluating and saving a model from a data file."""

import json
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import bagwise
from bagwise import Bags, load, load_bags, make_count_bags, make_noisy_or_bags, save_bags
from bagwise.cli import main
from bagwise.cli.models import MODELS, make_model
from bagwise.persist import read_card
from bagwise.testing.discovery import all_estimators

HAS_TORCH = find_spec("torch") is not None
WRAPPERS = {"ByIndex", "OneVsOneBagClassifier", "MultiLabelBagClassifier", "MIMLLogisticRegression"}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A CSV file of molecules with text labels, ids with leading zeros, and batches."""
    data = make_noisy_or_bags(80, coef=[3.0, -3.0, 0.0], intercept=-3.0, random_state=0)
    path = tmp_path_factory.mktemp("data") / "train.csv"
    lines = ["molecule,activity,batch,angle,charge,weight"]
    for index, (X, label) in enumerate(zip(data.bags, data.y, strict=True)):
        word = "active" if label else "inactive"
        lines += [f"{index:03d},{word},b{index % 31},{','.join(map(str, row))}" for row in X.tolist()]
    path.write_text("\n".join(lines) + "\n")
    return path


COLUMNS = ["--bag", "molecule", "--label", "activity"]


def fit(table, path, *options, positive="active"):
    chosen = ["--positive", positive] if positive else []
    return main(["fit", str(table), *COLUMNS, *chosen, "-o", str(path), *options])


def test_a_model_is_fitted_judged_and_saved_with_the_words_of_its_labels(table, tmp_path, capsys):
    path = tmp_path / "m.bagwise"
    assert fit(table, path, "-m", "milr", "--set", "alpha=0.5", "--groups", "batch") == 0
    out = capsys.readouterr().out
    assert "labels       'active': " in out and "5-fold cross-validation" in out
    assert "recall of 'active'" in out and out.endswith(f"written: {path}\n")
    assert "Intervals allow for correlation within groups" in out
    model, about = load(path), read_card(path)["about"]
    assert model.alpha == 0.5 and model.classes_.tolist() == [False, True]
    assert model.feature_names_in_.tolist() == ["angle", "charge", "weight"]
    assert about["labels"] == {"positive": "active", "negative": "inactive"}
    assert about["data"] == {
        "file": str(table), "bag": "molecule", "label": "activity", "groups": "batch"
    }  # fmt: skip
    bags, y = load_bags(table, bag="molecule", label="activity", positive="active")
    again = bagwise.MILogisticRegression(alpha=0.5, random_state=0).fit(bags, y)
    assert np.array_equal(model.predict_proba(bags), again.predict_proba(bags))


def test_scripts_get_everything_as_json(table, tmp_path, capsys):
    assert fit(table, tmp_path / "m.bagwise", "-m", "statistics", "--cv", "3", "--json") == 0
    content = json.loads(capsys.readouterr().out)
    accuracy = content["scores"]["accuracy"]
    assert 0 <= accuracy["low"] < accuracy["value"] < accuracy["high"] <= 1
    assert content["folds"] == 3 and content["warnings"] == [] and content["written"].endswith("m.bagwise")
    assert {finding["topic"] for finding in content["findings"]} >= {"values", "labels", "size and label"}


def test_the_scores_are_those_of_scikit_learn_on_the_same_folds(table, tmp_path, capsys):
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold

    options = ["-m", "milr", "--cv", "4", "--seed", "3", "--json"]
    assert fit(table, tmp_path / "m.bagwise", *options) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    bags, y = load_bags(table, bag="molecule", label="activity", positive="active")
    hits, areas, pairs, errors = [], [], [], []
    for train, test in StratifiedKFold(4, shuffle=True, random_state=3).split(np.zeros(len(y)), y):
        model = bagwise.MILogisticRegression(random_state=3).fit(bags[train], y[train])
        probability = model.predict_proba(bags[test])[:, 1]
        hits.append((probability >= 0.5) == y[test])
        errors.append((probability - y[test]) ** 2)
        areas.append(roc_auc_score(y[test], probability))
        pairs.append(y[test].sum() * (~y[test]).sum())
    assert scores["accuracy"]["value"] == pytest.approx(np.concatenate(hits).mean())
    assert scores["auc"]["value"] == pytest.approx(np.average(areas, weights=pairs))
    assert scores["brier"]["value"] == pytest.approx(np.concatenate(errors).mean())
    positive = np.concatenate(hits)[np.concatenate([y[t] for _, t in StratifiedKFold(
        4, shuffle=True, random_state=3).split(np.zeros(len(y)), y)])]  # fmt: skip
    assert scores["recall_active"]["value"] == pytest.approx(positive.mean())


def test_every_public_classifier_has_a_short_name_or_is_a_wrapper():
    classifiers = {cls.__name__ for cls in all_estimators() if hasattr(cls, "predict")}
    classifiers -= {name for name in classifiers if name.endswith("Regressor")}
    pipelines = {"BagPipeline"}
    named = {model.cls for model in MODELS.values()} - {"BagStatistics"}
    if not HAS_TORCH:
        named.remove("AttentionMILClassifier")
    assert named == classifiers - WRAPPERS - pipelines


QUICK = {
    "auto": ["cv=2", "families=('extremes', 'sets')"],
    "mimm": ["n_init=1"], "mimm-disc": ["n_init=1"], "dd": ["n_init=1"], "emdd": ["n_init=1"],
    "milr": ["n_init=1"], "milr-cv": ["n_init=1", "cv=2", "alphas=3"], "softor": ["n_init=1"],
    "pu": ["cv=2", "degrees=(1,)", "alphas=(0.1,)", "class_prior=0.3"], "puskc": ["class_prior=0.3"],
    "lsdd-cv": ["cv=2", "alphas=(0.1,)"], "dsdd-cv": ["cv=2", "alphas=(0.1,)"],
    "attention": ["max_epochs=5", "hidden_sizes=(4,)"],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MODELS if HAS_TORCH or name != "attention"])
def test_every_model_is_fitted_has_a_page_and_is_loaded_again(name, table, tmp_path, capsys):
    path = tmp_path / "m.bagwise"
    settings = [option for pair in QUICK.get(name, []) for option in ("--set", pair)]
    pages = find_spec("jinja2") is not None and find_spec("matplotlib") is not None
    page = tmp_path / "m.html"
    settings += ["--html", str(page)] if pages else []
    assert fit(table, path, "-m", name, "--cv", "2", "--json", *settings) in (0, 1)
    assert json.loads(capsys.readouterr().out)["scores"]
    assert not pages or "Reproduce this report" in page.read_text()
    model = load(path, trusted=read_card(path).get("trusted", []))
    bags, _ = load_bags(table, bag="molecule", like=model)
    assert set(model.predict(bags).tolist()) <= {False, True}


def test_missing_library_of_a_model_is_named(table, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert fit(table, tmp_path / "m.bagwise", "-m", "attention", "--cv", "0") == 2
    assert "pip install 'bagwise[torch]'" in capsys.readouterr().err


def test_a_fit_writes_a_page_in_the_words_of_the_labels(table, tmp_path, capsys):
    pytest.importorskip("jinja2", reason="pages need it")
    path, page = tmp_path / "m.bagwise", tmp_path / "m.html"
    assert fit(table, path, "-m", "milr", "--groups", "batch", "--cv", "3", "--html", str(page)) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-2:] == [f"written: {path}", f"written: {page}"]
    text = page.read_text()
    assert "MILogisticRegression of train.csv" in text and "predicted inactive" in text
    assert "resamples of groups" in text and f"--html {page}" in text and "bagwise fit" in text
    # The page shows the same scores as the screen.
    accuracy = next(line.split() for line in out.splitlines() if line.startswith("accuracy"))
    assert all(f">{value}</td>" in text for value in accuracy[1:])


def test_a_page_of_a_fit_without_folds_says_so(table, tmp_path, capsys):
    pytest.importorskip("jinja2", reason="pages need it")
    page = tmp_path / "m.html"
    options = ["-m", "milr", "--cv", "0", "--json", "--html", str(page)]
    assert fit(table, tmp_path / "m.bagwise", *options) == 0
    assert json.loads(capsys.readouterr().out)["html"] == str(page)
    text = page.read_text()
    assert "was not evaluated by cross-validation" in text and "the largest bags" in text


@pytest.mark.parametrize(
    ("name", "message"),
    [("m.pdf", "--html must end in .html; got"), ("nowhere/m.html", "there is no folder 'nowhere'")],
)
def test_a_page_that_cannot_be_written_is_refused_before_any_fit(name, message, table, tmp_path, capsys):
    path = tmp_path / "m.bagwise"
    assert fit(table, path, "-m", "milr", "--html", name) == 2
    out, err = capsys.readouterr()
    assert message in err and out == "" and not path.exists()


def test_groups_are_advised_until_they_are_named(tmp_path, capsys):
    data = make_noisy_or_bags(40, random_state=0)
    patients = np.array([f"p{i // 2}" for i in range(40)])
    bags = Bags(data.bags.instances, data.bags.offsets, bag_columns={"patient": patients})
    path, model = save_bags(tmp_path / "a.npz", bags, data.y), str(tmp_path / "m.bagwise")
    arguments = ["fit", str(path), "-m", "statistics", "-o", model, "--cv", "0"]
    assert main(arguments) == 0
    assert "use --groups patient" in capsys.readouterr().out
    assert main([*arguments, "--groups", "patient"]) == 0
    assert "--groups patient" not in capsys.readouterr().out


def test_unlabeled_bags_are_judged_at_the_priors_that_are_possible(table, tmp_path, capsys):
    options = ["-m", "puskc", "--set", "class_prior=0.3", "--cv", "2"]
    assert fit(table, tmp_path / "m.bagwise", *options) in (0, 1)
    out = capsys.readouterr().out
    assert "lower end  class prior  upper end" in out and "accuracy" not in out
    assert "recall depend on the prior" in " ".join(out.split())


def test_many_classes_go_to_a_model_that_takes_them(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = np.repeat(["cat", "dog", "owl"], 10)
    X = [
        rng.normal(size=(3, 2)) + 4 * np.eye(3)[code][:2] - 4 * (code == 2)
        for code in np.repeat(range(3), 10)
    ]
    path = save_bags(tmp_path / "a.npz", Bags.from_list(X), y)
    model = tmp_path / "m.bagwise"
    assert main(["fit", str(path), "-m", "misssvm", "-o", str(model), "--cv", "2", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert list(content["scores"]) == ["accuracy", "recall_owl", "recall_dog", "recall_cat"]
    assert "labels" not in read_card(model)["about"]
    assert main(["fit", str(path), "-m", "pu", "-o", str(model)]) == 2
    assert "there are 3 labels, 'cat', 'dog', 'owl'" in capsys.readouterr().err
    assert main(["fit", str(path), "-m", "milr", "--positive", "owl", "-o", str(model), "--cv", "0"]) == 0
    assert read_card(model)["about"]["labels"] == {"positive": "owl", "negative": "not owl"}
    assert "fold cross-validation" not in capsys.readouterr().out


def test_numbers_need_no_positive_label(tmp_path, capsys):
    data = make_noisy_or_bags(30, random_state=0)
    path = save_bags(tmp_path / "a.parquet", data.bags, data.y)
    model = tmp_path / "m.bagwise"
    for scan in ([], ["--scan"]):
        assert main(["fit", str(path), "-m", "milr", "-o", str(model), "--cv", "2", *scan]) == 0
        assert load(model).classes_.tolist() == [0, 1]
        assert "bags       30" in capsys.readouterr().out
    counted = make_count_bags(30, random_state=0)
    path = save_bags(tmp_path / "b.npz", counted.bags, counted.y)
    assert main(["fit", str(path), "-m", "milr", "-o", str(model), "--positive", "1", "--cv", "0"]) == 0
    assert read_card(model)["about"]["labels"] == {"positive": "1", "negative": "0"}


def test_a_fit_that_does_not_converge_is_saved_with_status_1(table, tmp_path, capsys):
    path = tmp_path / "m.bagwise"
    assert fit(table, path, "-m", "milr", "--set", "max_iter=1", "--cv", "0") == 1
    out = capsys.readouterr().out
    assert "max_iter" in out and "warning" in out and path.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-m", "mirl"], "there is no model 'mirl' (did you mean 'milr'?)"),
        (["-m", "milr", "--set", "alpa=3"], "no setting 'alpa' (did you mean 'alpha'?)"),
        (["-m", "milr", "--set", "alpha"], "is not of the form key=value"),
        (["-m", "milr", "--set", "alpha=-1"], "The 'alpha' parameter of MILogisticRegression must be"),
        (["-m", "milr", "--cv", "1"], "--cv is 1; expected at least 2 folds, or 0"),
        (
            ["-m", "milr", "--groups", "bach"],
            "'bach' is not a column with one value per bag (did you mean 'batch'?)",
        ),
        (["-m", "milr", "--features", "angle,charg"], "has no column 'charg' for a feature"),
        (["-m", "milr", "--seed", "-1"], "--seed must be"),
    ],
)
def test_mistakes_are_one_sentence_and_leave_no_model(options, message, table, tmp_path, capsys):
    path = tmp_path / "m.bagwise"
    assert fit(table, path, *options) == 2
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1 and not path.exists()


def test_mistakes_about_labels_and_paths_are_refused(table, tmp_path, capsys, monkeypatch):
    path = tmp_path / "m.bagwise"
    for options, message in (
        ({"positive": None}, "the labels are 'active', 'inactive': choose the positive one with --positive"),
        ({"positive": "aktiv"}, "--positive 'aktiv' is not a label in the data; the labels are 'active', 'i"),
    ):
        assert fit(table, path, "-m", "milr", **options) == 2
        assert message in capsys.readouterr().err
    assert main(["fit", str(table), "--bag", "molecule", "-m", "milr", "-o", str(path)]) == 2
    assert "has no labels; name their column with --label" in capsys.readouterr().err
    assert fit(table, tmp_path / "no" / "m.bagwise", "-m", "milr") == 2
    assert "there is no folder" in capsys.readouterr().err
    with monkeypatch.context() as changed:  # root may write to every folder
        changed.setattr("os.access", lambda *_: False)
        assert fit(table, tmp_path / "m.bagwise", "-m", "milr") == 2
    assert f"the folder {str(tmp_path)!r} is read-only; pass a path in" in capsys.readouterr().err
    assert fit(table, table, "-m", "milr") == 2
    assert "is the input data and would be overwritten" in capsys.readouterr().err


def test_settings_are_read_as_python_writes_them():
    model = make_model("misssvm", ["C=2.5", "kernel=linear", "calibrate=true", "bag_weight=none"], 7)
    assert model.C == 2.5 and model.kernel == "linear" and model.calibrate is True
    assert model.bag_weight is None and model.random_state == 7
    assert make_model("statistics", ["logisticregression__C=3"], 7)[-1].C == 3
    assert make_model("statistics", [], 7)[-1].random_state == 7


def test_findings_use_the_names_of_the_labels(tmp_path, capsys):
    rows = ["bag,label,a"]
    for bag in range(40):
        word, size = ("ill", 6) if bag % 2 else ("well", 2)
        rows += [f"{bag},{word},{0.1 * (bag % 7) + row}" for row in range(size)]
    (tmp_path / "bags.csv").write_text("\n".join(rows))
    command = ["fit", str(tmp_path / "bags.csv"), "--positive", "ill", "--model", "milr", "--cv", "0"]
    main([*command, "-o", str(tmp_path / "m.bagwise")])
    output = capsys.readouterr().out
    assert "bags labeled 'well' are smaller" in output and "sorts last" not in output


def test_ensemble_states_that_it_can_use_absence(table, tmp_path, capsys):
    path, families = (
        tmp_path / "m.bagwise",
        ["--set", "families=('instances',)", "--set", "cv=2", "--cv", "2"],
    )
    assert fit(table, path, "-m", "auto", *families) in (0, 1)
    assert "repeat the command with --set assumption=standard" in " ".join(capsys.readouterr().out.split())
    assert fit(table, path, "-m", "auto", *families, "--set", "assumption=standard") in (0, 1)
    assert "missing from it" not in capsys.readouterr().out
