"""Code that all estimators share: labels, weights, scaling, the base classes."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bagwise import (
    MISVC,
    Bags,
    BayesianKNNClassifier,
    DiverseDensity,
    LSDDClassifier,
    MILogisticRegression,
    MissSVC,
    OneVsOneBagClassifier,
    make_noisy_or_bags,
)
from bagwise.models.base import (
    BagClassifier,
    BagRegressor,
    InstanceScoreClassifier,
    ScoreClassifier,
    bag_weights,
    classifiers,
)
from bagwise.models.multilabel.label_matrix import LabelMatrixClassifier
from bagwise.testing import all_estimators, bag_checks, check_bag_estimator, example_of

DATA = make_noisy_or_bags(30, size=(1, 4), random_state=0)
THIRDS = np.arange(30) % 3
BAGS = Bags(np.arange(10.0)[:, None], [0, 2, 5, 10], ids=["a", "b", "c"])


def test_weights_are_ones_by_default_and_a_copy_otherwise():
    np.testing.assert_array_equal(bag_weights(BAGS), np.ones(3))
    original = np.array([1.0, 2.0, 0.0])
    weight = bag_weights(BAGS, original)
    weight *= 2
    np.testing.assert_array_equal(original, [1.0, 2.0, 0.0])
    assert bag_weights(BAGS, [1, 2, 3]).dtype == np.float64


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(10), "has 10 values, one per instance, but there are 3 bags; weights are per bag"),
        (np.ones(4), r"has the shape \(4,\), but there are 3 bags"),
        (2.0, r"has the shape \(\), but there are 3 bags"),
        (np.ones((3, 1)), r"has the shape \(3, 1\), but there are 3 bags"),
        ([1.0, -2.0, 1.0], "is -2 for bag 'b'; weights must be >= 0"),
        ([0.0, 0.0, 0.0], "is zero for every bag"),
        ([1.0, np.nan, 1.0], "sample_weight contains NaN"),
    ],
)
def test_invalid_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        bag_weights(BAGS, weight)


FITS_WITHOUT_A_CLASS = {
    "two classes": lambda: MISVC().fit(DATA.bags, DATA.y, sample_weight=DATA.y),
    "a class weight": lambda: MILogisticRegression(class_weight={0: 0.0}).fit(DATA.bags, DATA.y),
    "pairs": lambda: OneVsOneBagClassifier(MISVC()).fit(DATA.bags, THIRDS, sample_weight=THIRDS),
    "SVMs of pairs": lambda: MissSVC().fit(DATA.bags, THIRDS, sample_weight=THIRDS),
}


@pytest.mark.parametrize("fit", FITS_WITHOUT_A_CLASS.values(), ids=FITS_WITHOUT_A_CLASS)
def test_a_class_without_weight_is_refused_by_name(fit):
    with pytest.raises(ValueError, match=r"bags of the class 0 have weight zero .*; \w+ needs bags of all"):
        fit()


class Widest(InstanceScoreClassifier):
    """Classifier that scores an instance by its first feature; `fit` only reads the labels."""

    def fit(self, X, y):
        self._read_training(X, y)
        return self

    def _instance_scores(self, bags):
        return bags.instances[:, 0]


def test_a_bag_has_the_largest_score_of_its_instances_and_zero_is_positive():
    X = [[[-1.0], [2.0]], [[-3.0]], [[-1.0], [0.0]]]
    model = Widest().fit(X, [7, 5, 5])
    assert model.decision_function(X).tolist() == [2.0, -3.0, 0.0]
    assert model.predict(X).tolist() == [7, 5, 7]
    assert model.decision_function_instances(X).tolist() == [-1.0, 2.0, -3.0, -1.0, 0.0]
    assert model.predict_instances(X).tolist() == [5, 7, 5, 5, 7]


@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_instances"])
def test_predictions_before_a_fit_raise_not_fitted_error(method):
    with pytest.raises(NotFittedError, match="Widest instance is not fitted"):
        getattr(Widest(), method)([[[1.0]]])


class Counter(ScoreClassifier):
    """Classifier with scores for three classes, computed from the size of the bag."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self._read(X, reset=True)
        return self

    def _bag_scores(self, bags):
        return -np.abs(bags.sizes[:, None] - [1, 2, 3])


def test_the_class_with_the_largest_score_is_predicted():
    X = [np.zeros((size, 1)) for size in (2, 1, 3)]
    model = Counter().fit(X, ["a", "b", "c"])
    assert model.decision_function(X).shape == (3, 3)
    assert model.predict(X).tolist() == ["b", "a", "c"]


SCORERS = [cls for cls in all_estimators() if issubclass(cls, ScoreClassifier)]


@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
@pytest.mark.parametrize("cls", SCORERS, ids=lambda cls: cls.__name__)
def test_classifiers_decide_by_is_positive_or_is_as_probable(cls, monkeypatch):
    data = make_noisy_or_bags(30, size=(1, 4), random_state=0)
    model = example_of(cls).fit(data.bags, data.y)
    methods = [name for name in ("predict", "predict_instances") if hasattr(model, name)]
    before = [getattr(model, name)(data.bags) for name in methods]
    monkeypatch.setattr(classifiers, "is_positive", lambda scores: scores < 0)
    monkeypatch.setattr(classifiers, "is_as_probable", lambda positive, negative: positive < negative)
    for name, labels in zip(methods, before, strict=True):
        np.testing.assert_array_equal(getattr(model, name)(data.bags), 1 - labels)


def test_binary_single_label_classifiers_predict_from_scores():
    of_one_label = {cls for cls in all_estimators() if issubclass(cls, BagClassifier)}
    of_two_classes = {cls for cls in of_one_label if not issubclass(cls, LabelMatrixClassifier)}
    # With many classes, the most probable one is predicted.
    assert of_two_classes - {BayesianKNNClassifier} == set(SCORERS)


@pytest.mark.parametrize("scale", ["standard", "minmax", None, StandardScaler()])
@pytest.mark.parametrize("cls", [MISVC, DiverseDensity, LSDDClassifier])
def test_instances_are_scaled_by_the_fitted_scaler(cls, scale):
    data = make_noisy_or_bags(30, size=(1, 4), random_state=0)
    model = cls(scale=scale, random_state=0).fit(data.bags, data.y)
    scaled = model._scaled(data.bags.with_instances(data.bags.instances.astype(np.float32)))
    X = data.bags.instances if scale is None else model.scaler_.transform(data.bags.instances)
    assert scaled.instances.dtype == np.float64
    np.testing.assert_allclose(scaled.instances, X, rtol=1e-5, atol=1e-6)


class MeanRidge(BagRegressor):
    """A minimal regressor: ridge regression on the means of bags."""

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, X, y, sample_weight=None):
        bags, y, weight = self._read_training(X, y, sample_weight)
        Z = self._means(bags)
        center, self.intercept_ = weight @ Z / weight.sum(), weight @ y / weight.sum()
        Z = Z - center
        penalty = self.alpha * np.eye(Z.shape[1])
        self.coef_ = np.linalg.solve((weight[:, None] * Z).T @ Z + penalty, Z.T @ (weight * y))
        self.intercept_ -= center @ self.coef_
        return self

    def _means(self, bags):
        sums = np.add.reduceat(bags.instances, bags.offsets[:-1], axis=0, dtype=np.float64)
        return sums / bags.sizes[:, None]

    def _bag_values(self, bags):
        return self._means(bags) @ self.coef_ + self.intercept_

    @property
    def _accepts_sparse(self):
        return False


@parametrize_with_checks([MeanRidge()])
def test_a_regressor_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_a_regressor_passes_the_bag_checks():
    check_bag_estimator(MeanRidge())
    assert "wrong_number_of_labels_is_refused" in dict(bag_checks(MeanRidge()))


def test_a_regressor_predicts_targets_and_is_scored_by_r2():
    data = make_noisy_or_bags(60, size=(1, 5), random_state=0)
    y = np.add.reduceat(data.bags.instances[:, 0], data.bags.offsets[:-1]) / data.bags.sizes
    assert cross_val_score(MeanRidge(alpha=1e-9), data.bags, y, cv=3).min() > 0.999
    as_objects = MeanRidge().fit(data.bags, y.astype(object))
    np.testing.assert_array_equal(as_objects.coef_, MeanRidge().fit(data.bags, y).coef_)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "MeanRidge requires y to be passed"),
        ([1.0, 2.0], "X has 3 bags but y has 2 labels; pass one label per bag"),
        (["1.0", "2.0", "3.0"], "y has the value '1.0'; MeanRidge needs a numeric target for every bag"),
        (np.array([1.0, "2.0", 3.0], dtype=object), "y has the value '2.0'; MeanRidge needs a numeric"),
        (np.array(["2020-01-01"] * 3, dtype="M8[D]"), "MeanRidge needs a numeric target for every bag"),
        ([1.0, np.inf, 2.0], "y contains infinity"),
        ([1.0, np.nan, 2.0], "y contains NaN"),
    ],
)
def test_invalid_targets_are_refused_by_a_regressor(y, message):
    with pytest.raises(ValueError, match=message):
        MeanRidge().fit(BAGS, y)


def test_bags_of_weight_zero_are_left_out_of_a_regression():
    y = np.array([1.0, 2.0, 100.0])
    weighted = MeanRidge().fit(BAGS, y, sample_weight=[1, 2, 0])
    np.testing.assert_allclose(weighted.coef_, MeanRidge().fit(BAGS[[0, 1, 1]], y[[0, 1, 1]]).coef_)
