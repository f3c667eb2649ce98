"""`explain_bag`: the instances and features that explain the prediction for a bag."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.special import logit

from bagwise.data.bags import Bags, aligned, index_of, is_scan
from bagwise.data.bags.parts import as_python
from bagwise.evaluation.explanations.explanation import BagExplanation, FeatureEffect
from bagwise.evaluation.plotting.one_bag import note_if_equal
from bagwise.evaluation.prediction_frames import group_columns, read_bags
from bagwise.models.wrappers.instance_level import (
    bag_predictions,
    instance_model,
    instance_predictions,
    of_positive,
    positive_column,
    posterior_of_instances,
    refuse_several_labels,
)

_LEAST_EFFECT = 1e-9  # relative to the largest effect; smaller effects are rounding errors
_MOST_COORDINATES = 3  # columns with more values per instance are not listed
_MOST_VALUES = 2**22  # values that are scored at once


def explain_bag(
    model: Any,
    bags: Any,
    id: Any = None,
    *,
    y: ArrayLike | None = None,
    by: str | None = None,
    n_instances: int = 10,
    n_features: int = 5,
    n_leading: int = 3,
) -> BagExplanation:
    """Explain the prediction of a model for one bag by its instances and their features.

    The result lists the most positive instances. For each of them, it contains the probability (or score),
    the posterior (the probability given the label of the bag) and the bag's probability if the instance were
    removed. For the first few instances, it also lists the most important features, with the change in the
    instance's log-odds (or score) compared with a reference value, the median of the feature over `bags`. In
    a linear model, this change is the coefficient times the difference of the values. In other models, and
    if features depend on each other, the changes may not add up.

    Parameters
    ----------
    model : fitted estimator
        A model with instance-level predictions, or a meta-estimator around one; see `instance_frame`.
    bags : Bags, ScannedBags, or any input that `fit` accepts
        Bags that include the bag to explain. The reference values are computed from all of them, or
        from the first 1000 bags of a scan.
    id : optional
        Id of the bag, or its text representation. Not needed if there is only one bag.
    y : array of shape (n_bags,), optional
        Labels of the bags. Without labels, the posterior assumes that the bag is positive.
    by : str, optional
        Name of an instance column, such as "slide" after `Bags.merge`. The explanation then also lists the
        groups of instances with the same value, with the probability that each contains a positive instance.
    n_instances : int, default=10
        Number of instances to list, the most positive first.
    n_features : int, default=5
        Number of features to list per instance.
    n_leading : int, default=3
        Number of instances for which features are listed.

    Returns
    -------
    BagExplanation
        ``print(explanation)`` shows tables, and ``explanation.plot()`` draws a figure.

    Notes
    -----
    The cost is the prediction of `n_instances` copies of the bag and, for each of the `n_leading` instances,
    the prediction of one instance per feature.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, explain_bag, make_noisy_or_bags
    >>> data = make_noisy_or_bags(100, size=(2, 6), random_state=0)
    >>> model = MILogisticRegression(random_state=0).fit(data.bags, data.y)
    >>> explanation = explain_bag(model, data.bags, 7)
    >>> list(explanation.columns)
    ['instance', 'probability', 'posterior', 'without']
    """
    refuse_several_labels(model, "explain_bag")
    if min(n_instances, n_features + 1, n_leading + 1) < 1:
        raise ValueError("n_instances must be >= 1, and n_features and n_leading must be >= 0.")
    index, bag, usual = _find(model, bags, id)
    label = None if y is None else as_python(np.asarray(aligned("y", y, bags))[index])
    kind, values = instance_predictions(model, bag)
    kind_of_bag, of_bag = _of_bags(model, bag)
    classes = np.asarray(model.classes_)
    column, positive = None, as_python(classes[positive_column(model)])
    if values.ndim == 2:  # one score per class: use the predicted class
        positive = as_python(model.predict(bag)[0])
        column = classes.tolist().index(positive)
        values, of_bag = values[:, column], of_bag[:, column]
    order = np.argsort(-values, kind="stable")[:n_instances]
    columns: dict[str, np.ndarray] = {"instance": order}
    for name, side in bag.instance_columns.items():
        if side.ndim == 1:
            columns[name] = side[order]
        elif side.ndim == 2 and side.shape[1] <= _MOST_COORDINATES:
            columns |= {f"{name}_{axis}": part[order] for axis, part in enumerate(side.T)}
    columns[kind] = values[order]
    label_of_bag = np.array([positive if label is None else label])
    if column is None and hasattr(instance_model(model), "posterior_instances"):
        columns["posterior"] = posterior_of_instances(model, bag, label_of_bag)[order]
    groups = {} if by is None else _groups(model, bag, label_of_bag, by)
    columns["without"] = _without(model, bag, order, column)
    leading = [
        (int(row), _effects(model, bag, int(row), usual, column, n_features)) for row in order[:n_leading]
    ]
    return BagExplanation(
        bag=as_python(bag.ids[0]),
        model=type(model).__name__,
        positive=positive,
        label=label,
        kind=kind_of_bag,
        value=float(of_bag[0]),
        n_instances=bag.n_instances,
        columns=columns,
        features=[part for part in leading if part[1]],
        note=note_if_equal(values),
        groups=groups,
    )


def _groups(model: Any, bag: Bags, label: np.ndarray, by: str) -> dict[str, np.ndarray]:
    """Return the table of the groups of instances, the most probable group first."""
    columns = group_columns(model, bag, label, by)
    order = np.argsort(-columns["posterior"], kind="stable")
    names = {by: by, "instances": "instances", "group_probability": "probability", "posterior": "posterior"}
    return {title: columns[name][order] for name, title in names.items()}


def _find(model: Any, bags: Any, id: Any) -> tuple[int, Bags, np.ndarray]:
    """Return the index of a bag, the bag, and the reference values (of a scan: first 1000 bags)."""
    checked_bags = read_bags(model, bags)
    if id is None and len(checked_bags) != 1:
        raise ValueError(f"there are {len(checked_bags)} bags; pass the id of the one to explain.")
    index = 0 if id is None else index_of(checked_bags.ids, id)
    bag = checked_bags[index : index + 1]
    if is_scan(checked_bags):
        return index, bag.load(), usual_values(checked_bags.head(1000))
    return index, bag, usual_values(checked_bags)


def _of_bags(model: Any, bags: Bags) -> tuple[str, np.ndarray]:
    prediction = bag_predictions(model, bags)
    if prediction is None:
        raise TypeError(f"{type(model).__name__} has neither predict_proba nor decision_function for bags.")
    return prediction


def _without(model: Any, bag: Bags, rows: np.ndarray, column: int | None) -> np.ndarray:
    """Return the prediction of the bag after removing each instance; NaN if no instance is left."""
    n = bag.n_instances
    if n == 1:
        return np.full(len(rows), np.nan)
    predictions = np.empty(len(rows))
    for index, row in enumerate(rows):
        left = np.delete(np.arange(n), row)
        rest = Bags(bag.instances[left], [0, n - 1], feature_names=bag.feature_names)
        value = _of_bags(model, rest)[1]
        predictions[index] = value[0] if column is None else value[0, column]
    return predictions


def _effects(
    model: Any, bag: Bags, row: int, usual: np.ndarray, column: int | None, n_features: int
) -> list[FeatureEffect]:
    """Return the features with the largest effects, sorted from positive to negative effects."""
    if n_features == 0:
        return []
    effects = feature_effects(model, bag, row, usual, column)
    largest = np.argsort(-np.abs(effects), kind="stable")[:n_features]
    largest = largest[np.abs(effects[largest]) > _LEAST_EFFECT * np.abs(effects).max(initial=0.0)]
    names = bag.feature_names
    return [
        FeatureEffect(
            str(names[j]) if names is not None else f"x{j}",
            float(bag.instances[row, j]),
            float(usual[j]),
            float(effects[j]),
        )
        for j in largest[np.argsort(-effects[largest], kind="stable")].tolist()
    ]


def usual_values(bags: Bags) -> np.ndarray:
    """Return the median of every feature over all instances, ignoring NaN; zeros for sparse instances."""
    X = bags.instances
    if sp.issparse(X):
        return np.zeros(X.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # features with only NaN have no median
        return np.nanmedian(X.astype(np.float64), axis=0)


def feature_effects(model: Any, bags: Bags, row: int, usual: np.ndarray, column: int | None) -> np.ndarray:
    """Return the effect of every feature on the score of an instance, compared with its reference value.

    The effect is the score of the instance minus its score after replacing the feature value by the reference
    value. If the model has probabilities, the score is the log-odds. In a linear model, an effect is the
    coefficient times the difference of the values, and the effects add up to the difference from the score
    of an instance with reference values.

    Parameters
    ----------
    model : fitted estimator
        A model with instance-level predictions.
    bags : Bags
        Bags that contain the instance.
    row : int
        Index of the instance in ``bags.instances``.
    usual : array of shape (n_features,)
        Reference values of the features.
    column : int or None
        Index of the class, if the model has one score per class.
    """
    X = bags.instances
    x = np.asarray(X[[row]].toarray() if sp.issparse(X) else X[[row]], dtype=np.float64)[0]
    effects = np.zeros(len(x))
    is_defined = ~np.isnan(usual)
    changed = np.flatnonzero(is_defined & (x != usual))
    score = _scores(model, bags, np.array([x]), column)[0]
    step = max(1, _MOST_VALUES // len(x))
    for start in range(0, len(changed), step):
        batch = changed[start : start + step]
        rows = np.repeat(x[None], len(batch), axis=0)
        rows[np.arange(len(batch)), batch] = usual[batch]
        effects[batch] = score - _scores(model, bags, rows, column)
    return effects


def _scores(model: Any, bags: Bags, rows: np.ndarray, column: int | None) -> np.ndarray:
    """Return the scores of instances, each as a separate bag."""
    matrix = sp.csr_array(rows) if sp.issparse(bags.instances) else rows
    alone = Bags(matrix, np.arange(len(rows) + 1), feature_names=bags.feature_names)
    inside = instance_model(model)
    if hasattr(inside, "decision_function_instances"):
        values = of_positive(inside.decision_function_instances(alone), model)
    else:
        with np.errstate(divide="ignore"):
            values = logit(instance_predictions(model, alone)[1])
    return values if column is None else values[:, column]
