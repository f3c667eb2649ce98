"""The picture of an explanation: instances, what they do to their bag, and the features behind the first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bagwise._display.pictures import Display, Palette, axes_for, legend_above, new_panels, palette_of

if TYPE_CHECKING:
    from bagwise.evaluation.explanations.explanation import BagExplanation

_LONGEST_NAME = 22


def draw_explanation(explanation: BagExplanation, ax: Any = None) -> Display:
    """Draw an explanation; `BagExplanation.plot` documents it."""
    n_rows = len(explanation.columns["instance"])
    height = 1.3 + 0.26 * max(n_rows, 4)
    is_own = ax is None
    if is_own and explanation.features:
        _, panels = new_panels(7.2, height, 1, 2)
        ax = panels[0, 0]
        _draw_features(panels[0, 1], explanation)
    ax, palette = axes_for(ax, 4.2, height)
    _draw_instances(ax, palette, explanation)
    how: dict[str, Any] = {"frameon": False, "fontsize": "small"}
    if is_own:
        ax.figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3, **how)
    else:
        legend_above(ax)
    return Display(ax.figure, ax)


def _draw_instances(ax: Any, palette: Palette, explanation: BagExplanation) -> None:
    columns, kind = explanation.columns, explanation.instance_kind
    values, without = columns[kind], columns["without"]
    places = np.arange(len(values))[::-1]
    ax.barh(places, values, color=palette.positive, height=0.6, alpha=0.85, label=f"{kind} of the instance")
    ax.axvline(explanation.value, color=palette.chosen, linewidth=1.0, label=f"{explanation.kind} of the bag")
    left = np.isfinite(without)
    if left.any():
        how = {"color": palette.chosen, "markersize": 4, "label": "the bag without it"}
        ax.plot(without[left], places[left], "D", **how)
    ax.set_yticks(places, [_name(explanation, row) for row in range(len(values))])
    if explanation.kind == kind == "probability":
        ax.set_xlim(0, 1.02)
    else:
        ax.axvline(0, color=palette.faint, linewidth=0.6)
    called = _short(str(explanation.positive))
    ax.set_xlabel(f"probability of {called!r}" if kind == "probability" else f"score for {called!r}")
    ax.set_title(f"bag {_short(str(explanation.bag))}", loc="left", fontsize="medium")


def _draw_features(ax: Any, explanation: BagExplanation) -> None:
    palette = palette_of(ax)
    _, effects = explanation.features[0]
    places = np.arange(len(effects))[::-1]
    sizes = [effect.effect for effect in effects]
    colors = [palette.positive if size > 0 else palette.negative for size in sizes]
    ax.barh(places, sizes, color=colors, height=0.6, alpha=0.85)
    ax.axvline(0, color=palette.faint, linewidth=0.6)
    ax.set_yticks(places, [f"{_short(effect.name)} = {effect.value:.3g}" for effect in effects])
    what = "log-odds" if explanation.instance_kind == "probability" else "score"
    ax.set_xlabel(f"{what}, against the usual value")
    ax.set_title(f"features of {_name(explanation, 0)}", loc="left", fontsize="medium")


def _name(explanation: BagExplanation, row: int) -> str:
    """Name an instance by the first text that came with it, else by its place in the bag."""
    for name, column in explanation.columns.items():
        if column.dtype.kind in "UO":
            return _short(f"{name} {column[row]}")
    return f"instance {explanation.columns['instance'][row]}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
