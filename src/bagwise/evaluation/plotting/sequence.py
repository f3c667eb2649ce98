"""`plot_sequence`: plot predictions of instances over time or along a text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from bagwise._display.pictures import Display, Palette, axes_for, heat_map
from bagwise.data.bags import Bags
from bagwise.evaluation.plotting.one_bag import PredictedBag, predict_one_bag

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bagwise.data.scanned import ScannedBags


_MOST_LINES = 40


def plot_sequence(
    model: Any,
    bags: Bags | ScannedBags,
    id: Any,
    *,
    time: str | None = None,
    text: str | None = None,
    label: Any = None,
    ax: Axes | None = None,
) -> Display:
    """Plot the predictions of a bag's instances in their order, over time or as lines of text.

    Parameters
    ----------
    model : fitted estimator
        A model with instance-level predictions; see `instance_frame`. Probabilities are plotted, or scores if
        the model has no probabilities.
    bags : Bags or ScannedBags
        The bags, with instances in sequential order.
    id : object
        Id of the bag to plot, or its index if the bags have no ids.
    time : str, optional
        Instance column with the time of each instance, in any order. By default, the horizontal axis is the
        index of the instance.
    text : str, optional
        Instance column with the text of each instance, such as a sentence. The instances are then shown as
        lines of text, and those with large values are highlighted.
    label : object, optional
        Class to plot if there are more than two; by default the predicted class. Required if the bags have
        several labels.
    ax : matplotlib axes, optional
        Axes to draw into; by default those of a new figure.

    Returns
    -------
    Display
        Display with the attributes `figure_` and `ax_`.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, make_noisy_or_bags, plot_sequence
    >>> data = make_noisy_or_bags(40, size=20, intercept=-5.0, random_state=0)
    >>> model = MILogisticRegression(n_init=1, random_state=0).fit(data.bags, data.y)
    >>> plot_sequence(model, data.bags, 3).ax_.get_xlabel()
    'instance'
    """
    if time is not None and text is not None:
        raise ValueError("time and text were both passed; pass only one of them.")
    prediction = predict_one_bag(model, bags, id, label)
    if text is None:
        ax, palette = axes_for(ax, 6.5, 2.8)
        _draw_over_time(ax, palette, prediction, time)
    else:
        texts = [str(value) for value in _column(prediction, text)]
        ax, palette = axes_for(ax, 6.5, 0.9 + 0.24 * min(len(texts), _MOST_LINES))
        _draw_lines(ax, palette, prediction, texts)
    ax.set_title(prediction.title, loc="left", fontsize="medium", parse_math=False)
    if prediction.note:
        ax.set_xlabel(f"{ax.get_xlabel()}\n{textwrap.fill(prediction.note, 75)}", parse_math=False)
    return Display(ax.figure, ax)


def _column(prediction: PredictedBag, name: str) -> np.ndarray:
    columns = prediction.bag.instance_columns
    if name not in columns:
        raise ValueError(f"the bags have no instance column {name!r}; available columns: {sorted(columns)}.")
    return columns[name]


def _draw_over_time(ax: Any, palette: Palette, prediction: PredictedBag, time: str | None) -> None:
    at = np.arange(len(prediction.values)) if time is None else _column(prediction, time)
    order = np.argsort(at, kind="stable")
    at, values = at[order], prediction.values[order]
    is_probability = prediction.kind == "probability"
    floor = 0.0 if is_probability else min(0.0, float(values.min()))
    ax.vlines(at, floor, values, color=palette.quiet, linewidth=0.8)
    ax.scatter(
        at,
        values,
        c=values,
        cmap=heat_map(palette),
        clim=(0, 1) if is_probability else None,
        edgecolors=palette.faint,
        linewidths=0.4,
        s=22,
        zorder=3,
    )
    ax.axhline(0.0, color=palette.ink, linewidth=0.6)
    if is_probability:
        ax.set_ylim(-0.02, 1.05)
    ax.set_xlabel("instance" if time is None else time, parse_math=False)
    ax.set_ylabel(prediction.value_label, parse_math=False)
    if time is None:
        ax.xaxis.get_major_locator().set_params(integer=True)


def _draw_lines(ax: Any, palette: Palette, prediction: PredictedBag, texts: list[str]) -> None:
    """Draw one line of text per instance over a bar for its probability, or for its score on a 0-1 scale."""
    shown = np.sort(np.argsort(-prediction.values, kind="stable")[:_MOST_LINES])
    values = prediction.values[shown]
    low, high = (
        (0.0, 1.0) if prediction.kind == "probability" else (prediction.values.min(), prediction.values.max())
    )
    share = (values - low) / (high - low) if high > low else np.zeros_like(values)
    positions = np.arange(len(shown))[::-1]
    ax.barh(positions, share, height=0.86, color=heat_map(palette)(share), alpha=0.75, linewidth=0)
    for position, index, value in zip(positions, shown, values, strict=True):
        ax.annotate(
            f"{value:.2f}", (0.0, position), xytext=(-4, 0), textcoords="offset points", ha="right",
            va="center", fontsize="small", color=palette.faint,
        )  # fmt: skip
        line = ax.text(0.008, position, texts[index], va="center", fontsize="small", parse_math=False)
        line.set_clip_on(True)
        line.set_in_layout(False)  # long lines are clipped, so they must not shrink the axes
    ax.set(xlim=(0, 1), ylim=(-0.6, len(shown) - 0.4))
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    left_out = len(texts) - len(shown)
    rest = f"; {left_out:,} more not shown" if left_out else ""
    ax.set_xlabel(prediction.value_label + rest, parse_math=False, fontsize="small")
