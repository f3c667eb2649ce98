"""The whole job on the command line: gaps, encodings, several classes or labels, unlabeled bags, advice."""

import csv
import json
import re

import numpy as np
import pytest

from bagwise import Bags, load, make_noisy_or_bags, save_bags
from bagwise.cli import main
from bagwise.cli.models import MODELS, differing_settings, make_model, name_of_compared
from bagwise.cli.remedies import with_options
from bagwise.evaluation.comparison import portfolio

PYTHON = re.compile(
    r"OnInstances|SimpleImputer|missing=|bag=|label=|StratifiedKFold|GroupKFold|estimators_|y\["
)


@pytest.fixture(scope="module")
def chemist(tmp_path_factory):
    """Tables as Excel writes them: semicolons, decimal commas, cp1252, gaps."""
    folder = tmp_path_factory.mktemp("chemist")
    data = make_noisy_or_bags(70, coef=[3.0, -3.0, 0.0], intercept=-3.0, random_state=0)
    rng = np.random.default_rng(0)
    for name, part in (("alt.csv", slice(0, 50)), ("neu.csv", slice(50, 70))):
        with (folder / name).open("w", newline="", encoding="cp1252") as file:
            file.write("sep=;\r\n")
            writer = csv.writer(file, delimiter=";", lineterminator="\r\n")
            writer.writerow(["Molekül", "Aktivität", "Charge", "a", "b", "c"])
            for index in range(part.start, part.stop):
                for x in data.bags[index]:
                    cells = ["" if rng.random() < 0.05 else f"{v:.4f}".replace(".", ",") for v in x]
                    writer.writerow(
                        [f"{index:03d}", "aktiv" if data.y[index] else "inaktiv", f"C{index % 9}", *cells]
                    )
    return folder


COLUMNS = ["--bag", "Molekül", "--label", "Aktivität"]
POSITIVE = ["--positive", "aktiv"]


def fit(data, model, *options):
    return main(["fit", str(data), *options, "--cv", "2", "-o", str(model)])


def text_of(capsys):
    return " ".join(capsys.readouterr().out.split())


@pytest.fixture(scope="module")
def saved(chemist):
    assert fit(chemist / "alt.csv", chemist / "m.bagwise", *COLUMNS, *POSITIVE, "-m", "milr") == 0
    return chemist / "m.bagwise"


def test_gaps_are_replaced_by_medians_of_the_model_file(chemist, saved, capsys):
    model = load(saved)
    assert type(model).__name__ == "BagPipeline"
    assert main(["predict", str(saved), str(chemist / "neu.csv"), "--json"]) == 0
    predictions = json.loads(capsys.readouterr().out)["predictions"]
    # By hand: medians of the training instances, then the model.
    from bagwise import MILogisticRegression, load_bags

    bags, y = load_bags(chemist / "alt.csv", bag="Molekül", label="Aktivität", positive="aktiv")
    new, _ = load_bags(chemist / "neu.csv", bag="Molekül", like=bags)
    medians = np.nanmedian(bags.instances, axis=0)
    filled, new = (
        part.with_instances(np.where(np.isnan(part.instances), medians, part.instances))
        for part in (bags, new)
    )
    expected = MILogisticRegression(random_state=0).fit(filled, y).predict_proba(new)[:, 1]
    assert [row["probability_aktiv"] for row in predictions] == pytest.approx(expected, abs=1e-10)
    assert [row["bag"] for row in predictions] == [f"{index:03d}" for index in range(50, 70)]


def test_gaps_are_reported_once(chemist, tmp_path, capsys):
    assert fit(chemist / "alt.csv", tmp_path / "m.bagwise", *COLUMNS, *POSITIVE, "-m", "statistics") == 0
    out = text_of(capsys)
    assert out.count("missing") == 2 and "are missing and replaced by the median" in out
    assert "NaN" not in out


def test_gaps_that_a_model_accepts_are_not_replaced(chemist, tmp_path, capsys):
    arguments = [*COLUMNS, *POSITIVE, "-m", "mimm", "--set", "n_init=1", "--cv", "0"]
    assert fit(chemist / "alt.csv", tmp_path / "m.bagwise", *arguments) == 0
    out = text_of(capsys)
    assert "are missing, which mimm accepts." in out
    assert "replaced" not in out and "replace missing" not in out


def test_gaps_can_be_refused_and_medians_stored_without_gaps(chemist, tmp_path, capsys):
    arguments = [*COLUMNS, *POSITIVE, "-m", "milr"]
    assert fit(chemist / "alt.csv", tmp_path / "m.bagwise", *arguments, "--impute", "none") == 2
    assert "missing values, which milr does not support" in capsys.readouterr().err
    data = make_noisy_or_bags(30, random_state=0)
    path = save_bags(tmp_path / "a.npz", data.bags, data.y)
    holes = data.bags.instances.copy()
    holes[0, 0] = np.nan
    new = save_bags(tmp_path / "b.npz", data.bags.with_instances(holes))
    assert fit(path, tmp_path / "m.bagwise", "-m", "milr") == 0
    assert main(["predict", str(tmp_path / "m.bagwise"), str(new)]) == 2
    error = capsys.readouterr().err
    assert "--impute median, which also fills the gaps of new data" in error and not PYTHON.search(error)
    assert fit(path, tmp_path / "m.bagwise", "-m", "milr", "--impute", "median") == 0
    assert main(["predict", str(tmp_path / "m.bagwise"), str(new)]) == 0


@pytest.mark.slow
def test_every_command_works_with_a_model_that_fills_gaps(chemist, saved, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="draws plots")
    data = str(chemist / "alt.csv")
    assert main(["explain", str(saved), data, "--id", "007", "-o", str(tmp_path / "e.png")]) == 0
    out = capsys.readouterr().out
    assert "probability of 'aktiv'" in out and "posterior" in out
    assert main(["show", str(saved)]) == 0
    assert "replaced by medians of the training instances" in capsys.readouterr().out
    for what in ("path", "calibration"):
        assert main(["plot", str(saved), data, "--what", what, "-o", str(tmp_path / f"{what}.png")]) == 0
    assert "These are the training bags" in capsys.readouterr().out


def test_check_gives_advice_for_the_command_line(chemist, capsys):
    assert main(["check", str(chemist / "alt.csv"), *COLUMNS]) == 1
    out = text_of(capsys)
    assert "--positive aktiv or --positive inaktiv" in out and "use --groups Charge" in out
    assert "bagwise fit and bagwise compare replace missing values by medians" in out
    assert not PYTHON.search(out)
    assert main(["check", str(chemist / "alt.csv")]) == 2
    assert "(--bag COLUMN)" in capsys.readouterr().err


def test_python_advice_of_the_library_is_rewritten():
    from pathlib import Path

    import bagwise

    source = "".join(
        path.read_text()
        for folder in ("evaluation/checks", "data/bags", "io")
        for path in Path(bagwise.__file__).parent.joinpath(folder).rglob("*.py")
    )
    for advice in (
        "with OnInstances(SimpleImputer()) in a pipeline",
        "remove them with OnInstances(VarianceThreshold())",
        "StratifiedKFold(shuffle=True)",
        "BagStatistics(('size',)) alone",
        "(bag=...)",
    ):
        assert advice in source, "the message of the library has changed; adapt bagwise.cli.remedies"
    messages = (
        "X contains NaN: bag 1, instance 0, feature 0; remove or impute it, for instance with "
        "OnInstances(SimpleImputer()) in a pipeline.",
        "X contains infinity: bag 1, instance 0, feature 0; remove or impute it, for instance with "
        "OnInstances(SimpleImputer()) in a pipeline.",
        "3 constant features: remove them with OnInstances(VarianceThreshold()).",
        "Shuffle them in every cross-validation: StratifiedKFold(shuffle=True).",
        "keep them: pass groups=bags.bag_columns['site'] with GroupKFold (command line: --groups site).",
        "name the column that contains the bag id of every row (bag=...).",
        'the label is missing; pass missing="skip" to skip bags without a label, or "keep" to keep them.',
    )
    for message in messages:
        assert not PYTHON.search(with_options(message)), with_options(message)
    assert "--impute" in with_options(messages[0]) and "--impute" not in with_options(messages[1])


@pytest.fixture(scope="module")
def animals(tmp_path_factory):
    """Three classes, with a group and coordinates."""
    folder = tmp_path_factory.mktemp("animals")
    rng = np.random.default_rng(0)
    codes = np.tile(range(3), 10)
    X = []
    for code in codes:
        x = rng.normal(size=(4, 3))
        x[0] += 5 * np.eye(3)[code]
        X.append(x)
    bags = Bags.from_list(X)
    grid = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (30, 1))
    bags = Bags(
        bags.instances, bags.offsets, ids=[f"s{i}" for i in range(30)], instance_columns={"coords": grid},
        bag_columns={"owner": [f"o{i // 2}" for i in range(30)]},
    )  # fmt: skip
    return save_bags(folder / "a.npz", bags, np.array(["cat", "dog", "owl"])[codes])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("milr", "misvm") else pytest.mark.slow)
        for name, model in MODELS.items()
        if not model.from_unlabeled and name != "attention"
    ],
)
def test_every_model_is_fitted_to_three_classes_and_works_in_every_command(name, animals, tmp_path, capsys):
    path = str(tmp_path / "m.bagwise")
    options = ["--set", "n_init=1"] if name in ("dd", "emdd", "mimm", "milr", "softor") else []
    options += ["--set", "families=('extremes',)"] if name == "auto" else []
    assert fit(animals, path, "-m", name, "--groups", "owner", *options) in (0, 1)
    out = capsys.readouterr().out
    assert "recall of 'owl'" in out
    trust = re.findall(r"--trust \S+", out)
    trust = " ".join(trust).split()
    assert main(["predict", path, str(animals), "--json", *trust]) == 0
    predictions = json.loads(capsys.readouterr().out)["predictions"]
    assert {row["prediction"] for row in predictions} <= {"cat", "dog", "owl"}
    assert main(["show", path]) == 0
    assert "'cat', 'dog', 'owl'" in capsys.readouterr().out
    status = main(["explain", path, str(animals), "--id", "s1", *trust])
    out, err = capsys.readouterr()
    assert (status == 0 and "coords_0  coords_1" in out) or "has no instance-level predictions" in err
    if status == 0:
        plot = ["plot", path, str(animals), "--what", "heatmap", "--id", "s1", "-o", str(tmp_path / "h.png")]
        assert main([*plot, *trust]) == 0


def test_groups_stay_together_when_a_one_vs_rest_model_chooses_its_penalty(animals):
    from sklearn.multiclass import OneVsRestClassifier

    from bagwise import MILogisticRegressionCV, load_bags
    from bagwise.models.base.held_out import fit_in_groups

    bags, y = load_bags(animals)
    groups = bags.bag_columns["owner"]
    model = OneVsRestClassifier(MILogisticRegressionCV(cv=3, alphas=2, n_init=1, random_state=0))
    fit_in_groups(model, bags, y, groups)
    folds = model.estimators_[0].cv
    assert len(folds) == 3
    assert all(not set(groups[train]) & set(groups[test]) for train, test in folds)


def test_several_labels_have_a_model_each(tmp_path, capsys):
    rng = np.random.default_rng(0)
    lines = ["rec,wren,robin,a,b,c"]
    for index in range(40):
        has = rng.integers(0, 2, 2)
        x = rng.normal(size=(3, 3))
        for label in np.flatnonzero(has):
            x[label, label] += 5
        lines += [f"r{index},{has[0]},{has[1]},{','.join(map(str, row))}" for row in x]
    data, path = tmp_path / "birds.csv", str(tmp_path / "m.bagwise")
    lines[1] = ",".join([*lines[1].split(",")[:-1], ""])
    data.write_text("\n".join(lines))
    arguments = ["--bag", "rec", "--label", "wren,robin", "-m", "milr", "--set", "n_init=1"]
    assert fit(data, path, *arguments) == 0
    out = capsys.readouterr().out
    assert re.search(r"^wren +\d+", out, flags=re.M) and re.search(r"^robin +\d+", out, flags=re.M)
    assert main(["predict", path, str(data), "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["predictions"][0]
    assert list(row) == [
        "bag",
        "prediction_wren",
        "prediction_robin",
        "probability_wren",
        "probability_robin",
    ]
    assert main(["explain", path, str(data), "--id", "r3", "--label", "robin"]) == 0
    assert "probability of 'robin'" in capsys.readouterr().out
    assert main(["explain", path, str(data), "--id", "r3"]) == 2
    assert "choose one of wren, robin with --label" in capsys.readouterr().err
    assert main(["compare", str(data), "--bag", "rec", "--label", "wren,robin"]) == 2
    assert "choose it with --label" in capsys.readouterr().err
    assert fit(data, path, *arguments, "--html", str(tmp_path / "p.html")) == 2
    assert "fit one label at a time" in capsys.readouterr().err


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """Positive bags, and bags with an empty label."""
    from bagwise import make_positive_unlabeled

    folder = tmp_path_factory.mktemp("complaints")
    full = make_noisy_or_bags(800, coef=[8.0, -8.0], intercept=-13.0, random_state=0)
    data = make_positive_unlabeled(
        full.bags, full.y, n_positive=40, n_unlabeled=100, class_prior=0.4, random_state=0
    )
    for name, unknown in (("empty.csv", ""), ("unknown.csv", "unknown")):
        lines = ["unit,complaint,temp,vibration"]
        for index, (x, label) in enumerate(zip(data.bags, data.y, strict=True)):
            text = "complaint" if label == 1 else unknown
            lines += [f"U{index},{text},{a},{b}" for a, b in x.tolist()]
        (folder / name).write_text("\n".join(lines))
    return folder


UNIT = ["--bag", "unit", "--label", "complaint"]


def test_empty_labels_are_unlabeled_bags(complaints, tmp_path, capsys):
    path = str(tmp_path / "m.bagwise")
    assert fit(complaints / "empty.csv", path, *UNIT, "-m", "puskc") in (0, 1)
    out = text_of(capsys)
    assert "the other 100 are treated as unlabeled" in out and "--set class_prior=0.3" in out
    assert "class prior, the share of positive bags among the unlabeled ones, was estimated as" in out
    assert main(["predict", path, str(complaints / "empty.csv"), "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["predictions"][0]
    assert row["prediction"] in ("complaint", "not complaint")
    prior = ["--set", "class_prior=0.4"]
    assert fit(complaints / "empty.csv", path, *UNIT, "-m", "puskc", *prior) in (0, 1)
    assert "was estimated as" not in text_of(capsys)


def test_impossible_scores_of_unlabeled_bags_are_explained(complaints, tmp_path, capsys):
    arguments = [*UNIT, "-m", "puskc", "--set", "class_prior=0.95"]
    fit(complaints / "empty.csv", tmp_path / "m.bagwise", *arguments)
    out = text_of(capsys)
    assert "too large for these bags" in out or "scores at this prior are too optimistic" in out
    assert "the true prior must be smaller" in out or "only bound the prior from above" in out


def test_other_models_refuse_empty_labels_and_name_the_remedies(complaints, tmp_path, capsys):
    assert fit(complaints / "empty.csv", tmp_path / "m.bagwise", *UNIT, "-m", "milr") == 2
    error = capsys.readouterr().err
    assert "100 of 140 bags have no label" in error and "--model pu" in error
    text = (complaints / "empty.csv").read_text().replace("U0,complaint", "U0,fine")
    (tmp_path / "two.csv").write_text(text)
    assert fit(tmp_path / "two.csv", tmp_path / "m.bagwise", *UNIT, "-m", "milr") == 2
    assert "--missing skip" in capsys.readouterr().err
    options = ["-m", "statistics", "--positive", "fine", "--missing", "skip", "--cv", "0"]
    main(["fit", str(tmp_path / "two.csv"), *UNIT, *options, "-o", str(tmp_path / "m.bagwise")])
    assert "100 bags have no label; skipped" in text_of(capsys)


def test_labels_that_mean_unknown_are_noticed(complaints, tmp_path, capsys):
    assert main(["check", str(complaints / "unknown.csv"), *UNIT]) == 0
    assert "'unknown' looks like a missing label" in text_of(capsys)
    options = ["-m", "statistics", "--positive", "complaint"]
    assert fit(complaints / "unknown.csv", tmp_path / "m.bagwise", *UNIT, *options) in (0, 1)
    assert "bags labeled 'unknown' are treated as negative" in text_of(capsys)


@pytest.fixture(scope="module")
def doses(tmp_path_factory):
    data = make_noisy_or_bags(40, random_state=0)
    path = tmp_path_factory.mktemp("doses") / "a.csv"
    lines = ["bag,dose,grade,a,b,c"]
    for index, x in enumerate(data.bags):
        lines += [
            f"b{index},{0.1 * index + data.y[index]:.2f},{index % 4},{','.join(map(str, r))}" for r in x
        ]
    path.write_text("\n".join(lines))
    return path


def test_a_measurement_is_divided_into_two_classes(doses, tmp_path, capsys):
    path = str(tmp_path / "m.bagwise")
    for command in (["fit", str(doses), "-m", "milr", "-o", path], ["compare", str(doses)]):
        assert main([*command, "--label", "dose"]) == 2
        error = capsys.readouterr().err
        assert "'dose' looks like a measurement" in error and "--positive-above" in error
    main(["check", str(doses), "--label", "dose"])
    assert "looks like a measurement" in text_of(capsys)
    assert fit(doses, path, "--label", "dose", "-m", "milr", "--positive-above", "2.5") == 0
    assert "recall of 'above 2.5'" in capsys.readouterr().out
    assert main(["explain", path, str(doses), "--id", "b0"]) == 0
    assert "posterior" in capsys.readouterr().out
    for options, message in (
        (["--positive-above", "99"], "leaves one class: the labels are between"),
        (["--positive-above", "2", "--positive", "1"], "cannot be combined"),
    ):
        assert fit(doses, path, "--label", "dose", "-m", "milr", *options) == 2
        assert message in capsys.readouterr().err


def test_grades_are_classes_without_an_order(doses, tmp_path, capsys):
    assert fit(doses, tmp_path / "m.bagwise", "--label", "grade", "-m", "statistics") == 0
    assert "treated as classes without an order" in text_of(capsys)


def test_scores_are_interpreted():
    from bagwise import MISVC, MILogisticRegression
    from bagwise.cli.interpretation import interpret, suggest_ridge
    from bagwise.evaluation.held_out import HeldOut, evaluate

    def sentences(model, score, predicted):
        codes = np.repeat([0, 1], [60, 40])
        outputs = {"predict": predicted, "decision_function": score}
        held = HeldOut(codes, np.array([0, 1]), np.tile([0, 1], 50), outputs)
        return " ".join(interpret(evaluate(held), model))

    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], [60, 40])
    noise = rng.normal(size=100)
    none = np.zeros(100, dtype=int)
    assert "not better than the baseline" in sentences(MISVC(), noise, none)
    good = codes * 3 + noise
    text = sentences(MISVC(), good, none)
    assert "ranking of the bags is good" in text and "--set calibrate=true" in text
    assert "0% of the bags labeled '1' are recognized" in text
    assert "--set class_weight=balanced" in sentences(MILogisticRegression(), good, none)
    assert sentences(MISVC(), good, (good > 1.5).astype(int)) == ""
    weak = np.where(np.arange(100) % 16 == 0, 1 - codes, np.where(np.arange(100) % 3, 0, codes))
    assert "not clearly better" in sentences(MISVC(), noise, weak)
    assert "--set l1_ratio=0" in suggest_ridge(MILogisticRegression(), 60, 1024)[0]
    assert suggest_ridge(MILogisticRegression(l1_ratio=0), 60, 1024) == []
    assert suggest_ridge(MILogisticRegression(), 1024, 60) == [] == suggest_ridge(MISVC(), 60, 1024)


def test_explain_and_heat_maps_report_a_flat_model(animals, tmp_path, capsys):
    path = str(tmp_path / "m.bagwise")
    # The penalty removes every feature.
    main(
        [
            "fit",
            str(animals),
            "-m",
            "milr",
            "--set",
            "alpha=1000",
            "--positive",
            "cat",
            "--cv",
            "0",
            "-o",
            path,
        ]
    )
    capsys.readouterr()
    assert main(["explain", path, str(animals), "--id", "s1"]) == 0
    assert "predicts the same value for all instances" in text_of(capsys)
    assert main(["explain", path, str(animals), "--id", "s1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["flat"] is True
    plot = ["plot", path, str(animals), "--what", "heatmap", "--id", "s1", "-o", str(tmp_path / "h.png")]
    assert main(plot) == 0
    assert "predicts the same value for all instances" in text_of(capsys)


def test_every_default_model_of_a_comparison_has_a_name_in_fit():
    offered = (
        *portfolio.REPRESENTATIVES, *portfolio.FURTHER, *portfolio.OF_MANY_CLASSES, *portfolio.FROM_UNLABELED
    )  # fmt: skip
    names = [
        name_of_compared(type((model.make_choosing or model.make)(0)).__name__, model.name)
        for model in offered
    ]
    assert set(names) <= set(MODELS) and len(set(names)) == len(names)
    assert all(MODELS[name].compared == model.name or not MODELS[name].compared
               for name, model in zip(names, offered, strict=True))  # fmt: skip


@pytest.mark.slow
def test_a_comparison_ends_with_a_command_that_fits_its_best_model(chemist, tmp_path, capsys, monkeypatch):
    import shlex

    monkeypatch.chdir(tmp_path)
    arguments = [
        str(chemist / "alt.csv"),
        *COLUMNS,
        *POSITIVE,
        "--groups",
        "Charge",
        "--cv",
        "2",
        "--seed",
        "3",
    ]
    assert main(["compare", *arguments, "--models", "milr,statistics-cv"]) in (0, 1)
    out = capsys.readouterr().out
    command = shlex.split(out.splitlines()[-1])
    assert command[:2] == ["bagwise", "fit"] and command[-2:] == ["-o", "alt.bagwise"]
    assert main([*command[1:], "--cv", "2"]) in (0, 1)
    assert (tmp_path / "alt.bagwise").exists()


def test_the_settings_of_a_comparison_are_part_of_the_command():
    model = next(model for model in portfolio.REPRESENTATIVES if model.name == "logistic, or rule")
    assert differing_settings("milr-cv", model.make_choosing(0), 0) == ["cv=5"]
    emdd = next(model for model in portfolio.REPRESENTATIVES if model.name == "EM-DD")
    assert differing_settings("emdd", emdd.make(0), 0) == ["n_init=3"]
    assert differing_settings("statistics-cv", make_model("statistics-cv", [], 0), 0) == []


def test_a_folder_is_scanned_with_a_separate_table_of_labels(tmp_path, capsys):
    pytest.importorskip("h5py", reason="reads h5 files")
    data = make_noisy_or_bags(30, random_state=0)
    folder = save_bags(tmp_path / "h5", data.bags, format="h5")
    lines = ["slide_id,label,site"] + [
        f"{i},{'tumor' if y else 'normal'},s{i % 7}" for i, y in enumerate(data.y)
    ]
    (tmp_path / "t.csv").write_bytes("\n".join(lines).encode("utf-8"))
    path = str(tmp_path / "m.bagwise")
    options = ["--labels", str(tmp_path / "t.csv"), "--scan", "--positive", "tumor", "-m", "milr"]
    assert fit(folder, path, *options, "--groups", "site") == 0
    assert "recall of 'tumor'" in capsys.readouterr().out
    (tmp_path / "t.csv").write_text("\n".join(lines[:-1]))
    assert fit(folder, path, *options) == 2
    error = capsys.readouterr().err
    assert "use --missing skip" in error and not PYTHON.search(error)
    assert fit(folder, path, *options, "--missing", "skip") == 0
    assert "1 .h5 file has no label; skipped" in text_of(capsys)


def test_a_search_fitted_in_groups_is_loaded_without_trusting_its_folds(animals, tmp_path):
    from sklearn.model_selection import GridSearchCV

    from bagwise import MILogisticRegression, load_bags, save
    from bagwise.models.base.held_out import fit_in_groups

    bags, y = load_bags(animals, positive="cat")
    search = GridSearchCV(MILogisticRegression(n_init=1, random_state=0), {"alpha": [1.0, 3.0]}, cv=2)
    fit_in_groups(search, bags, y, bags.bag_columns["owner"])
    assert load(save(search, tmp_path / "m.bagwise")).best_params_ == search.best_params_


def test_the_advice_to_use_ridge_ends_when_it_is_followed(tmp_path, capsys):
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(48, 40)), np.arange(0, 49, 2))
    path = save_bags(tmp_path / "a.npz", bags, np.arange(24) % 2)
    arguments = ["-m", "milr", "--cv", "0", "--set", "n_init=1"]
    assert fit(path, tmp_path / "m.bagwise", *arguments) == 0
    assert "start with a ridge penalty" in text_of(capsys)
    assert fit(path, tmp_path / "m.bagwise", *arguments, "--set", "l1_ratio=0") == 0
    out = text_of(capsys)
    assert "ridge penalty" not in out and "Ridge regression" not in out


def test_check_names_what_fit_does_with_three_classes(tmp_path, capsys):
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(60, 2)), np.arange(0, 61, 2))
    path = save_bags(tmp_path / "a.npz", bags, np.arange(30) % 3)
    assert main(["check", str(path)]) == 0
    out = text_of(capsys)
    assert "3 classes. bagwise fit trains binary models once per class (one-vs-rest)." in out
