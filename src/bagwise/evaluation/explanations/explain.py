"""`explain_bag`: the instances that make a bag what a model says it is, and their features."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.special import logit

from bagwise.data.bags import Bags, as_bags, index_of, is_scan
from bagwise.data.bags.parts import as_python
from bagwise.evaluation.explanations.explanation import BagExplanation, FeatureEffect
from bagwise.models.wrappers.instance_level import (
    bag_predictions,
    instance_model,
    instance_predictions,
    label_names,
    posterior_of_instances,
)

_LEAST_EFFECT = 1e-9  # of the largest: less is rounding
_MOST_NUMBERS = 2**22  # that are scored at any one time


def explain_bag(
    model: Any,
    bags: Any,
    id: Any = None,
    *,
    y: ArrayLike | None = None,
    n_instances: int = 10,
    n_features: int = 5,
    n_leading: int = 3,
) -> BagExplanation:
    """Explain what a model says of one bag: by its instances, and by the features of the leading ones.

    For every leading instance: its probability (or score); its posterior, that is its probability given the
    label of the bag; and what the bag's probability would be without it. For the first few of them the
    features that matter: what the instance's log-odds (or score) lose if the feature has its usual value,
    the median over `bags`, instead. In a linear model that is coefficient times difference; in others, and
    where features depend on each other, the parts need not add up.

    Parameters
    ----------
    model : fitted estimator
        With something to say of instances, or what wraps such a model: see `instance_frame`.
    bags : Bags, ScannedBags, or anything that a fit takes
        Bags with the one to explain; the more there are, the better is known what is usual.
    id : optional
        Of the bag, as it is or as text; not needed if there is one bag only.
    y : array of shape (n_bags,), optional
        Labels of the bags. Without them posteriors are those of a positive bag.
    n_instances : int, default=10
        How many of the instances are listed, the most positive first.
    n_features : int, default=5
        How many features of an instance are listed.
    n_leading : int, default=3
        For how many instances they are.

    Returns
    -------
    BagExplanation
        ``print`` shows it, `plot` draws it.

    Notes
    -----
    Costs a prediction of `n_instances` copies of the bag, and of as many instances as there are features
    for each leading one.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, explain_bag, make_noisy_or_bags
    >>> data = make_noisy_or_bags(100, size=(2, 6), random_state=0)
    >>> model = MILogisticRegression(random_state=0).fit(data.bags, data.y)
    >>> found = explain_bag(model, data.bags, 7)
    >>> list(found.columns)
    ['instance', 'probability', 'posterior', 'without']
    """
    if label_names(model) is not None:
        raise TypeError(
            f"{type(model).__name__} has several labels a bag; explain the model of one label, such as "
            "model.estimators_[0]."
        )
    if min(n_instances, n_features + 1, n_leading + 1) < 1:
        raise ValueError("n_instances must be at least 1, n_features and n_leading at least 0.")
    place, bag, usual = _find(bags, id)
    label = None if y is None else as_python(np.asarray(y)[place])
    kind, values = instance_predictions(model, bag)
    kind_of_bag, of_bag = _of_bags(model, bag)
    classes = np.asarray(model.classes_)
    column, positive = None, as_python(classes[-1])
    if values.ndim == 2:  # a score for each class: that of the class which is predicted
        positive = as_python(model.predict(bag)[0])
        column = classes.tolist().index(positive)
        values, of_bag = values[:, column], of_bag[:, column]
    order = np.argsort(-values, kind="stable")[:n_instances]
    columns: dict[str, np.ndarray] = {"instance": order}
    columns |= {name: side[order] for name, side in bag.instance_columns.items() if side.ndim == 1}
    columns[kind] = values[order]
    if column is None and hasattr(instance_model(model), "posterior_instances"):
        given = np.array([positive if label is None else label])
        columns["posterior"] = posterior_of_instances(model, bag, given)[order]
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
    )


def _find(bags: Any, id: Any) -> tuple[int, Bags, np.ndarray]:
    """Give the place of a bag, the bag, and what is usual among all; of a scan only the bag is read."""
    known: Any = bags if is_scan(bags) else as_bags(bags)
    if id is None and len(known) != 1:
        raise ValueError(f"there are {len(known)} bags; say which to explain by its id.")
    place = 0 if id is None else index_of(known.ids, id)
    one = known[place : place + 1]
    if is_scan(known):
        return place, one.load(), usual_values(known.head(1000))
    return place, one, usual_values(known)


def _of_bags(model: Any, bags: Bags) -> tuple[str, np.ndarray]:
    said = bag_predictions(model, bags)
    if said is None:
        raise TypeError(f"{type(model).__name__} has neither probabilities nor scores of bags.")
    return said


def _without(model: Any, bag: Bags, rows: np.ndarray, column: int | None) -> np.ndarray:
    """Give what is said of the bag without each of some instances; NaN where nothing is left."""
    n = bag.n_instances
    if n == 1:
        return np.full(len(rows), np.nan)
    said = np.empty(len(rows))
    for place, row in enumerate(rows):
        left = np.delete(np.arange(n), row)
        rest = Bags(bag.instances[left], [0, n - 1], feature_names=bag.feature_names)
        value = _of_bags(model, rest)[1]
        said[place] = value[0] if column is None else value[0, column]
    return said


def _effects(
    model: Any, bag: Bags, row: int, usual: np.ndarray, column: int | None, n_features: int
) -> list[FeatureEffect]:
    """Give the largest effects of features, the one that speaks most for the class first."""
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
    """Give the median of every feature over all instances, NaN left out; of sparse instances zero."""
    X = bags.instances
    if sp.issparse(X):
        return np.zeros(X.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a feature that is missing everywhere has none
        return np.nanmedian(X.astype(np.float64), axis=0)


def feature_effects(model: Any, bags: Bags, row: int, usual: np.ndarray, column: int | None) -> np.ndarray:
    """Give for every feature what an instance's score loses if the feature has its usual value instead.

    The score is the log-odds where the model has probabilities. In a model that is linear in its features
    this is coefficient times difference, and all of them sum to the score's distance from that of an
    instance of usual values.

    Parameters
    ----------
    model : fitted estimator
        With something to say of instances.
    bags : Bags
        That have the instance.
    row : int
        Its place among all instances.
    usual : array of shape (n_features,)
        The usual values.
    column : int or None
        The class, where the model has a score for each.
    """
    X = bags.instances
    x = np.asarray(X[[row]].toarray() if sp.issparse(X) else X[[row]], dtype=np.float64)[0]
    effects = np.zeros(len(x))
    known = ~np.isnan(usual)
    changed = np.flatnonzero(known & (x != usual))
    here = _scores(model, bags, np.array([x]), column)[0]
    step = max(1, _MOST_NUMBERS // len(x))
    for start in range(0, len(changed), step):
        some = changed[start : start + step]
        rows = np.repeat(x[None], len(some), axis=0)
        rows[np.arange(len(some)), some] = usual[some]
        effects[some] = here - _scores(model, bags, rows, column)
    return effects


def _scores(model: Any, bags: Bags, rows: np.ndarray, column: int | None) -> np.ndarray:
    """Score instances, each a bag of its own."""
    matrix = sp.csr_array(rows) if sp.issparse(bags.instances) else rows
    alone = Bags(matrix, np.arange(len(rows) + 1), feature_names=bags.feature_names)
    inside = instance_model(model)
    if hasattr(inside, "decision_function_instances"):
        values = np.asarray(inside.decision_function_instances(alone))
    else:
        with np.errstate(divide="ignore"):
            values = logit(instance_predictions(model, alone)[1])
    return values if column is None else values[:, column]
