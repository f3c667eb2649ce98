"""Model comparison: same scores as cross_validate, no leakage, failures as rows, early input checks."""

import signal

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from tests.evaluation.comparison.recorders import ASKED, FITTED, Guess, Recorder, Refuses, Stops

from bagwise import Bags, BagStatistics, ComparisonInterrupted, compare, load_digit_bags, make_noisy_or_bags


def statistics_of(classifier):
    return make_pipeline(BagStatistics(("mean", "max")), StandardScaler(), classifier)


def numbered(n, *, seed=0, n_groups=None):
    """Return bags that contain their index, random labels, and groups."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, n)
    instances = rng.normal(size=(sizes.sum(), 2))
    instances[:, 0] = np.repeat(np.arange(n), sizes)
    bags = Bags(instances, np.append(0, np.cumsum(sizes)))
    y = rng.permutation(np.arange(n) % 2)
    groups = None if n_groups is None else rng.permutation(np.arange(n) % n_groups)
    return bags, y, groups


def quiet(*arguments, **options):
    return compare(*arguments, verbose=0, random_state=options.pop("random_state", 0), **options)


# ---------------------------------------------------------------- scores


def test_scores_of_splits_are_those_of_cross_validate():
    data = load_digit_bags(60, random_state=0)
    names = ("accuracy", "roc_auc", "neg_log_loss", "f1", "neg_brier_score")
    models = {"logistic": statistics_of(LogisticRegression()), "svm": statistics_of(SVC())}
    found = quiet(data.bags, data.y, models, scoring=names)
    for name, model in models.items():
        known = names if name == "logistic" else ("accuracy", "roc_auc", "f1")
        theirs = cross_validate(model, data.bags, data.y, cv=found.folds_, scoring=list(known))
        for scoring in known:
            np.testing.assert_allclose(found[name].scores[scoring], theirs[f"test_{scoring}"], rtol=1e-12)
    assert np.isnan(found["svm"].scores["neg_log_loss"]).all() and np.isnan(found["svm"].mean["neg_log_loss"])
    assert np.isnan(found["svm"].interval["neg_log_loss"]).all()


def test_out_of_fold_predictions_are_those_of_cross_val_predict():
    data = load_digit_bags(60, random_state=0)
    model = statistics_of(LogisticRegression())
    found = quiet(data.bags, data.y, {"logistic": model, "svm": statistics_of(SVC())}, repeats=2)
    for repeat in range(2):
        folds = found.folds_[5 * repeat : 5 * (repeat + 1)]
        theirs = cross_val_predict(model, data.bags, data.y, cv=folds, method="predict_proba")
        np.testing.assert_array_equal(found.oof_["logistic"][repeat], theirs[:, 1])
        labels = cross_val_predict(model, data.bags, data.y, cv=folds)
        np.testing.assert_array_equal(found["logistic"].predictions[repeat], labels)
    assert found["svm"].oof_kind == "score" and found["logistic"].oof_kind == "probability"
    assert not np.array_equal(found.folds_[0][1], found.folds_[5][1])  # every repeat has new folds


def test_means_are_of_all_bags_and_lie_in_their_intervals():
    data = load_digit_bags(61, random_state=0)
    found = quiet(data.bags, data.y, {"logistic": statistics_of(LogisticRegression())})
    one = found["logistic"]
    assert one.mean["accuracy"] == np.mean(one.predictions[0] == data.y)
    for name in found.scoring:
        low, high = one.interval[name]
        assert low < one.mean[name] < high


def test_text_labels_and_many_classes_are_scored():
    data = load_digit_bags(90, random_state=0)
    y = np.array(["a", "b", "c"])[np.arange(90) % 3]
    found = quiet(data.bags, y, {"logistic": statistics_of(LogisticRegression())})
    assert found.scoring == ("accuracy", "roc_auc_ovr", "neg_log_loss")
    one = found["logistic"]
    assert one.oof.shape == (1, 90, 3) and np.allclose(one.oof.sum(axis=2), 1.0)
    theirs = cross_validate(
        statistics_of(LogisticRegression()), data.bags, y, cv=found.folds_, scoring=list(found.scoring)
    )
    for name in found.scoring:
        np.testing.assert_allclose(one.scores[name], theirs[f"test_{name}"], rtol=1e-12)
        assert one.interval[name][0] < one.mean[name] < one.interval[name][1]


def test_the_size_of_a_bag_is_a_baseline_that_sees_nothing_else():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 9, 80)
    y = sizes + rng.normal(size=80) > 4.5
    bags = Bags(rng.normal(size=(sizes.sum(), 3)), np.append(0, np.cumsum(sizes)))
    found = quiet(bags, y, {"logistic": statistics_of(LogisticRegression())})
    assert found["size of the bag"].mean["roc_auc"] > 0.9
    assert found["most frequent label"].mean["roc_auc"] == 0.5
    same = bags.with_instances(np.full(bags.instances.shape, 7.0))
    again = quiet(same, y, {"logistic": statistics_of(LogisticRegression())})
    np.testing.assert_array_equal(again.oof_["size of the bag"], found.oof_["size of the bag"])


# ---------------------------------------------------------------- leakage


@pytest.mark.slow
def test_choosing_among_many_settings_gains_nothing_from_noise():
    settings, nested, peeked = {"setting": list(range(30))}, [], []
    for seed in range(2):
        bags, y, _ = numbered(60, seed=seed)
        search = GridSearchCV(Guess(), settings, cv=StratifiedKFold(2))
        nested.append(quiet(bags, y, {"search": search}, scoring="accuracy", cv=3)["search"].mean["accuracy"])
        peeked.append(max(np.mean(Guess(k).fit(bags, y).predict(bags) == y) for k in range(30)))
    # Scores are as for 120 coin tosses. With a choice on the held-out bags, they would be higher.
    assert abs(np.mean(nested) - 0.5) < 2 * np.sqrt(0.25 / 120) < np.mean(peeked) - 0.5


@pytest.mark.slow
def test_what_is_said_of_held_out_bags_does_not_depend_on_their_labels():
    data = make_noisy_or_bags(60, random_state=0)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(np.zeros(60), data.y))
    search = GridSearchCV(statistics_of(LogisticRegression()), {"logisticregression__C": [0.01, 1.0]}, cv=3)
    first = quiet(data.bags, data.y, {"search": search}, cv=folds)
    rng = np.random.default_rng(0)
    for _, test in folds:
        y = data.y.copy()
        y[test] = rng.permutation(1 - y[test])
        again = quiet(data.bags, y, {"search": search}, cv=folds)
        np.testing.assert_array_equal(again.oof_["search"][0, test], first.oof_["search"][0, test])
        np.testing.assert_array_equal(
            again.oof_["size of the bag"][0, test], first.oof_["size of the bag"][0, test]
        )


@pytest.mark.parametrize("inner", [2, StratifiedKFold(2)], ids=["number", "splitter"])
def test_no_bag_is_asked_about_that_was_learned_from(inner):
    bags, y, _ = numbered(40)
    FITTED.clear(), ASKED.clear()
    quiet(bags, y, {"search": GridSearchCV(Recorder(), {"setting": [0, 1]}, cv=inner)}, cv=4)
    assert len(FITTED) == len(ASKED)
    few = 2 * (2 * 2 + 1)  # the fits that estimate the time predict their training bags
    for fitted, asked in zip(FITTED[few:], ASKED[few:], strict=True):
        assert not np.intersect1d(fitted, asked).size


@pytest.mark.parametrize("wrapped", [False, True])
def test_groups_stay_together_inside_and_outside(wrapped):
    bags, y, groups = numbered(80, n_groups=20)
    search = GridSearchCV(Recorder(), {"setting": [0, 1]}, cv=3)
    model = make_pipeline("passthrough", search) if wrapped else search
    FITTED.clear(), ASKED.clear()
    found = quiet(bags, y, {"search": model}, groups=groups, cv=4)
    few = 2 * (3 * 2 + 1)
    for fitted, asked in zip(FITTED[few:], ASKED[few:], strict=True):
        assert not np.intersect1d(groups[fitted], groups[asked]).size
    for train, test in found.folds_:
        assert not np.intersect1d(groups[train], groups[test]).size


# ---------------------------------------------------------------- failures and invalid input


def test_a_model_that_fails_has_a_row_that_says_why_and_the_rest_goes_on():
    bags, y, _ = numbered(30)
    found = quiet(bags, y, {"refuses": Refuses(), "records": Recorder()})
    assert "bag 0 is not allowed in training." in found["refuses"].error
    assert np.isnan(found["refuses"].mean["accuracy"]) and found["refuses"].oof is None
    assert found["records"].error is None and found.best.name == "records"
    assert "refuses failed: split " in repr(found) and found.rows[-1].name == "refuses"
    assert found.to_frame().loc["refuses", "error"] == found["refuses"].error


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
        ({"models": {}}, "models must be 'default', 'positive_unlabeled', or a dict"),
        ({"models": {"x": BagStatistics()}}, "must be a classifier"),
        ({"models": "defualt"}, "models must be 'default'"),
        ({"y": np.zeros(30)}, "y has only one class, 0.0"),
        ({"y": np.linspace(0.1, 0.9, 30)}, "y is continuous"),
        ({"y": np.r_[np.nan, np.arange(29) % 2]}, "y has no label for 1 of 30 bags"),
        ({"y": np.arange(20) % 2}, "X has 30 bags but y has 20 labels"),
    ],
)
def test_what_cannot_work_is_said_before_anything_runs(change, sentence):
    bags, y, _ = numbered(30)
    asked = {"models": _never(), "y": y} | change
    with pytest.raises((ValueError, TypeError), match=sentence):
        quiet(bags, asked.pop("y"), asked.pop("models"), **asked)


def test_a_training_fold_of_one_class_is_refused_and_a_test_fold_of_one_class_is_told():
    bags, _, _ = numbered(30)
    y = np.arange(30) >= 15
    by_halves = [(np.arange(15), np.arange(15, 30)), (np.arange(15, 30), np.arange(15))]
    with pytest.raises(ValueError, match="fold 0 of cv has no True bag"):
        quiet(bags, y, _never(), cv=by_halves)
    y = np.arange(30) % 2 == 1
    one = np.array([1, 3, 5])
    folds = [(np.setdiff1d(np.arange(30), one), one), (np.arange(15), np.arange(15, 30))]
    found = quiet(bags, y, {"records": statistics_of(LogisticRegression())}, cv=folds)
    assert any("not defined in folds that hold out only one class: 1." in note for note in found.notes_)
    scores = found["records"].scores
    assert np.isnan(scores["roc_auc"][0]) and np.isfinite(scores["neg_log_loss"]).all()
    with pytest.raises(ValueError, match="every fold holds out bags of only one class"):
        quiet(bags, y, _never(), cv=folds[:1])
    assert np.isnan(found.oof_["records"][0, 0])  # in no test fold


def test_fewer_folds_than_asked_for_are_told():
    bags, _, _ = numbered(30)
    y = np.arange(30) < 3
    found = quiet(bags, y, {"records": Recorder()})
    assert len(found.folds_) == 3
    assert "3 folds instead of 5, because the rarest class has too few bags." in found.notes_


# ---------------------------------------------------------------- Ctrl-C, seeds, jobs


@pytest.fixture
def usual_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_raises_with_what_is_finished_and_the_checkpoint_goes_on(tmp_path, usual_handler):
    bags, y, _ = numbered(30)
    path = tmp_path / "run"
    models = {"records": Recorder(), "stops": Stops(), "last": Recorder(1)}
    Stops.fits_left = 4  # two fits that estimate the time, two splits
    with pytest.raises(ComparisonInterrupted) as caught:
        quiet(bags, y, models, checkpoint=path)
    assert isinstance(caught.value, KeyboardInterrupt) and str(path) in str(caught.value)
    finished = caught.value.comparison
    assert [one.name for one in finished.results] == ["records"] and len(finished.baselines) == 2
    assert not finished.is_complete and "Interrupted" in repr(finished)

    Stops.fits_left = np.inf
    FITTED.clear()
    resumed = quiet(bags, y, models, checkpoint=path)
    assert not path.exists() and resumed.is_complete
    # "records" is complete. "stops" has three splits left and "last" five, and both estimate the time.
    assert len(FITTED) == 3 + 5 + 2 * 2
    whole = quiet(bags, y, models)
    for name in models:
        np.testing.assert_array_equal(resumed[name].scores["accuracy"], whole[name].scores["accuracy"])


def test_a_checkpoint_of_another_comparison_is_refused(tmp_path, usual_handler):
    bags, y, _ = numbered(30)
    path = tmp_path / "run"
    Stops.fits_left = 3
    with pytest.raises(ComparisonInterrupted):
        quiet(bags, y, {"stops": Stops()}, checkpoint=path)
    with pytest.raises(ValueError, match="belongs to a fit with cv=5, but this fit has cv=3"):
        quiet(bags, y, {"stops": Stops()}, checkpoint=path, cv=3)


def test_the_seed_repeats_it_and_seeds_of_models_are_set():
    data = load_digit_bags(40, random_state=0)
    from sklearn.ensemble import RandomForestClassifier

    models = {"forest": statistics_of(RandomForestClassifier(10))}
    first = quiet(data.bags, data.y, models, random_state=None)
    again = quiet(data.bags, data.y, models, random_state=first.seed_)
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
    one, two = (quiet(data.bags, data.y, models, n_jobs=n, cv=3) for n in (1, 2))
    for name in one.oof_:
        np.testing.assert_array_equal(one.oof_[name], two.oof_[name])
    assert one["search"].choices == two["search"].choices
