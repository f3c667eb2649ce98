"""Tests of report pages: content and order, escaping, file size, and refused input."""

import base64
import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from tests.report.hostile import hostile_bags

import bagwise
from bagwise import (
    Bags,
    BagStatistics,
    CitationKNNClassifier,
    MIGradientBoostingClassifier,
    MILogisticRegression,
    SoftORLogisticRegression,
    compare,
    make_count_bags,
    make_noisy_or_bags,
    write_report,
)
from bagwise._display.parts import Figure, Page, Section
from bagwise.evaluation.checks import inspect_bags
from bagwise.models.base import WaistClassifier
from bagwise.report.writing import write_page
from bagwise.rules import make_rule

pytest.importorskip("jinja2", reason="pages need it")
pytest.importorskip("matplotlib", reason="pages need it")

ORDER = [
    "The data",
    "What could leak",
    "Models compared",
    "Held-out bags",
    "Correct and wrong predictions",
    "Bags and their instances",
    "The rule",
    "Coefficients",
    "Stability",
    "Reproduce this report",
]


@pytest.fixture(scope="module")
def data():
    return make_noisy_or_bags(60, size=(2, 5), coef=[3.0, -3.0, 0.0], intercept=-3.0, random_state=0)


@pytest.fixture(scope="module")
def page(data, tmp_path_factory):
    model = MILogisticRegression(n_init=2, random_state=0).fit(data.bags, data.y)
    path = tmp_path_factory.mktemp("page") / "report.html"
    assert write_report(model, path, data.bags, data.y, cv=3) == path
    return path.read_text(encoding="utf-8")


def headings(text):
    return re.findall(r"<h2>(.*?)</h2>", text)


def section(text, title):
    return text.split(f"<h2>{title}</h2>")[1].split("</section>")[0]


def test_a_model_has_its_sections_in_the_one_order(page):
    assert headings(page) == [title for title in ORDER if title != "Models compared"]


def test_the_verdict_has_an_interval_and_the_scores_of_the_program(page, data):
    from bagwise.evaluation.held_out import evaluate, predict_held_out

    model = MILogisticRegression(n_init=2, random_state=0)
    scores = evaluate(predict_held_out(model, data.bags, data.y, n_folds=3)).scores
    verdict = re.search(r'<p class="verdict">(.*?)</p>', page)[1]
    share = scores["accuracy"]
    assert f"{100 * share['value']:.0f}\u00a0% ({100 * share['low']:.0f}\u00a0% to" in verdict
    assert f"AUC of {scores['auc']['value']:.2f} ({scores['auc']['low']:.2f} to" in verdict


def test_a_page_needs_nothing_from_elsewhere(page):
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', page)[1]
    policy = policy.replace("&#39;", "'")
    assert "default-src 'none'" in policy and "http" not in policy
    script = re.search(r"<script>(.*?)</script>", page, flags=re.S)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    links = re.findall(r'(?:href|src)="([^"]*)"', page) + re.findall(r"url\(([^)]*)\)", page)
    assert links and all(link.startswith(("#", "data:image/png;base64,")) for link in links)
    assert len(page.encode()) < 2 * 10**6


def test_every_name_in_a_page_is_unique_and_every_link_leads_somewhere(page):
    names = re.findall(r'\bid="([^"]*)"', page)
    assert len(names) == len(set(names))
    targets = set(re.findall(r'href="#([^"]*)"', page)) | set(re.findall(r"url\(#([^)]*)\)", page))
    assert targets <= set(names)


def test_figures_take_their_colours_from_the_page(page):
    drawn = re.findall(r"<svg.*?</svg>", page, flags=re.S)
    assert len(drawn) >= 5 and all("var(--ink)" in svg for svg in drawn)
    assert not any("#000000" in svg or "DejaVu" in svg for svg in drawn)
    assert page.count("--positive:") == 2  # light and dark


def test_confusions_are_counted(page, data):
    from bagwise.evaluation.held_out import predict_held_out

    held = predict_held_out(MILogisticRegression(n_init=2, random_state=0), data.bags, data.y, n_folds=3)
    text = section(page, "Correct and wrong predictions")
    for label in (1, 0):
        for predicted in (1, 0):
            n = int(((held.codes == label) & (held.predicted == predicted)).sum())
            share = n / (held.codes == label).sum()
            assert f'<td class="n">{n} ({100 * share:.0f}\u00a0%)</td>' in text


def test_opened_bags_are_explained_by_the_model_that_had_not_seen_them(page, data):
    from bagwise import explain_bag
    from bagwise.evaluation.held_out import predict_held_out

    model = MILogisticRegression(n_init=2, random_state=0)
    held = predict_held_out(model, data.bags, data.y, n_folds=3, keep_models=True)
    text = section(page, "Bags and their instances")
    best = int(np.argmax(np.where((held.codes == 1) & (held.predicted == 1), held.probability, -1.0)))
    opened = text.split("<details")[1]
    assert f">bag {best}</bdi>" in opened and 'class="right"' in opened
    explanation = explain_bag(held.models[held.fold[best]], data.bags, best, y=data.y)
    assert f"<b>{explanation.columns['probability'][0]:.3f}</b>" in opened
    assert f"<b>{explanation.columns['posterior'][0]:.3f}</b>" in opened
    assert f"{explanation.value - explanation.columns['without'][0]:+.3f}" in opened
    assert text.count('class="wrong"') == min(4, int((held.codes != held.predicted).sum()))


def test_key_instances_of_folds_are_compared(page):
    text = section(page, "Stability")
    assert "Agreement on key instances" in text and "chance" in text


def test_starts_are_counted_that_reach_the_best_objective():
    from types import SimpleNamespace

    from bagwise.report.stability import stability_parts
    from bagwise.report.subject import Subject

    def describe_starts(*objectives):
        model = SimpleNamespace(objectives_=np.array(objectives))
        return stability_parts(Subject("", "", "", model=model))

    assert describe_starts(3.0, 3.00001, 5.0) == [
        "2 of 3 starts reached the best objective, 3; the others ended at most 2 above it."
    ]
    assert "Only one start reached it" in describe_starts(3.0, 4.0)[0] and describe_starts(3.0) == []


def test_the_code_on_the_page_repeats_it(page, data, tmp_path, monkeypatch):
    from html import unescape

    code = unescape(re.search(r"<code>(.*?)</code>", section(page, "Reproduce this report"), flags=re.S)[1])
    monkeypatch.chdir(tmp_path)
    exec(code, {"X": data.bags, "y": data.y})
    again = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert again == page
    digest = MILogisticRegression(n_init=2, random_state=0).fit(data.bags, data.y).training_digest_
    assert digest in page and f"bagwise {bagwise.__version__}" in page


def test_a_pipeline_is_imported_from_where_its_parts_are(data, tmp_path):
    model = make_pipeline(BagStatistics(), LogisticRegression(C=2.0)).fit(data.bags, data.y)
    text = write_report(model, tmp_path / "a.html", data.bags, data.y, cv=2).read_text()
    assert "from sklearn.pipeline import Pipeline" in text and "from sklearn.linear_model import" in text
    assert "predicts bags, not instances" in text and "The rule" not in headings(text)


def test_a_rule_that_was_learned_is_drawn(tmp_path):
    data = make_count_bags(60, size=5, labeler=2, coef=[3.0, -3.0], random_state=0)
    model = SoftORLogisticRegression(n_init=1, random_state=0).fit(data.bags, data.y)
    text = section(write_report(model, tmp_path / "a.html", data.bags, data.y, cv=2).read_text(), "The rule")
    assert "positive instances in the bag, n" in text and "the number of positive instances" in text.lower()


def test_importances_stand_where_coefficients_would(data, tmp_path):
    model = MIGradientBoostingClassifier(n_estimators=3, random_state=0).fit(data.bags, data.y)
    text = write_report(model, tmp_path / "a.html", data.bags, data.y, cv=2).read_text()
    assert "Importances" in section(text, "Coefficients")


def test_many_classes_have_confusions_and_no_curves(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 12)
    bags = Bags.from_list([rng.normal(size=(3, 2)) + 3 * (label == "b") for label in y])
    model = CitationKNNClassifier().fit(bags, y)
    text = write_report(model, tmp_path / "a.html", bags, y, cv=3).read_text()
    assert "more than two classes" in section(text, "Held-out bags")
    assert "predicted a" in section(text, "Correct and wrong predictions")


@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
def test_unlabeled_bags_are_no_errors(data, tmp_path):
    from bagwise import LSDDClassifier, make_positive_unlabeled

    unlabeled = make_positive_unlabeled(
        data.bags, data.y, n_positive=15, n_unlabeled=20, class_prior=0.4, random_state=0
    )
    model = LSDDClassifier(random_state=0).fit(unlabeled.bags, unlabeled.y)
    text = write_report(model, tmp_path / "a.html", unlabeled.bags, unlabeled.y, cv=2).read_text()
    assert "There are no curves, because" in text and "Correct and wrong predictions" not in headings(text)


def test_groups_are_held_out_together_and_named(data, tmp_path):
    groups = np.arange(60) // 2
    model = MILogisticRegression(n_init=1, random_state=0).fit(data.bags, data.y)
    text = write_report(model, tmp_path / "a.html", data.bags, data.y, groups=groups, cv=2).read_text()
    assert "belong to 30 groups" in text and "resamples of groups" in text and "groups=groups" in text


def test_data_check_shows_its_findings(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    sizes = np.where(y == 1, 9, 2)
    X = rng.normal(size=(sizes.sum(), 3))
    X[0, 0] = np.nan
    bags = Bags(X, np.append(0, np.cumsum(sizes)))
    for subject, options in ((bags, {"y": y}), (inspect_bags(bags, y), {"X": bags, "y": y})):
        text = write_report(subject, tmp_path / "check.html", **options).read_text()
        assert headings(text) == ["The data", "What could leak", "Reproduce this report"]
        assert "likely to affect a model" in text and "AUC 1.00" in section(text, "What could leak")
        assert "with missing values" in section(text, "The data") and "<svg" in section(text, "The data")
    plain = write_report(inspect_bags(bags, y), tmp_path / "check.html").read_text()
    assert "<svg" not in plain and "AUC 1.00" in plain


def test_scanned_bags_are_looked_at_where_they_lie(data, tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet files")
    from bagwise import save_parquet, scan_bags

    scan = scan_bags(save_parquet(tmp_path / "a.parquet", data.bags, data.y))
    model = MILogisticRegression(n_init=1, random_state=0).fit(scan, scan.y)
    text = write_report(model, tmp_path / "a.html", scan, scan.y, cv=2).read_text()
    assert headings(text)[-1] == "Reproduce this report" and "<details" in text


def test_hostile_names_stay_text(tmp_path):
    bags, y = hostile_bags()
    with pytest.warns(bagwise.PositiveClassWarning):
        model = MILogisticRegression(n_init=1, random_state=0).fit(bags, y)
    text = write_report(model, tmp_path / "a.html", bags, y, cv=2).read_text(encoding="utf-8")
    assert text.count("<script>") == 1 and 'alert("x")' not in text and "alert(&#34;x&#34;)" in text
    assert "49" not in re.findall(r"&amp;amp;(\d+)", text) and "{{ 7 * 7 }}" in text
    assert not re.search("[\x00-\x08\x0b-\x1f\ud800-\udfff]", text)
    assert len(text.encode()) < 10**6


class Quick(WaistClassifier):
    """Score bags by the difference of the class means: fast for many bags, dense or sparse."""

    def __init__(self, rule="or"):
        self.rule = rule

    def fit(self, X, y, sample_weight=None):
        bags, y, _ = self._read_training(X, y, sample_weight)
        self.rule_ = make_rule(self.rule).start(bags.offsets, y)
        label = np.repeat(y, bags.sizes)
        X = bags.instances
        self.coef_ = np.asarray(X[label == 1].mean(axis=0) - X[label == 0].mean(axis=0)).reshape(1, -1)
        return self

    def _log_odds(self, bags):
        return np.asarray(bags.instances @ self.coef_[0]).ravel() * 20 - 2


@pytest.mark.slow
def test_100_000_bags_of_1_000_features_make_a_page_below_2_mb(tmp_path):
    rng = np.random.default_rng(0)
    n = 100_000
    y = rng.permutation(n) % 2
    columns = rng.integers(0, 1000, size=(2 * n, 2))
    columns[::2, 0] = np.where(y == 1, columns[::2, 0] % 400, columns[::2, 0])
    X = sp.csr_array((np.ones(4 * n), columns.ravel(), np.arange(0, 4 * n + 1, 2)), shape=(2 * n, 1000))
    X.sum_duplicates()
    names = [f"{'feature ' * 20}{j}" for j in range(1000)]
    bags = Bags(X, np.arange(0, 2 * n + 1, 2), ids=[f"{'b' * 100}{i}" for i in range(n)], feature_names=names)
    model = Quick().fit(bags, y)
    path = write_report(model, tmp_path / "a.html", bags, y, cv=2)
    text = path.read_text()
    assert path.stat().st_size < 2 * 10**6
    assert (
        re.search(r"\d bags of 100,000 can be opened", text) and "smaller coefficients are not shown" in text
    )
    assert "500 of 50,000 positive bags" in text


@pytest.mark.slow
def test_pictures_that_take_too_much_room_become_coarser(tmp_path, monkeypatch):
    from bagwise._display.pictures import new_axes
    from bagwise.report import writing

    rng = np.random.default_rng(0)

    def noise():
        figure, ax = new_axes(3.0, 3.0)
        ax.imshow(rng.random((400, 400, 3)), interpolation="nearest")
        return figure

    def many_points():
        figure, ax = new_axes(3.0, 3.0)
        ax.plot(*rng.random((2, 8_000)), "o")
        return figure

    page = Page("t", "v", (Section("s", (Figure("noise", noise), Figure("points", many_points))),))
    sizes = []
    for largest in (2_000_000, 300_000, 100_000):
        monkeypatch.setattr(writing, "_LARGEST", largest)
        path = write_page(page, tmp_path / "a.html")
        sizes.append(path.stat().st_size)
        assert path.read_text().count("<svg") == path.read_text().count("data:image/png") == 2
        assert sizes[-1] < largest
    assert sizes[0] > 300_000 and sizes[1] > 100_000
    monkeypatch.setattr(writing, "_LARGEST", 25_000)  # smaller than the coarsest version
    path = write_page(page, tmp_path / "a.html")
    assert path.stat().st_size < 25_000 and path.read_text().count("This plot was omitted") == 2


@pytest.fixture(scope="module")
def comparison(data):
    models = {
        "or": MILogisticRegression(n_init=1),
        "mean": MILogisticRegression("mean", n_init=1),
        "broken": MILogisticRegression(alpha=-1.0),
    }
    return compare(data.bags, data.y, models, cv=3, random_state=0)


def test_a_comparison_shows_all_its_models_and_opens_bags_of_the_best(comparison, data, tmp_path):
    text = comparison.report(tmp_path / "a.html", data.bags, data.y).read_text()
    assert headings(text) == ORDER
    best, first = comparison.best, comparison.scoring[0]
    low, high = comparison.best.interval[first]
    assert f"{best.mean[first]:.3f} ({low:.3f} to {high:.3f}) on held-out bags" in text
    compared = section(text, "Models compared")
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall("<tr>(.*?)</tr>", compared, re.S)]
    assert [row[0] for row in rows if row] == [result.name for result in comparison.rows]
    for result, row in zip(comparison.rows, (row for row in rows if row), strict=True):
        if result.error is None:
            assert row[2].startswith(f"{result.mean[first]:.3f} (")
    assert "broken failed" in compared and "<svg" in compared
    assert comparison.digest_ in text and "<details" in section(text, "Bags and their instances")
    # The page uses the best model's predictions from the comparison.
    right = int((best.predictions[0] == data.y).sum())
    assert f"{right} of 60 held-out bags were classified correctly" in text


def test_a_comparison_without_bags_shows_what_it_knows(comparison, data, tmp_path):
    text = write_report(comparison, tmp_path / "a.html").read_text()
    assert headings(text) == [
        "Models compared",
        "Held-out bags",
        "Correct and wrong predictions",
        "Stability",
        "Reproduce this report",
    ]
    with pytest.raises(ValueError, match="X has 30 bags, but the comparison has 60"):
        write_report(comparison, tmp_path / "a.html", data.bags[:30])
    with pytest.raises(ValueError, match="y differs from the labels"):
        write_report(comparison, tmp_path / "a.html", data.bags, 1 - data.y)


def test_the_documentation_of_pages_runs(tmp_path, monkeypatch):
    text = (Path(__file__).parents[2] / "docs/report.md").read_text()
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.S):
        exec(block, {})
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "check.html"}
    for title in ORDER:
        assert f"| {title} |" in text


@pytest.mark.parametrize(
    ("subject", "path", "options", "message"),
    [
        ("model", "a.pdf", {}, "path must end in .html"),
        ("model", "nowhere/a.html", {}, "there is no folder"),
        ("model", "a.html", {}, "needs the bags and their labels"),
        ("model", "a.html", {"X": "bags", "y": np.zeros(3)}, "3"),
        ("model", "a.html", {"X": "bags", "y": "y", "groups": [1, 2]}, "groups has the shape"),
        ("model", "a.html", {"X": "bags", "y": "y", "cv": 1}, "cv must be an integer >= 2; got 1"),
        (LinearRegression(), "a.html", {"X": "bags", "y": "y"}, "got LinearRegression"),
        (3, "a.html", {}, "`what` must be a comparison, a fitted classifier or bags"),
        ("labels", "a.html", {}, "`what` must be"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence_before_any_work(subject, path, options, message, data, tmp_path):
    inputs = {"bags": data.bags, "y": data.y}
    if subject == "model":
        subject = MILogisticRegression(n_init=1, random_state=0).fit(data.bags, data.y)
    options = {name: inputs[v] if isinstance(v, str) else v for name, v in options.items()}
    with pytest.raises((ValueError, TypeError), match=message):
        write_report(subject, tmp_path / path, **options)
    assert not list(tmp_path.iterdir())


def test_without_jinja2_a_sentence_says_what_to_install(data, tmp_path, monkeypatch):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "jinja2" else find(name))
    with pytest.raises(ImportError, match=r"pip install 'bagwise\[report\]'"):
        write_report(data.bags, tmp_path / "a.html", y=data.y)


def test_groups_that_were_passed_are_not_called_missing(tmp_path, data):
    model = MILogisticRegression(random_state=0).fit(data.bags, data.y)
    model.objectives_ = np.arange(7.0)  # as after a path that also started from earlier solutions
    groups = np.arange(len(data.y)) // 2
    text = write_report(model, tmp_path / "groups.html", data.bags, data.y, groups=groups, cv=2).read_text()
    assert "no column defines groups of bags" not in text
    assert f"bags of one group were held out together ({len(np.unique(groups))} groups)" in text
    assert "1 of 7 starts (n_init=5 random starts at most, plus solutions of earlier steps) reached" in text


def test_page_states_that_a_model_can_use_absence(data, tmp_path):
    sentence = "can call a bag positive because something is missing from it"
    for rule, is_stated in (("or", False), ("mean", True)):
        model = MILogisticRegression(rule, alpha=1.0, n_init=1, random_state=0).fit(data.bags, data.y)
        path = write_report(model, tmp_path / f"{rule}.html", data.bags, data.y, cv=2)
        assert (sentence in path.read_text(encoding="utf-8")) == is_stated
    comparison = compare(data.bags, data.y, {"mean": model}, cv=2, verbose=0)
    path = comparison.report(tmp_path / "comparison.html")
    assert sentence in path.read_text(encoding="utf-8")
