"""Changes that must not affect results: order, container, other bags; weights instead of repeated bags."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter
from tests.fuzz import data
from tests.fuzz.consistency import all_predictions, check_predictions
from tests.fuzz.judging import Refused, asked, require, require_close

# Tolerances for predictions of one model: another order of additions changes them only by rounding errors,
# which are larger far from the origin.
_ROUNDING, _ROUNDING_OF_HOSTILE = 1e-7, 1e-4
# Tolerances for two fits that differ only by rounding errors.
_SOLVER, _SOLVER_OF_SCORES = 1e-3, 1e-2

# Parameters with which a fit may depend on the order of bags and instances, with the reason.
BY_INDEX = {
    "n_centers": "draws centers by index if there are fewer than instances",
    "max_instances": "draws instances by index if it is smaller than their number",
    "max_negatives": "draws negative instances by index if it is smaller than their number",
    "n_clusters": "k-means starts from rows that are drawn by index",
    "subsample": "draws rows by index",
    "n_prototypes": "draws prototypes by index",
    "prototypes": "the prototypes are bags, in their order",
    "cross_fit": "trees are grown on rows that are drawn by index",
}
# Estimators that may depend on the order, with the reason.
BY_ORDER = {
    "DissimilarityEmbedding": "its columns are the training bags, in their order",
    "APRClassifier": "selects the first of equally good instances",
    "FisherEmbedding": "the mixture starts from k-means, whose starts are drawn by index",
    "TreeEmbedding": "rounding decides between equally good splits",
}
# Weights with which rounding errors can be as large as the results.
EXTREME = ("tiny", "huge", "mixed", "absurd")
# Estimators for which weights are not equivalent to repetition, with the reason.
NOT_REPEATED = {"ClassPriorEstimator": "the number of folds depends on the number of bags, including copies"}
# Attributes that are selected by cross-validation: rounding decides between equally good values.
_CHOSEN = ("alpha_", "gamma_", "degree_", "best_params_")


def company(case, model, predictions) -> None:
    """Compare the predictions for a bag alone and together with other bags."""
    bags = case.bags()
    i = int(case.rng.integers(len(bags)))
    alone = all_predictions(model, bags[i : i + 1], None if case.y is None else case.y[i : i + 1])
    check_predictions(model, alone, case.kind)
    for name, value in predictions.items():
        begin, stop = bags.offsets[i : i + 2] if _is_of_instances(name, value, bags) else (i, i + 1)
        _compare(case, name, alone[name], value[begin:stop], value, "alone and with other bags")


def instance_order(case, model, predictions) -> None:
    """Compare the predictions of a fitted model for another order of the instances within bags."""
    bags, order = case.bags(), case.shuffled()
    again = all_predictions(model, bags.with_instances(bags.instances[order]), case.y)
    check_predictions(model, again, case.kind)
    for name, value in predictions.items():
        expected = value[order] if _is_of_instances(name, value, bags) else value
        _compare(case, name, again[name], expected, value, "other order of instances")


def container(case, model, predictions) -> None:
    """Compare fits to the same values in another container: identical bits, or up to rounding for CSR."""
    kind = str(case.rng.choice(data.CONTAINERS))
    X = None if case.wants_sequences else data.contain(case.drawn, kind, case.folder)
    if X is None:
        return
    case.relation += f" {kind}"
    again = clone(case.model)
    try:
        asked(case.fit, again, X, case.y, case.weight)
    except Refused as refused:
        fits_scaler = "scale" in vars(case.model) and hasattr(
            case.model.scale, "fit"
        )  # such scalers need all instances in memory
        may_refuse = (
            "csr" in kind + case.container
            or (kind == "scan" and (fits_scaler or not case.takes(kind)))
            or case.container == "scan"
        )
        require(may_refuse, f"refused in the container {kind}, accepted in {case.container}: {refused}")
        return
    actual = all_predictions(again, case.bags(kind), case.y)
    if "csr" in kind or "csr" in case.container:
        if getattr(model, "scale", None) is not None:
            return  # CSR instances are scaled without centering, dense ones with centering
        _compare_fits(case, model, again, actual, predictions, f"from {kind}")
        return
    for name, value in predictions.items():
        same = np.array_equal(actual[name], value, equal_nan=value.dtype.kind == "f")
        require(same, f"{name} of fits from {case.container} and {kind} differ")


def bag_order(case, model, predictions) -> None:
    """Compare fits with another order of the training bags."""
    if "cv" in case.model.get_params(deep=False):
        return  # the folds depend on the order
    order = case.rng.permutation(case.drawn.n_bags)
    weight = None if case.weight is None else case.weight[order]
    y = None if case.y is None else case.y[order]
    _refit(
        case, model, predictions, clone(case.model), (case.bags()[order], y, weight), "other order of bags"
    )


def shuffled_fit(case, model, predictions) -> None:
    """Compare fits with another order of the instances within the training bags."""
    bags = case.bags().with_instances(case.bags().instances[case.shuffled()])
    _refit(case, model, predictions, clone(case.model), (bags, case.y, case.weight), "shuffled instances")


def repetition(case, model, predictions) -> None:
    """Compare a fit with weights and a fit with repeated bags; bags of weight zero are left out."""
    parameters = case.model.get_params()
    if not has_fit_parameter(case.model, "sample_weight") or type(case.model).__name__ in NOT_REPEATED:
        return
    if "class_prior" in parameters and parameters["class_prior"] is None:
        return  # the prior is estimated with folds, whose number depends on the number of bags
    times = case.rng.integers(0, 3, size=case.drawn.n_bags)
    times[np.unique(case.codes, return_index=True)[1]] = 2
    if case.kind == "matrix":
        times = np.maximum(times, 1)
    repeated = np.repeat(np.arange(len(times)), times)
    weighted = _with_folds(case.model, np.arange(len(times)))
    asked(case.fit, weighted, case.bags(), case.y, times)
    predictions = asked(all_predictions, weighted, case.bags(), case.y)  # zero weights do not affect scaling
    twice = case.bags()[repeated], None if case.y is None else case.y[repeated], None
    _refit(case, weighted, predictions, _with_folds(case.model, repeated), twice, "weights and repetition")


ALL = {
    function.__name__: function
    for function in (company, instance_order, container, bag_order, shuffled_fit, repetition)
}


def _is_of_instances(name: str, value, bags) -> bool:
    return name.endswith("_instances") or (name == "transform" and len(value) != len(bags))


def _with_folds(estimator, indices: np.ndarray):
    """Return a clone whose folds keep the copies of a bag together; `indices` are the original ones."""
    again = clone(estimator)
    if "cv" in again.get_params(deep=False):
        fold = indices % 2
        again.set_params(cv=[(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(2)])
    return again


def _compare(case, name: str, actual, expected, whole, description: str) -> None:
    """Compare predictions of one fitted model, except labels, because the scores are compared.

    At a tie, rounding errors decide between two labels, so numeric labels need not be close.
    """
    if case.weights in EXTREME:
        return  # the rounding errors are as large as the coefficients
    if name in ("predict", "predict_instances") and case.kind != "continuous":
        return
    of_classes = name.startswith("decision_function") and np.ndim(whole) == 2  # discontinuous votes of pairs
    if np.asarray(expected).dtype.kind == "f" and np.isfinite(whole).all() and not of_classes:
        size = max(1.0, float(np.abs(whole).max(initial=0.0)))
        tolerance = _ROUNDING if case.drawn.tame else _ROUNDING_OF_HOSTILE
        require_close(actual, expected, tolerance, f"{name}, {description}", size=size)


def _refit(case, model, predictions, again, training: tuple, description: str) -> None:
    """Fit to equivalent training data, and compare."""
    if not comparable(case, model):
        return
    asked(case.fit, again, *training)
    _compare_fits(case, model, again, all_predictions(again, case.bags(), case.y), predictions, description)


def comparable(case, model) -> bool:
    """Return whether two fits that differ in rounding or in order must reach the same solution.

    This requires values of ordinary size, a solver that converged, and starts that do not depend on indices.
    """
    parameters = case.model.get_params()
    values = (parameters.get(name) for name in BY_INDEX if parameters.get(name) is not None)
    sampled = any(type(value) is not int or value < len(case.drawn.X) for value in values)
    sampled = sampled or bool(parameters.get("early_stopping"))  # bags are held out by index
    random = any(
        value == "random" or (key.endswith("n_init") and value != 1)
        for key, value in parameters.items()
        if isinstance(value, (str, int))
    )
    return (
        case.drawn.tame
        and type(model).__name__ not in BY_ORDER
        and case.weights not in EXTREME
        and (hasattr(model, "objective_") or "csr" not in case.container)  # otherwise rounding resolves ties
        and not any(isinstance(value, dict) for value in parameters.values())  # class weights
        and not (sampled or random or "n_clusters" in parameters)
        and _ended(model)
        and parameters.get("tol", 0.0) <= 1e-6
    )


def _ended(model) -> bool:
    return bool(getattr(model, "converged_", True)) and all(
        _ended(m) for m in getattr(model, "estimators_", ())
    )


def _compare_fits(case, model, other, actual: dict, expected: dict, description: str) -> None:
    """Compare two fits by their objectives or bag predictions; coefficients may differ in flat directions."""
    if not (comparable(case, model) and _ended(other)):
        return
    for name in _CHOSEN:
        if hasattr(model, name) and not np.array_equal(getattr(model, name), getattr(other, name)):
            return
    if hasattr(model, "objective_"):  # different models can have the same objective
        apart = abs(model.objective_ - other.objective_) / max(1.0, abs(model.objective_))
        require(apart <= _SOLVER, f"{description}: objectives {model.objective_!r} and {other.objective_!r}")
        return
    for name in ("predict_proba", "decision_function", "transform"):
        if name in expected:
            require_close(actual[name], expected[name], _SOLVER_OF_SCORES, f"{name}, {description}")
            return
