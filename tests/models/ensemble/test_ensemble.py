"""`BagEnsembleClassifier`: folds, groups, checkpoints, memory, files, classes, missing values."""

import logging
import pickle
from functools import partial

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

import bagwise
from bagwise import (
    BagEnsembleClassifier,
    Bags,
    PositiveClassWarning,
    can_use_absence,
    load_digit_bags,
    make_noisy_or_bags,
    set_kernel,
)
from bagwise.models.ensemble import families, kernel_part, training
from bagwise.models.ensemble.blend import blend, held_out_log_odds, sharpening
from bagwise.models.ensemble.families import FAMILIES, choose, estimate
from bagwise.models.ensemble.machines import PENALTIES, fit_machines
from bagwise.models.ensemble.prototypes import PrototypeView
from bagwise.models.ensemble.sets import self_kernels_of_widths, set_kernels_of_widths
from bagwise.models.ensemble.training import filled
from bagwise.models.ensemble.vectors import RankedExtremesView, StatisticsView
from bagwise.models.ensemble.views import Instances, TrainingGram
from bagwise.models.linear_model import MILogisticRegression
from bagwise.models.prototypes.points import Prototypes
from bagwise.testing import assumption_scores, check_assumption


@pytest.fixture(scope="module")
def data():
    return make_noisy_or_bags(60, size=(2, 6), coef=[2.0, -2.0, 0.0, 1.0], intercept=-1.5, random_state=7)


def small(**kwargs):
    return BagEnsembleClassifier(**{"cv": 3, "random_state": 0, **kwargs})


# ------------------------------------------------------------------ no leakage


def test_labels_of_held_out_bags_do_not_change_their_scores(data):
    y, weight = np.asarray(data.y).astype(int), np.ones(60)
    train, test = np.arange(40), np.arange(40, 60)
    splits = [(train, test)]
    gram = TrainingGram.of_all(set_kernel(data.bags), splits)
    other = y.copy()
    other[test] = 1 - other[test]
    held, mirrored = (fit_machines(gram, labels, weight, splits).held for labels in (y, other))
    np.testing.assert_array_equal(held[:, test], mirrored[:, test])
    assert np.isnan(held[:, train]).all() and held.shape == (len(PENALTIES), 60)


def test_better_settings_have_larger_weights():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    scores = np.array([y + noise * rng.normal(size=80) for noise in (0.5, 1.0, 2.0)] + [-y + 0.0])
    blended = blend(scores, y, np.ones(80))
    assert blended.weight.sum() == pytest.approx(1.0) and (np.diff(blended.weight[:3]) < 0).all()
    assert blended.slope[3] == 0.0 and blended.shift[3] == pytest.approx(0.0, abs=1e-12)  # reversed scores
    assert (np.diff(blended.log_likelihood[:3]) < 0).all()


def test_label_of_a_held_out_bag_does_not_change_its_log_odds():
    rng = np.random.default_rng(0)
    y, scores, weight = np.arange(40) % 2, rng.normal(size=(5, 40)), np.ones(40)
    splits = [(np.arange(20, 40), np.arange(20)), (np.arange(20), np.arange(20, 40))]
    other = np.where(np.arange(40) < 20, 1 - y, y)
    before, after = (held_out_log_odds(scores, labels, weight, splits) for labels in (y, other))
    np.testing.assert_array_equal(before[:20], after[:20])
    assert not np.allclose(before[20:], after[20:])


def test_folds_do_not_split_groups(data):
    # Every bag occurs twice, with random labels: only a model that has seen the twin can predict the label.
    rng = np.random.default_rng(0)
    groups, y = np.repeat(np.arange(30), 2), np.repeat(rng.permutation(np.arange(30) % 2), 2)
    bags = data.bags[groups]
    with_twin, without = small(cv=5).fit(bags, y), small(cv=5).fit(bags, y, groups=groups)
    accuracy = [model.inner_scores_[0]["accuracy"] for model in (with_twin, without)]
    assert accuracy[0] > 0.85 and accuracy[1] < 0.7
    torn = [(np.arange(0, 60, 2), np.arange(1, 60, 2))]
    with pytest.raises(ValueError, match="in both training and held-out data"):
        small(cv=torn).fit(bags, y, groups=groups)
    small(cv=GroupKFold(3)).fit(bags, y, groups=groups)


@pytest.mark.parametrize("name", FAMILIES)
def test_weights_are_repetitions_in_every_family(data, name):
    indices, weight = np.arange(60), np.arange(60) % 3
    repeated = np.repeat(indices, weight)

    def folds(of_bag):
        fold = of_bag // 3 % 2
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(2)]

    weighted = small(families=[name], cv=folds(indices)).fit(data.bags, data.y, sample_weight=weight)
    twice = small(families=[name], cv=folds(repeated)).fit(data.bags[repeated], data.y[repeated])
    np.testing.assert_allclose(
        weighted.decision_function(data.bags), twice.decision_function(data.bags), rtol=1e-4, atol=1e-4
    )


# ------------------------------------------------------------------ kernels of several widths


@pytest.mark.parametrize("most", [2**20, 40])
def test_kernels_of_several_widths_equal_separate_kernels(data, most, large_from):
    large_from(block_bytes=most)
    left, right = data.bags[:25], data.bags[25:]
    for columns in (None, right):
        for K, gamma in zip(set_kernels_of_widths(left, columns, 0.1, 3), (0.1, 0.4, 1.6), strict=True):
            np.testing.assert_allclose(K, set_kernel(left, columns, gamma=gamma), rtol=1e-9)
            assert columns is not None or (K == K.T).all()
            diagonal = self_kernels_of_widths(left, 0.1, 3)[round(np.log(gamma / 0.1) / np.log(4))]
            np.testing.assert_allclose(diagonal, set_kernel(left, gamma=gamma).diagonal(), rtol=1e-9)


# ------------------------------------------------------------------ checkpoints


@pytest.mark.slow
def test_resumed_fit_equals_an_uninterrupted_fit(data, tmp_path, monkeypatch):
    path, calls = tmp_path / "fit", []
    whole = small().fit(data.bags, data.y)

    def failing(*args):
        calls.append(1)
        if len(calls) == 20:
            raise RuntimeError("power cut")
        return fit_machines(*args)

    monkeypatch.setattr(kernel_part, "fit_machines", failing)
    with pytest.raises(RuntimeError, match="power cut"):
        small().fit(data.bags, data.y, checkpoint=path)
    assert path.exists()
    again = small().fit(data.bags, data.y, checkpoint=path)
    assert not path.exists()
    np.testing.assert_array_equal(again.decision_function(data.bags), whole.decision_function(data.bags))
    assert again.report_ == whole.report_
    # 19 of 54 matrices were computed before the crash; those of finished views are not computed again.
    assert len(calls) == 20 + 54 - 19
    small().fit(data.bags, data.y, checkpoint=path)
    with pytest.raises(RuntimeError):
        calls.clear()
        small().fit(data.bags, data.y, checkpoint=path)
    with pytest.raises(ValueError, match="belongs to a fit with groups"):
        small().fit(data.bags, data.y, groups=np.arange(60), checkpoint=path)


# ------------------------------------------------------------------ matrices that do not fit into memory


def test_named_families_whose_matrices_do_not_fit_are_rejected(data, monkeypatch):
    monkeypatch.setattr("bagwise.similarity.matrix_memory.available_memory", lambda: 1e3)
    with pytest.raises(MemoryError, match=r"the kernel matrix of .* bags needs"):
        BagEnsembleClassifier(["extremes"]).fit(data.bags, data.y)


def test_streaming_families_are_used_without_memory_for_matrices(data, monkeypatch):
    monkeypatch.setattr(families, "available_memory", lambda: 5e5)
    with pytest.warns(UserWarning, match=r"matrices of 60 bags take 0\.00075 GB, more than half"):
        model = small().fit(data.bags, data.y)
    assert [score["name"] for score in model.inner_scores_] == ["linear", "instances"]
    assert "families that stream the data instead of kernel families" in " ".join(model.report_.split())
    assert model.score(data.bags, data.y) > 0.75
    # Instance scores come from the logistic regressions on instances.
    score = model.decision_function_instances(data.bags)
    expected = MILogisticRegression("or", alpha=1.0, l1_ratio=0.0, random_state=0).fit(data.bags, data.y)
    assert np.corrcoef(score, expected.decision_function_instances(data.bags))[0, 1] > 0.95


def test_bags_in_files_are_streamed(data, tmp_path, large_from):
    bagwise.save_bags(tmp_path / "bags.parquet", data.bags)
    scan = bagwise.scan_bags(tmp_path / "bags.parquet")
    held = small().fit(scan, data.y)
    np.testing.assert_array_equal(
        held.decision_function(scan), small().fit(data.bags, data.y).decision_function(data.bags)
    )
    large_from(100)
    scan = bagwise.scan_bags(tmp_path / "bags.parquet")
    with pytest.warns(UserWarning, match="the instances are read from files"):
        streamed = small().fit(scan, data.y)
    expected = small(families=["linear", "instances"]).fit(data.bags, data.y)
    np.testing.assert_allclose(
        streamed.decision_function(data.bags), expected.decision_function(data.bags), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("family", ["extremes", "moments"])
def test_kernel_families_of_statistics_can_be_fitted_to_files(family, data, tmp_path, large_from):
    bagwise.save_bags(tmp_path / "bags.parquet", data.bags)
    expected = small(families=[family]).fit(data.bags, data.y).decision_function(data.bags)
    large_from(0)
    model = small(families=[family]).fit(bagwise.scan_bags(tmp_path / "bags.parquet"), data.y)
    (tmp_path / "bags.parquet").unlink()
    bagwise.save(model, tmp_path / "model.bagwise")
    for each in (model, bagwise.load(tmp_path / "model.bagwise")):
        np.testing.assert_allclose(each.decision_function(data.bags), expected, rtol=1e-6, atol=1e-6)


def test_families_that_need_all_instances_in_memory_refuse_files(data, tmp_path, large_from):
    bagwise.save_bags(tmp_path / "bags.parquet", data.bags)
    large_from(0)
    scan = bagwise.scan_bags(tmp_path / "bags.parquet")
    for family in ("sets", "distances", "prototypes", "ranks", "witnesses", "trees"):
        with pytest.raises(
            ValueError, match=rf"families contains '{family}', which needs all instances in memory"
        ):
            small(families=["linear", family]).fit(scan, data.y)


def test_families_are_chosen_by_size(monkeypatch):
    monkeypatch.setattr(families, "available_memory", lambda: 16e9)
    assert choose("default", 1000, 10_000, is_held=True).fitted == tuple(FAMILIES)[:6]
    many = choose("default", 1000, 200_000, is_held=True)
    assert many.fitted == ("extremes", "moments", "prototypes", "instances")
    assert "200,000 instances" in many.reason
    assert choose("default", 6000, 10_000, is_held=True).fitted == ("linear", "instances")
    dear, cheap = (
        estimate(choose("default", n, 10 * n, is_held=True), n, 10 * n, 100, 10) for n in (1000, 100)
    )
    assert dear.seconds > 10 * cheap.seconds and "on one core" in str(cheap)


# ------------------------------------------------------------------ log and report


def test_fit_reports_cost_and_progress(data, caplog):
    with caplog.at_level(logging.INFO, logger="bagwise"):
        small(verbose=1).fit(data.bags, data.y)
    lines = [record.getMessage() for record in caplog.records]
    assert "on one core and" in lines[0] and small().expected_cost(data.bags)[:5] == "about"
    assert "part 1 of 14" in lines[1] and "part 14 of 14" in lines[-1]


def test_report_contains_families_scores_and_weights(data):
    model = small().fit(data.bags, data.y)
    for score in model.inner_scores_:
        line = next(line for line in model.report_.splitlines() if line.startswith(score["name"]))
        assert line.split()[-2:] == [f"{score['log_loss']:.3f}", f"{score['accuracy']:.3f}"]
        assert score["best"] in line
    assert f"multiplied by {model.votes_[0].exponent:.2f}" in " ".join(model.report_.split())


def test_evidence_is_sharpened_but_class_frequency_is_not():
    """Two families use independent evidence: their evidence adds up, but their base log-odds do not."""
    rng = np.random.default_rng(0)
    base, n = -2.0, 200_000
    y = (rng.random(n) < expit(base)).astype(int)
    evidence = 2.0 * rng.normal(size=(2, n)) + np.where(
        y == 1, 2.0, -2.0
    )  # log densities of N(2, 4), N(-2, 4)
    together = np.mean(base + evidence, axis=0)
    sharpen = sharpening(together, y, np.ones(n), base)
    assert sharpen.exponent == pytest.approx(2.0, abs=0.03)
    np.testing.assert_allclose(sharpen(together), base + evidence.sum(axis=0), atol=0.3)
    line = LogisticRegression(C=1e6).fit(sharpen(together)[:, None], y)
    assert line.coef_[0, 0] == pytest.approx(1.0, abs=0.03)
    assert line.intercept_[0] == pytest.approx(0.0, abs=0.05)
    mirrored = sharpening(-together, 1 - y, np.ones(n), -base)
    np.testing.assert_allclose(mirrored, (-sharpen.base, sharpen.exponent), rtol=1e-6)


def test_folds_may_hold_out_a_single_class(data):
    positive = np.flatnonzero(data.y)
    folds = [(np.setdiff1d(np.arange(60), held), held) for held in (positive[:5], positive[5:9])]
    model = small(families=["extremes", "moments"], cv=folds).fit(data.bags, data.y)
    assert np.isfinite(model.decision_function(data.bags)).all()


def test_uninformative_bags_have_probabilities_near_the_class_frequency():
    rng = np.random.default_rng(0)
    bags, y = Bags(rng.normal(size=(300, 3)), np.arange(0, 301, 3)), (np.arange(100) % 5 == 0).astype(int)
    new = Bags(rng.normal(size=(300, 3)), np.arange(0, 301, 3))
    proba = small(families=["extremes", "moments"]).fit(bags, y).predict_proba(new)[:, 1]
    assert 0.1 < proba.mean() < 0.3 and proba.max() < 0.5


def test_uninformative_family_changes_few_predictions():
    """The labels depend on the minima; similarities to noise prototypes are uninformative."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1200, 20)), np.arange(60) % 2
    X[::20, 0] = np.where(y == 1, -9.0, -6.0)
    bags = Bags(X, np.arange(0, 1201, 20))
    alone, both = (small(families=names).fit(bags, y) for names in (["extremes"], ["extremes", "prototypes"]))
    agree = alone.predict(bags) == both.predict(bags)
    assert agree.mean() > 0.95 and alone.score(bags, y) > 0.9


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["forest"], "unknown name 'forest'; valid names are 'extremes'"),
        ([], "expected one or more of"),
        (["sets", "sets"], "without duplicates"),
    ],
)
def test_invalid_families_are_refused(data, names, message):
    with pytest.raises(ValueError, match=message):
        small(families=names).fit(data.bags, data.y)


# ------------------------------------------------------------------ the standard assumption


@pytest.mark.slow
def test_standard_ensemble_passes_the_test_of_its_assumption():
    standard = BagEnsembleClassifier(assumption="standard", cv=5, random_state=0)
    assert check_assumption(standard, n_bags=150).test_auc >= 0.85
    assert assumption_scores(small(cv=5), n_bags=150).test_auc < 0.1


def test_standard_vote_is_a_sum_of_models_that_respect_the_assumption(data):
    model = small(assumption="standard", cv=2).fit(data.bags, data.y)
    vote = model.votes_[0]
    pairs = (zip(part.factor, part.models, strict=True) for part in vote.parts)
    parts = [pair for part in pairs for pair in part]
    assert all(factor >= 0 and not can_use_absence(each) for factor, each in parts)
    assert {type(each).__name__ for _, each in parts} == {
        "MILogisticRegression",
        "MISVC",
        "MIGradientBoostingClassifier",
    }
    total = sum(factor * each.decision_function(data.bags) for factor, each in parts)
    expected = vote.exponent * (total + vote.constant)
    np.testing.assert_allclose(model.decision_function(data.bags), expected, rtol=1e-9)
    assert not can_use_absence(model) and can_use_absence(small())


def test_report_states_whether_absence_is_used(data):
    families = ["instances"]
    standard, default = (
        small(families=families, cv=2, assumption=assumption).fit(data.bags, data.y)
        for assumption in ("standard", None)
    )
    assert "never lowers its score" in " ".join(standard.report_.split())
    assert "because something is missing from it" in " ".join(default.report_.split())
    assert [score["n_settings"] for score in (*standard.inner_scores_, *default.inner_scores_)] == [2, 4]


def test_standard_families_are_chosen_by_size():
    def fitted(n_instances, is_held=True):
        return choose("default", 100, n_instances, is_held=is_held, assumption="standard").fitted

    assert fitted(8_000) == ("instances", "witnesses", "trees")
    assert fitted(8_001) == ("instances", "trees")
    assert fitted(100_001) == fitted(100, is_held=False) == ("instances",)


def test_direction_of_text_labels_has_the_smaller_held_out_loss(data):
    text = np.where(data.y == 1, "active", "inactive")
    with pytest.warns(PositiveClassWarning, match="positive='active'"):
        model = small(families=["instances"], assumption="standard", cv=3).fit(data.bags, text)
    named = small(families=["instances"], assumption="standard", cv=3, positive="active").fit(data.bags, text)
    np.testing.assert_array_equal(model.decision_function(data.bags), named.decision_function(data.bags))


def test_standard_assumption_refuses_other_families_and_several_classes(data):
    with pytest.raises(ValueError, match="contains 'sets', which does not respect assumption='standard'"):
        small(families=["trees", "sets"], assumption="standard").fit(data.bags, data.y)
    with pytest.raises(ValueError, match="classes"):
        small(assumption="standard").fit(data.bags, np.arange(60) % 3)


# ------------------------------------------------------------------ instances, classes, missing values


def test_instance_scores_are_scores_of_single_instance_bags(data):
    """For SVMs on means over pairs, the score of a bag is the mean of its instance scores."""
    model = small(families=["sets"]).fit(data.bags, data.y)
    vote = model.votes_[0]
    of_instances = model.decision_function_instances(data.bags)
    alone = Bags(data.bags.instances, np.arange(data.bags.n_instances + 1))
    total = np.zeros(data.bags.n_instances)
    for part in vote.parts:
        view = part.view.restored(vote.training.open())
        for K, coef in zip(view.cross_grams(alone, part.widths), part.instance_coef, strict=True):
            total += K @ coef
    expected = vote.exponent * (vote.instance_constant + total)
    np.testing.assert_allclose(of_instances, expected, rtol=1e-9, atol=1e-9)
    assert not hasattr(small(families=["extremes"]).fit(data.bags, data.y), "predict_instances")


def test_many_classes_are_fitted_in_pairs():
    digits = load_digit_bags(45, random_state=0)
    y = np.array(["a", "b", "c"])[(np.asarray(digits.y) + np.arange(45)) % 3]
    model = small(families=["extremes", "sets"]).fit(digits.bags, y)
    proba = model.predict_proba(digits.bags)
    assert len(model.votes_) == 3 and proba.shape == (45, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(digits.bags), model.classes_[proba.argmax(axis=1)])
    assert "'b' against 'a'" in model.report_
    # Pairwise log-odds of a distribution reproduce this distribution.
    p = np.array([0.2, 0.3, 0.5])
    log_odds = [np.log(p[[high]] / p[[low]]) for low, high in ((0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose(np.exp(model._of_classes(log_odds))[0], p, rtol=1e-12)


def test_missing_values_are_means(data):
    X = np.array(data.bags.instances)
    X[::7, 1] = np.nan
    with_gaps, filled = data.bags.with_instances(X), X.copy()
    filled[::7, 1] = np.nanmean(X[:, 1])
    model = small(families=["extremes"]).fit(with_gaps, data.y)
    other = small(families=["extremes"]).fit(data.bags.with_instances(filled), data.y)
    np.testing.assert_allclose(model.predict_proba(with_gaps), other.predict_proba(with_gaps), rtol=1e-9)


def test_n_jobs_does_not_change_the_fit(data):
    serial, parallel = (small(n_jobs=n, families=["sets"]).fit(data.bags, data.y) for n in (1, 2))
    np.testing.assert_array_equal(serial.decision_function(data.bags), parallel.decision_function(data.bags))


@pytest.mark.slow
def test_saved_ensemble_makes_the_same_predictions(data, tmp_path):
    model = small(families=list(FAMILIES), cv=2).fit(data.bags, data.y)
    bagwise.save(model, tmp_path / "auto.bagwise")
    again = bagwise.load(tmp_path / "auto.bagwise")
    np.testing.assert_array_equal(again.predict_proba(data.bags), model.predict_proba(data.bags))
    assert again.report_ == model.report_


# ------------------------------------------------------------------ folds do not use held-out bags


@pytest.mark.parametrize(
    "view",
    [
        StatisticsView(("min", "max"), "standard"),
        StatisticsView(("min", "max"), "rank"),
        RankedExtremesView(),
    ],
)
def test_folds_equal_fits_to_their_training_bags(data, view):
    weight = np.ones(60)
    train, test = np.arange(40), np.arange(40, 60)
    apart = view.fit(data.bags[train], weight[train], 0, [])
    expected = zip(
        apart.train_grams(weight[train], []), apart.cross_grams(data.bags[test], np.array([])), strict=True
    )
    whole = view.fit(data.bags, weight, 0, [(train, test)])
    for gram, (square, across) in zip(whole.train_grams(weight, [(train, test)]), expected, strict=True):
        np.testing.assert_allclose(gram.cut(0)[0], square.K, rtol=1e-12)
        np.testing.assert_allclose(gram.cut(0)[1], across.T, rtol=1e-12)


def test_prototypes_of_held_out_bags_are_not_used(data):
    splits = [(np.arange(40), np.arange(40, 60))]
    fitted = PrototypeView("standard").fit(data.bags, np.ones(60), 0, splits)
    apart = Prototypes(fitted.prototypes.points[fitted.holds[:40].any(axis=0)], fitted.prototypes.gamma)
    least = apart.least(fitted.instances.scaled(data.bags))
    for factor, gram in zip((0.25, 1.0, 4.0), fitted.train_grams(np.ones(60), splits), strict=True):
        V = np.exp(-factor * least)
        expected = V[:40] @ V[40:].T / len(fitted.prototypes.points)
        np.testing.assert_allclose(gram.cut(0)[1], expected, rtol=1e-9, atol=1e-12)


def test_features_that_vary_in_a_single_fold_are_left_out():
    X = np.zeros((12, 3))
    X[:, 0], X[1, 1], X[[1, 8], 2] = np.arange(12), 5.0, 7.0
    bags = Bags(X, np.arange(0, 13, 2))
    splits = [(np.arange(3, 6), np.arange(3)), (np.arange(3), np.arange(3, 6))]
    assert Instances.fit("standard", bags, np.ones(6), splits).features.tolist() == [0, 2]


# ------------------------------------------------------------------ storage


def simulated(n_bags, size, n_features, dtype):
    X = np.random.default_rng(0).normal(size=(n_bags * size, n_features)).astype(dtype)
    y = np.arange(n_bags) % 2
    X[::size][y == 1] += 1.0
    return Bags(X, np.arange(0, len(X) + 1, size)), y


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_bags", "size", "n_features", "dtype"),
    [
        (20, 20, 1024, np.float32),
        (20, 20, 1024, np.float64),
        (400, 5, 40, np.float64),
        (40, 60, 40, np.float32),
    ],
    ids=["wide", "wide, doubles", "small bags", "large bags"],
)
def test_a_model_takes_little_more_room_than_its_training_bags(tmp_path, n_bags, size, n_features, dtype):
    bags, y = simulated(n_bags, size, n_features, dtype)
    model = BagEnsembleClassifier(cv=2, random_state=0).fit(bags, y)
    path = bagwise.save(model, tmp_path / "model.bagwise")
    assert path.stat().st_size < 2.5 * bags.instances.nbytes
    assert len(pickle.dumps(model)) < 2.5 * bags.instances.nbytes
    np.testing.assert_array_equal(bagwise.load(path).decision_function(bags), model.decision_function(bags))


def test_pairs_of_classes_share_the_training_bags(data):
    y = np.array(["a", "b", "c"])[np.arange(60) % 3]
    model = small(families=["extremes"]).fit(data.bags, y)
    assert len({id(vote.training.bags) for vote in model.votes_}) == 1
    again = pickle.loads(pickle.dumps(model))
    assert len({id(vote.training.bags) for vote in again.votes_}) == 1


def test_predictions_do_not_change_if_the_training_array_changes(data):
    X = np.array(data.bags.instances)
    model = small(families=["extremes", "prototypes"]).fit(Bags(X, data.bags.offsets), data.y)
    expected = model.decision_function(data.bags)
    X[:] = 0.0
    np.testing.assert_array_equal(model.decision_function(data.bags), expected)


@pytest.mark.parametrize("family", ["extremes", "moments", "sets", "distances", "prototypes", "ranks"])
def test_predictions_from_stored_bags_equal_those_of_the_fitted_views(family, monkeypatch):
    """A fit that keeps everything it computed is the reference."""
    bags, y = simulated(24, 3, 4, np.float32)
    X = np.array(bags.instances)
    X[::7, 1] = np.nan
    bags, weight = Bags(X, bags.offsets), np.where(np.arange(24) % 3 == 0, 2.0, 1.0)
    model = BagEnsembleClassifier([family], cv=2, random_state=0).fit(bags, y, weight)
    actual = model.decision_function(bags)
    for view in (member.view for member in FAMILIES[family].members):
        cls = type(view)
        monkeypatch.setattr(cls, "compact", lambda self: self)
        monkeypatch.setattr(cls, "restored", lambda self, training: self)
        monkeypatch.setattr(cls, "with_coef", lambda self, coef: (self, coef))
    reference = BagEnsembleClassifier([family], cv=2, random_state=0).fit(bags, y, weight)
    compare = np.testing.assert_array_equal
    if family == "prototypes":  # the sum over training bags is computed once, in another order
        compare = partial(np.testing.assert_allclose, rtol=1e-10, atol=1e-10)
    compare(actual, reference.decision_function(bags))


def test_values_computed_from_training_bags_are_kept_for_later_predictions(data, monkeypatch):
    """They change no bit of predictions, and are not part of pickles."""
    model = small().fit(data.bags, data.y)
    size = len(pickle.dumps(model))
    first = model.predict_proba(data.bags)
    opened = []
    monkeypatch.setattr(training, "filled", lambda *args, filled=filled: opened.append(1) or filled(*args))
    np.testing.assert_array_equal(model.predict_proba(data.bags), first)
    np.testing.assert_allclose(model.predict_proba(data.bags[:1]), first[:1], rtol=1e-12)
    assert not opened
    assert len(pickle.dumps(model)) == size
    again = pickle.loads(pickle.dumps(model))
    monkeypatch.setattr(training, "_KEPT_VALUES", 0)
    for n_opened in (1, 2):
        np.testing.assert_array_equal(again.predict_proba(data.bags), first)
        assert len(opened) == n_opened
