"""Warnings refer to the line of the user's code, also if the fit is nested."""

import io
import linecache
import pickle
import warnings

import joblib
import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import (
    MISVC,
    BagStatistics,
    MILogisticRegression,
    MILogisticRegressionCV,
    MIMixture,
    MultiLabelBagClassifier,
    OneVsOneBagClassifier,
    OnInstances,
    make_bag_pipeline,
    make_noisy_or_bags,
)
from bagwise.exceptions import ConvergenceWarning, PositiveClassWarning, VersionWarning
from bagwise.models.base import estimators

DATA = make_noisy_or_bags(40, size=(1, 4), random_state=0)
TEXT = np.where(DATA.y == 1, "yes", "no")


def places(category, action) -> set[str]:
    """Return the source lines that warnings of a category refer to while `action` runs."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    found = {(w.filename, w.lineno) for w in caught if issubclass(w.category, category)}
    return {linecache.getline(*place).strip() for place in found}


def short(**parameters):
    """A model that stops before it converges."""
    return MILogisticRegression(l1_ratio=0.0, max_iter=1, random_state=0, **parameters)


def scaled(model):
    return make_bag_pipeline(OnInstances(StandardScaler()), model)


FITS = {
    "a fit": lambda y: short().fit(DATA.bags, y),
    "a mixture": lambda y: MIMixture(max_iter=1, random_state=0).fit(DATA.bags, y),
    "an SVM": lambda y: MISVC(C=100.0, max_iter=1, tol=1e-12).fit(DATA.bags, y),
    "a pipeline": lambda y: scaled(short()).fit(DATA.bags, y),
    "a pipeline in a pipeline": lambda y: make_pipeline("passthrough", scaled(short())).fit(DATA.bags, y),
    "a search": lambda y: GridSearchCV(scaled(short()), {}, cv=2).fit(DATA.bags, y),
    "a cross-validation": lambda y: cross_val_score(short(), DATA.bags, y, cv=2),
    "a calibration": lambda y: CalibratedClassifierCV(short(), cv=2).fit(DATA.bags, y),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_a_fit_that_does_not_converge_is_reported_at_the_line_that_asked_for_it(fit):
    (place,) = places(ConvergenceWarning, lambda: fit(DATA.y))
    assert place.endswith((".fit(DATA.bags, y),", "cv=2),")), place


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_the_choice_of_the_positive_class_is_reported_at_the_line_that_asked_for_it(fit):
    (place,) = places(PositiveClassWarning, lambda: fit(TEXT))
    assert place.endswith((".fit(DATA.bags, y),", "cv=2),")), place


NESTED = {
    "one-vs-one": lambda: OneVsOneBagClassifier(short()).fit(DATA.bags, np.arange(40) % 3),
    "one-vs-rest": lambda: OneVsRestClassifier(short()).fit(DATA.bags, np.arange(40) % 3),
    "labels": lambda: MultiLabelBagClassifier(short()).fit(DATA.bags, np.eye(2, dtype=int)[DATA.y]),
    "folds": lambda: MILogisticRegressionCV(max_iter=1, cv=2, random_state=0).fit(DATA.bags, DATA.y),
}


@pytest.mark.parametrize("fit", NESTED.values(), ids=NESTED)
def test_a_fit_inside_a_fit_is_reported_at_the_line_of_the_outer_one(fit):
    (place,) = places(ConvergenceWarning, fit)
    assert ".fit(DATA.bags, " in place


def test_a_label_without_a_model_is_reported_at_the_fit():
    def act():
        MultiLabelBagClassifier(MILogisticRegression()).fit(DATA.bags, np.column_stack([DATA.y, DATA.y * 0]))

    (place,) = places(UserWarning, act)
    assert place.startswith("MultiLabelBagClassifier")


def test_a_pickle_of_another_version_is_reported_where_it_is_read(monkeypatch):
    model = BagStatistics().fit(DATA.bags)
    file = io.BytesIO()
    monkeypatch.setattr(estimators, "__version__", "0.0.1")
    old = pickle.dumps(model)
    joblib.dump(model, file)
    monkeypatch.undo()
    file.seek(0)
    assert places(VersionWarning, lambda: pickle.loads(old)) == {
        "assert places(VersionWarning, lambda: pickle.loads(old)) == {"
    }
    assert places(VersionWarning, lambda: joblib.load(file)) == {
        "assert places(VersionWarning, lambda: joblib.load(file)) == {"
    }


def test_a_warning_of_a_worker_is_given_all_the_same():
    def act():
        with joblib.parallel_backend("threading", n_jobs=2):
            OneVsOneBagClassifier(short(), n_jobs=2).fit(DATA.bags, np.arange(40) % 3)

    assert places(ConvergenceWarning, act)
