"""Bag and instance predictions of a fitted model, even if it wraps the model that predicts instances.

scikit-learn's searches, pipelines and calibration expose the wrapped model's bag predictions, but not its
instance predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from bagwise._core.sklearn_private import available_if
from bagwise.models.base import BagClassifier, refuse_unknown_labels
from bagwise.models.wrappers.pipeline import BagPipeline

_Method = TypeVar("_Method", bound=Callable[..., Any])

# Kinds of predictions, the preferred kind first, and their bag methods; for instances, add "_instances".
_METHODS = {"probability": "predict_proba", "score": "decision_function"}
_PER_LABEL = (OneVsRestClassifier, MultiOutputClassifier)


def instance_model(model: Any) -> Any:
    """Return the part of a fitted model that predicts instances, or None if there is none.

    The result depends on the model:

    - a model with instance-level methods: the model itself;
    - a pipeline: its last step, after the other steps;
    - a search or a classifier with a tuned threshold: the wrapped estimator;
    - `CalibratedClassifierCV`: the mean of the wrapped estimators, without calibration;
    - `OneVsRestClassifier` or `MultiOutputClassifier`: its models of the classes or labels.
    """
    if any(hasattr(model, f"{method}_instances") for method in _METHODS.values()):
        return model
    if isinstance(model, Pipeline) and model.steps:
        name, last = model.steps[-1]
        inside = instance_model(last)
        return None if inside is None else BagPipeline([*model.steps[:-1], (name, inside)])
    for attribute in ("best_estimator_", "estimator_"):
        if hasattr(model, attribute):
            return instance_model(getattr(model, attribute))
    if hasattr(model, "calibrated_classifiers_"):
        return _together(_Mean, [part.estimator for part in model.calibrated_classifiers_])
    if hasattr(model, "estimators_") and (isinstance(model, _PER_LABEL) or hasattr(model, "multilabel_")):
        if label_names(model) is None and len(model.estimators_) == 1:
            return instance_model(model.estimators_[0])  # two classes
        if isinstance(model, MultiOutputClassifier) and any(len(each) > 2 for each in model.classes_):
            return None
        return _together(_SideBySide, model.estimators_, getattr(model, "classes_", None))
    return None


def learned_from_several(model: Any) -> bool:
    """Return whether a model was fitted to bags of several instances; False if this is unknown."""
    if isinstance(model, Pipeline):
        return any(learned_from_several(step) for _, step in model.steps)
    insides = (getattr(inside, "_learned_from_several", False) for inside in model_and_inside(model))
    return any(insides)


def label_names(model: Any) -> np.ndarray | None:
    """Return the label names of a multi-label model; None if the model predicts one label per bag."""
    for inside in model_and_inside(model):
        if getattr(inside, "multilabel_", False):
            return np.asarray(getattr(inside, "label_names_", inside.classes_))
        if isinstance(inside, MultiOutputClassifier):
            return np.arange(len(inside.estimators_))
    return None


def refuse_several_labels(model: Any, task: str) -> None:
    """Raise an error if a model predicts several labels per bag; `task` needs a single-label model."""
    if label_names(model) is None:
        return
    remedy = "fit a model to one column of y"
    if hasattr(model, "estimators_"):
        remedy = "pass the model of one label, such as model.estimators_[0]"
    raise TypeError(
        f"{type(model).__name__} predicts several labels per bag, but {task} needs a single-label model; "
        f"{remedy}, or use instance_frame(model, bags), which returns the predictions for each label."
    )


def only_ranks_instances(model: Any) -> bool:
    """Return whether the instance values of a model, or of a model that it wraps, are not probabilities."""
    if getattr(model, "_only_ranks_instances", False):
        return True
    inside = [part for part in model_and_inside(model) if part is not model]
    for name in ("models", "estimators_"):
        inside += list(getattr(model, name, ()))
    return any(only_ranks_instances(part) for part in inside)


def instance_predictions(model: Any, bags: Any) -> tuple[str, np.ndarray]:
    """Return the instance predictions of a model, and their kind: "probability" or "score".

    Values of a model that only ranks instances are scores, even if the model scales them to [0, 1].

    With two classes, the predictions are those of the positive class, shape (n_instances,). Otherwise there
    is one column per class or label.
    """
    if hasattr(model, "fit"):
        check_is_fitted(model)
    inside = instance_model(model)
    kinds = ["score"] if only_ranks_instances(model) else list(_METHODS)
    for kind in kinds:
        method = _METHODS[kind]
        if hasattr(inside, f"{method}_instances"):
            values = of_positive(getattr(inside, f"{method}_instances")(bags), model)
            if len(values) != bags.n_instances:
                raise TypeError(
                    f"{type(model).__name__} changes the instances of bags before it predicts, so its "
                    "predictions do not match the instances of X; use a model on the original instances."
                )
            return kind, values
    raise TypeError(
        f"{type(model).__name__} has no instance-level predictions; use a model with predict_proba_instances "
        "or decision_function_instances, or a search, pipeline or calibration of such a model."
    )


def bag_predictions(
    model: Any, bags: Any, *, preferred: str = "probability"
) -> tuple[str, np.ndarray] | None:
    """Return the bag probabilities or scores (if possible the `preferred` kind) and their kind, or None."""
    for kind in sorted(_METHODS, key=lambda kind: kind != preferred):
        if hasattr(model, _METHODS[kind]):
            return kind, of_positive(getattr(model, _METHODS[kind])(bags), model)
    return None


def posterior_of_instances(model: Any, bags: Any, y: np.ndarray) -> np.ndarray:
    """Return P(instance positive | label of its bag), one column per class or label if there are several."""
    inside = instance_model(model)
    if not hasattr(inside, "posterior_instances"):
        raise TypeError(
            f"{type(model).__name__} cannot compute instance posteriors given bag labels (it has no "
            "posterior_instances); omit y."
        )
    return inside.posterior_instances(bags, y)


def group_probabilities(model: Any, bags: Any, y: Any, by: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return P(some instance of a group is positive), and the same given the labels (None without `y`)."""
    inside = instance_model(model)
    if not hasattr(inside, "posterior_groups") or label_names(model) is not None:
        raise TypeError(
            f"{type(model).__name__} does not predict probabilities for groups of instances; use a "
            "single-label model whose rule has latent instance labels, such as "
            "MILogisticRegression(rule='or')."
        )
    proba = of_positive(inside.predict_proba_groups(bags, by), model)
    return proba, None if y is None else inside.posterior_groups(bags, y, by)


def model_and_inside(model: Any) -> Iterator[Any]:
    """Yield a model, the model that it wraps (the last step, the best estimator), and so on."""
    yield model
    inside = None
    if isinstance(model, Pipeline) and model.steps:
        inside = model.steps[-1][1]
    elif hasattr(model, "calibrated_classifiers_"):
        inside = model.calibrated_classifiers_[0].estimator
    else:
        inside = getattr(model, "best_estimator_", getattr(model, "estimator_", None))
    if inside is not None:
        yield from model_and_inside(inside)


def positive_column(model: Any) -> int:
    """Return the index of the positive class in the ``classes_`` of a fitted model: 0, or -1 for the last.

    This is also its column in predictions with two columns. If it is 0, the sign of one-dimensional scores
    must be reversed. Models without a positive class follow scikit-learn's convention: the last class is
    positive.
    """
    reversals = (getattr(inside, "_is_reversed", None) for inside in model_and_inside(model))
    return 0 if next((each for each in reversals if each is not None), False) else -1


def with_positive(model: Any, label: Any) -> Any:
    """Return an unfitted clone with `label` as the positive class, if it is a classifier that chooses one.

    Repeated fits of a model, such as the folds of a report, use the direction of the first fit. Estimators
    that encode labels are returned unchanged, because their models do not receive the original labels.
    """
    return _set_positive(clone(model), label)


def _set_positive(model: Any, label: Any) -> Any:
    if isinstance(model, BagClassifier):
        if model.positive is None and "positive" in model.get_params(deep=False):
            model.set_params(positive=label)
    elif isinstance(model, Pipeline) and model.steps:
        _set_positive(model.steps[-1][1], label)
    elif hasattr(model, "estimator") and hasattr(model, "cv"):  # searches and calibration keep the labels
        _set_positive(model.estimator, label)
    return model


def of_positive(values: Any, model: Any) -> np.ndarray:
    """Return the positive class's column of two classes; with several labels, return one column per label."""
    if isinstance(values, list):
        return np.column_stack([table[:, -1] for table in values])
    values = np.asarray(values)
    if values.ndim == 1 and positive_column(model) == 0:
        return -values
    if values.ndim == 1 or values.shape[1] > 2 or label_names(model) is not None:
        return values
    has_columns = any(getattr(inside, "_shows_one", False) for inside in model_and_inside(model))
    return values if has_columns else values[:, positive_column(model)]


def _together(kind: type, models: list[Any], *more: Any) -> Any:
    wrapped = [instance_model(model) for model in models]
    return None if any(inside is None for inside in wrapped) else kind(wrapped, *more)


def _all_have(method: str) -> Callable[[_Method], _Method]:
    return available_if(lambda group: all(hasattr(model, method) for model in group.models))


class _Mean:
    """Mean of the instance predictions of several models with the same classes."""

    def __init__(self, models: list[Any]):
        self.models = models

    @_all_have("predict_proba_instances")
    def predict_proba_instances(self, X: Any) -> Any:
        return np.mean([model.predict_proba_instances(X) for model in self.models], axis=0)

    @_all_have("decision_function_instances")
    def decision_function_instances(self, X: Any) -> Any:
        return np.mean([model.decision_function_instances(X) for model in self.models], axis=0)

    @_all_have("posterior_instances")
    def posterior_instances(self, X: Any, y: Any) -> Any:
        return np.mean([model.posterior_instances(X, y) for model in self.models], axis=0)


class _SideBySide:
    """Instance predictions of one model per class or label, one column each."""

    def __init__(self, models: list[Any], classes: Any):
        self.models = models
        self.classes = classes

    @_all_have("predict_proba_instances")
    def predict_proba_instances(self, X: Any) -> Any:
        return np.column_stack([model.predict_proba_instances(X)[:, 1] for model in self.models])

    @_all_have("decision_function_instances")
    def decision_function_instances(self, X: Any) -> Any:
        return np.column_stack([model.decision_function_instances(X) for model in self.models])

    @_all_have("posterior_instances")
    def posterior_instances(self, X: Any, y: Any) -> Any:
        y = np.asarray(y)
        if y.ndim == 1:
            refuse_unknown_labels(y, self.classes)
            y = (y[:, None] == self.classes).astype(int)
        each = zip(self.models, y.T, strict=True)
        return np.column_stack([model.posterior_instances(X, column) for model, column in each])
