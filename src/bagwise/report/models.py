"""Subject of a report about a fitted model and its cross-validation."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from bagwise.data.bags import aligned, as_bags, is_scan
from bagwise.data.bags.parts import group_of_each
from bagwise.evaluation.checks import inspect_any
from bagwise.evaluation.checks.report import Report, count
from bagwise.evaluation.held_out import Evaluation, HeldOut, evaluate, evaluate_unlabeled, predict_held_out
from bagwise.models.base.labels import require_label_per_bag
from bagwise.models.base.tags import describe_absence
from bagwise.models.pu.base import PUClassifier
from bagwise.models.wrappers.instance_level import (
    model_and_inside,
    positive_column,
    refuse_several_labels,
    with_positive,
)
from bagwise.persist.card import digest_of
from bagwise.report.repeat import fit_code, repeat_parts, settings_of, versions
from bagwise.report.subject import Subject, names_of, percent, short, with_interval


def model_subject(
    model: Any, X: Any, y: Any, *, groups: Any = None, cv: int = 5, random_state: int = 0
) -> Subject:
    """Evaluate a fitted model by cross-validation, and return the subject of its report."""
    if not is_classifier(model):
        raise TypeError(f"`what` must be a fitted classifier; got {type(model).__name__}.")
    check_is_fitted(model)
    if not isinstance(cv, Integral) or cv < 2:
        raise ValueError(f"cv must be an integer >= 2; got {cv!r}.")
    if X is None or y is None:
        raise ValueError(
            f"write_report needs the bags and their labels for a fitted {type(model).__name__}; pass X and y."
        )
    refuse_several_labels(model, "write_report")
    bags = X if is_scan(X) else as_bags(X)
    labels = np.asarray(aligned("y", y, bags))
    require_label_per_bag(labels, bags)
    groups = None if groups is None else group_of_each(aligned("groups", groups, bags), len(bags), bags.ids)
    positive = model.classes_[positive_column(model)]
    held = predict_held_out(
        with_positive(model, positive) if len(model.classes_) == 2 else model,
        bags,
        labels,
        n_folds=cv,
        groups=groups,
        seed=random_state,
        keep_models=True,
    ).with_positive(positive)
    return evaluated_subject(model, bags, labels, held, groups=groups, seed=random_state)


def evaluated_subject(
    model: Any,
    bags: Any,
    y: np.ndarray,
    held: HeldOut | None,
    *,
    groups: np.ndarray | None = None,
    names: tuple[str, ...] | None = None,
    evaluation: Evaluation | None = None,
    inspection: Report | None = None,
    seed: int = 0,
    title: str | None = None,
    called: str | None = None,
    code: str | None = None,
    compared: tuple[Any, ...] = (),
) -> Subject:
    """Return the subject of a report about a model whose held-out predictions are available.

    Parameters
    ----------
    model : fitted estimator
        The model, fitted to all bags.
    bags, y, groups : Bags, array, array
        The bags, their labels as in the fit, and their groups.
    held : HeldOut or None
        Predictions of the models of the folds; None without cross-validation.
    names : tuple of str, optional
        Names of the classes; by default their labels.
    evaluation : Evaluation, optional
        Evaluation of `held`; computed by default.
    inspection : Report, optional
        Result of the data checks; computed by default.
    seed : int
        Seed of the folds and models.
    title, called : str, optional
        Title of the report, and displayed name of the model.
    code : str, optional
        Code that repeats the fit; by default Python code.
    compared : tuple
        Parts of the page that compare models.
    """
    classes = np.unique(y) if held is None else held.classes
    names = names_of(classes) if names is None else names
    called = called or _class_of(model)
    if evaluation is None and held is not None:
        evaluation = evaluate_predictions(model, bags, y, held, groups, names)
    if inspection is None:
        inspection = inspect_any(bags, y)
    n_folds = 0 if held is None else held.n_folds
    code = code or fit_code(model, n_folds=n_folds or 5, seed=seed, has_groups=groups is not None)
    facts = [
        ("model", type(model).__name__),
        ("settings", settings_of(model)),
        ("seed", str(seed)),
        ("folds", f"{n_folds}" if n_folds else "none"),
        ("digest of the data", digest_of(model) or "not known"),
    ]
    return Subject(
        kicker="Model report",
        title=title or called,
        verdict=_with_absence(verdict_of(evaluation, called, names), model, called, len(classes)),
        tiles=tiles_of(bags, evaluation),
        bags=bags,
        y=y,
        names=names,
        groups=groups,
        inspection=inspection,
        compared=compared,
        evaluation=evaluation,
        model=model,
        called=called,
        repeat=repeat_parts(code, facts, versions()),
    )


def evaluate_predictions(
    model: Any, bags: Any, y: np.ndarray, held: HeldOut, groups: np.ndarray | None, names: tuple[str, ...]
) -> Evaluation:
    """Evaluate held-out predictions, with separate scores for positive and unlabeled bags."""
    if any(isinstance(inside, PUClassifier) for inside in model_and_inside(model)):
        return evaluate_unlabeled(model, bags, held.codes == 1, held, groups)
    return evaluate(held, groups, (names[0], names[1]) if len(names) == 2 else None)


def verdict_of(evaluation: Evaluation | None, called: str, names: tuple[str, ...]) -> str:
    """Return a summary of the scores of a model, with intervals, in one to three sentences."""
    if evaluation is None:
        return f"{called} was fitted to all bags and was not evaluated by cross-validation."
    scores, n_bags = evaluation.scores, len(evaluation.held.codes)
    if evaluation.from_unlabeled:
        recall, precision = scores["recall"], scores["precision"]
        return (
            f"{called} finds {percent(recall['value'])} of the held-out positive bags, and "
            f"{with_interval(precision)} of its positive predictions are correct. The interval reflects the "
            "uncertainty of the class prior."
        )
    accuracy, base = scores["accuracy"], evaluation.base_rate
    text = f"{called} classifies {with_interval(accuracy)} of held-out bags correctly"
    if "auc" in scores and scores["auc"]["value"] == scores["auc"]["value"]:
        auc = with_interval(scores["auc"], lambda value: f"{value:.2f}")
        text += f" and ranks them with an AUC of {auc}"
    text += f". Always predicting the most frequent label is correct for {percent(base)}."
    if accuracy["low"] <= base:
        text += f" With {count(n_bags, 'bag')}, the model is not significantly better than this baseline."
    return text


def _with_absence(verdict: str, model: Any, called: str, n_classes: int) -> str:
    """Append a sentence if a binary model can use the absence of instances."""
    return f"{verdict} {describe_absence(model, called)}".rstrip() if n_classes == 2 else verdict


def tiles_of(bags: Any, evaluation: Evaluation | None = None) -> dict[str, tuple[str, str]]:
    """Return the values that are shown below the summary."""
    tiles = {
        "bags": (f"{len(bags):,}", f"{bags.n_instances:,} instances"),
        "features": (f"{bags.n_features:,}", ""),
    }
    if evaluation is None:
        return tiles
    shown = {"auc": "AUC", "accuracy": "accuracy", "recall": "recall", "precision": "precision"}
    for name, title in shown.items():
        score = evaluation.scores.get(name)
        if score is not None and score["value"] == score["value"]:
            remark = "" if score["low"] != score["low"] else f"{score['low']:.3f} to {score['high']:.3f}"
            tiles[title] = (f"{score['value']:.3f}", remark)
    tiles["folds"] = (str(evaluation.held.n_folds), "cross-validation")
    return tiles


def _class_of(model: Any) -> str:
    inside = list(model_and_inside(model))[-1]
    name = type(model).__name__
    return name if inside is model else f"{name} of {short(type(inside).__name__)}"
