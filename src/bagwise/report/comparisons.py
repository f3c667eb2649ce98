"""Subject of a report about a comparison: all models, and the best model in detail."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from bagwise._display.parts import Figure, Table
from bagwise.data.bags import as_bags, is_scan
from bagwise.evaluation.checks import inspect_any
from bagwise.evaluation.checks.report import Report, count
from bagwise.evaluation.comparison import Comparison, ModelResult
from bagwise.evaluation.comparison.table import about_absence, title_of
from bagwise.evaluation.held_out import Evaluation, HeldOut, evaluate
from bagwise.models.base.held_out import Output, cross_predict, fit_in_groups
from bagwise.models.wrappers.instance_level import positive_column
from bagwise.report.models import tiles_of
from bagwise.report.repeat import repeat_parts
from bagwise.report.subject import Subject, names_of, short

_LONGEST_MESSAGE = 200  # maximum number of characters of an error or a warning


def comparison_subject(
    comparison: Comparison,
    X: Any = None,
    y: Any = None,
    names: tuple[str, ...] | None = None,
    inspection: Report | None = None,
) -> Subject:
    """Return the subject of a report about a comparison.

    If the bags are passed, the best model is fitted to all of them and to the folds of the first repeat, so
    that the report can show predictions of instances. `names` are the names of the two classes; by default,
    they are derived from the labels. `inspection` is the result of the data checks; by default, it is
    computed.
    """
    best = comparison.best
    bags = None if X is None else X if is_scan(X) else as_bags(X)
    if bags is not None and len(bags) != len(comparison.y_):
        raise ValueError(
            f"X has {len(bags)} bags, but the comparison has {len(comparison.y_)}; pass the bags that were "
            "compared."
        )
    labels = comparison.y_
    if y is not None and not np.array_equal(np.asarray(y), labels):
        raise ValueError("y differs from the labels of the comparison; omit y, or pass the same labels.")
    model, held = (None, None) if best is None else _held_out(comparison, best, bags)
    classes = comparison.classes_
    if held is not None and model is not None:
        held = held.with_positive(classes[positive_column(model)])
        classes = held.classes
    names = names_of(classes) if names is None else names
    evaluation = None if held is None else _judge(held, comparison, names)
    if inspection is None and bags is not None:
        inspection = inspect_any(bags, labels)
    folds = str(len(comparison.folds_) // comparison.n_repeats)
    if comparison.n_repeats > 1:
        folds += f", {comparison.n_repeats} times"
    facts = [
        ("models", ", ".join(short(result.name) for result in comparison.rows)),
        ("seed", str(comparison.seed_)),
        ("folds", folds),
        ("digest of the data", comparison.digest_),
    ]
    tiles = {} if bags is None else tiles_of(bags, evaluation)
    if not tiles:
        tiles = {"bags": (f"{len(labels):,}", "")}
    tiles = {
        **tiles,
        "models": (str(len(comparison.results)), f"and {count(len(comparison.baselines), 'baseline')}"),
    }
    return Subject(
        kicker="Model comparison",
        title="No model" if best is None else f"Best model: {short(best.name)}",
        verdict=_verdict(comparison),
        tiles=tiles,
        bags=bags,
        y=labels,
        names=names,
        groups=comparison.groups_,
        inspection=inspection,
        compared=tuple(_compared(comparison)),
        evaluation=evaluation,
        model=model,
        called=short(best.name) if best is not None else "no model",
        repeat=repeat_parts(comparison.code_, facts, comparison.versions_),
    )


def _verdict(comparison: Comparison) -> str:
    """Return the best model with its score, its differences from the others, and the supported assumption."""
    best, first = comparison.best, comparison.scoring[0]
    if best is None:
        return "No model could be evaluated, because all of them failed."
    low, high = best.interval[first]
    score = _with_interval(best.mean[first], low, high)
    text = f"{short(best.name)!r} is the best model: {title_of(first)} {score} on held-out bags"
    others = comparison.differences()
    baselines = {result.name for result in comparison.baselines}
    equals = [
        difference.name
        for difference in others
        if difference.name not in baselines and not difference.p < 0.05
    ]
    behind = [difference for difference in others if difference.name in baselines and not difference.p < 0.05]
    if equals:
        text += f"; {count(len(equals), 'other model')} cannot be distinguished from it on these folds"
    text += "."
    if behind:
        named = " and ".join(repr(short(difference.name)) for difference in behind)
        text += (
            f" It is not significantly better than {named}, so the comparison does not show that the model "
            "learned anything."
        )
    if comparison.assumption_ is not None:
        text += f" {comparison.assumption_.sentence}"
    text = f"{text} {about_absence(comparison)}".rstrip()
    if not comparison.is_complete:
        text = f"The comparison is incomplete. {text}"
    return text


def _compared(comparison: Comparison) -> list[Any]:
    """Return the table and the plot of all models, the failures, and the evidence for an assumption."""
    first = comparison.scoring[0]
    behind = {d.name: d for d in comparison.differences()}
    rows = []
    for result in comparison.rows:
        row: dict[str, Any] = {"model": short(result.name, 60), "family": result.family}
        for name in comparison.scoring:
            row[f"{title_of(name)} (95 %)"] = _with_interval(result.mean[name], *result.interval[name])
        difference = behind.get(result.name)
        row["vs best"] = "" if difference is None else f"{difference.mean:+.3f}"
        row["p"] = "" if difference is None or np.isnan(difference.p) else _p_value(difference.p)
        seconds = float(np.mean(result.fit_seconds))
        row["seconds"] = "-" if np.isnan(seconds) else f"{seconds:.3g}"
        rows.append(row)
    note = (
        f"Sorted by {title_of(first)}, best first. vs best: difference from the best model; p: p value from "
        "the corrected resampled t-test by Nadeau and Bengio, not corrected for multiple comparisons. "
        "Seconds: time of one fit."
    )
    parts: list[Any] = [Table("", rows, note, n_text=2)]
    title = f"{title_of(first)} of held-out bags"
    parts.append(Figure("models", lambda: _drawn(comparison), title, is_wide=True))
    parts += [
        f"{short(result.name)} failed: {short(result.error, _LONGEST_MESSAGE)}"
        for result in comparison.rows
        if result.error
    ]
    if comparison.assumption_ is not None:
        parts += [comparison.assumption_.sentence, *comparison.assumption_.evidence]
    parts += list(comparison.notes_)
    return parts


def _drawn(comparison: Comparison) -> Any:
    """Draw the models, with shortened names."""
    display = comparison.plot()
    ax = display.ax_
    ax.set_yticks(ax.get_yticks(), [short(label.get_text(), 28) for label in ax.get_yticklabels()])
    return display


def _with_interval(value: float, low: float, high: float) -> str:
    if np.isnan(value):
        return "-"
    return f"{value:.3f}" if np.isnan(low) else f"{value:.3f} ({low:.3f} to {high:.3f})"


def _p_value(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _held_out(comparison: Comparison, best: ModelResult, bags: Any) -> tuple[Any, HeldOut | None]:
    """Return the best model and its predictions in the first repeat; without bags, the model is omitted."""
    n_folds = len(comparison.folds_) // comparison.n_repeats
    folds = comparison.folds_[:n_folds]
    held = np.sort(np.concatenate([test for _, test in folds]))
    if len(held) < len(comparison.y_):
        return None, None  # the splitter does not hold out every bag
    groups, labels, classes = comparison.groups_, comparison.y_, comparison.classes_
    model: Any = None
    models: tuple[Any, ...] = ()
    if bags is not None:
        model = fit_in_groups(clone(best.estimator), bags, labels, groups)
        models = cross_predict(
            best.estimator, bags, labels, folds, outputs=[], groups=groups, keep_models=True
        ).models
    fold = np.empty(len(held), dtype=int)
    for index, (_, test) in enumerate(folds):
        fold[test] = index
    predicted = np.searchsorted(classes, best.predictions[0].astype(classes.dtype))
    outputs: dict[Output, np.ndarray] = {"predict": predicted}
    if best.oof is not None and best.oof[0].ndim == 1:
        oof = best.oof[0]
        if best.oof_kind == "probability":
            outputs["predict_proba"] = np.column_stack([1.0 - oof, oof])
        else:
            outputs["decision_function"] = oof
    return model, HeldOut(np.searchsorted(classes, labels), classes, fold, outputs, models=models)


def _judge(held: HeldOut, comparison: Comparison, names: tuple[str, ...]) -> Evaluation:
    return evaluate(held, comparison.groups_, (names[0], names[1]) if len(names) == 2 else None)
