"""Model comparison: same scores as cross_validate, no leakage, failures as rows, early input checks."""

import signal

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from tests.evaluation.comparison.recorders import FITTED, PREDICTED, Guess, Recorder, Refuses, Stops

from bagwise import (
    MISVC,
    Bags,
    BagStatistics,
    CitationKNNClassifier,
    ComparisonInterrupted,
    compare,
    load_digit_bags,
    make_noisy_or_bags,
)


def statistics_of(classifier):
    return make_pipeline(BagStatistics(("mean", "max")), StandardScaler(), classifier)


def make_indexed_bags(n, *, seed=0, n_groups=None):
    """Return bags that contain their index, random labels, and groups."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, n)
    instances = rng.normal(size=(sizes.sum(), 2))
    instances[:, 0] = np.repeat(np.arange(n), sizes)
    bags = Bags(instances, np.append(0, np.cumsum(sizes)))
    y = rng.permutation(np.arange(n) % 2)
    groups = None if n_groups is None else rng.permutation(np.arange(n) % n_groups)
    return bags, y, groups


def compare_silently(*arguments, **options):
    return compare(*arguments, verbose=0, random_state=options.pop("random_state", 0), **options)


# ---------------------------------------------------------------- scores


def test_scores_of_splits_are_those_of_cross_validate():
    data = load_digit_bags(60, random_state=0)
    names = ("accuracy", "roc_auc", "neg_log_loss", "f1", "neg_brier_score")
    models = {"logistic": statistics_of(LogisticRegression()), "svm": statistics_of(SVC())}
    comparison = compare_silently(data.bags, data.y, models, scoring=names)
    for name, model in models.items():
        available = names if name == "logistic" else ("accuracy", "roc_auc", "f1")
        theirs = cross_validate(model, data.bags, data.y, cv=comparison.folds_, scoring=list(available))
        for scoring in available:
            np.testing.assert_allclose(
                comparison[name].scores[scoring], theirs[f"test_{scoring}"], rtol=1e-12
            )
    assert np.isnan(comparison["svm"].scores["neg_log_loss"]).all() and np.isnan(
        comparison["svm"].mean["neg_log_loss"]
    )
    assert np.isnan(comparison["svm"].interval["neg_log_loss"]).all()


def test_out_of_fold_predictions_are_those_of_cross_val_predict():
    data = load_digit_bags(60, random_state=0)
    model = statistics_of(LogisticRegression())
    comparison = compare_silently(
        data.bags, data.y, {"logistic": model, "svm": statistics_of(SVC())}, repeats=2
    )
    for repeat in range(2):
        folds = comparison.folds_[5 * repeat : 5 * (repeat + 1)]
        theirs = cross_val_predict(model, data.bags, data.y, cv=folds, method="predict_proba")
        np.testing.assert_array_equal(comparison.oof_["logistic"][repeat], theirs[:, 1])
        labels = cross_val_predict(model, data.bags, data.y, cv=folds)
        np.testing.assert_array_equal(comparison["logistic"].predictions[repeat], labels)
    assert comparison["svm"].oof_kind == "score" and comparison["logistic"].oof_kind == "probability"
    assert not np.array_equal(comparison.folds_[0][1], comparison.folds_[5][1])  # every repeat has new folds


def test_means_are_of_all_bags_and_lie_in_their_intervals():
    data = load_digit_bags(61, random_state=0)
    comparison = compare_silently(data.bags, data.y, {"logistic": statistics_of(LogisticRegression())})
    result = comparison["logistic"]
    assert result.mean["accuracy"] == np.mean(result.predictions[0] == data.y)
    for name in comparison.scoring:
        low, high = result.interval[name]
        assert low < result.mean[name] < high


def test_text_labels_and_many_classes_are_scored():
    data = load_digit_bags(90, random_state=0)
    y = np.array(["a", "b", "c"])[np.arange(90) % 3]
    comparison = compare_silently(data.bags, y, {"logistic": statistics_of(LogisticRegression())})
    assert comparison.scoring == ("accuracy", "roc_auc_ovr", "neg_log_loss")
    result = comparison["logistic"]
    assert result.oof.shape == (1, 90, 3) and np.allclose(result.oof.sum(axis=2), 1.0)
    theirs = cross_validate(
        statistics_of(LogisticRegression()),
        data.bags,
        y,
        cv=comparison.folds_,
        scoring=list(comparison.scoring),
    )
    for name in comparison.scoring:
        np.testing.assert_allclose(result.scores[name], theirs[f"test_{name}"], rtol=1e-12)
        assert result.interval[name][0] < result.mean[name] < result.interval[name][1]


def test_the_size_of_a_bag_is_a_baseline_that_sees_nothing_else():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 9, 80)
    y = sizes + rng.normal(size=80) > 4.5
    bags = Bags(rng.normal(size=(sizes.sum(), 3)), np.append(0, np.cumsum(sizes)))
    comparison = compare_silently(bags, y, {"logistic": statistics_of(LogisticRegression())})
    assert comparison["size of the bag"].mean["roc_auc"] > 0.9
    assert comparison["most frequent label"].mean["roc_auc"] == 0.5
    same = bags.with_instances(np.full(bags.instances.shape, 7.0))
    again = compare_silently(same, y, {"logistic": statistics_of(LogisticRegression())})
    np.testing.assert_array_equal(again.oof_["size of the bag"], comparison.oof_["size of the bag"])


# ---------------------------------------------------------------- leakage


@pytest.mark.slow
def test_choosing_among_many_settings_gains_nothing_from_noise():
    settings, nested, peeked = {"setting": list(range(30))}, [], []
    for seed in range(2):
        bags, y, _ = make_indexed_bags(60, seed=seed)
        search = GridSearchCV(Guess(), settings, cv=StratifiedKFold(2))
        nested.append(
            compare_silently(bags, y, {"search": search}, scoring="accuracy", cv=3)["search"].mean["accuracy"]
        )
        peeked.append(max(np.mean(Guess(k).fit(bags, y).predict(bags) == y) for k in range(30)))
    # Scores are as for 120 coin tosses. With a choice on the held-out bags, they would be higher.
    assert abs(np.mean(nested) - 0.5) < 2 * np.sqrt(0.25 / 120) < np.mean(peeked) - 0.5


@pytest.mark.slow
def test_labels_of_held_out_bags_do_not_change_their_predictions():
    data = make_noisy_or_bags(60, random_state=0)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(np.zeros(60), data.y))
    search = GridSearchCV(statistics_of(LogisticRegression()), {"logisticregression__C": [0.01, 1.0]}, cv=3)
    first = compare_silently(data.bags, data.y, {"search": search}, cv=folds)
    rng = np.random.default_rng(0)
    for _, test in folds:
        y = data.y.copy()
        y[test] = rng.permutation(1 - y[test])
        again = compare_silently(data.bags, y, {"search": search}, cv=folds)
        np.testing.assert_array_equal(again.oof_["search"][0, test], first.oof_["search"][0, test])
        np.testing.assert_array_equal(
            again.oof_["size of the bag"][0, test], first.oof_["size of the bag"][0, test]
        )


@pytest.mark.parametrize("inner", [2, StratifiedKFold(2)], ids=["number", "splitter"])
def test_no_bag_is_asked_about_that_was_learned_from(inner):
    bags, y, _ = make_indexed_bags(40)
    FITTED.clear(), PREDICTED.clear()
    compare_silently(bags, y, {"search": GridSearchCV(Recorder(), {"setting": [0, 1]}, cv=inner)}, cv=4)
    assert len(FITTED) == len(PREDICTED)
    few = 2 * 2 + 1  # the fits that estimate the time predict their training bags
    for fitted, predicted in zip(FITTED[few:], PREDICTED[few:], strict=True):
        assert not np.intersect1d(fitted, predicted).size


@pytest.mark.parametrize("wrapped", [False, True])
def test_groups_stay_together_inside_and_outside(wrapped):
    bags, y, groups = make_indexed_bags(80, n_groups=20)
    search = GridSearchCV(Recorder(), {"setting": [0, 1]}, cv=3)
    model = make_pipeline("passthrough", search) if wrapped else search
    FITTED.clear(), PREDICTED.clear()
    comparison = compare_silently(bags, y, {"search": model}, groups=groups, cv=4)
    few = 3 * 2 + 1
    for fitted, predicted in zip(FITTED[few:], PREDICTED[few:], strict=True):
        assert not np.intersect1d(groups[fitted], groups[predicted]).size
    for train, test in comparison.folds_:
        assert not np.intersect1d(groups[train], groups[test]).size


# ---------------------------------------------------------------- failures and invalid input


def test_a_model_that_fails_has_a_row_that_says_why_and_the_rest_goes_on():
    bags, y, _ = make_indexed_bags(30)
    comparison = compare_silently(bags, y, {"refuses": Refuses(), "records": Recorder()})
    assert "bag 0 is not allowed in training." in comparison["refuses"].error
    assert np.isnan(comparison["refuses"].mean["accuracy"]) and comparison["refuses"].oof is None
    assert comparison["records"].error is None and comparison.best.name == "records"
    assert "refuses failed: split " in repr(comparison) and comparison.rows[-1].name == "refuses"
    assert comparison.to_frame().loc["refuses", "error"] == comparison["refuses"].error


def _never(**options):
    class Never(Recorder):
        def fit(self, X, y):
            raise AssertionError("no model must be fitted")

    return {"never": Never(**options)}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"scoring": "acuracy"}, r"unknown scoring 'acuracy'; did you mean 'accuracy'\?"),
        ({"scoring": ()}, "scoring is empty"),
        ({"cv": 1}, "cv is 1; expected at least 2 folds"),
        ({"repeats": 0}, "repeats must be an integer >= 1; got 0"),
        ({"repeats": 2, "cv": StratifiedKFold(3)}, "repeats is 2, but cv is not an integer"),
        ({"groups": np.arange(3)}, "groups has the shape"),
        ({"groups": (np.arange(30) % 2).astype(int) * 0}, "two 1 and two 0 bags of different groups"),
        ({"cv": [(np.arange(15), np.arange(10, 30))] * 2}, "holds out at least one bag more than once"),
        (
            {"models": {}},
            "models must be 'default', 'positive_unlabeled', a list of names of default models, or a dict",
        ),
        ({"models": {"x": BagStatistics()}}, "must be a classifier"),
        ({"models": "defualt"}, "models must be 'default'"),
        ({"y": np.zeros(30)}, "y has only one class, 0.0"),
        ({"y": np.linspace(0.1, 0.9, 30)}, "y is continuous"),
        ({"y": np.r_[np.nan, np.arange(29) % 2]}, "y has no label for 1 of 30 bags"),
        ({"y": np.arange(20) % 2}, "X has 30 bags but y has 20 labels"),
    ],
)
def test_invalid_arguments_are_refused_before_any_fit(change, sentence):
    bags, y, _ = make_indexed_bags(30)
    predicted = {"models": _never(), "y": y} | change
    with pytest.raises((ValueError, TypeError), match=sentence):
        compare_silently(bags, predicted.pop("y"), predicted.pop("models"), **predicted)


def test_one_class_is_refused_in_training_folds_and_noted_for_test_folds():
    bags, _, _ = make_indexed_bags(30)
    y = np.arange(30) >= 15
    by_halves = [(np.arange(15), np.arange(15, 30)), (np.arange(15, 30), np.arange(15))]
    with pytest.raises(ValueError, match="fold 0 of cv has no True bag"):
        compare_silently(bags, y, _never(), cv=by_halves)
    y = np.arange(30) % 2 == 1
    positive = np.array([1, 3, 5])
    folds = [(np.setdiff1d(np.arange(30), positive), positive), (np.arange(15), np.arange(15, 30))]
    comparison = compare_silently(bags, y, {"records": statistics_of(LogisticRegression())}, cv=folds)
    assert any("not defined in folds that hold out only one class: 1." in note for note in comparison.notes_)
    scores = comparison["records"].scores
    assert np.isnan(scores["roc_auc"][0]) and np.isfinite(scores["neg_log_loss"]).all()
    with pytest.raises(ValueError, match="every fold holds out bags of only one class"):
        compare_silently(bags, y, _never(), cv=folds[:1])
    assert np.isnan(comparison.oof_["records"][0, 0])  # in no test fold


def test_fewer_folds_than_requested_are_noted():
    bags, _, _ = make_indexed_bags(30)
    y = np.arange(30) < 3
    comparison = compare_silently(bags, y, {"records": Recorder()})
    assert len(comparison.folds_) == 3
    assert "3 folds instead of 5, because the rarest class has too few bags." in comparison.notes_


# ---------------------------------------------------------------- Ctrl-C, seeds, jobs


@pytest.fixture
def usual_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_raises_with_what_is_finished_and_the_checkpoint_goes_on(tmp_path, usual_handler):
    bags, y, _ = make_indexed_bags(30)
    path = tmp_path / "run"
    models = {"records": Recorder(), "stops": Stops(), "last": Recorder(1)}
    Stops.fits_left = 3  # one fit that estimates the time, two splits
    with pytest.raises(ComparisonInterrupted) as caught:
        compare_silently(bags, y, models, checkpoint=path)
    assert isinstance(caught.value, KeyboardInterrupt) and str(path) in str(caught.value)
    finished = caught.value.comparison
    assert [result.name for result in finished.results] == ["records"] and len(finished.baselines) == 2
    assert not finished.is_complete and "Interrupted" in repr(finished)

    Stops.fits_left = np.inf
    FITTED.clear()
    resumed = compare_silently(bags, y, models, checkpoint=path)
    assert not path.exists() and resumed.is_complete
    # "records" is complete. "stops" has three splits left and "last" five, and both estimate the time.
    assert len(FITTED) == 3 + 5 + 2
    whole = compare_silently(bags, y, models)
    for name in models:
        np.testing.assert_array_equal(resumed[name].scores["accuracy"], whole[name].scores["accuracy"])


def test_a_checkpoint_of_another_comparison_is_refused(tmp_path, usual_handler):
    bags, y, _ = make_indexed_bags(30)
    path = tmp_path / "run"
    Stops.fits_left = 2
    with pytest.raises(ComparisonInterrupted):
        compare_silently(bags, y, {"stops": Stops()}, checkpoint=path)
    with pytest.raises(ValueError, match="belongs to a fit with cv=5, but this fit has cv=3"):
        compare_silently(bags, y, {"stops": Stops()}, checkpoint=path, cv=3)


def test_the_seed_repeats_it_and_seeds_of_models_are_set():
    data = load_digit_bags(40, random_state=0)
    from sklearn.ensemble import RandomForestClassifier

    models = {"forest": statistics_of(RandomForestClassifier(10))}
    first = compare_silently(data.bags, data.y, models, random_state=None)
    again = compare_silently(data.bags, data.y, models, random_state=first.seed_)
    np.testing.assert_array_equal(first.oof_["forest"], again.oof_["forest"])
    assert f"random_state={first.seed_}" in first.code_
    assert first["forest"].estimator[-1].random_state == first.seed_
    assert models["forest"][-1].random_state is None  # the user's model is unchanged


@pytest.mark.slow
def test_jobs_change_nothing():
    data = load_digit_bags(40, random_state=0)
    models = {
        "search": GridSearchCV(statistics_of(LogisticRegression()), {"logisticregression__C": [0.1, 1]})
    }
    serial, parallel = (compare_silently(data.bags, data.y, models, n_jobs=n, cv=3) for n in (1, 2))
    for name in serial.oof_:
        np.testing.assert_array_equal(serial.oof_[name], parallel.oof_[name])
    assert serial["search"].choices == parallel["search"].choices


def test_best_model_that_cannot_use_absence_is_named():
    data = make_noisy_or_bags(40, size=(2, 5), coef=[3.0, -3.0], random_state=0)
    models = {"statistics": make_pipeline(BagStatistics(), LogisticRegression()), "svm": MISVC()}
    comparison = compare(data.bags, data.y, models, cv=2, random_state=0, verbose=0)
    text = " ".join(str(comparison).split())
    sentence = "'statistics' can call a bag positive because something is missing from it."
    other = " The best model that cannot is 'svm'."
    assert (sentence + other in text) == (comparison.best.name == "statistics")
    alone = compare(data.bags, data.y, {"statistics": models["statistics"]}, cv=2, random_state=0, verbose=0)
    assert sentence in " ".join(str(alone).split()) and "model that cannot" not in str(alone)
    frame = comparison.to_frame()["can_use_absence"]
    assert frame.loc[["statistics", "svm"]].tolist() == [True, False]
    several = compare(data.bags, np.arange(40) % 3, {"neighbors": CitationKNNClassifier()}, cv=2, verbose=0)
    assert "missing from it" not in str(several)
