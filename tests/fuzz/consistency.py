"""Collect the predictions of a fitted model, and check that they are consistent."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from tests.fuzz.judging import require, require_close, require_finite

from bagwise import Bags, CountTable, Threshold

METHODS = (
    "predict",
    "predict_proba",
    "decision_function",
    "transform",
    "predict_instances",
    "predict_proba_instances",
    "decision_function_instances",
    "score_samples",
)
# Results that may be infinite, with the reason.
MAY_BE_INFINITE = {
    (
        "OnInstances",
        "transform",
    ): "returns the result of scikit-learn's transformer; the next step refuses infinity and names its index",
    ("CitationKNNClassifier", "radii_"): "with fewer bags than citers, every bag cites",
}


def all_predictions(model, bags, y) -> dict[str, np.ndarray]:
    """Return all predictions of a model for bags, by method."""
    predictions = {name: getattr(model, name)(bags) for name in METHODS if hasattr(model, name)}
    if y is not None and hasattr(model, "posterior_instances"):
        predictions["posterior_instances"] = model.posterior_instances(bags, y)
    return {name: _as_array(value) for name, value in predictions.items()}


def _as_array(value) -> np.ndarray:
    """Convert a prediction to a dense array; `Bags` become their instances."""
    value = value.instances if isinstance(value, Bags) else value
    return value.toarray() if sp.issparse(value) else np.asarray(value)


def check_fit(model) -> None:
    """Check that fitted attributes are finite, and that the objective never rises."""
    for name, value in vars(model).items():
        is_fitted = name.endswith("_") and not name.startswith("_")
        if is_fitted and (type(model).__name__, name) not in MAY_BE_INFINITE:
            require_finite(value if isinstance(value, (float, np.ndarray)) else 0.0, name)
    history = np.asarray(getattr(model, "objective_history_", []), dtype=float)
    if len(history) > 1:
        rises = np.diff(history) - 1e-9 * np.maximum(1.0, np.abs(history[:-1]))
        require(
            (rises <= 0).all(), f"objective_history_ rises by {np.diff(history).max():.3g}: {history[:8]}"
        )
    if len(history) and hasattr(model, "objective_"):
        require_close(history[-1], model.objective_, 1e-9, "objective_ and the last value of its history")


def check_predictions(model, predictions: dict[str, np.ndarray], kind: str) -> None:
    """Check that predictions are finite, probabilities are valid, and labels agree with scores.

    `kind` is the type of the target: `"classes"`, `"continuous"`, `"matrix"` (several labels) or
    `"none"`.
    """
    for name, value in predictions.items():
        if (type(model).__name__, name) in MAY_BE_INFINITE:
            continue
        if name == "decision_function" and _forbids(model):
            value = value[~np.isinf(value)]
        require_finite(value, name)
        if "proba" in name or "posterior" in name:
            require(((value >= 0) & (value <= 1 + 1e-12)).all(), f"{name} is outside [0, 1]")
    for level in ("", "_instances"):
        label, score = predictions.get("predict" + level), predictions.get("decision_function" + level)
        proba = predictions.get("predict_proba" + level)
        if label is None or kind in ("continuous", "none"):
            continue
        if kind == "matrix":
            _several_labels(label, proba, level)
            continue
        # With several labels, the remaining probability of a row belongs to the background.
        if proba is not None and not hasattr(model, "background"):
            require_close(proba.sum(axis=1), np.ones(len(proba)), 1e-6, f"row sums of predict_proba{level}")
        if hasattr(model, "background"):  # background instances have the label None
            shown = np.array([value is not None for value in label], dtype=bool)
            label, score, proba = (part if part is None else part[shown] for part in (label, score, proba))
        classes = np.asarray(model.classes_)
        if len(classes) > 1:  # a model of positive bags alone has one class
            require(
                np.isin(label, classes).all(), f"predict{level} returns {label[:3]!r}, which are not classes"
            )
            (_two_classes if len(classes) == 2 else _many_classes)(model, label, score, proba, level)


def _forbids(model) -> bool:
    """Return whether the rule can make a label impossible, as a threshold above the size of a bag does."""
    rule = getattr(model, "rule_", None)
    forbids = isinstance(rule, (Threshold, CountTable)) and not getattr(rule, "learned", ())
    return forbids or any(_forbids(part) for part in getattr(model, "estimators_", ()))


def _several_labels(label, proba, level: str) -> None:
    if proba is None or proba.shape != label.shape:
        return
    if level and (label.sum(axis=1) <= 1).all():  # one class per instance at most: it must be the best
        shown = label.any(axis=1)
        best = proba.max(axis=1) - (proba * label).sum(axis=1)
        require((best[shown] <= 1e-9).all(), "predict_instances is not the most probable label")
        return
    require((label[proba > 0.5 + 1e-9] == 1).all(), f"predict{level} lacks a probable label")
    require((label[proba < 0.5 - 1e-9] == 0).all(), f"predict{level} has an improbable label")


def _many_classes(model, label, score, proba, level: str) -> None:
    best = proba if proba is not None else score
    if best is not None and best.ndim == 2:
        top = best[np.arange(len(best)), np.searchsorted(model.classes_, label)]
        require((top >= best.max(axis=1) - 1e-12).all(), f"predict{level} is not the best class")


def _two_classes(model, label, score, proba, level: str) -> None:
    positive = label == model.classes_[1]
    calibrated = bool(
        getattr(model, "calibrate", False)
    )  # probabilities and scores may then disagree, and the score determines the label
    if proba is not None and not (calibrated and score is not None):
        expected = (proba[:, 1] >= proba[:, 0]) | (proba[:, 1] >= 0.5)
        # For a score near zero, the probability can round to 1/2.
        near = np.abs(score) <= 1e-12 if score is not None and score.ndim == 1 else False
        require(((positive == expected) | near).all(), f"predict{level} disagrees with predict_proba{level}")
    if score is not None and score.ndim == 1:
        clear = np.abs(score) > (1e-12 if proba is not None else -1.0)
        agrees = (positive == (score >= 0))[clear].all()
        require(agrees, f"predict{level} disagrees with decision_function{level}")
