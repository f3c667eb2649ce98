"""Common mistakes: warnings and errors that state what to do instead."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import (
    Bags,
    BagStatistics,
    MILogisticRegression,
    MissSVC,
    OnInstances,
    SetKernelSVC,
    instance_frame,
    make_noisy_or_bags,
    predict_frame,
)
from bagwise.exceptions import PositiveClassWarning

DATA = make_noisy_or_bags(40, size=(2, 5), random_state=0)
TEXT = np.where(DATA.y == 1, "yes", "no")


def plain():
    return MILogisticRegression(n_init=1, random_state=0)


def fitted():
    return plain().fit(DATA.bags, DATA.y)


def messages(action, category=Warning) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [str(w.message) for w in caught if issubclass(w.category, category)]


# ------------------------------------------------------------ text labels: one warning per search

SEARCHES = {
    "cross-validation": lambda: cross_val_score(plain(), DATA.bags, TEXT, cv=5),
    "search": lambda: GridSearchCV(plain(), {"alpha": [0.1, 1.0]}, cv=3).fit(DATA.bags, TEXT),
    "search of pipelines": lambda: GridSearchCV(make_pipeline(plain()), {}, cv=3).fit(DATA.bags, TEXT),
    "calibration": lambda: CalibratedClassifierCV(plain(), cv=3).fit(DATA.bags, TEXT),
    "a fit": lambda: plain().fit(DATA.bags, TEXT),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_warns_once_about_the_positive_class(name):
    for _ in range(2):  # the next search warns again
        assert len(messages(SEARCHES[name], PositiveClassWarning)) == 1


def test_every_fit_in_a_loop_warns():
    def loop():
        for _ in range(3):
            plain().fit(DATA.bags, TEXT)

    assert len(messages(loop, PositiveClassWarning)) == 3


# ------------------------------------------------------------ a matrix instead of a bag

SLIDE = np.random.default_rng(0).normal(size=(400, 3))


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, sp.csr_array, lambda X: X.tolist()])
@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_instances", "decision_function"])
def test_a_matrix_as_bags_is_warned_about(make, method):
    model = fitted()
    with pytest.warns(UserWarning, match=r"400 bags of one instance, .* for one bag of 400 .* pass \[X\]"):
        answer = getattr(model, method)(make(SLIDE))
    assert len(answer) == 400
    assert messages(lambda: getattr(model, method)([SLIDE])) == []


def test_a_matrix_is_warned_about_once_also_after_pickling():
    model = pickle.loads(pickle.dumps(fitted()))
    assert len(messages(lambda: model.score(SLIDE, np.zeros(400, dtype=int)))) == 1
    assert len(messages(lambda: predict_frame(model, SLIDE))) == 1
    assert len(messages(lambda: instance_frame(model, SLIDE))) == 1
    pipeline = make_pipeline(BagStatistics(), LogisticRegression()).fit(DATA.bags, DATA.y)
    assert len(messages(lambda: predict_frame(pipeline, SLIDE))) == 1
    scaled = make_pipeline(OnInstances(StandardScaler()), plain()).fit(DATA.bags, DATA.y)
    assert len(messages(lambda: scaled.predict(SLIDE))) == 1


def test_large_matrices_are_warned_about_too(large_from):
    large_from(0)
    model = fitted()
    assert len(messages(lambda: model.predict(SLIDE))) == 1


def test_intended_bags_of_one_instance_are_not_warned_about():
    model = fitted()
    calm = [
        lambda: model.predict(Bags(SLIDE, np.arange(401))),
        lambda: model.predict(SLIDE[:1]),
        lambda: model.predict(SLIDE[:, None]),
        lambda: plain().fit(SLIDE, np.arange(400) % 2).predict(SLIDE),
        lambda: OnInstances(StandardScaler()).fit(DATA.bags).transform(SLIDE),
    ]
    for action in calm:
        assert messages(action) == []


# ------------------------------------------------------------ error messages


@pytest.mark.parametrize("model", [plain(), MissSVC()])
def test_numbers_for_labels(model):
    with pytest.raises(ValueError, match=r"continuous, .*BagStatistics\(\) .*any regressor.*y > threshold"):
        model.fit(DATA.bags, np.linspace(0.0, 1.0, 40))


def test_several_labels_to_a_model_of_one():
    Y = np.column_stack([DATA.y, 1 - DATA.y, DATA.y])
    for y in (Y, pd.DataFrame(Y), sp.csr_array(Y), Y.tolist()):
        with pytest.raises(ValueError, match=r"y has 3 columns.* MultiLabelBagClassifier"):
            plain().fit(DATA.bags, y)


@pytest.mark.parametrize("nothing", [[], ()])
def test_no_bags(nothing):
    model = fitted()
    for call in (model.predict, model.predict_instances, lambda X: predict_frame(model, X)):
        with pytest.raises(ValueError, match=r"X is an empty list; expected at least one bag, such as \[X\]"):
            call(nothing)


def test_a_bare_transformer_of_matrices_in_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), plain())
    with pytest.raises(
        TypeError, match=r"wrap a transformer that expects a matrix: OnInstances\(StandardScaler\(\)\)"
    ):
        pipeline.fit(DATA.bags, DATA.y)


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_sparse_bags_for_a_model_of_dense_ones_that_are_moved(scale):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), np.arange(12) % 2
    model = SetKernelSVC(scale=scale).fit(X, y)
    with pytest.raises(ValueError, match=r"X is sparse, but SetKernelSVC was fitted to dense instances, and"):
        model.predict(sp.csr_array(X))
    sparse = SetKernelSVC(scale=scale).fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(sparse.predict(sp.csr_array(X)), sparse.predict(X))
