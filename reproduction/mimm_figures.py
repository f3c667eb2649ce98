"""The figure of the mixture experiments: error curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bagwise._display.pictures import Display, new_panels, palette_of


def plot_error_curves(panels: Mapping[str, Mapping[str, Any]]) -> Display:
    """Plot errors by number of training bags, one panel per scenario, with bands of two standard errors.

    Parameters
    ----------
    panels : mapping of title to panel
        Each panel contains ``n_bags`` (a list), ``bayes`` (the Bayes error) and ``errors``: for each method,
        a list of (mean, standard error) with one entry per value in ``n_bags``.

    Returns
    -------
    Display
        Display with `figure_`, and with the first panel as `ax_`.

    Examples
    --------
    >>> from reproduction.mimm_figures import plot_error_curves
    >>> panel = {"n_bags": [10, 20], "bayes": 0.1, "errors": {"MIMM": [(0.3, 0.02), (0.2, 0.01)]}}
    >>> plot_error_curves({"a scenario": panel}).ax_.get_title(loc="left")
    'a scenario'
    """
    columns = min(3, len(panels))
    n_rows = -(-len(panels) // columns)
    figure, panes = new_panels(3.1 * columns + 0.4, 2.3 * n_rows + 0.4, n_rows, columns, sharex=True)
    grid = panes.ravel()
    palette = palette_of(grid[0])
    colors = {"MIMM": palette.positive, "MM": palette.negative, "MMU": "#6d8f5a"}
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    for axes, (title, panel) in zip(grid, panels.items(), strict=False):
        n_bags = panel["n_bags"]
        axes.axhline(100 * panel["bayes"], color=palette.faint, linestyle=":", linewidth=1)
        for method, errors in panel["errors"].items():
            mean, error = 100 * np.array(errors).T
            color = colors.get(method)
            (line,) = axes.plot(n_bags, mean, color=color, marker="o", markersize=3, label=method)
            low, high = mean - 2 * error, mean + 2 * error
            axes.fill_between(n_bags, low, high, color=line.get_color(), alpha=0.18, linewidth=0)
        axes.set_title(title, fontsize="small", loc="left")
        axes.set_xscale("log")
        axes.set_xticks(n_bags, [str(n) for n in n_bags], fontsize="small")
        axes.minorticks_off()
        axes.set_ylim(0, None)
    for axes in grid[max(0, len(panels) - columns) : len(panels)]:
        axes.set_xlabel("training bags", fontsize="small")
        axes.tick_params(labelbottom=True)  # also above empty cells of the last row
    for axes in grid[::columns]:
        axes.set_ylabel("error (%)", fontsize="small")
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    return Display(figure, grid[0])
