"""Every public estimator, found automatically: scikit-learn's checks and our bag checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from bagwise.testing import all_estimators, bag_checks, example_of

EXAMPLES = [example_of(cls) for cls in all_estimators()]


def _expected_failures(estimator):
    known = getattr(estimator, "_expected_failed_checks", {})
    return {name: reason for name, reason in known.items() if name.startswith("check_")}


@pytest.mark.filterwarnings("ignore::bagwise.exceptions.PositiveClassWarning")
@parametrize_with_checks(EXAMPLES, expected_failed_checks=_expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{type(estimator).__name__}-{name}")
        for estimator in EXAMPLES
        for name, check in bag_checks(estimator)
    ],
)
def test_bag_check(check):
    check()
