"""What pictures have in common: figures made without pyplot, open frames, and colours by what they mean."""

from __future__ import annotations

from typing import Any

ACCENT, QUIET, CHOSEN = "#c0392b", "#7f9bb3", "#2c3e50"  # what matters, the rest, what was decided
POSITIVE, NEGATIVE, FAINT = "#d9722b", "#3b6ea5", "#8a8a8a"  # the classes, and lines behind them


def new_figure(width: float, height: float, **options: Any) -> Any:
    """Make an empty matplotlib figure, in inches; `options` are those of `matplotlib.figure.Figure`."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "pictures need matplotlib, which is not installed: pip install 'bagwise[plot]'"
        ) from None
    return Figure(figsize=(width, height), **({"layout": "constrained"} | options))


def new_axes(width: float, height: float) -> tuple[Any, Any]:
    """Make a figure with one pair of axes, which have no line above and on the right."""
    figure, panels = new_panels(width, height, 1, 1)
    return figure, panels[0, 0]


def new_panels(width: float, height: float, n_rows: int, n_columns: int, **shared: Any) -> tuple[Any, Any]:
    """Make a figure with a grid of such axes, given as an array; `shared` are ``sharex`` and ``sharey``."""
    figure = new_figure(width, height)
    panels = figure.subplots(n_rows, n_columns, squeeze=False, **shared)
    for axes in panels.flat:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels
