"""`Canvas`: layout and drawing functions for plots with one bag per row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise._display.pictures import DARK, Palette, heat_map, new_figure, palette_of

if TYPE_CHECKING:
    pass


# Lengths in inches. One unit of the axes' data coordinates is also one inch before the canvas is scaled.
ROW, GAP, ROW_GAP = 0.74, 0.15, 0.30
_LEFT, _RIGHT, _TOP, _BOTTOM = 1.8, 1.35, 0.30, 0.12
_TITLE, _SUBTITLE_LINE, _LEGEND = 0.36, 0.2, 0.28
_SMALLEST = 4.5  # minimum font size in points; smaller text is not readable
_TRULY = {True: "#7ee0b5", False: "#1e8a5a"}  # colors of the dots on a dark and on a light background


class Canvas:
    """Rows of bags, with labels on the left and a color bar on the right.

    Parameters
    ----------
    heights : array
        Height of each row in inches.
    width : float
        Width of the drawing area of a bag in inches.
    foot : float
        Space below the last row in inches.
    title, subtitle, truth_label : str or None
        Text above the rows, and the legend of the dots below.
    has_probability : bool
        Whether predicted probabilities of bags are shown.
    ax : matplotlib axes or None
        Axes to draw into; None creates a new figure.
    """

    tops: np.ndarray
    rows_height: float
    width: float
    height: float
    palette: Palette
    is_dark: bool
    heat: Any
    scale: float

    def __init__(
        self,
        heights: ArrayLike,
        width: float,
        *,
        foot: float = 0.0,
        title: str | None,
        subtitle: str | None,
        truth_label: str | None,
        has_probability: bool,
        ax: Any,
    ):
        header = _TOP + (_TITLE if title else 0)
        header += _SUBTITLE_LINE * (subtitle.count("\n") + 1) + 0.24 if subtitle else 0
        footer = _BOTTOM + foot + (_LEGEND if truth_label or has_probability else 0)
        heights = np.asarray(heights, dtype=float)
        self.rows_height = max(ROW, heights.sum() + ROW_GAP * len(heights))
        self.width = max(6.4, _LEFT + width + _RIGHT)
        self.height = header + self.rows_height + footer
        first = self.height - header
        self.tops = first - np.concatenate([[0.0], np.cumsum(heights + ROW_GAP)])
        self.heights = heights
        if ax is None:
            figure = new_figure(self.width, self.height, layout=None, dpi=160)
            ax = figure.add_axes((0, 0, 1, 1))
        self.axes = ax
        self.palette = palette_of(ax)
        self.is_dark = self.palette is DARK
        self.heat = heat_map(self.palette)
        ax.set_axis_off()
        # Text is scaled down together with the canvas.
        box = ax.get_position()
        inches = ax.figure.get_size_inches() * [box.width, box.height]
        self.scale = min(1.0, inches[0] / self.width, inches[1] / self.height)
        self._hold()
        self._write_around(title, subtitle, truth_label, has_probability)

    def _hold(self) -> None:
        # `imshow` changes the limits of the axes, so they are set again after each image.
        self.axes.set(xlim=(0, self.width), ylim=(0, self.height), aspect="equal")

    def _write_around(
        self, title: str | None, subtitle: str | None, truth_label: str | None, has_probability: bool
    ) -> None:
        top, faint = self.height - _TOP, self.palette.faint
        if title:
            self.text(0.35, top, title, size=15, weight="bold", va="top")
            top -= _TITLE
        if subtitle:
            self.text(0.35, top, subtitle, size=9.5, color=faint, va="top", linespacing=1.45)
        if has_probability:
            self.text(0.35, _LEGEND, "P(+): predicted", size=8.5, color=faint)
        if truth_label:
            self.dot(_LEFT + 0.06, _LEGEND + 0.01)
            self.text(_LEFT + 0.18, _LEGEND, truth_label, size=8.5, color=faint)

    @property
    def left(self) -> float:
        """Left edge of the drawing area of the bags."""
        return _LEFT

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 9.0,
        color: Any = None,
        va: str = "center",
        **style: Any,
    ) -> None:
        """Draw text without math mode, so that dollar signs in a user's text are kept."""
        color = self.palette.ink if color is None else color
        size = max(size * self.scale, min(size, _SMALLEST))
        self.axes.text(x, y, text, size=size, color=color, va=va, parse_math=False, **style)

    def dot(self, x: float, y: float) -> None:
        """Draw the dot of a truly positive instance."""
        from matplotlib.patches import Circle

        self.axes.add_patch(Circle((x, y), 0.034, facecolor=_TRULY[self.is_dark], edgecolor="none", zorder=5))

    def box(self, x: float, y: float, width: float, height: float, grow: float = 0.0, **style: Any) -> Any:
        """Draw a box with rounded corners."""
        from matplotlib.patches import FancyBboxPatch

        shape = f"round,pad={grow},rounding_size={0.06 + grow}"
        return self.axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=shape, **style))

    def show(self, array: np.ndarray, x: float, y: float, width: float, height: float, **style: Any) -> Any:
        """Draw an array of colors as an image."""
        drawn = self.axes.imshow(array, extent=(x, x + width, y, y + height), zorder=2, **style)
        self._hold()
        return drawn

    def write_label(self, row: int, is_positive: bool | None, probability: float | None) -> None:
        """Draw the label of a bag, and its predicted probability with a small bar."""
        from matplotlib.patches import Rectangle

        palette = self.palette
        middle = self.tops[row] - self.heights[row] / 2
        if is_positive is not None:
            lift = 0 if probability is None else 0.17
            word, color = ("positive", palette.positive) if is_positive else ("negative", palette.ink)
            self.text(0.35, middle + lift, word, size=11, color=color, weight="bold")
        if probability is not None:
            is_wrong = is_positive is not None and (probability >= 0.5) != is_positive
            color = palette.wrong if is_wrong else palette.faint
            drop = -0.05 if is_positive is not None else 0.12
            verdict = ", wrong" if is_wrong else ""
            self.text(0.35, middle + drop, f"P(+) = {probability:.2f}{verdict}", color=color)
            for share, shade in ((1.0, palette.heat[0]), (probability, color)):
                gauge = Rectangle((0.355, middle + drop - 0.2), 0.9 * share, 0.045, facecolor=shade)
                self.axes.add_patch(gauge)

    def draw_color_bar(
        self, label: str, *, colors: Any = None, ticks: Sequence[str] = ("0", "0.5", "1")
    ) -> None:
        """Draw a color bar to the right of the rows."""
        height = min(2.6, self.rows_height - ROW_GAP)
        x, top = self.width - 0.78, self.tops[0]
        inset = self.axes.inset_axes((x, top - height, 0.11, height), transform=self.axes.transData)
        shades = self.heat if colors is None else colors
        inset.imshow(np.linspace(1, 0, 256)[:, None], cmap=shades, aspect="auto", extent=(0, 1, 0, 1))
        inset.set_xticks([])
        inset.set_yticks([0, 0.5, 1], list(ticks))
        inset.yaxis.tick_right()
        inset.tick_params(length=0, labelcolor=self.palette.faint, labelsize=8 * self.scale, pad=2)
        inset.spines[:].set_visible(False)
        where: dict[str, Any] = {"rotation": 90, "ha": "right"}
        self.text(x - 0.1, top - height / 2, label, size=8.5, color=self.palette.faint, **where)
