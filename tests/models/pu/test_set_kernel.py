"""PUSetKernelClassifier and its cross-validated form: unusual input, centers, choice of parameters."""

import logging
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from bagwise import (
    Bags,
    DSDDClassifierCV,
    PUSetKernelClassifier,
    PUSetKernelClassifierCV,
    make_pu_scorer,
    minimax_kernel,
    pu_risk,
)
from bagwise.models.pu.features import choose_centers

# Most samples here are small, and the classes overlap or seem to.
pytestmark = pytest.mark.filterwarnings("ignore:negative bags seem:bagwise.exceptions.ClassPriorWarning")


def pu_bags(n_positive=30, n_unlabeled=90, prior=0.3, seed=0, n_features=4):
    """Return bags, labels and true labels; positive bags have an outlier, and some of them are labeled."""
    rng = np.random.default_rng(seed)
    truth = np.concatenate(
        [np.ones(n_positive), rng.permutation(np.arange(n_unlabeled) < prior * n_unlabeled)]
    )
    bags = []
    for positive in truth:
        X = rng.normal(size=(rng.integers(2, 6), n_features))
        X[0, :2] += 4.0 * positive
        bags.append(X)
    y = np.repeat([1, 0], [n_positive, n_unlabeled])
    return Bags.from_list(bags), y, truth.astype(int)


@pytest.mark.parametrize("loss", ["double_hinge", "squared", "logistic"])
@pytest.mark.parametrize("kernel", ["minimax", "mean", "set"])
def test_negatives_are_classified_without_negative_labels(loss, kernel):
    bags, y, truth = pu_bags(60, 240)
    model = PUSetKernelClassifier(kernel, degree=2, alpha=1e-3, loss=loss, class_prior=0.3)
    model.fit(bags[:180], y[:180])
    assert model.score(bags[180:], truth[180:]) > 0.85


def test_labels_true_and_1_are_equivalent_and_so_are_0_and_minus_1():
    bags, y, _ = pu_bags()
    model = PUSetKernelClassifier(class_prior=0.3)
    reference = model.fit(bags, y).decision_function(bags)
    for labels in (y == 1, 2 * y - 1):
        again = clone(model).fit(bags, labels)
        np.testing.assert_array_equal(again.decision_function(bags), reference)
        assert set(again.predict(bags)) <= set(labels.tolist())


def test_raw_int16_is_the_same_as_floats():
    bags, y, _ = pu_bags()
    narrow = bags.with_instances(np.round(bags.instances * 5000).astype(np.int16))
    wide = narrow.with_instances(narrow.instances.astype(float))
    for scale in ("minmax", None):
        model = PUSetKernelClassifier(degree=3, alpha=1e-3, class_prior=0.3, scale=scale)
        outputs = [clone(model).fit(b, y).decision_function(b) for b in (narrow, wide)]
        np.testing.assert_array_equal(*outputs)
        assert np.isfinite(outputs[0]).all()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(120), "only one class, 0.0: all bags are unlabeled. .* also needs positive bags"),
        (np.ones(120), "only one class, 1.0: all bags are positive. .* also needs unlabeled bags"),
        (np.arange(120) % 2 - 1, "-1 and 0, which both mean unlabeled"),
        (np.arange(120) % 3 - 1, "0 and -1 both mean unlabeled; pass y == 1"),
    ],
)
@pytest.mark.parametrize("cls", [PUSetKernelClassifier, PUSetKernelClassifierCV])
def test_labels_of_a_single_kind_are_refused(cls, labels, message):
    bags, _, _ = pu_bags()
    with pytest.raises(ValueError, match=message):
        cls().fit(bags, labels)


@pytest.mark.parametrize("prior", [0.0, 1.0, -0.1, 1.5, 1])
def test_a_prior_outside_the_open_interval_is_refused(prior):
    bags, y, _ = pu_bags()
    with pytest.raises(ValueError, match="'class_prior' parameter of PUSetKernelClassifier must be"):
        PUSetKernelClassifier(class_prior=prior).fit(bags, y)
    with pytest.raises(ValueError, match="class_prior must be between 0 and 1"):
        make_pu_scorer(prior)


def test_identical_bags_are_classified_by_the_prior():
    bags = [np.ones((3, 2))] * 12
    y = np.repeat([1, 0], 6)
    for prior, label in ((0.2, 0), (0.8, 1)):
        model = PUSetKernelClassifier(class_prior=prior).fit(bags, y)
        assert (model.predict(bags) == label).all()
        assert model.converged_


def test_probabilities_exist_with_the_logistic_loss_only():
    bags, y, _ = pu_bags()
    assert not hasattr(PUSetKernelClassifier(), "predict_proba")
    model = PUSetKernelClassifier(loss="logistic", class_prior=0.3).fit(bags, y)
    proba = model.predict_proba(bags)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(proba[:, 1] > 0.5, model.predict(bags) == 1)
    # At the optimal intercept, the mean probability of the unlabeled bags is the prior.
    assert proba[y == 0, 1].mean() == pytest.approx(0.3, abs=1e-4)


def test_a_callable_kernel_sees_scaled_bags():
    bags, y, _ = pu_bags()

    def kernel(rows, columns):
        assert rows.instances.min() >= -1e-12 and rows.instances.max() <= 1 + 1e-12
        return minimax_kernel(rows, columns, degree=2, gamma=1 / (2 * rows.n_features))

    ours = PUSetKernelClassifier(kernel, class_prior=0.3).fit(bags, y).decision_function(bags)
    named = PUSetKernelClassifier(degree=2, class_prior=0.3).fit(bags, y).decision_function(bags)
    np.testing.assert_allclose(ours, named, rtol=1e-6, atol=1e-6)
    with pytest.raises(ValueError, match="finite number for every pair of bags"):
        PUSetKernelClassifier(lambda a, b: np.zeros((2, 2)), class_prior=0.3).fit(bags, y)


@pytest.mark.parametrize("centers", ["random", "kmeans"])
def test_fewer_centers_do_nearly_as_well(centers):
    bags, y, truth = pu_bags(60, 240)
    model = PUSetKernelClassifier(
        degree=2, centers=centers, n_centers=20, class_prior=0.3, random_state=0
    ).fit(bags[:180], y[:180])
    assert model.coef_.shape == (1, 20)
    assert model.score(bags[180:], truth[180:]) > 0.9


def test_centers_may_be_bags():
    bags, y, _ = pu_bags()
    with_centers = PUSetKernelClassifier(centers=bags, class_prior=0.3).fit(bags, y).decision_function(bags)
    every = PUSetKernelClassifier(class_prior=0.3).fit(bags, y).decision_function(bags)
    np.testing.assert_allclose(with_centers, every, rtol=1e-10)
    others, _, _ = pu_bags(seed=5)
    model = PUSetKernelClassifier(centers=others[:7], class_prior=0.3).fit(bags, y)
    assert model.coef_.shape == (1, 7)
    np.testing.assert_array_equal(model.basis_.centers.instances, model._scaled(others[:7]).instances)


def test_kmeans_centers_of_equal_bags_are_fewer():
    bags = Bags.from_list([np.full((2, 3), k % 4) for k in range(40)])
    chosen = choose_centers("kmeans", 10, bags, "minimax", np.random.RandomState(0))
    assert len(chosen) == 4
    assert len(np.unique(bags.instances[bags.offsets[chosen], 0])) == 4


def test_all_centers_of_too_many_bags_are_refused():
    X = np.zeros((5001, 1))
    with pytest.raises(ValueError, match=r'more than 5,000 bags use centers="random" or centers="kmeans"'):
        PUSetKernelClassifier(class_prior=0.3).fit(X, np.arange(5001) % 2)


def test_rows_on_demand_give_the_same_solution(monkeypatch):
    bags, y, _ = pu_bags()
    dense = PUSetKernelClassifier(degree=2, class_prior=0.3).fit(bags, y)
    monkeypatch.setattr("bagwise.models.pu.features._DENSE_BYTES", 8 * 90 * 20)
    cached = PUSetKernelClassifier(degree=2, class_prior=0.3).fit(bags, y)
    assert cached.objective_ == pytest.approx(dense.objective_, rel=1e-8)


def test_cross_validated_risks_equal_those_of_a_grid_search():
    bags, y, _ = pu_bags()
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    splits = list(folds.split(y, y))
    model = PUSetKernelClassifierCV(
        degrees=(1, 2), alphas=(1e-1, 1e-3), class_prior=0.3, cv=splits, scale=None
    ).fit(bags, y)
    search = GridSearchCV(
        PUSetKernelClassifier(class_prior=0.3, scale=None),
        {"degree": [1, 2], "alpha": [1e-1, 1e-3]},
        scoring=make_pu_scorer(0.3),
        cv=splits,
    ).fit(bags, y)
    table = {
        (p["degree"], p["alpha"]): -score
        for p, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
    }
    ours = {
        (degree, alpha): model.risks_[i, j].mean()
        for i, degree in enumerate((1, 2))
        for j, alpha in enumerate((1e-1, 1e-3))
    }
    assert ours == pytest.approx(table, abs=1e-12)
    assert (model.degree_, model.alpha_) == min(ours, key=lambda key: (round(ours[key], 12), key[0], -key[1]))
    refitted = PUSetKernelClassifier(
        degree=model.degree_, alpha=model.alpha_, class_prior=0.3, scale=None
    ).fit(bags, y)
    np.testing.assert_allclose(model.decision_function(bags), refitted.decision_function(bags), rtol=1e-8)


@pytest.mark.parametrize(
    ("model", "first"),
    [
        (PUSetKernelClassifierCV(degrees=(1, 2), alphas=(1.0, 0.1), class_prior=0.3, cv=3), "degree 1"),
        (DSDDClassifierCV(gammas=(0.5, 2.0), alphas=(1.0, 0.1), cv=3), "gamma 0.5"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_verbose_reports_the_risk_of_every_fold(model, first, caplog):
    bags, y, _ = pu_bags(12, 24)
    with caplog.at_level(logging.INFO, logger="bagwise"):
        model.set_params(verbose=1).fit(bags, y)
    folds = [record.getMessage() for record in caplog.records if " fold " in record.getMessage()]
    assert len(folds) == 6
    assert re.fullmatch(rf"{type(model).__name__}: {first}, fold 1 of 3: -?\d\S* -?\d\S*", folds[0])


def test_label_accuracy_selects_a_model_without_positive_predictions():
    """Searches need make_pu_scorer, because accuracy favors models that predict no positive bags."""
    bags, y, truth = pu_bags(20, 180, prior=0.5)
    grid = {"alpha": [10.0, 1e-3], "class_prior": [0.05, 0.5]}
    kept = dict(cv=StratifiedKFold(5, shuffle=True, random_state=0))
    naive = GridSearchCV(PUSetKernelClassifier(degree=2), grid, **kept).fit(bags, y)
    aware = GridSearchCV(PUSetKernelClassifier(degree=2), grid, scoring=make_pu_scorer(0.5), **kept).fit(
        bags, y
    )
    unlabeled = y == 0
    assert naive.predict(bags)[unlabeled & (truth == 1)].mean() < 0.2
    assert aware.predict(bags)[unlabeled & (truth == 1)].mean() > 0.8
    assert naive.best_score_ > 0.85  # although the score is high


def test_the_cross_validated_prior_is_estimated_once():
    bags, y, _ = pu_bags(60, 180)
    model = PUSetKernelClassifierCV(random_state=0, degrees=(1, 2), alphas=(1e-3,)).fit(bags, y)
    assert model.class_prior_ == pytest.approx(0.3, abs=0.12)
    held = pu_risk(y, model.decision_function(bags), class_prior=model.class_prior_)
    assert held < model.class_prior_


@pytest.mark.parametrize("wrong", [{"degrees": []}, {"degrees": (0, 1)}, {"alphas": (0.0,)}])
def test_an_empty_or_impossible_grid_is_refused(wrong):
    bags, y, _ = pu_bags()
    with pytest.raises(ValueError, match=r"degrees must be .* integers >= 1|alphas must be .* values > 0"):
        PUSetKernelClassifierCV(**wrong).fit(bags, y)


def test_a_single_positive_bag_cannot_be_cross_validated():
    bags, y, _ = pu_bags(1, 10)
    with pytest.raises(ValueError, match="at least two positive and two unlabeled bags"):
        PUSetKernelClassifierCV(class_prior=0.3).fit(bags, y)
