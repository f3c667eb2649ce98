"""Frames of instances and bags for multiclass models, multilabel models and meta-estimators."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import (
    BagEnsembleClassifier,
    Bags,
    BagStatistics,
    MILogisticRegression,
    MIMLLogisticRegression,
    MissSVC,
    MultiLabelBagClassifier,
    OneVsOneBagClassifier,
    OnInstances,
    compare,
    explain_bag,
    instance_frame,
    key_instances,
    make_bag_pipeline,
    make_noisy_or_bags,
    plot_heatmap,
    plot_sequence,
    predict_frame,
    save_parquet,
    scan_bags,
)

N = 60
DATA = make_noisy_or_bags(N, size=(2, 5), random_state=0)
BAGS = DATA.bags._replace(ids=np.array([f"b{i}" for i in range(N)]))
THREE = np.array(["ant", "bee", "cat"])[DATA.y + (np.arange(N) % 2)]
LABELS = pd.DataFrame({"red": DATA.y, "green": np.arange(N) % 3 == 0, "blue": BAGS.sizes > 3}).astype(int)
INDEX = BAGS.bag_index


def plain(**parameters):
    return MILogisticRegression(n_init=1, random_state=0, **parameters)


def search(model):
    return GridSearchCV(model, {"alpha": [0.1, 1.0]}, cv=2)


def test_every_label_has_rows_of_its_own():
    """Regression test: frames contained the second label only."""
    model = MultiLabelBagClassifier(plain()).fit(BAGS, LABELS)
    frame = instance_frame(model, BAGS, LABELS)
    assert list(frame.columns) == [
        "bag", "instance", "label", "bag_probability", "instance_probability", "posterior", "rank",
    ]  # fmt: skip
    assert len(frame) == 3 * BAGS.n_instances
    for index, name in enumerate(LABELS):
        single = plain().fit(BAGS, LABELS[name])
        rows = frame[frame["label"] == name].reset_index(drop=True)
        expected = instance_frame(single, BAGS, LABELS[name])
        pd.testing.assert_frame_equal(rows.drop(columns="label"), expected)
        np.testing.assert_array_equal(model.predict_proba(BAGS)[INDEX, index], rows["bag_probability"])
    assert list(frame["label"][:6]) == ["red", "green", "blue"] * 2
    pd.testing.assert_frame_equal(instance_frame(model, BAGS, csr_array(LABELS.to_numpy())), frame)


def test_labels_without_names_are_numbered():
    model = MultiLabelBagClassifier(plain()).fit(BAGS, LABELS.to_numpy())
    assert set(instance_frame(model, BAGS)["label"]) == {0, 1, 2}
    assert list(predict_frame(model, BAGS).columns)[4:] == ["probability_0", "probability_1", "probability_2"]
    named = MultiLabelBagClassifier(plain()).fit(BAGS, LABELS)
    assert list(predict_frame(named, BAGS).columns)[1:] == [
        "prediction_red", "prediction_green", "prediction_blue",
        "probability_red", "probability_green", "probability_blue",
    ]  # fmt: skip
    assert not hasattr(named.fit(BAGS, DATA.y), "label_names_")
    assert "label" not in instance_frame(named, BAGS)


def test_labels_that_compete_have_rows_each():
    shown = LABELS.iloc[:, :2]
    model = MIMLLogisticRegression(n_init=1, random_state=0).fit(BAGS, shown)
    frame = instance_frame(model, BAGS, shown)
    values = ["instance_probability", "posterior"]
    wide = frame.pivot(index=["bag", "instance"], columns="label", values=values)
    order = pd.MultiIndex.from_arrays([BAGS.ids[INDEX], np.arange(BAGS.n_instances) - BAGS.offsets[INDEX]])
    wide = wide.loc[order]
    np.testing.assert_array_equal(
        wide["instance_probability"][["red", "green"]], model.predict_proba_instances(BAGS)
    )
    np.testing.assert_array_equal(wide["posterior"][["red", "green"]], model.posterior_instances(BAGS, shown))


def test_the_best_instances_of_every_label():
    model = MultiLabelBagClassifier(plain()).fit(BAGS, LABELS)
    frame = key_instances(model, BAGS, k=1)
    assert list(frame["bag"]) == list(np.repeat(BAGS.ids, 3))
    assert list(frame["label"]) == ["red", "green", "blue"] * N
    expected = np.maximum.reduceat(model.predict_proba_instances(BAGS), BAGS.offsets[:-1], axis=0)
    np.testing.assert_array_equal(frame["instance_probability"], expected.ravel())


@pytest.mark.parametrize(
    "model",
    [MissSVC(), OneVsOneBagClassifier(plain()), OneVsOneBagClassifier(MissSVC(), both_ways=True)],
    ids=["SVM", "pairs", "both ways"],
)
def test_many_classes_have_a_column_each(model):
    """Regression test: an SVM with three classes raised a ValueError."""
    model.fit(BAGS, THREE)
    frame = instance_frame(model, BAGS)
    assert list(frame.columns) == [
        "bag", "instance", "bag_prediction", "bag_score_ant", "bag_score_bee", "bag_score_cat",
        "instance_score_ant", "instance_score_bee", "instance_score_cat", "rank",
    ]  # fmt: skip
    scores = model.decision_function_instances(BAGS)
    np.testing.assert_array_equal(frame[[f"instance_score_{c}" for c in model.classes_]], scores)
    np.testing.assert_array_equal(
        frame[[f"bag_score_{c}" for c in model.classes_]], model.decision_function(BAGS)[INDEX]
    )
    best = key_instances(model, BAGS, k=1)
    for index, label in enumerate(model.predict(BAGS)):
        row = best.iloc[index]
        assert row["bag_prediction"] == label
        column = scores[BAGS.offsets[index] : BAGS.offsets[index + 1], list(model.classes_).index(label)]
        assert row["instance"] == np.argmax(column)


@pytest.mark.parametrize("both_ways", [False, True])
def test_pairs_judge_an_instance_as_a_bag_of_its_own(both_ways):
    model = OneVsOneBagClassifier(plain(), both_ways=both_ways).fit(BAGS, THREE)
    alone = Bags(BAGS.instances, np.arange(BAGS.n_instances + 1))
    np.testing.assert_allclose(
        model.decision_function_instances(BAGS), model.decision_function(alone), rtol=0, atol=1e-12
    )
    np.testing.assert_array_equal(model.predict_instances(BAGS), model.predict(alone))
    assert set(model.predict_instances(BAGS)) <= set(model.classes_)
    two = OneVsOneBagClassifier(plain(), both_ways=both_ways).fit(BAGS, DATA.y)
    assert two.decision_function_instances(BAGS).shape == (BAGS.n_instances,)
    np.testing.assert_array_equal(two.predict_instances(BAGS), two.predict(alone))


def test_pairs_of_models_that_are_silent_on_instances_are_silent_too():
    silent = make_bag_pipeline(BagStatistics(), plain())
    assert hasattr(OneVsOneBagClassifier(plain()), "predict_instances")
    quiet = OneVsOneBagClassifier(make_pipeline(BagStatistics(), StandardScaler()))
    assert not hasattr(quiet, "decision_function_instances")
    with pytest.raises(TypeError, match="BagPipeline changes the instances of bags before it predicts"):
        instance_frame(silent.fit(BAGS, DATA.y), BAGS)


def test_one_against_the_rest_shows_the_model_of_every_class():
    model = OneVsRestClassifier(plain()).fit(BAGS, THREE)
    frame = instance_frame(model, BAGS, THREE)
    for index, label in enumerate(model.classes_):
        inside = plain().fit(BAGS, (label == THREE).astype(int))
        np.testing.assert_array_equal(
            frame[f"instance_probability_{label}"], inside.predict_proba_instances(BAGS)[:, 1]
        )
        np.testing.assert_array_equal(
            frame[f"posterior_{label}"], inside.posterior_instances(BAGS, (label == THREE).astype(int))
        )
        np.testing.assert_array_equal(
            frame[f"bag_probability_{label}"], model.predict_proba(BAGS)[INDEX, index]
        )
    with pytest.raises(ValueError, match="'dog', which is not among the training labels; the classes"):
        instance_frame(model, BAGS, np.where(THREE == "ant", "dog", THREE))


@pytest.mark.parametrize("wrapper", [OneVsRestClassifier, MultiOutputClassifier])
def test_others_models_of_many_labels_are_those_of_ours(wrapper):
    Y = LABELS.to_numpy()
    ours, theirs = (kind(plain()).fit(BAGS, Y) for kind in (MultiLabelBagClassifier, wrapper))
    for function, labels in ((predict_frame, ()), (instance_frame, (Y,)), (key_instances, ())):
        pd.testing.assert_frame_equal(
            function(theirs, BAGS, *labels), function(ours, BAGS, *labels), check_dtype=False
        )


def test_labels_of_other_classes_are_named_by_both():
    Y = np.column_stack([THREE, np.where(DATA.y, "yes", "no")])
    model = MultiOutputClassifier(OneVsRestClassifier(plain())).fit(BAGS, Y)
    assert list(predict_frame(model, BAGS).columns) == [
        "bag", "prediction_0", "prediction_1", "probability_0_ant", "probability_0_bee", "probability_0_cat",
        "probability_1_no", "probability_1_yes",
    ]  # fmt: skip
    with pytest.raises(TypeError, match="MultiOutputClassifier has no instance-level predictions"):
        instance_frame(model, BAGS)


WRAPPERS = {
    "search": lambda: search(plain()),
    "threshold": lambda: FixedThresholdClassifier(plain(), threshold=0.3),
    "scikit-learn's pipeline": lambda: make_pipeline(plain()),
    "pipeline in a search": lambda: GridSearchCV(
        make_bag_pipeline(plain()), {"milogisticregression__alpha": [0.1, 1.0]}, cv=2
    ),
    "search in a pipeline": lambda: make_bag_pipeline(search(plain())),
    "one against the rest of two": lambda: OneVsRestClassifier(plain()),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_what_wraps_a_model_shows_it(name):
    model = WRAPPERS[name]().fit(BAGS, DATA.y)
    inside = plain()
    if "search" in name:
        best = model[-1] if name.endswith("pipeline") else model
        inside.set_params(alpha=next(iter(best.best_params_.values())))
    inside.fit(BAGS, DATA.y)
    pd.testing.assert_frame_equal(
        instance_frame(model, BAGS, DATA.y), instance_frame(inside, BAGS, DATA.y), rtol=1e-12
    )
    pd.testing.assert_frame_equal(key_instances(model, BAGS), key_instances(inside, BAGS), rtol=1e-12)


def test_transformers_before_a_wrapped_model_are_applied():
    scaled = OnInstances(StandardScaler())
    theirs = make_pipeline(scaled, search(plain(scale=None))).fit(BAGS, DATA.y)
    moved = theirs[0].transform(BAGS)
    expected = theirs[-1].best_estimator_.predict_proba_instances(moved)[:, 1]
    np.testing.assert_array_equal(instance_frame(theirs, BAGS)["instance_probability"], expected)


@pytest.mark.parametrize("frozen", [False, True])
def test_calibrated_bags_have_instances_of_the_models_inside(frozen):
    inside = FrozenEstimator(plain().fit(BAGS, DATA.y)) if frozen else plain()
    model = CalibratedClassifierCV(inside, cv=3).fit(BAGS, DATA.y)
    frame = instance_frame(model, BAGS, DATA.y)
    parts = [part.estimator for part in model.calibrated_classifiers_]
    assert len(parts) == (1 if frozen else 3)
    mean = np.mean([part.predict_proba_instances(BAGS)[:, 1] for part in parts], axis=0)
    np.testing.assert_allclose(frame["instance_probability"], mean, rtol=1e-14)
    posterior = np.mean([part.posterior_instances(BAGS, DATA.y) for part in parts], axis=0)
    np.testing.assert_allclose(frame["posterior"], posterior, rtol=1e-14)
    np.testing.assert_array_equal(frame["bag_probability"], model.predict_proba(BAGS)[INDEX, 1])


def test_calibrated_machines_have_probabilities_of_bags_and_scores_of_instances():
    model = CalibratedClassifierCV(MissSVC(), cv=2).fit(BAGS, DATA.y)
    columns = list(instance_frame(model, BAGS).columns)
    assert columns == ["bag", "instance", "bag_probability", "instance_score", "rank"]
    with pytest.raises(TypeError, match=r"cannot compute instance posteriors .*; omit y\."):
        instance_frame(model, BAGS, DATA.y)


def test_models_that_are_silent_or_not_fitted_say_so():
    voting = VotingClassifier([("a", plain()), ("b", plain(alpha=0.1))], voting="soft").fit(BAGS, DATA.y)
    with pytest.raises(TypeError, match="VotingClassifier has no instance-level predictions; use a model"):
        instance_frame(voting, BAGS)
    with pytest.raises(NotFittedError, match="GridSearchCV"):
        instance_frame(search(plain()), BAGS)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_rows_of_labels_are_written_from_files_in_any_order(tmp_path, large_from, suffix):
    model = MultiLabelBagClassifier(plain()).fit(BAGS, LABELS)
    order = np.random.default_rng(0).permutation(N)
    expected = instance_frame(model, BAGS[order], LABELS.iloc[order])
    best = key_instances(model, BAGS[order], k=2).reset_index(drop=True)
    scan = scan_bags(save_parquet(tmp_path / "bags.parquet", BAGS, layout="long"))[order]
    large_from(0, block_bytes=11 * BAGS.n_features * 8)
    path = instance_frame(model, scan, LABELS.iloc[order], path=tmp_path / f"a{suffix}")
    written = pd.read_csv(path) if suffix == ".csv" else pd.read_parquet(path)
    pd.testing.assert_frame_equal(written, expected, rtol=1e-12)
    pd.testing.assert_frame_equal(key_instances(model, scan, k=2).reset_index(drop=True), best, rtol=1e-12)


def test_the_page_of_frames_runs_as_written():
    page = (Path(__file__).parents[2] / "docs/frames.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    assert len(blocks) > 1
    scope = {}
    for block in blocks:
        exec(block, scope)


@pytest.mark.parametrize("wrapped", [False, True])
def test_values_of_the_ensemble_are_scores_and_not_called_probabilities(wrapped):
    y = np.arange(len(BAGS)) % 2
    ensemble = BagEnsembleClassifier(["instances"], cv=2, random_state=0)
    model = (make_pipeline("passthrough", ensemble) if wrapped else ensemble).fit(BAGS, y)
    frame = instance_frame(model, BAGS)
    assert frame.columns[-3:].tolist() == ["bag_probability", "instance_score", "rank"]
    np.testing.assert_array_equal(frame["bag_probability"], model.predict_proba(BAGS)[INDEX, 1])
    inside = model[-1] if wrapped else model
    np.testing.assert_array_equal(frame["instance_score"], inside.decision_function_instances(BAGS))
    explanation = explain_bag(model, BAGS[[0]])
    assert explanation.kind == "probability" and explanation.instance_kind == "score"
    ax = explanation.plot().ax_
    assert ax.get_xlabel() == "score for '1'" and "probability" in ax.get_title(loc="left")


def test_a_model_that_does_not_distinguish_instances_is_reported():
    y = np.arange(len(BAGS)) % 2
    model = MILogisticRegression(alpha=1e6, n_init=1).fit(BAGS, y)
    index = int(np.argmax(BAGS.sizes))
    explanation = explain_bag(model, BAGS, BAGS.ids[index])
    assert explanation.note.startswith(
        f"The model predicts the same value for all {BAGS.sizes[index]} instances, "
    )
    assert "does not distinguish them" in " ".join(str(explanation).split())
    title = explanation.plot().figure_.get_suptitle()
    assert "the same value for all" in " ".join(title.split())
    sequence = plot_sequence(model, BAGS, BAGS.ids[index])
    assert "the same value for all" in " ".join(sequence.ax_.get_xlabel().split())
    coordinates = np.column_stack([np.arange(BAGS.n_instances)] * 2)
    slides = BAGS._replace(instance_columns={"coords": coordinates})
    heat = plot_heatmap(model, slides, BAGS.ids[index]).ax_
    assert "does not distinguish them" in " ".join(heat.get_xlabel().split())
    different = explain_bag(MILogisticRegression(alpha=0.1, n_init=1).fit(BAGS, y), BAGS, BAGS.ids[index])
    assert different.note == ""


def test_advice_for_a_model_of_several_labels_can_be_followed():
    Y = np.column_stack([np.arange(len(BAGS)) % 2, np.arange(len(BAGS)) % 3 == 0]).astype(int)
    miml = MIMLLogisticRegression(n_init=1, random_state=0).fit(BAGS, Y)
    with pytest.raises(TypeError, match=r"fit a model to one column of y, or use instance_frame\("):
        explain_bag(miml, BAGS, BAGS.ids[0])
    instance_frame(miml, BAGS)
    per_label = MultiLabelBagClassifier(MILogisticRegression(n_init=1)).fit(BAGS, Y)
    with pytest.raises(TypeError, match=r"the model of one label, such as model.estimators_\[0\], or use"):
        explain_bag(per_label, BAGS, BAGS.ids[0])
    explain_bag(per_label.estimators_[0], BAGS, BAGS.ids[0])
    with pytest.raises(ValueError, match="y has 2 columns, but compare needs one label per bag"):
        compare(BAGS, Y)
