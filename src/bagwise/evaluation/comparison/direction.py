"""The positive class of text labels, chosen once for all models of a comparison."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from sklearn.impute import SimpleImputer

from bagwise.data.bags import is_scan
from bagwise.evaluation.comparison.plan import Labelled
from bagwise.models.linear_model import MILogisticRegression
from bagwise.models.wrappers.instance_level import model_and_inside
from bagwise.models.wrappers.pipeline import OnInstances, make_bag_pipeline


def positive_of_texts(data: Labelled, models: Iterable[Any]) -> Any:
    """Return the positive class of two text labels, or None.

    If a model sets the parameter `positive`, the result is its value. Otherwise, a ridge regression with the
    rule "or" chooses the class using all bags, because the models could choose different classes in different
    fits. The result is None if the labels are not two text labels, or if the regression cannot be fitted. The
    models then choose the class.
    """
    labels = data.classes.tolist()
    if len(labels) != 2 or data.classes.dtype.kind in "biuf":
        return None
    parameters = (item for model in models for item in model.get_params().items())
    for name, value in parameters:
        if name.rpartition("__")[2] == "positive" and value in labels:
            return value
    model: Any = MILogisticRegression(l1_ratio=0.0, n_init=1, random_state=0)
    if not is_scan(data.bags):
        model = make_bag_pipeline(OnInstances(SimpleImputer(strategy="median")), model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(data.bags, data.y)
        except (ValueError, TypeError):
            return None
    return next(part.positive_label_ for part in model_and_inside(model) if hasattr(part, "positive_label_"))
