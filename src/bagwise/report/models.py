"""A fitted model with its cross-validation, as the subject of a page."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from bagwise.data.bags import as_bags, is_scan
from bagwise.data.bags.parts import group_of_each
from bagwise.evaluation.checks import inspect_any
from bagwise.evaluation.checks.report import Report, count
from bagwise.evaluation.held_out import Evaluation, HeldOut, evaluate, evaluate_unlabeled, predict_held_out
from bagwise.exceptions import PositiveClassWarning
from bagwise.models.base.labels import require_label_per_bag
from bagwise.models.pu.base import PUClassifier
from bagwise.models.wrappers.instance_level import label_names, model_and_inside
from bagwise.persist.card import digest_of
from bagwise.report.repeat import fit_code, repeat_parts, settings_of, versions
from bagwise.report.subject import Subject, names_of, percent, short, with_interval


def model_subject(
    model: Any, X: Any, y: Any, *, groups: Any = None, cv: int = 5, random_state: int = 0
) -> Subject:
    """Judge a fitted model by folds of its bags, and gather what its page needs."""
    if not is_classifier(model):
        raise TypeError(f"what must be a classifier; {type(model).__name__} is none.")
    check_is_fitted(model)
    if not isinstance(cv, Integral) or cv < 2:
        raise ValueError(f"cv must be a number of folds, 2 or more; got {cv!r}.")
    if X is None or y is None:
        raise ValueError(
            f"write_report of a fitted {type(model).__name__} needs the bags and their labels; pass X and y."
        )
    if label_names(model) is not None:
        raise TypeError(
            f"{type(model).__name__} has several labels a bag; write a report of the model of one label, "
            "such as model.estimators_[0]."
        )
    bags = X if is_scan(X) else as_bags(X)
    labels = np.asarray(y)
    require_label_per_bag(labels, bags)
    groups = None if groups is None else group_of_each(groups, len(bags))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PositiveClassWarning)  # which the fit has said
        held = predict_held_out(
            model, bags, labels, n_folds=cv, groups=groups, seed=random_state, keep_models=True
        )
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
    """Gather what the page of a model needs, where it was judged before.

    Parameters
    ----------
    model : fitted estimator
        Fitted to all bags.
    bags, y, groups : Bags, array, array
        Those bags, their labels as the model knows them, and their groups.
    held : HeldOut or None
        What models of folds said; None if there was no cross-validation.
    names : tuple of str, optional
        What the classes are called; by default their labels.
    evaluation : Evaluation, optional
        Made of `held`, if it is there already.
    inspection : Report, optional
        Of the bags, if it is there already.
    seed : int
        That of folds and models.
    title, called : str, optional
        Of the page, and what the model is called.
    code : str, optional
        What repeats it; by default Python.
    compared : tuple
        Parts that compare models.
    """
    classes = np.unique(y)
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
        verdict=verdict_of(evaluation, called, names),
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
    """Score predictions as suits the model: of known labels, or of positive and unlabeled bags."""
    if any(isinstance(inside, PUClassifier) for inside in model_and_inside(model)):
        return evaluate_unlabeled(model, bags, y, held, groups)
    return evaluate(held, groups, (names[0], names[1]) if len(names) == 2 else None)


def verdict_of(evaluation: Evaluation | None, called: str, names: tuple[str, ...]) -> str:
    """Say in a sentence or two what a model is worth, and how sure that is."""
    if evaluation is None:
        return f"{called} was fitted to all bags and not judged: there was no cross-validation."
    scores, n_bags = evaluation.scores, len(evaluation.held.codes)
    if evaluation.from_unlabeled:
        recall, precision = scores["recall"], scores["precision"]
        return (
            f"{called} finds {percent(recall['value'])} of the positive bags that it had not seen; of the "
            f"bags that it calls positive, {with_interval(precision)} are, as far as the prior is known."
        )
    accuracy, base = scores["accuracy"], evaluation.base_rate
    text = f"{called} is right about {with_interval(accuracy)} of bags that it has not seen"
    if "auc" in scores and scores["auc"]["value"] == scores["auc"]["value"]:
        auc = with_interval(scores["auc"], lambda value: f"{value:.2f}")
        text += f", and ranks them with an AUC of {auc}"
    text += f"; always saying the more frequent label is right about {percent(base)}."
    if accuracy["low"] <= base:
        text += f" As far as {count(n_bags, 'bag')} can tell, its labels are no better than that."
    return text


def tiles_of(bags: Any, evaluation: Evaluation | None = None) -> dict[str, tuple[str, str]]:
    """Few numbers that stand below the verdict."""
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
    tiles["folds"] = (str(evaluation.held.n_folds), "held out in turn")
    return tiles


def _class_of(model: Any) -> str:
    inside = list(model_and_inside(model))[-1]
    own = type(model).__name__
    return own if inside is model else f"{own} of {short(type(inside).__name__)}"
