"""The positive class: the parameter `positive`, text labels, labels with an index, and types of labels."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier

import bagwise
from bagwise import (
    MISVC,
    AttentionMILClassifier,
    BagEnsembleClassifier,
    BagPipeline,
    Bags,
    BagStatistics,
    CitationKNNClassifier,
    ClassPriorEstimator,
    InstanceMISVC,
    MILogisticRegression,
    MILogisticRegressionCV,
    MIMixture,
    MissSVC,
    MultiLabelBagClassifier,
    OneVsOneBagClassifier,
    PositiveClassWarning,
    PUSetKernelClassifier,
    SingleInstanceClassifier,
    SoftORLogisticRegression,
    SparseMISVC,
    compare,
    diagnose_rule,
    explain_bag,
    instance_frame,
    load_digit_bags,
    make_mixture_bags,
    make_noisy_or_bags,
    milr_path,
    rate_change,
    write_report,
)
from bagwise.testing import all_estimators, example_of

PAIRS = [
    ("nine", "none"),
    ("yes", "no"),
    ("tumor", "normal"),
    ("active", "inactive"),
    ("disease", "healthy"),
    ("case", "control"),
    ("defect", "ok"),
]
DATA = load_digit_bags(60, random_state=0)
TEXT = np.where(DATA.y == 1, "active", "inactive")
SMALL = make_noisy_or_bags(40, coef=[3.0, -3.0], random_state=0)


def ridge(**parameters):
    return MILogisticRegression(l1_ratio=0.0, n_init=1, random_state=0, **parameters)


@pytest.fixture(autouse=True)
def quiet(request):
    """Ignore the warning about the positive class, except in tests that look for it."""
    with warnings.catch_warnings():
        if "warn" not in request.node.name:
            warnings.simplefilter("ignore", PositiveClassWarning)
        yield


# ------------------------------------------------------------ text labels


@pytest.mark.slow
def test_every_pair_of_names_has_the_same_predictions():
    model = MILogisticRegression(n_init=1, random_state=0)
    expected = cross_val_predict(model, DATA.bags, DATA.y, cv=3) == 1
    assert (expected == (DATA.y == 1)).mean() > 0.8
    for positive, negative in PAIRS:
        labels = np.where(DATA.y == 1, positive, negative)
        predictions = cross_val_predict(model, DATA.bags, labels, cv=3)
        np.testing.assert_array_equal(predictions == positive, expected)


def test_names_that_sort_in_either_order_have_the_same_predictions():
    expected = ridge().fit(DATA.bags, DATA.y).predict(DATA.bags) == 1
    for positive, negative in PAIRS[1:4:2]:
        model = ridge().fit(DATA.bags, np.where(DATA.y == 1, positive, negative))
        np.testing.assert_array_equal(model.predict(DATA.bags) == positive, expected)


def test_the_warning_names_the_label_both_objectives_and_the_parameter():
    objectives = {label: ridge(positive=label).fit(DATA.bags, TEXT).objective_ for label in np.unique(TEXT)}
    with pytest.warns(PositiveClassWarning) as caught:
        model = ridge().fit(DATA.bags, TEXT)
    (message,) = (str(warning.message) for warning in caught)
    assert model.positive_label_ == "active" == min(objectives, key=objectives.get)
    assert model.objective_ == objectives["active"]
    for text in ("positive='active'", *(f"{value:.6g}" for value in objectives.values())):
        assert text in message


def test_a_named_positive_class_needs_no_warning_and_one_fit():
    for positive in ("active", "inactive"):
        model = ridge(positive=positive).fit(DATA.bags, TEXT)
        reference = ridge().fit(DATA.bags, positive == TEXT)
        assert model.positive_label_ == positive and model.classes_.tolist() == ["active", "inactive"]
        assert model.n_passes_ == reference.n_passes_
        np.testing.assert_array_equal(model.coef_, reference.coef_)


def test_numbers_and_booleans_have_the_larger_label_as_positive_class():
    for labels in (DATA.y, 2 * DATA.y - 1, DATA.y == 1, DATA.y.astype(float)):
        model = ridge().fit(DATA.bags, labels)
        assert model.positive_label_ == labels.max()
        np.testing.assert_array_equal(model.coef_, ridge().fit(DATA.bags, DATA.y).coef_)
    assert ridge(positive=0).fit(DATA.bags, DATA.y).positive_label_ == 0
    assert ridge(positive=False).fit(DATA.bags, DATA.y == 1).positive_label_ is False


def test_the_posterior_is_that_of_a_positive_instance():
    model = ridge(positive="active").fit(DATA.bags, TEXT)
    posterior = model.posterior_instances(DATA.bags, TEXT)
    assert (posterior[np.repeat(TEXT == "inactive", DATA.bags.sizes)] == 0.0).all()
    np.testing.assert_array_equal(
        posterior, ridge().fit(DATA.bags, DATA.y).posterior_instances(DATA.bags, DATA.y)
    )


def test_class_weights_have_labels_as_keys():
    weight = {"active": 3.0, "inactive": 0.5}
    model = ridge(positive="active", class_weight=weight).fit(DATA.bags, TEXT)
    expected = ridge(class_weight={1: 3.0, 0: 0.5}).fit(DATA.bags, DATA.y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    machine = MissSVC(positive="active", class_weight=weight).fit(DATA.bags, TEXT)
    reference = MissSVC(class_weight={1: 3.0, 0: 0.5}).fit(DATA.bags, DATA.y)
    np.testing.assert_array_equal(
        machine.decision_function(DATA.bags), -reference.decision_function(DATA.bags)
    )


@pytest.mark.filterwarnings("ignore::bagwise.PositiveClassWarning")
@pytest.mark.parametrize(
    "model",
    [
        SingleInstanceClassifier(rule="or"),
        MIMixture("gaussian_diag", supervision="negatives", n_init=1, random_state=0),
    ],
    ids=["probabilities", "likelihood of all labels"],
)
def test_the_direction_is_the_same_for_weights_and_for_repeated_bags(model):
    rng = np.random.default_rng(3)
    for seed in range(20):
        bags = rng.normal(size=(14, 3, 2))
        y = rng.permutation(np.repeat(["a", "b"], 7))
        times = rng.choice([1, 8], size=14)
        weighted = clone(model).fit(bags, y, sample_weight=times)
        repeated = clone(model).fit(np.repeat(bags, times, axis=0), np.repeat(y, times))
        assert weighted.positive_label_ == repeated.positive_label_, seed


def test_weights_count_in_both_directions():
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, size=60).astype(float)
    model = ridge().fit(DATA.bags, TEXT, sample_weight=weight)
    expected = ridge().fit(DATA.bags, DATA.y, sample_weight=weight)
    np.testing.assert_array_equal(model.coef_, expected.coef_)


def test_a_fitted_model_is_warm_started_in_its_direction():
    model = ridge(warm_start=True, positive=None).fit(DATA.bags, TEXT)
    n_passes = model.n_passes_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(DATA.bags, TEXT)
    assert model.positive_label_ == "active" and model.n_passes_ < n_passes


def test_both_directions_start_from_the_same_generator():
    first = MILogisticRegression(l1_ratio=0.0, n_init=3, random_state=np.random.RandomState(3))
    second = MILogisticRegression(l1_ratio=0.0, n_init=3, random_state=np.random.RandomState(3))
    first.fit(DATA.bags, TEXT)
    second.fit(DATA.bags, np.where(TEXT == "active", "yes", "no"))
    np.testing.assert_array_equal(first.coef_, second.coef_)


def test_warnings_of_the_discarded_fit_are_not_shown():
    iterations = {
        label: ridge(positive=label, tol=1e-9).fit(DATA.bags, TEXT).n_iter_
        for label in ("active", "inactive")
    }
    assert iterations["active"] < iterations["inactive"]
    limit = iterations["active"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PositiveClassWarning)
        model = ridge(tol=1e-9, max_iter=limit).fit(DATA.bags, TEXT)
    assert model.converged_ and model.positive_label_ == "active"


def test_a_failed_fit_leaves_no_private_state():
    model = ridge()
    with pytest.raises(ValueError, match="rule"):
        model.set_params(rule="unknown").fit(DATA.bags, TEXT)
    model.set_params(rule="or").fit(DATA.bags, TEXT)
    assert not [name for name in vars(model) if name in ("_direction", "_bag_objective")]
    machine = MissSVC().fit(DATA.bags, TEXT)
    assert not [name for name in vars(machine) if name in ("_direction", "_bag_objective")]


def test_a_checkpoint_contains_both_directions(tmp_path, monkeypatch):
    path = tmp_path / "fit.ckpt"
    seen = []
    original = MILogisticRegression._keep

    def keep(self, *args):
        original(self, *args)
        seen.append(self.__dict__.get("_direction"))
        if len(seen) == 2:
            raise RuntimeError("crash in the second fit")

    monkeypatch.setattr(MILogisticRegression, "_keep", keep)
    model = MILogisticRegression(n_init=2, random_state=0)
    with pytest.raises(RuntimeError):
        model.fit(DATA.bags, TEXT, checkpoint=path)
    assert path.exists() and seen == ["inactive", "active"]
    monkeypatch.setattr(MILogisticRegression, "_keep", original)
    with pytest.raises(ValueError, match="other bags"):
        clone(model).fit(DATA.bags, TEXT[::-1], checkpoint=path)
    resumed = clone(model).fit(DATA.bags, TEXT, checkpoint=path)
    assert not path.exists()
    np.testing.assert_array_equal(resumed.coef_, clone(model).fit(DATA.bags, TEXT).coef_)


def test_the_selected_penalty_of_cross_validation_does_not_depend_on_names():
    model = MILogisticRegressionCV(alphas=5, cv=3, n_init=1, random_state=0)
    models = [clone(model).fit(DATA.bags, np.where(DATA.y == 1, *pair)) for pair in PAIRS[1:4:2]]
    assert models[0].alpha_ == models[1].alpha_
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


def test_a_mixture_finds_the_direction_of_its_data():
    data = make_mixture_bags(80, separation=4.0, random_state=0)
    model = MIMixture(n_init=1, random_state=0)
    for pair in PAIRS[1:4:2]:
        for supervision in ("bags", "negatives"):
            labels = np.where(data.y == 1, *pair)
            fitted = clone(model).set_params(supervision=supervision).fit(data.bags, labels)
            assert fitted.positive_label_ == pair[0], (pair, supervision)


@pytest.mark.parametrize("kind", [MISVC, InstanceMISVC, SparseMISVC, MissSVC])
def test_all_support_vector_machines_find_the_direction_of_their_data(kind):
    data = make_mixture_bags(60, separation=3.0, random_state=0)
    for pair in PAIRS[1:4:2]:
        labels = np.where(data.y == 1, *pair)
        assert kind().fit(data.bags, labels).positive_label_ == pair[0]
    # Copies of the instances of one class change the numbers of losses, but not the direction.
    for large in (0, 1):
        arrays = [
            np.repeat(bag, 3 if label == large else 1, axis=0)
            for bag, label in zip(data.bags, data.y, strict=True)
        ]
        labels = np.where(data.y == 1, "active", "inactive")
        assert kind().fit(arrays, labels).positive_label_ == "active"


def test_fits_to_positive_bags_only_are_as_before():
    data = make_mixture_bags(40, separation=4.0, random_state=0)
    bags = data.bags[data.y == 1]
    model = MIMixture(n_init=1, random_state=0).fit(bags, np.ones(len(bags), dtype=int))
    assert model.positive_label_ == 1 and (model.predict(bags) == 1).all()
    scores = model.decision_function_instances(bags)
    assert ((scores > 0) == (model.predict_proba_instances(bags)[:, 1] > 0.5)).all()


@pytest.mark.slow
def test_the_ensemble_does_not_depend_on_names():
    model = BagEnsembleClassifier(families=["instances"], cv=2, random_state=0)
    names = PAIRS[1:4:2]
    fits = [clone(model).fit(DATA.bags, np.where(DATA.y == 1, *pair)) for pair in names]
    columns = [fit.classes_.tolist().index(pair[0]) for fit, pair in zip(fits, names, strict=True)]
    proba = [fit.predict_proba(DATA.bags)[:, k] for fit, k in zip(fits, columns, strict=True)]
    np.testing.assert_allclose(*proba, atol=1e-6)
    assert fits[0].inner_scores_[0]["n_settings"] == 6  # the rule "or" in both directions
    named = clone(model).set_params(positive="active").fit(DATA.bags, TEXT)
    reference = clone(model).fit(DATA.bags, DATA.y)
    np.testing.assert_array_equal(
        named.predict_proba(DATA.bags)[:, 0], reference.predict_proba(DATA.bags)[:, 1]
    )
    assert named.inner_scores_[0]["n_settings"] == 4


def test_one_label_of_a_multi_label_model_has_a_positive_class():
    model = MultiLabelBagClassifier(ridge())
    for pair in PAIRS[1:4:2]:
        labels = np.where(DATA.y == 1, *pair)
        fitted = clone(model).fit(DATA.bags, labels)
        assert fitted.positive_label_ == pair[0]
        np.testing.assert_array_equal(
            fitted.predict(DATA.bags) == pair[0], ridge().fit(DATA.bags, DATA.y).predict(DATA.bags) == 1
        )
        assert "_direction" not in vars(fitted.estimators_[0])


# ------------------------------------------------------------ errors


def test_an_unknown_positive_label_is_refused():
    with pytest.raises(
        ValueError, match=r"positive is 'aktive', but y has the labels 'active' and 'inactive'"
    ):
        ridge(positive="aktive").fit(DATA.bags, TEXT)
    with pytest.raises(ValueError, match=r"VotingClassifier, replace the labels by 0 and 1"):
        ridge(positive="active").fit(DATA.bags, DATA.y)
    with pytest.raises(ValueError, match=r"positive is \['active'\]"):
        ridge(positive=["active"]).fit(DATA.bags, TEXT)


@pytest.mark.parametrize("model", [MissSVC(positive="a"), CitationKNNClassifier(positive="a")])
def test_a_positive_class_of_three_is_refused(model):
    labels = np.array(["a", "b", "c"])[np.arange(40) % 3]
    with pytest.raises(ValueError, match="a positive class requires exactly two classes"):
        model.fit(SMALL.bags, labels)


def test_models_of_unlabeled_bags_need_the_positive_label():
    labels = np.where(SMALL.y == 1, "positive", "unlabeled")
    for model in (PUSetKernelClassifier(class_prior=0.4), ClassPriorEstimator()):
        with pytest.raises(ValueError, match=r"name the positive one: pass positive='positive'"):
            clone(model).fit(SMALL.bags, labels)
    model = PUSetKernelClassifier(class_prior=0.4, random_state=0)
    named = clone(model).set_params(positive="positive").fit(SMALL.bags, labels)
    reference = clone(model).fit(SMALL.bags, SMALL.y)
    np.testing.assert_array_equal(named.coef_, reference.coef_)
    np.testing.assert_array_equal(
        named.decision_function(SMALL.bags), -reference.decision_function(SMALL.bags)
    )
    risk = bagwise.make_pu_scorer(0.4)
    assert risk(named, SMALL.bags, labels) == risk(reference, SMALL.bags, SMALL.y)


def test_a_path_needs_the_positive_label():
    with pytest.raises(ValueError, match="name the positive one"):
        milr_path(DATA.bags, TEXT, alphas=3)
    path = milr_path(DATA.bags, TEXT, alphas=3, positive="active")
    np.testing.assert_array_equal(path.coefs, milr_path(DATA.bags, DATA.y, alphas=3).coefs)


# ------------------------------------------------------------ other tools


def test_predictions_and_explanations_are_those_of_the_positive_class(tmp_path):
    model, reference = ridge(positive="active").fit(DATA.bags, TEXT), ridge().fit(DATA.bags, DATA.y)
    frame, expected = instance_frame(model, DATA.bags, TEXT), instance_frame(reference, DATA.bags, DATA.y)
    pd.testing.assert_frame_equal(frame, expected)
    text = str(explain_bag(model, DATA.bags, 3, y=TEXT))
    assert text.replace("'active'", "1") == str(explain_bag(reference, DATA.bags, 3, y=DATA.y))
    np.testing.assert_array_equal(
        rate_change(model, DATA.bags, 20, 0.5), rate_change(reference, DATA.bags, 20, 0.5)
    )
    page = write_report(model, tmp_path / "a.html", DATA.bags, TEXT, cv=2).read_text(encoding="utf-8")
    assert "the prediction is 'active'" in page.lower().replace("&#39;", "'").replace("&#x27;", "'")


def test_searches_pipelines_and_calibration_use_the_positive_class():
    expected = ridge().fit(DATA.bags, DATA.y).predict(DATA.bags) == 1
    search = GridSearchCV(ridge(), {"alpha": [1.0, 3.0]}, cv=2).fit(DATA.bags, TEXT)
    assert search.best_estimator_.positive_label_ == "active"
    pipeline = BagPipeline([("model", ridge(positive="active"))]).fit(DATA.bags, TEXT)
    np.testing.assert_array_equal(pipeline.predict(DATA.bags) == "active", expected)
    calibrated = CalibratedClassifierCV(ridge(), cv=2).fit(DATA.bags, TEXT)
    assert (calibrated.predict_proba(DATA.bags)[:, 0] > 0.5).sum() > 10
    np.testing.assert_allclose(
        instance_frame(calibrated, DATA.bags)["bag_probability"],
        np.repeat(calibrated.predict_proba(DATA.bags)[:, 0], DATA.bags.sizes),
    )


@pytest.mark.parametrize("positive", [None, 0])
def test_voting_and_stacking_pass_encoded_labels(positive):
    models = [("a", ridge(positive=positive)), ("b", BagPipeline([("model", ridge(positive=positive))]))]
    voting = VotingClassifier(models, voting="soft").fit(DATA.bags, TEXT)
    stacking = StackingClassifier(models, LogisticRegression(), cv=2).fit(DATA.bags, TEXT)
    right = [model.score(DATA.bags, TEXT) for model in (voting, stacking)]
    if positive == 0:  # "active" sorts first
        assert min(right) > 0.9
    one_against_rest = OneVsRestClassifier(ridge()).fit(DATA.bags, np.where(DATA.y == 1, "a", "b"))
    assert set(one_against_rest.predict(DATA.bags)) <= {"a", "b"}


def test_predictions_of_pairs_do_not_depend_on_names():
    y = DATA.y + (np.arange(60) % 2) * DATA.y  # nothing, or one of two kinds of bags with a nine
    names = [np.array(["LUAD", "LUSC", "normal"]), np.array(["x", "m", "a"]), np.array(["b", "c", "a"])]
    names = [each[[2, 0, 1]] for each in names]
    predictions = []
    for each in names:
        model = OneVsOneBagClassifier(ridge()).fit(DATA.bags, each[y])
        predictions.append([each.tolist().index(label) for label in model.predict(DATA.bags)])
        scores = model.decision_function(DATA.bags)
        assert (model.classes_[scores.argmax(axis=1)] == model.predict(DATA.bags)).all()
    assert predictions[0] == predictions[1] == predictions[2]


def test_weights_of_classes_are_passed_to_pairs_by_name():
    labels = np.array(["a", "b", "c"])[np.arange(60) % 3]
    weight = {"a": 2.0, "c": 0.5}
    model = OneVsOneBagClassifier(ridge(class_weight=weight)).fit(DATA.bags, labels)
    assert [each.class_weight for each in model.estimators_] == [
        {"a": 2.0, "b": 1.0},
        {"a": 2.0, "c": 0.5},
        {"b": 1.0, "c": 0.5},
    ]


def test_inference_and_selection_have_the_direction_of_the_fit():
    labels = np.where(SMALL.y == 1, "active", "inactive")
    model = MILogisticRegression(alpha=0.0, n_init=1, random_state=0).fit(SMALL.bags, labels)
    reference = clone(model).fit(SMALL.bags, labels == model.positive_label_)
    index = [f"b{i}" for i in range(40)]
    named = Bags(SMALL.bags.instances, SMALL.bags.offsets, ids=index)
    shuffled = pd.Series(labels, index=index).sample(frac=1, random_state=0)
    for inference in (model.inference(), model.inference(named, shuffled)):
        np.testing.assert_array_equal(inference.p_value, reference.inference().p_value)
    lasso = MILogisticRegression(alpha=2.0, n_init=1, random_state=0)
    refitted = bagwise.refit_selected(lasso.fit(SMALL.bags, labels), SMALL.bags, labels)
    assert refitted.positive_label_ == lasso.positive_label_


def test_a_diagnosis_uses_one_direction_for_all_rules():
    labels = np.where(SMALL.y == 1, "active", "inactive")
    estimator = SoftORLogisticRegression(alpha=0.1, n_init=1)
    diagnosis = diagnose_rule(SMALL.bags, labels, estimator=estimator, cv=None, random_state=0)
    assert len({model.positive_label_ for model in diagnosis.models.values()}) == 1


def test_a_comparison_chooses_the_direction_once():
    models = {"or": ridge(), "svm": MissSVC()}
    comparison = compare(DATA.bags, TEXT, models, cv=2, random_state=0, verbose=0)
    reference = compare(DATA.bags, DATA.y, models, cv=2, random_state=0, verbose=0)
    assert any("'active' is the positive class of all models" in note for note in comparison.notes_)
    for name in models:
        assert comparison[name].estimator.positive == "active"
        np.testing.assert_array_equal(
            comparison[name].predictions == "active", reference[name].predictions == 1
        )


def test_files_and_pickles_keep_the_positive_class(tmp_path):
    model = ridge().fit(DATA.bags, TEXT)
    loaded = bagwise.load(bagwise.save(model, tmp_path / "model.bagwise"))
    for again in (loaded, pickle.loads(pickle.dumps(model))):
        assert again.positive_label_ == "active"
        np.testing.assert_array_equal(again.predict_proba(DATA.bags), model.predict_proba(DATA.bags))


def test_models_of_older_versions_have_the_last_class_as_positive_class():
    model = ridge().fit(DATA.bags, DATA.y)
    state = model.__getstate__()
    del state["positive"], state["positive_label_"]
    older = MILogisticRegression.__new__(MILogisticRegression)
    older.__setstate__(state)
    assert older.get_params()["positive"] is None and older.positive_label_ == 1
    np.testing.assert_array_equal(older.decision_function(DATA.bags), model.decision_function(DATA.bags))


def test_every_classifier_with_a_positive_class_has_the_parameter():
    without = {
        cls.__name__
        for cls in all_estimators()
        if hasattr(cls, "_text_labels") and "positive" not in example_of(cls).get_params(deep=False)
    }
    assert without == {"OneVsOneBagClassifier"}
    assert "positive" in AttentionMILClassifier().get_params()


def test_scans_of_files_have_a_positive_class(tmp_path):
    pytest.importorskip("pyarrow")
    path = bagwise.save_parquet(tmp_path / "bags.parquet", DATA.bags, TEXT)
    scan = bagwise.scan_bags(path)
    model = ridge().fit(scan, scan.y)
    np.testing.assert_allclose(model.coef_, ridge().fit(DATA.bags, TEXT).coef_, atol=1e-12)


# ------------------------------------------------------------ labels with an index


def named_bags(n=20, seed=0):
    rng = np.random.default_rng(seed)
    bags = Bags(rng.normal(size=(3 * n, 2)), np.arange(0, 3 * n + 1, 3), ids=[f"m{i:02d}" for i in range(n)])
    y = pd.Series((bags.instances[:, 0].reshape(n, 3).max(axis=1) > 0.8).astype(int), index=bags.ids)
    return bags, y


def test_labels_weights_and_groups_are_aligned_by_bag_id():
    bags, y = named_bags()
    weight = pd.Series(np.linspace(0.5, 1.5, len(y)), index=y.index)
    expected = ridge().fit(bags, y.to_numpy(), weight.to_numpy())
    order = np.random.default_rng(1).permutation(len(y))
    model = ridge().fit(bags, y.iloc[order], weight.iloc[order[::-1]])
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.score(bags, y.iloc[order]) == expected.score(bags, y.to_numpy())
    np.testing.assert_array_equal(
        model.posterior_instances(bags, y.iloc[order]), expected.posterior_instances(bags, y.to_numpy())
    )
    groups = pd.Series(np.arange(len(y)) // 2, index=y.index)
    chosen = MILogisticRegressionCV(alphas=3, cv=2, n_init=1, random_state=0)
    first = clone(chosen).fit(bags, y.to_numpy(), groups=groups.to_numpy())
    second = clone(chosen).fit(bags, y.iloc[order], groups=groups.iloc[order])
    np.testing.assert_array_equal(first.deviances_, second.deviances_)


def test_a_label_matrix_is_aligned_by_bag_id():
    bags, y = named_bags()
    labels = pd.DataFrame({"a": y, "b": 1 - y})
    model = MultiLabelBagClassifier(ridge())
    expected = clone(model).fit(bags, labels.to_numpy()).predict_proba(bags)
    np.testing.assert_array_equal(clone(model).fit(bags, labels.iloc[::-1]).predict_proba(bags), expected)


def test_an_index_with_other_ids_is_refused():
    bags, y = named_bags()
    for labels, problem in (
        (y.rename({"m03": "m99"}), "'m99' is not the id of a bag"),
        (y.rename({"m03": "m04"}), "'m04' occurs twice"),
        (y.iloc[1:], "it lacks the bag 'm00'"),
    ):
        with pytest.raises(ValueError, match=f"the index of y matches only some of the bag ids: {problem}"):
            ridge().fit(bags, labels)
    with pytest.raises(ValueError, match="the index of sample_weight"):
        ridge().fit(bags, y, sample_weight=pd.Series(1.0, index=y.index).rename({"m03": "m99"}))


def test_an_index_without_bag_ids_is_not_used():
    bags, y = named_bags()
    expected = ridge().fit(bags, y.to_numpy()).coef_
    for index in (None, pd.RangeIndex(len(y)), [f"row {i}" for i in range(len(y))]):
        labels = pd.Series(y.to_numpy(), index=index)
        np.testing.assert_array_equal(ridge().fit(bags, labels).coef_, expected)
    shuffled = pd.Series(y.to_numpy(), index=np.arange(len(y))[::-1])
    without_ids = Bags(bags.instances, bags.offsets)
    np.testing.assert_array_equal(ridge().fit(without_ids, shuffled).coef_, expected)
    np.testing.assert_array_equal(ridge().fit(list(bags), shuffled).coef_, expected)


# ------------------------------------------------------------ types of labels


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "int64[pyarrow]", "bool[pyarrow]", "UInt8", object])
def test_nullable_labels_keep_their_classes(dtype):
    is_bool = dtype in ("boolean", "bool[pyarrow]")
    values = SMALL.y == 1 if is_bool else SMALL.y
    model = ridge().fit(SMALL.bags, pd.Series(values).astype(dtype))
    assert model.classes_.dtype.kind == ("b" if is_bool else "u" if dtype == "UInt8" else "i")
    assert model.classes_.tolist() == ([False, True] if is_bool else [0, 1])


def test_objects_of_booleans_and_strings_of_numpy_are_labels():
    flags = np.array([bool(label) for label in SMALL.y], dtype=object)
    assert ridge().fit(SMALL.bags, flags).classes_.tolist() == [False, True]
    labels = np.where(SMALL.y == 1, "yes", "no").astype(np.dtypes.StringDType())
    assert ridge(positive="yes").fit(SMALL.bags, labels).classes_.tolist() == ["no", "yes"]
    for dtype in ("string", "category", "string[pyarrow]"):
        column = pd.Series(np.where(SMALL.y == 1, "yes", "no")).astype(dtype)
        assert ridge(positive="yes").fit(SMALL.bags, column).classes_.tolist() == ["no", "yes"]


def test_mixed_and_missing_labels_are_refused_in_one_sentence():
    for mixed, shown in (
        ([True, "no"], "True and 'no'"),
        ([1, "no"], "1 and 'no'"),
        ([True, 2], "True and 2"),
    ):
        labels = np.array([mixed[label] for label in SMALL.y], dtype=object)
        with pytest.raises(ValueError, match=f"y mixes labels of different types, such as {shown}; use one"):
            ridge().fit(SMALL.bags, labels)
    for labels in (
        pd.Series(np.where(SMALL.y == 1, "yes", "no"), dtype="string").mask(np.arange(40) == 3),
        pd.Series(SMALL.y, dtype="Int64").mask(np.arange(40) == 3).astype(object),
        np.array([None if i == 3 else int(label) for i, label in enumerate(SMALL.y)], dtype=object),
    ):
        with pytest.raises(ValueError, match=r"no label for 1 of 40 bags, the first at index 3 \(bag 3\)"):
            ridge().fit(SMALL.bags, labels)


def test_statistics_before_a_classifier_accept_any_labels():
    model = BagPipeline([("statistics", BagStatistics()), ("model", LogisticRegression())])
    assert set(model.fit(DATA.bags, TEXT).predict(DATA.bags)) == {"active", "inactive"}
