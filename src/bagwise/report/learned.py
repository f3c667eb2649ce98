"""What a model has learned: the rule from instances to bags, and the effects of features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bagwise._display.parts import Figure, SideBySide, Table
from bagwise.data.bags import is_scan
from bagwise.evaluation.checks.data import DataSet
from bagwise.evaluation.checks.report import count
from bagwise.models.wrappers.instance_level import model_and_inside
from bagwise.report.subject import Subject, short

_MOST_SHOWN = 15
_MOST_DRAWN = 12
# For larger data, intervals would take minutes, because each limit needs new fits.
_MOST_VALUES, _MOST_FEATURES = 10**5, 12


def rule_parts(subject: Subject) -> list[Any]:
    """Describe how instances determine the label of a bag, and plot the rule if it was learned."""
    rule = subject.inner("rule_")
    if rule is None:
        return []
    first = (type(rule).__doc__ or "").strip().split("\n")[0]
    name = type(rule).__name__
    k = getattr(rule, "k", None)
    parts: list[Any] = [f"{name}{'' if k is None else f', k = {k}'}: {first}"]
    labeler = subject.inner("labeler_")
    if labeler is not None and len(labeler.values) > 1:
        origin = "learned" if getattr(rule, "learns", False) or labeler.profile else "fixed, not learned"
        note = (
            f"P(bag is positive | n positive instances), {origin}. Bars: expected number of bags with n "
            "positive instances."
        )
        if labeler.message:
            note += f" No intervals: {labeler.message}."
        parts.append(Figure("rule", lambda: labeler.plot(intervals="wald"), "The rule", note, is_wide=True))
    return parts


def coefficient_parts(subject: Subject) -> list[Any]:
    """Return coefficients, with the number of folds in which they are nonzero, or importances."""
    if subject.model is None or subject.bags is None:
        return []
    if any(len(getattr(inside, "steps", ())) > 1 for inside in model_and_inside(subject.model)):
        return []  # outputs of other steps do not correspond to the original features
    coef = _flat(subject.inner("coef_"))
    if coef is not None and len(coef) == subject.bags.n_features:
        return _coefficients(subject, coef)
    importance = _flat(subject.inner("feature_importances_"))
    if importance is not None and len(importance) == subject.bags.n_features:
        return _importances(subject, importance)
    return []


def _flat(values: Any) -> np.ndarray | None:
    values = None if values is None else np.asarray(values)
    return None if values is None or values.size == 0 or values.size != values.shape[-1] else values.ravel()


def _names(subject: Subject) -> list[str]:
    names = subject.bags.feature_names
    return (
        [f"x{j}" for j in range(subject.bags.n_features)] if names is None else [str(name) for name in names]
    )


def _coefficients(subject: Subject, coef: np.ndarray) -> list[Any]:
    names, spread = _names(subject), _spread(subject.bags)
    effect = coef * spread
    order = np.argsort(-np.abs(effect), kind="stable")
    order = order[coef[order] != 0]
    n_zero = len(coef) - len(order)
    selected = _times_selected(subject, len(coef))
    unit = "standard deviation" if spread is not None and not np.all(spread == 1) else "unit"
    text = (
        f"Coefficients of the log-odds of an instance, sorted by their absolute value per {unit} of the "
        f"feature. {len(order):,} of {len(coef):,} are nonzero."
    )
    rows = []
    for j in order[:_MOST_SHOWN]:
        row = {
            "feature": short(names[j]),
            "coefficient": f"{coef[j]:.4g}",
            f"per {unit}": f"{effect[j]:+.3f}",
            "odds ratio": f"{np.exp(np.clip(effect[j], -50, 50)):.3g}",
        }
        if selected is not None:
            row["nonzero in folds"] = f"{selected[0][j]} of {selected[1]}"
        rows.append(row)
    note = _left_out(len(order) - len(rows), n_zero)
    if not rows:
        return [text]
    bars = _bars(names, effect, order, f"log-odds per {unit}")
    return [text, SideBySide((bars, Table("", rows, note))), *_inference(subject)]


def _left_out(n_more: int, n_zero: int) -> str:
    messages = []
    if n_more > 0:
        messages.append(f"{count(n_more, 'smaller coefficient')} {'is' if n_more == 1 else 'are'} not shown")
    if n_zero:
        messages.append(
            f"{count(n_zero, 'feature')} {'has' if n_zero == 1 else 'have'} a coefficient of zero"
        )
    return f"{'; '.join(messages)}." if messages else ""


def _spread(bags: Any) -> np.ndarray:
    """Return the standard deviations of the features, or ones if they are not computed."""
    if is_scan(bags) or not hasattr(bags.instances, "dtype"):
        return np.ones(bags.n_features)
    std = DataSet(bags).columns.std
    return np.where(std > 0, std, 1.0)


def _times_selected(subject: Subject, n_features: int) -> tuple[np.ndarray, int] | None:
    """Return the number of folds with each coefficient nonzero; None if no coefficient is ever zero."""
    models = () if subject.evaluation is None else subject.evaluation.held.models
    masks = []
    for model in models:
        for inside in model_and_inside(model):
            coef = _flat(getattr(inside, "coef_", None))
            if coef is not None and len(coef) == n_features:
                masks.append(coef != 0)
                break
    if not masks or all(mask.all() for mask in masks):
        return None
    return np.sum(masks, axis=0), len(masks)


def _inference(subject: Subject) -> list[Any]:
    """Return odds ratios with intervals, if the model was fitted without a penalty and the data are small."""
    model = next((part for part in model_and_inside(subject.model) if hasattr(part, "inference")), None)
    bags = subject.bags
    if model is None or getattr(model, "alpha", None) != 0 or is_scan(bags):
        return []
    if bags.n_features > _MOST_FEATURES or bags.n_instances * bags.n_features > _MOST_VALUES:
        return [
            "Intervals of the coefficients are omitted because computing them takes long; call "
            "model.inference() to compute them."
        ]
    try:
        table = model.inference()
        table = replace(table, names=[short(name, 22) for name in table.names])
    except (ValueError, AttributeError) as error:
        return [f"Intervals of the coefficients are not available: {error}"]
    from bagwise.models.linear_model.plots import plot_odds_ratios

    note = " ".join(table.notes)
    return [
        Figure("odds", lambda: plot_odds_ratios(table), "Odds ratios with 95 % intervals", note, is_wide=True)
    ]


def _importances(subject: Subject, importance: np.ndarray) -> list[Any]:
    names = _names(subject)
    order = np.argsort(-importance, kind="stable")
    order = order[importance[order] > 0]
    rows = [{"feature": short(names[j]), "importance": f"{importance[j]:.3f}"} for j in order[:_MOST_SHOWN]]
    text = "Importances: gain of all splits on a feature during training, as a share of the total gain."
    if not rows:
        return []
    n_more = len(order) - len(rows)
    note = f"{count(n_more, 'smaller importance')} not shown." if n_more > 0 else ""
    return [text, SideBySide((_bars(names, importance, order, "importance"), Table("", rows, note)))]


def _bars(names: list[str], effect: np.ndarray, order: np.ndarray, label: str) -> Figure:
    shown = order[:_MOST_DRAWN]

    def draw() -> Any:
        from bagwise._display.pictures import new_axes, palette_of

        figure, ax = new_axes(4.2, 0.7 + 0.24 * len(shown))
        palette = palette_of(ax)
        positions = np.arange(len(shown))[::-1]
        colors = [palette.positive if value > 0 else palette.negative for value in effect[shown]]
        ax.barh(positions, effect[shown], color=colors, height=0.62, alpha=0.85)
        ax.axvline(0, color=palette.faint, linewidth=0.6)
        ax.set_yticks(positions, [short(names[j], 22) for j in shown])
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(label)
        return figure

    note = f"The {len(shown)} largest of {len(order):,}." if len(order) > len(shown) else ""
    return Figure("features", draw, "Feature effects", note, is_wide=True)
