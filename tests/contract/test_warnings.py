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


def warned_lines(category, action) -> set[str]:
    """Return the source lines that warnings of a category refer to while `action` runs."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    locations = {(w.filename, w.lineno) for w in caught if issubclass(w.category, category)}
    return {linecache.getline(*location).strip() for location in locations}


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
def test_a_convergence_warning_refers_to_the_line_of_the_fit(fit):
    (line,) = warned_lines(ConvergenceWarning, lambda: fit(DATA.y))
    assert line.endswith((".fit(DATA.bags, y),", "cv=2),")), line


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_a_positive_class_warning_refers_to_the_line_of_the_fit(fit):
    (line,) = warned_lines(PositiveClassWarning, lambda: fit(TEXT))
    assert line.endswith((".fit(DATA.bags, y),", "cv=2),")), line


NESTED = {
    "one-vs-one": lambda: OneVsOneBagClassifier(short()).fit(DATA.bags, np.arange(40) % 3),
    "one-vs-rest": lambda: OneVsRestClassifier(short()).fit(DATA.bags, np.arange(40) % 3),
    "labels": lambda: MultiLabelBagClassifier(short()).fit(DATA.bags, np.eye(2, dtype=int)[DATA.y]),
    "folds": lambda: MILogisticRegressionCV(max_iter=1, cv=2, random_state=0).fit(DATA.bags, DATA.y),
}


@pytest.mark.parametrize("fit", NESTED.values(), ids=NESTED)
def test_a_warning_of_a_nested_fit_refers_to_the_outer_fit(fit):
    (line,) = warned_lines(ConvergenceWarning, fit)
    assert ".fit(DATA.bags, " in line


def test_a_warning_of_a_label_without_a_model_refers_to_the_fit():
    def act():
        MultiLabelBagClassifier(MILogisticRegression()).fit(DATA.bags, np.column_stack([DATA.y, DATA.y * 0]))

    (line,) = warned_lines(UserWarning, act)
    assert line.startswith("MultiLabelBagClassifier")


def test_a_version_warning_refers_to_the_line_that_loads(monkeypatch):
    model = BagStatistics().fit(DATA.bags)
    file = io.BytesIO()
    monkeypatch.setattr(estimators, "__version__", "0.0.1")
    old = pickle.dumps(model)
    joblib.dump(model, file)
    monkeypatch.undo()
    file.seek(0)
    assert warned_lines(VersionWarning, lambda: pickle.loads(old)) == {
        "assert warned_lines(VersionWarning, lambda: pickle.loads(old)) == {"
    }
    assert warned_lines(VersionWarning, lambda: joblib.load(file)) == {
        "assert warned_lines(VersionWarning, lambda: joblib.load(file)) == {"
    }


def test_warnings_of_workers_are_shown():
    def act():
        with joblib.parallel_backend("threading", n_jobs=2):
            OneVsOneBagClassifier(short(), n_jobs=2).fit(DATA.bags, np.arange(40) % 3)

    assert warned_lines(ConvergenceWarning, act)
