"""Predictions of a model for the instances of one bag, for plots."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bagwise.data.bags import Bags, as_bags, index_of, is_scan
from bagwise.data.bags.instance_groups import group_instances
from bagwise.data.bags.parts import as_python
from bagwise.models.wrappers.instance_level import (
    bag_predictions,
    group_probabilities,
    instance_model,
    instance_predictions,
    label_names,
    only_ranks_instances,
    positive_column,
)

_ROUNDING = 1e-6


def note_if_equal(values: np.ndarray) -> str:
    """Return a sentence if all instances of a bag have the same value (up to rounding), otherwise ""."""
    if len(values) < 2 or np.ptp(values) > _ROUNDING * max(1.0, float(np.abs(values).max())):
        return ""
    return (
        f"The model predicts the same value for all {len(values):,} instances, {values[0]:.4g}: it does not "
        "distinguish them."
    )


class PredictedBag(NamedTuple):
    """One bag and its predictions.

    `kind` is "probability" or "score". `values` contains the predictions of the instances for the class or
    label `called`. `title` shows the id and the prediction of the bag.
    """

    bag: Bags
    kind: str
    values: np.ndarray
    called: str
    title: str

    @property
    def note(self) -> str:
        """Sentence if the model does not distinguish the instances, otherwise ""."""
        return note_if_equal(self.values)

    @property
    def value_label(self) -> str:
        """Label of the values for an axis or a color bar."""
        return f"P(instance is {self.called})" if self.kind == "probability" else f"score for {self.called}"


def predict_one_bag(
    model: Any, bags: Any, id: Any, label: Any = None, group: tuple[str, Any] | None = None
) -> PredictedBag:
    """Select a bag by its id, and predict its instances.

    Parameters
    ----------
    model : fitted estimator
        A model with instance-level predictions; see `instance_frame`.
    bags : Bags or ScannedBags
        The bags. Only the selected bag is read.
    id : object
        Id of the bag, or its index if the bags have no ids.
    label : object, optional
        Class to show if there are more than two; by default the predicted class. Required if the bags have
        several labels.
    group : (str, value), optional
        An instance column and one of its values: the result contains only these instances.
    """
    bags = bags if is_scan(bags) else as_bags(bags)
    index = index_of(bags.ids, id)
    bag = bags[[index]]
    bag = bag.load() if is_scan(bag) else bag
    kind, values = instance_predictions(model, bag)
    of_bag = bag_predictions(model, bag, preferred="probability" if only_ranks_instances(model) else kind)
    names = label_names(model)
    classes = [as_python(name) for name in (model.classes_ if names is None else names)]
    if values.ndim == 1:
        chosen = positive_column(model)
        about = None if of_bag is None else of_bag[1][0]
    else:
        if label is None and names is not None:
            raise ValueError(f"the model predicts several labels per bag; pass label=, one of {classes}.")
        if label is None:
            label = classes[int(of_bag[1][0].argmax())] if of_bag is not None else model.predict(bag)[0]
        if label not in classes:
            raise ValueError(f"label={label!r} is not a label of the model; expected one of {classes}.")
        chosen = classes.index(label)
        values = values[:, chosen]
        about = None if of_bag is None else of_bag[1][0, chosen]
    called = str(classes[chosen])
    title = f"bag {as_python(bags.ids[index])}"
    if of_bag is not None:
        quantity = f"P({called})" if of_bag[0] == "probability" else f"score for {called}"
        title += f": {quantity} = {about:.3g}"
    values = np.asarray(values, dtype=np.float64)
    if group is None:
        return PredictedBag(bag, kind, values, called, title)
    rows, text = _of_group(model, bag, group, called)
    columns = {name: column[rows] for name, column in bag.instance_columns.items()}
    part = Bags(bag.instances[rows], [0, len(rows)], ids=bag.ids, instance_columns=columns)
    return PredictedBag(part, kind, values[rows], called, f"{title}\n{text}")


def _of_group(model: Any, bag: Bags, group: tuple[str, Any], called: str) -> tuple[np.ndarray, str]:
    """Return the indices of a group's instances, and the group's name with its probability if available."""
    by, value = group
    groups = group_instances(bag, by)
    chosen = np.flatnonzero(groups.names.astype(str) == str(value))
    if not len(chosen):
        raise ValueError(
            f"the bag has no instances with {by} {value!r}; expected one of {groups.names.tolist()}."
        )
    text = f"{by} {value}"
    if hasattr(instance_model(model), "predict_proba_groups"):
        proba, _ = group_probabilities(model, bag, None, by)
        text += f": P({called}) = {proba[chosen[0]]:.3g}"
    return np.flatnonzero(groups.of_instance == chosen[0]), text
