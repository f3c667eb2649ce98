"""Results in consoles and notebooks: short texts, and HTML without markup from users."""

import copy
import pickle
import re

import numpy as np
import pytest

from bagwise import (
    BagEnsembleClassifier,
    Bags,
    MILogisticRegression,
    SoftORLogisticRegression,
    bag_permutation_importance,
    compare,
    diagnose_rule,
    explain_bag,
    load,
    load_digit_bags,
    make_count_bags,
    save,
)
from bagwise._display.notebook import ShownText, as_html, as_text
from bagwise._display.parts import Table

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def digits():
    data = load_digit_bags(40, random_state=0)
    names = np.array([f"{HOSTILE} {k}" for k in range(64)])
    data.bags = Bags(data.bags.instances, data.bags.offsets, feature_names=names)
    return data


@pytest.fixture(scope="module")
def model(digits):
    return MILogisticRegression(alpha=3.0, n_init=1, random_state=0).fit(digits.bags, digits.y)


@pytest.fixture(scope="module")
def counts():
    return make_count_bags(80, size=6, labeler=2, coef=[4.0, -4.0], random_state=0)


def cells(html):
    return re.findall(r"<td[^>]*>(.*?)</td>", html)


def test_text_of_users_is_escaped_in_html():
    table = Table.of([HOSTILE, "two\nlines"], [[HOSTILE, 1]], title=HOSTILE, note=HOSTILE)
    html = as_html([HOSTILE, table])
    assert "<script" not in html and html.count("&lt;script&gt;") == 5 and "two<br>lines" in html


def test_text_contains_title_table_and_note():
    table = Table.of(["name", "value"], [["a", 1]], title="Title", note="note " * 30)
    lines = as_text(["word " * 30, table]).splitlines()
    assert "Title" in lines and "a         1" in lines and max(map(len, lines)) <= 80


def test_explanation_is_a_table(digits, model):
    explanation = explain_bag(model, digits.bags, 3)
    html = explanation._repr_html_()
    assert repr(explanation) == str(explanation) and "array(" not in repr(explanation)
    assert "<script" not in html and f"{explanation.columns['probability'][0]:.4g}" in cells(html)


def test_importances_of_many_features_are_a_short_table(digits, model):
    result = bag_permutation_importance(model, digits.bags, digits.y, n_repeats=2, random_state=0)
    assert len(repr(result).splitlines()) <= 25 and "and 49 more" in repr(result)
    first = cells(result._repr_html_())[:2]
    assert first[1] == f"{result.importances_mean.max():.4f}" and "&lt;script" in first[0]
    assert pickle.loads(pickle.dumps(result)).names == result.names


def test_data_sets_are_short():
    data = load_digit_bags(40, random_state=0)
    text = repr(data)
    assert (
        "Bags(40 bags" in text
        and "int64 array of shape (40,)" in text
        and len(text.splitlines()) == len(data)
    )
    assert max(map(len, text.splitlines())) <= 80 and len(cells(data._repr_html_())) == 2 * len(data)


def test_learned_rule_is_a_table(counts):
    labeler = SoftORLogisticRegression(n_init=1, random_state=0).fit(counts.bags, counts.y).labeler_
    assert "array(" not in repr(labeler) and "P(+ | n)" in repr(labeler)
    shown = cells(labeler._repr_html_())
    assert shown[:3] == ["0", f"{labeler.values[0]:.4f}", f"{labeler.std_err[0]:.4f}"]


def test_diagnosis_is_a_table_with_its_sentence(counts):
    estimator = SoftORLogisticRegression(alpha=0.1, n_init=1)
    diagnosis = diagnose_rule(counts.bags, counts.y, estimator=estimator, cv=None, random_state=0)
    assert repr(diagnosis) == str(diagnosis) == diagnosis.summary()
    assert " ".join(diagnosis.summary().split()).endswith(diagnosis.sentence)
    html = diagnosis._repr_html_()
    assert f"{diagnosis.bic[0]:.1f}" in cells(html) and "BIC is" in html


def test_inference_is_one_table_with_odds_ratios_and_its_repr_computes_nothing(counts, monkeypatch):
    model = MILogisticRegression(alpha=0.0, n_init=1, random_state=0).fit(counts.bags, counts.y)
    inference = model.inference(intervals="wald")
    ratio, low, high = (f"{value:.3f}" for value in inference.odds_ratios()[1])
    shown = cells(inference._repr_html_())
    at = shown.index("x0")
    assert shown[at + 7 : at + 10] == [ratio, low, high]
    assert str(inference) == inference.summary()
    monkeypatch.setattr(type(inference), "confidence_interval", None)
    assert repr(inference).startswith("Inference of 3 coefficients from 80 bags")


def test_comparison_is_a_table(digits):
    comparison = compare(
        digits.bags,
        digits.y,
        {HOSTILE: MILogisticRegression(n_init=1)},
        cv=2,
        random_state=0,
        verbose=0,
    )
    html = comparison._repr_html_()
    assert "<script" not in html and "&lt;script" in html and "2 folds" in html


def test_report_of_an_ensemble_is_a_text_with_lines_in_notebooks(digits, tmp_path):
    model = BagEnsembleClassifier(["extremes"], cv=2, random_state=0).fit(digits.bags, digits.y)
    report = model.report_
    assert isinstance(report, str) and "extremes" in report
    assert type(vars(model)["report_"]) is str  # known to 0.2.0, which had a plain attribute
    for copied in (copy.deepcopy(model), load(save(model, tmp_path / "model.bagwise"))):
        assert copied.report_ == report and copied.report_._repr_html_().startswith("<pre")
    assert not hasattr(BagEnsembleClassifier(), "report_")
    assert "<script" not in ShownText(HOSTILE)._repr_html_()
