"""Predictions of held-out bags, compared with plain loops, with groups, Ctrl-C, checkpoints and scores."""

import signal
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from bagwise import Bags, BagStatistics, MILogisticRegression, MIMixture, load_digit_bags
from bagwise._core.interrupt import interruptible
from bagwise.evaluation.held_out import HeldOut, score_held_out
from bagwise.evaluation.held_out.scores import score_with_interval
from bagwise.models.base.held_out import cross_predict
from bagwise.models.base.log_loss import log_probability, loss_of_margin
from bagwise.persist.checkpoints import opened

DATA = load_digit_bags(60, random_state=0)
SPLITS = list(StratifiedKFold(3, shuffle=True, random_state=0).split(DATA.y, DATA.y))


def of_statistics(classifier):
    return make_pipeline(BagStatistics(("mean", "max")), classifier)


def indexed_bags(n):
    """Return bags of one instance that contains the index of the bag, and alternating labels."""
    return Bags(np.arange(n)[:, None].astype(float), np.arange(n + 1)), np.arange(n) % 2


class Recorder(ClassifierMixin, BaseEstimator):
    """Classifier that records its training bags and fit parameters; scores contain the bag's index."""

    fits: list = []

    def __init__(self, setting=0):
        self.setting = setting

    def fit(self, X, y, **params):
        Recorder.fits.append((X.instances[:, 0].astype(int), params))
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[X.instances[:, 0].astype(int) % 2]

    def decision_function(self, X):
        return X.instances[:, 0] + 100.0 * len(Recorder.fits)


@pytest.fixture(autouse=True)
def no_fits():
    Recorder.fits.clear()


@pytest.fixture
def usual_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# ---------------------------------------------------------------- predictions


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("classifier", [LogisticRegression(max_iter=1000), SVC()], ids=["proba", "decision"])
def test_predictions_are_those_of_cross_val_predict(n_classes, classifier):
    y = np.array(["c", "a", "b"])[DATA.y + (DATA.bags.sizes > 9) * (n_classes == 3)]
    splits = list(StratifiedKFold(3, shuffle=True, random_state=1).split(y, y))
    model = of_statistics(classifier)
    held = cross_predict(model, DATA.bags, y, splits)
    assert held.classes.tolist() == sorted(set(y)) and len(held.classes) == n_classes
    np.testing.assert_array_equal(held.classes[held.codes], y)
    labels = cross_val_predict(model, DATA.bags, y, cv=splits)
    np.testing.assert_array_equal(held.classes[held.predicted], labels)
    np.testing.assert_array_equal(held.is_right, labels == y)
    methods = ["decision_function"] + ["predict_proba"] * isinstance(classifier, LogisticRegression)
    assert set(held.outputs) == {"predict", *methods}
    for method in methods:
        theirs = cross_val_predict(model, DATA.bags, y, cv=splits, method=method)
        np.testing.assert_array_equal(held.outputs[method], theirs)
    if n_classes == 2:
        np.testing.assert_array_equal(held.score, held.outputs["decision_function"])
        assert (held.probability is None) == isinstance(classifier, SVC)
    else:
        assert held.score is None and held.probability is None
    for i, (_, test) in enumerate(splits):
        assert (held.fold[test] == i).all()
    assert held.n_folds == 3 and held.models == ()
    assert held.seconds.shape == (3, 4) and (held.seconds[:, 0] > 0).all()


def test_weights_functions_and_models_are_those_of_a_plain_loop():
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    model = MILogisticRegression("mean", alpha=1.0, random_state=0)

    def two_scores(fitted, bags):
        return np.column_stack([fitted.decision_function(bags), fitted.predict_log_proba(bags)[:, 0]])

    held = cross_predict(
        model,
        DATA.bags,
        DATA.y,
        SPLITS,
        outputs=[two_scores, "predict_log_proba", "no_such_method"],
        sample_weight=weight,
        keep_models=True,
    )
    assert set(held.outputs) == {two_scores, "predict_log_proba"}
    for (train, test), kept in zip(SPLITS, held.models, strict=True):
        fitted = MILogisticRegression("mean", alpha=1.0, random_state=0)
        fitted.fit(DATA.bags[train], DATA.y[train], weight[train])
        np.testing.assert_array_equal(kept.coef_, fitted.coef_)
        np.testing.assert_array_equal(
            held.outputs["predict_log_proba"][test], fitted.predict_log_proba(DATA.bags[test])
        )
        np.testing.assert_array_equal(held.outputs[two_scores][test], two_scores(fitted, DATA.bags[test]))


def test_without_outputs_models_are_fitted_only():
    bags, y = indexed_bags(12)
    held = cross_predict(
        Recorder(), bags, y, [(np.arange(8), np.arange(8, 12))], outputs=[], keep_models=True
    )
    assert held.outputs == {} and len(held.models) == len(Recorder.fits) == 1


def test_bags_held_out_several_times_have_the_mean_and_others_nan():
    splits = [(np.arange(2, 8), np.array([0, 1])), (np.arange(3, 8), np.array([2, 1]))]
    bags, y = indexed_bags(8)
    held = cross_predict(Recorder(), bags, y, splits)
    scores = held.outputs["decision_function"]
    assert scores[:3].tolist() == [100.0, 1 + (100 + 200) / 2, 202.0] and np.isnan(scores[3:]).all()
    assert held.fold.tolist() == [0, 1, 1] + [-1] * 5
    assert held.predicted.tolist() == [0, 1, 0] + [-1] * 5

    y = DATA.y
    splits = list(RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0).split(y, y))
    model = of_statistics(SVC())
    score = cross_predict(model, DATA.bags, y, splits).score
    repeats = [
        cross_val_predict(model, DATA.bags, y, cv=part, method="decision_function")
        for part in (splits[:2], splits[2:])
    ]
    np.testing.assert_array_equal(score, (repeats[0] + repeats[1]) / 2)


def test_zeros_keep_their_sign():
    class Zero(Recorder):
        def decision_function(self, X):
            return np.where(np.arange(len(X)) % 2, 0.0, -0.0)

    bags, y = indexed_bags(6)
    held = cross_predict(Zero(), bags, y, [(np.arange(2), np.arange(2, 6))])
    assert np.signbit(held.score[2:]).tolist() == [True, False] * 2


# ---------------------------------------------------------------- groups


@pytest.mark.parametrize("wrapped", [False, True])
def test_groups_stay_together_in_the_folds_inside_a_model(wrapped):
    bags, y = indexed_bags(48)
    groups = np.arange(48) // 2 % 12
    search = GridSearchCV(Recorder(), {"setting": [0, 1]}, cv=3)
    model = make_pipeline("passthrough", search) if wrapped else search
    splits = list(GroupKFold(4).split(y, y, groups))
    cross_predict(model, bags, y, splits, groups=groups, warm_up=np.arange(12))
    settings, n_inner = 2, 3
    fits_per_split = settings * n_inner + 1
    assert len(Recorder.fits) == 5 * fits_per_split
    for i, (train, _) in enumerate(splits, start=1):
        fits = [fitted for fitted, _ in Recorder.fits[i * fits_per_split : (i + 1) * fits_per_split]]
        for fitted in fits[:-1]:  # inner folds: the omitted bags have other groups
            assert not np.intersect1d(groups[fitted], groups[np.setdiff1d(train, fitted)]).size
            assert 0 < len(fitted) < len(train)
        assert sorted(fits[-1]) == sorted(train)


# ---------------------------------------------------------------- warm-up


def test_a_warm_up_comes_first_and_hides_its_errors_and_warnings():
    class Picky(Recorder):
        def fit(self, X, y):
            super().fit(X, y)
            warnings.warn("too few bags", stacklevel=1)
            if len(X) < 5:
                raise ValueError("too few bags")
            return self

    bags, y = indexed_bags(12)
    messages = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        held = cross_predict(
            Picky(), bags, y, SPLITS_OF_12, warm_up=np.arange(4), keep_models=True, begin=messages.append
        )
    assert messages == ["warming up", "fold 1 of 2", "fold 2 of 2"] and len(caught) == 2
    assert [len(fitted) for fitted, _ in Recorder.fits] == [4, 6, 6]
    assert len(held.models) == 2 and held.seconds.shape == (2, 4)
    with pytest.raises(ValueError, match="too few bags"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cross_predict(Picky(), bags, y, [(np.arange(4), np.arange(4, 12))], warm_up=np.arange(4))


SPLITS_OF_12 = [(np.arange(6), np.arange(6, 12)), (np.arange(6, 12), np.arange(6))]


# ---------------------------------------------------------------- Ctrl-C and checkpoints


class Interrupted(Recorder):
    """Recorder that sends itself SIGINT in its second fit, which still finishes."""

    def fit(self, X, y, **params):
        super().fit(X, y, **params)
        if len(Recorder.fits) == 2:
            signal.raise_signal(signal.SIGINT)
        return self


def test_ctrl_c_stops_after_the_current_fold(usual_handler):
    bags, y = indexed_bags(12)
    splits = list(StratifiedKFold(4).split(y, y))
    with pytest.raises(KeyboardInterrupt), interruptible():
        cross_predict(Interrupted(), bags, y, splits)
    assert len(Recorder.fits) == 2


def test_finished_folds_are_taken_from_a_checkpoint(tmp_path, usual_handler):
    bags, y = indexed_bags(12)
    splits = list(StratifiedKFold(4).split(y, y))
    path = tmp_path / "run"

    def run(model):
        with interruptible(), opened(path, lambda: {"model": "test"}) as checkpoint:
            return cross_predict(model, bags, y, splits, sample_weight=np.arange(12.0), checkpoint=checkpoint)

    with pytest.raises(KeyboardInterrupt):
        run(Interrupted())
    resumed = run(Recorder())
    # The first fold was stored; the second was interrupted, and is computed again.
    assert [sorted(fitted) for fitted, _ in Recorder.fits] == [sorted(splits[k][0]) for k in (0, 1, 1, 2, 3)]
    assert not path.exists()
    for (train, _), (_, params) in zip(splits[1:], Recorder.fits[2:], strict=True):
        assert params["sample_weight"].tolist() == train.tolist() and "checkpoint" in params
    assert [resumed.score[test[0]] - test[0] for _, test in splits] == [100.0, 300.0, 400.0, 500.0]
    assert resumed.is_right.all() and resumed.seconds.shape == (4, 4)


def test_without_a_checkpoint_fits_receive_no_checkpoint():
    bags, y = indexed_bags(12)
    cross_predict(Recorder(), bags, y, SPLITS_OF_12)
    assert [params for _, params in Recorder.fits] == [{}, {}]


def test_fits_have_separate_locations_in_the_checkpoint(tmp_path):
    model = MIMixture("gaussian_diag", n_init=2, random_state=0)
    with opened(tmp_path / "run", lambda: {"model": "test"}) as checkpoint:
        stored = cross_predict(model, DATA.bags, DATA.y, SPLITS, checkpoint=checkpoint)
    plain = cross_predict(model, DATA.bags, DATA.y, SPLITS)
    for method, values in plain.outputs.items():
        np.testing.assert_array_equal(stored.outputs[method], values)


# ---------------------------------------------------------------- log loss, and scores


def test_log_losses_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1.0, 1.0, 1.0], 30)
    proba[0] = [0.0, 1.0, 0.0]
    codes = rng.integers(0, 3, 30)
    codes[0] = 0
    assert -log_probability(proba, codes).mean() == pytest.approx(log_loss(codes, proba, labels=[0, 1, 2]))
    assert -log_probability(proba, codes, least=0.0).mean() == np.inf
    log_odds = np.log(proba[1:, 0] / (1 - proba[1:, 0]))
    sign = np.where(codes[1:] == 0, 1.0, -1.0)
    two = np.column_stack([proba[1:, 0], 1 - proba[1:, 0]])
    theirs = -log_probability(two, (codes[1:] != 0).astype(int))
    np.testing.assert_allclose(loss_of_margin(sign * log_odds), theirs)


def test_scores_of_a_fit_and_of_a_comparison_are_equal():
    held = cross_predict(of_statistics(LogisticRegression(max_iter=1000)), DATA.bags, DATA.y, SPLITS)
    scores = {score.name: score for score in score_held_out(held)}
    for name, scoring, sign in (
        ("accuracy", "accuracy", 1),
        ("auc", "roc_auc", 1),
        ("brier", "neg_brier_score", -1),
    ):
        value, *ends = score_with_interval(scoring, held)
        assert scores[name].value == sign * value
        assert sorted(sign * end for end in ends) == [scores[name].low, scores[name].high]
    assert scores["brier"].value == pytest.approx(brier_score_loss(DATA.y, held.probability))
    assert scores["recall_1"].value == held.is_right[DATA.y == 1].mean()
    assert score_with_interval("f1", held) is None
    labels = HeldOut(held.codes, held.classes, held.fold, {"predict": held.predicted})
    assert score_with_interval("neg_log_loss", labels) is None and labels.score is None
