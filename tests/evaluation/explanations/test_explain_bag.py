"""`explain_bag`: instances, posteriors, bags without an instance, and feature effects."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logit
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV

from bagwise import (
    Bags,
    DiverseDensity,
    MILogisticRegression,
    MIMixture,
    MissSVC,
    MultiLabelBagClassifier,
    OnInstances,
    PUSetKernelClassifier,
    SingleInstanceClassifier,
    explain_bag,
    make_bag_pipeline,
    make_noisy_or_bags,
    save_parquet,
    scan_bags,
)

FEATURES = ["angle", "charge", "weight"]


@pytest.fixture(scope="module")
def data():
    data = make_noisy_or_bags(60, size=(2, 6), coef=[2.0, -2.0, 0.5], intercept=-2.0, random_state=0)
    bags = data.bags
    names = np.array([f"c{i}" for i in range(bags.n_instances)])
    data.bags = Bags(
        bags.instances, bags.offsets, ids=[f"m{i:02d}" for i in range(60)], feature_names=FEATURES,
        instance_columns={"conformer": names},
    )  # fmt: skip
    return data


@pytest.fixture(scope="module")
def model(data):
    return MILogisticRegression(alpha=0.1, random_state=0).fit(data.bags, data.y)


def test_instances_are_ranked_with_what_the_model_says_of_them(data, model):
    explanation = explain_bag(model, data.bags, "m07", y=data.y)
    bag = data.bags[7:8]
    probability = model.predict_proba_instances(bag)[:, 1]
    order = np.argsort(-probability)
    assert explanation.columns["instance"].tolist() == order.tolist()
    assert explanation.columns["probability"].tolist() == probability[order].tolist()
    assert explanation.columns["conformer"].tolist() == bag.instance_columns["conformer"][order].tolist()
    posterior = model.posterior_instances(bag, data.y[7:8])
    assert explanation.columns["posterior"].tolist() == posterior[order].tolist()
    assert explanation.value == model.predict_proba(bag)[0, 1] and explanation.label == data.y[7]
    assert explanation.bag == "m07" and explanation.n_instances == bag.n_instances


def test_without_is_the_prediction_of_the_other_instances(data, model):
    explanation = explain_bag(model, data.bags, "m07")
    for row, prediction in zip(explanation.columns["instance"], explanation.columns["without"], strict=True):
        rest = np.delete(data.bags[7], row, axis=0)
        named = Bags.from_list([rest])._replace(feature_names=np.array(FEATURES))
        assert prediction == pytest.approx(model.predict_proba(named)[0, 1], rel=1e-12)
        # Under the noisy-OR rule, removing an instance removes its factor from the product.
        probability = explanation.columns["probability"][explanation.columns["instance"] == row][0]
        assert 1 - prediction == pytest.approx((1 - explanation.value) / (1 - probability), rel=1e-9)


def test_a_bag_of_one_instance_is_nothing_without_it(data, model):
    bag = Bags(data.bags[0][:1], [0, 1], feature_names=FEATURES)
    explanation = explain_bag(model, bag)
    assert np.isnan(explanation.columns["without"]).all() and explanation.features == []
    assert "-" in str(explanation) and explanation.plot().ax_ is not None


def test_in_a_linear_model_effects_are_coefficient_times_difference(data, model):
    usual = np.median(data.bags.instances, axis=0)
    explanation = explain_bag(model, data.bags, "m07", n_leading=2)
    assert len(explanation.features) == 2
    for row, effects in explanation.features:
        x = data.bags[7][row]
        expected = dict(zip(FEATURES, model.coef_[0] * (x - usual), strict=True))
        assert {e.name: pytest.approx(e.effect, rel=1e-9) for e in effects} == expected
        assert [e.effect for e in effects] == sorted((e.effect for e in effects), reverse=True)
        # They sum to the difference to the score of an instance with reference values.
        base = model.intercept_[0] + model.coef_[0] @ usual
        score = logit(model.predict_proba_instances(data.bags[7:8])[row, 1])
        assert sum(e.effect for e in effects) == pytest.approx(score - base, rel=1e-9)


def test_in_a_prototype_effects_are_differences_of_distances(data):
    model = DiverseDensity(n_init=2, random_state=0).fit(data.bags, data.y)
    explanation = explain_bag(model, data.bags, "m03", n_leading=1)
    row, effects = explanation.features[0]
    x = data.bags[3][row]
    usual = np.median(data.bags.instances, axis=0)

    def log_odds(point):
        scaled = model.scaler_.transform(point[None])[0]
        q = np.sum(model.feature_scales_**2 * (scaled - model.target_) ** 2)
        return -q - np.log(-np.expm1(-q))

    for effect in effects:
        moved = x.copy()
        moved[FEATURES.index(effect.name)] = effect.usual
        assert effect.usual == usual[FEATURES.index(effect.name)]
        assert effect.effect == pytest.approx(log_odds(x) - log_odds(moved), rel=1e-6)


def test_in_a_diagonal_mixture_effects_add_up(data):
    model = MIMixture("gaussian_diag", n_init=2, random_state=0).fit(data.bags, data.y)
    explanation = explain_bag(model, data.bags, "m03", n_leading=1)
    row, effects = explanation.features[0]
    usual = np.median(data.bags.instances, axis=0)
    points = Bags(np.array([data.bags[3][row], usual]), [0, 1, 2], feature_names=FEATURES)
    score, base = model.decision_function_instances(points)
    assert sum(e.effect for e in effects) == pytest.approx(score - base, rel=1e-9)


def test_only_the_features_that_matter_are_listed(data):
    lasso = MILogisticRegression(alpha=6.0, random_state=0).fit(data.bags, data.y)
    kept = {name for name, coef in zip(FEATURES, lasso.coef_[0], strict=True) if coef}
    assert 0 < len(kept) < 3
    for _, effects in explain_bag(lasso, data.bags, "m07").features:
        assert {effect.name for effect in effects} <= kept
    assert len(explain_bag(lasso, data.bags, "m07", n_features=1).features[0][1]) == 1
    assert explain_bag(lasso, data.bags, "m07", n_features=0).features == []


def test_sparse_instances_are_usually_zero(data):
    X = np.where(np.abs(data.bags.instances) > 0.8, data.bags.instances, 0.0)
    dense = Bags(X, data.bags.offsets, feature_names=FEATURES)
    sparse = dense.with_instances(sp.csr_array(X))
    model = MILogisticRegression(alpha=0.1, scale=None, random_state=0).fit(dense, data.y)
    explanation = explain_bag(model, sparse, 5)
    for row, effects in explanation.features:
        expected = model.coef_[0] * dense[5][row]
        assert {e.name: pytest.approx(e.effect) for e in effects} == {
            name: value for name, value in zip(FEATURES, expected, strict=True) if value
        }


def test_models_around_models_are_explained_by_the_features_that_came_in(data):
    base = MILogisticRegression(alpha=0.1, n_init=1, random_state=0)
    pipeline = make_bag_pipeline(OnInstances(PCA(2)), base).fit(data.bags, data.y)
    explanation = explain_bag(pipeline, data.bags, "m07")
    assert {effect.name for effect in explanation.features[0][1]} <= set(FEATURES)
    search = GridSearchCV(base, {"alpha": [0.1, 1.0]}, cv=2).fit(data.bags, data.y)
    outer, best = (explain_bag(m, data.bags, "m07") for m in (search, search.best_estimator_))
    assert outer.table() == best.table() and outer.features == best.features


def test_scores_of_several_classes_are_those_of_the_class_that_is_predicted(data):
    y = np.array(["cat", "dog", "owl"])[np.arange(60) % 3]
    model = MissSVC().fit(data.bags, y)
    explanation = explain_bag(model, data.bags, "m04")
    assert explanation.positive == model.predict(data.bags[4:5])[0] and explanation.kind == "score"
    column = model.classes_.tolist().index(explanation.positive)
    expected = np.sort(model.decision_function_instances(data.bags[4:5])[:, column])[::-1]
    assert explanation.columns["score"].tolist() == expected.tolist()
    assert "posterior" not in explanation.columns and f"score for {explanation.positive!r}" in str(
        explanation
    )


def test_a_scan_reads_the_bag(data, model, tmp_path):
    scan = scan_bags(save_parquet(tmp_path / "a.parquet", data.bags, data.y))
    assert explain_bag(model, scan, "m07").table() == explain_bag(model, data.bags, "m07").table()


def test_plot_draws_into_the_passed_axes(data, model):
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    from bagwise._display.pictures import new_axes

    explanation = explain_bag(model, data.bags, "m07")
    alone = explanation.plot()
    assert len(alone.figure_.axes) == 2 and alone.ax_ in alone.figure_.axes
    figure, ax = new_axes(4, 3)
    display = explanation.plot(ax=ax)
    assert display.figure_ is figure and display.ax_ is ax and len(figure.axes) == 1
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == [f"conformer {name}" for name in explanation.columns["conformer"]]
    lengths = [bar.get_width() for bar in ax.patches]
    assert lengths == explanation.columns["probability"].tolist()


def test_the_note_of_equal_values_is_inside_the_picture(data):
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    model = SingleInstanceClassifier(DummyClassifier()).fit(data.bags, data.y)
    explanation = explain_bag(model, data.bags, "m07")
    figure = explanation.plot().figure_
    figure.draw_without_rendering()
    note = figure.get_suptitle()
    assert note.replace("\n", " ") == explanation.note != ""
    frame, box = figure.bbox, figure._suptitle.get_window_extent()
    assert frame.x0 <= box.x0 and box.x1 <= frame.x1 and box.y1 <= frame.y1


@pytest.mark.parametrize("with_features", [True, False])
def test_the_legend_is_inside_the_picture_and_covers_no_axes(data, model, with_features):
    pytest.importorskip("matplotlib", reason="plots need matplotlib")
    chosen = model if with_features else SingleInstanceClassifier(DummyClassifier()).fit(data.bags, data.y)
    explanation = explain_bag(chosen, data.bags, "m07")
    assert bool(explanation.features) == with_features
    figure = explanation.plot().figure_
    figure.draw_without_rendering()
    (legend,) = figure.legends
    frame, box = figure.bbox, legend.get_window_extent()
    assert frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0
    assert all(box.y1 <= ax.get_tightbbox().y0 for ax in figure.axes)


def test_mistakes_are_one_sentence(data, model):
    several = MultiLabelBagClassifier(MILogisticRegression(n_init=1)).fit(
        data.bags, np.column_stack([data.y, 1 - data.y])
    )
    pu = PUSetKernelClassifier(class_prior=0.3).fit(data.bags, data.y)
    for arguments, error, message in (
        ((model, data.bags), ValueError, "there are 60 bags; pass the id of the one to explain"),
        ((model, data.bags, "m7"), ValueError, "there is no bag 'm7'; similar ids: 'm"),
        (
            (several, data.bags, "m07"),
            TypeError,
            "several labels per bag, but explain_bag needs a single-label model; pass the model of one",
        ),
        ((pu, data.bags, "m07"), TypeError, "has no instance-level predictions"),
    ):
        with pytest.raises(error, match=message):
            explain_bag(*arguments)
    with pytest.raises(ValueError, match="n_instances must be >= 1"):
        explain_bag(model, data.bags, "m07", n_instances=0)
    twice = data.bags[[7, 7]]
    with pytest.raises(ValueError, match="2 bags have the id 'm07'"):
        explain_bag(model, twice, "m07")


def test_rows_of_a_matrix_are_explained_as_bags_with_a_warning(data, model):
    with pytest.warns(UserWarning, match=r"was read as \d+ bags of one instance.*pass \[X\]"):
        explain_bag(model, data.bags[3], 0)
    assert explain_bag(model, [data.bags[3]]).n_instances == len(data.bags[3])
