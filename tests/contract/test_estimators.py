"""scikit-learn's checks and our bag checks for all public estimators, which are discovered automatically."""

import logging
import pickle

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from tests.studies import marked, slow_marks

from bagwise import BagStatistics, make_noisy_or_bags
from bagwise.testing import all_estimators, bag_checks, check_bag_estimator, example_of

EXAMPLES = [example_of(cls) for cls in all_estimators()]


def _known_failures(estimator):
    return getattr(estimator, "_expected_failed_checks", {})


def _expected_failures(estimator):
    return {name: reason for name, reason in _known_failures(estimator).items() if name.startswith("check_")}


def _marks(estimator, name):
    reasons = _known_failures(estimator)
    fails = (pytest.mark.xfail(reason=reasons[name], strict=True),) if name in reasons else ()
    return (*fails, *slow_marks(estimator))


@pytest.mark.filterwarnings("ignore::bagwise.exceptions.PositiveClassWarning")
@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
@parametrize_with_checks(
    [each for each in EXAMPLES if not slow_marks(each)], expected_failed_checks=_expected_failures
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bagwise.exceptions.PositiveClassWarning")
@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
@parametrize_with_checks(
    [each for each in EXAMPLES if slow_marks(each)], expected_failed_checks=_expected_failures
)
def test_scikit_learn_check_of_slow_estimators(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{type(estimator).__name__}-{name}", marks=_marks(estimator, name))
        for estimator in EXAMPLES
        for name, check in bag_checks(estimator)
    ],
)
def test_bag_check(check):
    check()


def test_expected_failures_name_existing_checks_of_scikit_learn():
    unknown = {}
    for estimator in EXAMPLES:
        checks = [check for _, check in estimator_checks_generator(estimator, legacy=True)]
        names = {getattr(check, "func", check).__name__ for check in checks}
        unknown[type(estimator).__name__] = set(_expected_failures(estimator)) - names
    assert len(unknown) > 30
    assert not {name: misspelt for name, misspelt in unknown.items() if misspelt}


@pytest.mark.filterwarnings("ignore::bagwise.exceptions.ClassPriorWarning")
@pytest.mark.parametrize("estimator", marked(EXAMPLES))
def test_iterative_fits_log_progress_if_verbose(estimator, caplog):
    data = make_noisy_or_bags(40, random_state=0)
    with caplog.at_level(logging.INFO, logger="bagwise"):
        fitted = clone(estimator).fit(data.bags, data.y)
        assert not caplog.records
        if hasattr(fitted, "n_iter_"):
            clone(estimator).set_params(verbose=1).fit(data.bags, data.y)
            ends = [r.getMessage() for r in caplog.records if ": start 1 of" in r.getMessage()]
            assert ends and not any(": iteration " in r.getMessage() for r in caplog.records)
            caplog.clear()
            clone(estimator).set_params(verbose=2).fit(data.bags, data.y)
            lines = [r.getMessage() for r in caplog.records]
            assert set(ends) <= set(lines) and any(": iteration " in line for line in lines)


def test_a_misspelt_expected_failure_is_refused():
    class Misspelt(BagStatistics):
        _expected_failed_checks = {"bag_order_is_irelevant": "a reason"}

    with pytest.raises(
        ValueError, match="of Misspelt contains 'bag_order_is_irelevant'; expected names of bag checks"
    ):
        check_bag_estimator(Misspelt())


def test_an_expected_failure_must_fail():
    class Modest(BagStatistics):
        _expected_failed_checks = {"bag_order_is_irrelevant": "the check failed in an earlier version"}

    with pytest.raises(
        AssertionError, match=r"passes the bag check 'bag_order_is_irrelevant'.*remove the name"
    ):
        check_bag_estimator(Modest())


def test_an_expected_failure_is_forgiven():
    class Local(BagStatistics):
        """Cannot be pickled, because it is defined in a function."""

    with pytest.raises((AttributeError, pickle.PicklingError)) as caught:
        check_bag_estimator(Local())
    assert caught.value.__notes__ == ["in the bag check 'pickle_keeps_predictions' of Local"]

    class Declared(BagStatistics):
        _expected_failed_checks = {"pickle_keeps_predictions": "it is defined in a function"}

    check_bag_estimator(Declared())
