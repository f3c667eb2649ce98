"""The picture of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bagwise._display.pictures import Display, axes_for
from bagwise.evaluation.comparison.table import shown, title_of_shown

if TYPE_CHECKING:
    from bagwise.evaluation.comparison.comparison import Comparison


def plot_comparison(comparison: Comparison, scoring: str | None = None, *, ax: Any = None) -> Display:
    """Draw scores with intervals, a line for every model, best on top: see `Comparison.plot`."""
    scoring = comparison.scoring[0] if scoring is None else scoring
    if scoring not in comparison.scoring:
        known = ", ".join(map(repr, comparison.scoring))
        raise ValueError(f"scoring must be one of {known}; got {scoring!r}.")
    rows = [one for one in comparison.rows if np.isfinite(one.mean[scoring])]
    rows.sort(key=lambda one: one.mean[scoring])
    ax, palette = axes_for(ax, 6.4, 1.1 + 0.36 * max(1, len(rows)))
    best = comparison.best
    for place, one in enumerate(rows):
        colour = palette.faint if one.is_baseline else palette.accent if one is best else palette.chosen
        splits = shown(scoring, one.scores[scoring])
        ax.plot(splits, np.full(len(splits), place - 0.22), "|", color=palette.quiet, markersize=5)
        ends = [shown(scoring, end) for end in one.interval[scoring]]
        if np.isfinite(ends).all():
            ax.plot(ends, [place, place], color=colour, linewidth=2, solid_capstyle="butt")
        ax.plot(shown(scoring, one.mean[scoring]), place, "o", color=colour, markersize=6)
    ax.set_yticks(range(len(rows)), [one.name for one in rows])
    ax.set_ylim(-0.6, len(rows) - 0.4)
    better = " (lower is better)" if scoring.startswith("neg_") else ""
    ax.set_xlabel(
        f"{title_of_shown(scoring)} of held-out bags{better}, 95 % interval; small marks are splits"
    )
    return Display(ax.figure, ax)
