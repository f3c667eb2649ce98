"""Markers for long tests: `slow` for slow estimators, `study` for most cases of long parametrized tests."""

from collections.abc import Iterable
from typing import Any

import pytest

# The contract checks of these estimators take seconds; only `make test-all` runs them.
SLOW = {
    "BagEnsembleClassifier",
    "DSDDClassifierCV",
    "LSDDClassifierCV",
    "MILogisticRegressionCV",
    "MultiLabelBagClassifier",
    "OneVsOneBagClassifier",
    "PUSetKernelClassifier",
    "PUSetKernelClassifierCV",
    "SoftORLogisticRegression",
}


def slow_marks(estimator: Any) -> tuple[pytest.MarkDecorator, ...]:
    """Return the marks of a test of an estimator."""
    return (pytest.mark.slow,) if type(estimator).__name__ in SLOW else ()


def marked(estimators: Iterable[Any]) -> list[Any]:
    """Return estimators as parameters of a test, with their names and marks."""
    return [pytest.param(each, id=type(each).__name__, marks=slow_marks(each)) for each in estimators]


def always(kept: Iterable[Any], cases: Iterable[Any]) -> list[Any]:
    """Return all cases of a test; mark those that are not in `kept` as studies (`make test-studies`)."""
    kept, cases = list(kept), list(cases)
    assert all(case in cases for case in kept), "kept contains a value that is not in cases"
    return [case if case in kept else pytest.param(case, marks=pytest.mark.study) for case in cases]
