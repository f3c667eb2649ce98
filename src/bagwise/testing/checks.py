"""Checks that every bag estimator must pass, in addition to scikit-learn's checks.

Each check is a function of an estimator clone and training data. If the check fails, it raises an
AssertionError or the error of the estimator.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from bagwise.data.bags import Bags
from bagwise.datasets import make_noisy_or_bags
from bagwise.exceptions import PositiveClassWarning
from bagwise.models.base import BagClassifier, is_as_probable, is_positive

# The results of two fits that differ in rounding agree only up to the tolerance of the solver.
_SOLVER = 1e-4
_EXACT = 0.0


def bag_checks(estimator: BaseEstimator) -> Iterator[tuple[str, Callable[[], None]]]:
    """List the checks that apply to an estimator, as (name, function without arguments).

    Parameters
    ----------
    estimator : bag estimator
        A classifier, a regressor, or a transformer of bags into bags or vectors. The checks fit clones of it.

    Yields
    ------
    name : str
    check : callable
        Raises an error if the check fails.

    Notes
    -----
    A class can list checks that it fails in ``_expected_failed_checks``, a dictionary of names and reasons.
    These checks are included in the result. Mark them with ``pytest.mark.xfail(strict=True)``, so that the
    test reports checks that pass again.

    Examples
    --------
    In a test file, use ``pytest.mark.parametrize`` with ``list(bag_checks(MyEstimator()))``.

    >>> from bagwise import MILogisticRegression
    >>> from bagwise.testing import bag_checks
    >>> dict(bag_checks(MILogisticRegression())).keys() >= {"instance_order_is_irrelevant"}
    True
    """
    checks = {check.__name__.removeprefix("check_"): check for check in _applicable(estimator)}
    for name in _expected_failures(estimator):
        if name not in checks:
            raise ValueError(
                f"_expected_failed_checks of {type(estimator).__name__} contains {name!r}; expected names of "
                f"bag checks that apply to it: {', '.join(checks)}."
            )
    for name, check in checks.items():
        yield name, _bind(check, estimator)


def check_bag_estimator(estimator: BaseEstimator) -> None:
    """Run all bag checks on an estimator, and raise the error of the first check that fails.

    Checks in ``_expected_failed_checks`` of the class must fail.

    Examples
    --------
    >>> from bagwise import BagStatistics
    >>> from bagwise.testing import check_bag_estimator
    >>> check_bag_estimator(BagStatistics())
    """
    expected = _expected_failures(estimator)
    for name, check in bag_checks(estimator):
        try:
            check()
        except Exception as error:
            if name in expected:
                continue
            error.add_note(f"in the bag check {name!r} of {type(estimator).__name__}")
            raise
        if name in expected:
            raise AssertionError(
                f"{type(estimator).__name__} passes the bag check {name!r}, which is listed in "
                "_expected_failed_checks; remove the name."
            )


def _expected_failures(estimator: Any) -> dict[str, str]:
    """Return names and reasons of expected failures of bag checks, without scikit-learn's ("check_...")."""
    failures = getattr(estimator, "_expected_failed_checks", {})
    return {name: reason for name, reason in failures.items() if not name.startswith("check_")}


def _bind(check: Any, estimator: Any) -> Any:
    def run() -> Any:
        data = make_noisy_or_bags(48, size=(2, 6), coef=[2.0, -2.0, 0.0, 1.0], intercept=-1.5, random_state=7)
        y = data.y
        if is_regressor(estimator):
            y = np.add.reduceat(data.bags.instances[:, 0], data.bags.offsets[:-1])
        check(clone(estimator), data.bags, y)

    return run


def _applicable(estimator: Any) -> list[Callable[..., Any]]:
    checks = [
        check_containers_agree,
        check_instance_order_is_irrelevant,
        check_bag_order_is_irrelevant,
        check_slice_is_like_a_copy,
        check_matrix_is_bags_of_one,
        check_integers_and_float32_are_read,
        check_giant_bag_among_singletons,
        check_two_fits_agree,
        check_threads_change_nothing,
        check_pickle_keeps_predictions,
        check_data_is_left_alone,
        check_empty_bag_is_refused,
        check_missing_values_are_refused_by_bag,
        check_other_number_of_features_is_refused,
        check_ragged_widths_are_refused,
    ]
    if get_tags(estimator).input_tags.allow_nan:
        checks.remove(check_missing_values_are_refused_by_bag)
    if has_fit_parameter(estimator, "sample_weight"):
        checks += [check_weight_is_repetition, check_instance_weights_are_refused]
    if is_classifier(estimator) or is_regressor(estimator):
        checks.append(check_wrong_number_of_labels_is_refused)
    if is_classifier(estimator):
        checks += [
            check_one_class_is_refused,
            check_instance_predictions_fit_the_bags,
            check_a_tie_is_positive,
        ]
        if not get_tags(estimator).classifier_tags.multi_class:
            checks.append(check_text_labels_do_not_depend_on_the_alphabet)
    if "max_iter" in estimator.get_params():
        checks.append(check_objective_never_rises)
    return checks


def _assert_close(actual: Any, expected: Any, tolerance: float) -> None:
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def _output(estimator: Any, bags: Any) -> np.ndarray:
    """Return the most detailed output of the estimator for bags, with one row per bag or instance."""
    for method in ("predict_proba", "decision_function", "transform", "predict"):
        if hasattr(estimator, method):
            out = getattr(estimator, method)(bags)
            return np.asarray(out.instances if isinstance(out, Bags) else out)
    raise AssertionError(f"{type(estimator).__name__} has neither predict nor transform")


def _with_folds(estimator: Any, indices: np.ndarray) -> Any:
    """Return a clone whose cross-validation, if any, uses the same folds for any order and copies of bags.

    `indices` contains the index of each bag. Each group of three consecutive indices is in one of three
    folds.
    """
    again = clone(estimator)
    if "cv" in again.get_params():
        fold = indices // 3 % 3  # groups of three, because weights in the checks are indices modulo three
        again.set_params(cv=[(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)])
    return again


def _shuffle_instances(bags: Bags, rng: Any) -> tuple[Bags, np.ndarray]:
    order = np.lexsort((rng.random(bags.n_instances), bags.bag_index))
    return bags.with_instances(bags.instances[order]), order


def check_containers_agree(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that bags, a list, an object array and a 3-D array of equal values lead to identical fits."""
    reference = _output(clone(estimator).fit(bags, y), bags)
    as_list = [np.array(bag) for bag in bags]
    as_objects = np.empty(len(as_list), dtype=object)
    as_objects[:] = as_list
    for other in (as_list, as_objects):
        out = _output(clone(estimator).fit(other, y), other)
        _assert_close(out, reference, _EXACT)
    cube = np.stack([bag[:2] for bag in as_list])
    from_cube = _output(clone(estimator).fit(cube, y), cube)
    from_bags = _output(clone(estimator).fit(Bags.from_list(list(cube)), y), Bags.from_list(cube))
    _assert_close(from_cube, from_bags, _EXACT)


def check_instance_order_is_irrelevant(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that shuffling the instances inside the bags changes only the rounding."""
    shuffled, order = _shuffle_instances(bags, np.random.default_rng(0))
    estimator.fit(bags, y)
    reference = _output(estimator, bags)
    if hasattr(estimator, "transform") and isinstance(estimator.transform(bags), Bags):
        reference = reference[order]
    np.testing.assert_allclose(_output(estimator, shuffled), reference, rtol=1e-9, atol=1e-12)
    refitted = clone(estimator).fit(shuffled, y)
    _assert_close(_output(refitted, shuffled), reference, _SOLVER)


def check_bag_order_is_irrelevant(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that shuffling the training bags changes only the rounding."""
    order = np.random.default_rng(0).permutation(len(bags))
    reference = _output(_with_folds(estimator, np.arange(len(y))).fit(bags, y), bags)
    shuffled = _output(_with_folds(estimator, order).fit(bags[order], y[order]), bags)
    _assert_close(shuffled, reference, _SOLVER)


def check_slice_is_like_a_copy(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that predictions for a slice, which is a view with shifted offsets, equal those for a copy."""
    estimator.fit(bags, y)
    part = bags[10:20]
    copied = Bags.from_list([np.array(bag) for bag in part])
    _assert_close(_output(estimator, part), _output(estimator, copied), _EXACT)


def check_matrix_is_bags_of_one(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that a plain matrix is handled as bags of one instance each."""
    X = np.array([bag[0] for bag in bags])
    as_bags = Bags(X, np.arange(len(X) + 1))
    from_matrix = _output(clone(estimator).fit(X, y), X)
    from_bags = _output(clone(estimator).fit(as_bags, y), as_bags)
    _assert_close(from_matrix, from_bags, _EXACT)


def check_integers_and_float32_are_read(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that small integers do not overflow, and that integers and float32 are handled like float64."""
    integers = np.round(bags.instances * 200)  # the squares overflow int16
    for dtype, tolerance in ((np.int16, _EXACT), (np.float32, 1e-2)):
        narrow = bags.with_instances(integers.astype(dtype))
        wide = bags.with_instances(narrow.instances.astype(np.float64))
        out = _output(clone(estimator).fit(narrow, y), narrow)
        reference = _output(clone(estimator).fit(wide, y), wide)
        scale = max(1.0, float(np.abs(reference).max()))
        _assert_close(out / scale, reference / scale, tolerance)


def check_giant_bag_among_singletons(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that predictions are finite for one bag with thousands of instances among bags of one."""
    rng = np.random.default_rng(0)
    giant = rng.normal(size=(3000, bags.n_features))
    uneven = Bags.from_list([giant, *(bag[:1] for bag in bags)])
    labels = np.append(1, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = _output(estimator.fit(uneven, labels), uneven)
    assert np.isfinite(out).all(), "predictions are not finite"


def check_two_fits_agree(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that two fits with the same random_state are bit-identical."""
    first = _output(clone(estimator).fit(bags, y), bags)
    second = _output(clone(estimator).fit(bags, y), bags)
    if estimator.get_params().get("random_state", 0) is not None:
        _assert_close(first, second, _EXACT)
    else:
        _assert_close(first, second, _SOLVER)


def check_threads_change_nothing(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that the number of BLAS threads changes predictions by at most 1e-10."""
    outputs = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            outputs.append(_output(clone(estimator).fit(bags, y), bags))
    _assert_close(outputs[0], outputs[1], 1e-10)


def check_pickle_keeps_predictions(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that a fitted estimator makes the same predictions after pickling and unpickling."""
    estimator.fit(bags, y)
    again = pickle.loads(pickle.dumps(estimator))
    _assert_close(_output(again, bags), _output(estimator, bags), _EXACT)


def check_data_is_left_alone(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that fitting and predicting do not modify writable arrays and labels."""
    arrays = [np.array(bag) for bag in bags]
    before, labels = [a.copy() for a in arrays], y.copy()
    _output(estimator.fit(arrays, y), arrays)
    for a, b in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(y, labels)


def check_weight_is_repetition(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that weight two is equivalent to repeating a bag, and weight zero to removing it."""
    weight = np.arange(len(y)) % 3
    repeated = np.repeat(np.arange(len(y)), weight)
    weighted = _with_folds(estimator, np.arange(len(y))).fit(bags, y, sample_weight=weight)
    twice = _with_folds(estimator, repeated).fit(bags[repeated], y[repeated])
    _assert_close(_output(weighted, bags), _output(twice, bags), _SOLVER)


def check_text_labels_do_not_depend_on_the_alphabet(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check the parameter `positive`, and that without it, predictions do not depend on class names.

    Outputs have the order of ``classes_`` in both cases. A model that compares both directions issues one
    warning.
    """
    reference, rule = clone(estimator).fit(bags, y), getattr(estimator, "_text_labels", "last")
    predictions = []
    for positive, negative in (("yes", "no"), ("active", "inactive")):
        text = np.where(y == 1, positive, negative)
        if "positive" in estimator.get_params(deep=False):
            named = clone(estimator).set_params(positive=positive)
            about = _positive_warnings(lambda model=named, labels=text: model.fit(bags, labels))
            assert not about, f"expected no PositiveClassWarning with positive={positive!r}, got {about}"
            assert named.positive_label_ == positive and sorted(named.classes_) == sorted(
                {positive, negative}
            )
            _check_same_outputs(named, reference, bags, positive)
        plain = clone(estimator)
        if rule == "refuse":
            _refuses(lambda model=plain, labels=text: model.fit(bags, labels), f"positive={positive!r}")
            continue
        about = _positive_warnings(lambda model=plain, labels=text: model.fit(bags, labels))
        assert len(about) == (rule == "compare"), f"expected one PositiveClassWarning, got {about}"
        assert all(f"positive={plain.positive_label_!r}" in message for message in about), about
        labels = plain.predict(bags)
        assert set(labels) <= {positive, negative}
        predictions.append(labels == positive)
    if rule == "compare":
        np.testing.assert_array_equal(*predictions)


def _positive_warnings(call: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in caught if issubclass(w.category, PositiveClassWarning)]


def _check_same_outputs(named: Any, reference: Any, bags: Bags, positive: Any) -> None:
    """Check that fits to text labels and to labels 0 and 1 have the same outputs, in their class orders."""
    column = named.classes_.tolist().index(positive)
    for level in ("", "_instances"):
        if hasattr(reference, f"predict{level}"):
            labels = getattr(named, f"predict{level}")(bags)
            np.testing.assert_array_equal(
                labels == positive, getattr(reference, f"predict{level}")(bags) == 1
            )
        for method in (f"predict_proba{level}", f"predict_log_proba{level}"):
            if hasattr(reference, method):
                table, expected = getattr(named, method)(bags), getattr(reference, method)(bags)
                np.testing.assert_array_equal(table[:, column], expected[:, 1])
        if hasattr(reference, f"decision_function{level}"):
            score = getattr(named, f"decision_function{level}")(bags)
            expected = getattr(reference, f"decision_function{level}")(bags)
            np.testing.assert_array_equal(score if column == 1 else -score, expected)


def check_instance_predictions_fit_the_bags(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that instance-level methods return one row per instance and agree, also with the rule."""
    estimator.fit(bags, y)
    n = bags.n_instances
    if hasattr(estimator, "predict_instances"):
        labels = estimator.predict_instances(bags)
        assert labels.shape == (n,) and np.isin(labels, estimator.classes_).all()
    if hasattr(estimator, "predict_proba_instances"):
        proba = estimator.predict_proba_instances(bags)
        assert proba.shape == (n, 2) and (proba >= 0).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_array_equal(labels == estimator.classes_[1], proba[:, 1] >= proba[:, 0])
    if hasattr(estimator, "decision_function_instances"):
        score = estimator.decision_function_instances(bags)
        assert score.shape == (n,)
        np.testing.assert_array_equal(labels == estimator.classes_[1], score >= 0)
    if hasattr(estimator, "rule_") and hasattr(estimator, "predict_proba_instances"):
        with np.errstate(divide="ignore"):
            log_odds = np.log(proba[:, 1]) - np.log(proba[:, 0])
        expected = np.exp(estimator.rule_.log_proba(log_odds, bags.offsets))
        np.testing.assert_allclose(estimator.predict_proba(bags), expected, rtol=1e-7, atol=1e-12)
    if hasattr(estimator, "posterior_instances"):
        posterior = estimator.posterior_instances(bags, y)
        assert posterior.shape == (n,) and ((posterior >= 0) & (posterior <= 1)).all()


def check_a_tie_is_positive(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that the positive class is predicted if and only if its score is >= 0 or its probability >= 1/2.

    These bags do not necessarily contain a tie. Therefore, the methods that convert scores and probabilities
    of a `BagClassifier` to labels are also tested directly with a tie.
    """
    estimator.fit(bags, y)
    positive = estimator.classes_[1]
    for level in ("", "_instances"):
        if not hasattr(estimator, f"predict{level}"):
            continue
        labels = getattr(estimator, f"predict{level}")(bags)
        if hasattr(estimator, f"decision_function{level}"):
            score = getattr(estimator, f"decision_function{level}")(bags)
            np.testing.assert_array_equal(labels == positive, is_positive(score))
        if hasattr(estimator, f"predict_proba{level}"):
            proba = getattr(estimator, f"predict_proba{level}")(bags)
            np.testing.assert_array_equal(labels == positive, is_as_probable(proba[:, 1], proba[:, 0]))
    if isinstance(estimator, BagClassifier):
        assert estimator._labels_of(np.zeros(1)) == positive, "a score of zero is predicted as negative"
        even = np.full((1, 2), 0.5)
        assert estimator._more_probable(even) == positive, "a probability of 1/2 is predicted as negative"


def check_objective_never_rises(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that `objective_history_` rises by at most 1e-9 (relative) and ends at `objective_`."""
    estimator.fit(bags, y)
    history = np.asarray(estimator.objective_history_)
    slack = 1e-9 * np.maximum(1.0, np.abs(history[:-1]))
    # An optimal start, such as the last model of a path, needs no step, although scikit-learn requires
    # n_iter_ >= 1.
    assert len(history) > 1 or estimator.n_iter_ <= 1, "objective_history_ has no steps"
    assert (np.diff(history) <= slack).all(), f"the objective increases: {history}"
    np.testing.assert_allclose(history[-1], estimator.objective_, rtol=1e-9)
    np.testing.assert_allclose(min(estimator.objectives_), estimator.objective_, rtol=1e-12)


def _refuses(call: Any, *texts: str) -> None:
    try:
        call()
    except (ValueError, TypeError) as error:
        absent = [word for word in texts if word not in str(error)]
        assert not absent, f"the message should mention {absent}: {error}"
    else:
        raise AssertionError(f"no error was raised; expected an error that mentions {texts}")


def check_empty_bag_is_refused(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that an empty bag raises an error with the index of the bag."""
    arrays = list(bags)
    arrays[2] = arrays[2][:0]
    _refuses(lambda: estimator.fit(arrays, y), "bag 2 is empty")


def check_missing_values_are_refused_by_bag(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that NaN and infinity raise an error with the bag, instance and feature."""
    for value, name in ((np.nan, "NaN"), (np.inf, "infinity")):
        X = np.array(bags.instances)
        X[bags.offsets[3] + 1, 2] = value
        broken = bags.with_instances(X)
        _refuses(lambda b=broken: clone(estimator).fit(b, y), name, "bag 3, instance 1, feature 2")
    fitted = clone(estimator).fit(bags, y)
    _refuses(lambda: _output(fitted, broken), "infinity", "bag 3")


def check_other_number_of_features_is_refused(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that predicting with a different number of features raises an error with both counts."""
    estimator.fit(bags, y)
    narrow = bags.with_instances(bags.instances[:, :-1])
    d = bags.n_features
    _refuses(lambda: _output(estimator, narrow), f"X has {d - 1} features", f"expecting {d}")


def check_ragged_widths_are_refused(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that bags with different numbers of features raise an error with the index of the bag."""
    arrays = list(bags)
    arrays[1] = arrays[1][:, :-1]
    _refuses(lambda: estimator.fit(arrays, y), "bag 1 has", "features but bag 0 has")


def check_wrong_number_of_labels_is_refused(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that a wrong number of labels raises an error, with a hint for matrices with bag labels."""
    _refuses(lambda: estimator.fit(bags, y[:-1]), f"X has {len(y)} bags", f"{len(y) - 1} labels")
    flat = np.array(bags.instances)
    _refuses(
        lambda: estimator.fit(flat, y),
        f"X has {len(flat)} rows but y has {len(y)} labels; did you mean Bags.from_groups(X, bag_ids)?",
    )


def check_one_class_is_refused(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that labels of a single class raise an error; some models accept only positive labels."""
    _refuses(lambda: estimator.fit(bags, np.zeros_like(y)), "one class")
    _refuses(lambda: estimator.fit(bags, np.full(len(y), "only")), "one class")
    if not getattr(estimator, "_learns_from_positives_only", False):
        _refuses(lambda: estimator.fit(bags, np.ones_like(y)), "one class")


def check_instance_weights_are_refused(estimator: Any, bags: Bags, y: np.ndarray) -> Any:
    """Check that weights with one value per instance raise an error, because weights are per bag."""
    flat = np.ones(bags.n_instances)
    _refuses(lambda: estimator.fit(bags, y, sample_weight=flat), "sample_weight", "per bag")
