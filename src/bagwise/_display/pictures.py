"""The common style of plots: figures without pyplot, frames without top and right lines, named colors.

A plot function draws into the axes that it receives, or into a new figure, and returns a `Display`. Colors
are chosen for the background, which is light or dark depending on matplotlib's style
(``plt.style.use("dark_background")``).
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import Any


@dataclass
class Display:
    """A plot, similar to scikit-learn's display objects; notebooks show it.

    Attributes
    ----------
    figure_ : matplotlib figure
        The figure; ``display.figure_.savefig("picture.pdf")`` saves it.
    ax_ : matplotlib axes
        The axes of the plot; the first axes if there are several.
    """

    figure_: Any
    ax_: Any

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.figure_.savefig(buffer, format="png")
        return buffer.getvalue()


@dataclass(frozen=True)
class Palette:
    """Named colors for a light or a dark background."""

    ink: str  # reference lines
    ground: str  # background
    accent: str  # highlighted elements
    quiet: str  # all other elements
    chosen: str  # the selected value
    positive: str  # the positive and the negative class
    negative: str
    faint: str  # lines in the background
    wrong: str
    heat: tuple[str, ...]  # color map from probability 0 to 1


LIGHT = Palette(
    ink="#000000",
    ground="#ffffff",
    accent="#c0392b",
    quiet="#7f9bb3",
    chosen="#2c3e50",
    positive="#d9722b",
    negative="#3b6ea5",
    faint="#8a8a8a",
    wrong="#c0392b",
    heat=("#e8ebf0", "#f6d9a8", "#f0a13c", "#d9581f", "#8a1c0b"),
)
DARK = Palette(
    ink="#f2efe9",
    ground="#0e1118",
    accent="#ff7b6b",
    quiet="#6d87a3",
    chosen="#f2efe9",
    positive="#ffb43a",
    negative="#7fb2ea",
    faint="#8b93a7",
    wrong="#ff6b6b",
    heat=("#2a3146", "#6b4a3a", "#d9822b", "#ffb93f", "#ffe49a"),
)
# Line styles, for several lines of the same color.
STYLES = ("-", "--", "-.", ":")

# Colors for plots that always have a light background.
ACCENT, QUIET, CHOSEN = LIGHT.accent, LIGHT.quiet, LIGHT.chosen


def new_figure(width: float, height: float, **options: Any) -> Any:
    """Create an empty figure, sizes in inches; `options` are passed to `matplotlib.figure.Figure`."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "plots need matplotlib, which is not installed: pip install 'bagwise[plot]'"
        ) from None
    return Figure(figsize=(width, height), **({"layout": "constrained"} | options))


def new_axes(width: float, height: float) -> tuple[Any, Any]:
    """Create a figure with one set of axes, whose frame has no top and right line."""
    figure, panels = new_panels(width, height, 1, 1)
    return figure, panels[0, 0]


def new_panels(width: float, height: float, n_rows: int, n_columns: int, **shared: Any) -> tuple[Any, Any]:
    """Create a figure and a grid of such axes, as an array; `shared` are ``sharex`` and ``sharey``."""
    figure = new_figure(width, height)
    panels = figure.subplots(n_rows, n_columns, squeeze=False, **shared)
    for axes in panels.flat:
        _open_frame(axes)
    return figure, panels


def axes_for(ax: Any, width: float, height: float) -> tuple[Any, Palette]:
    """Return the axes to draw into (`ax`, or new axes in a figure of this size) and their palette."""
    if ax is None:
        _, ax = new_axes(width, height)
    _open_frame(ax)
    return ax, palette_of(ax)


def palette_of(ax: Any) -> Palette:
    """Return the palette for the background of axes, or of the figure if the axes are transparent."""
    red, green, blue, alpha = ax.get_facecolor()
    if alpha == 0:
        from matplotlib.colors import to_rgba

        red, green, blue, alpha = to_rgba(ax.figure.get_facecolor())
    brightness = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return DARK if alpha > 0 and brightness < 0.5 else LIGHT


def width_of(ax: Any) -> float:
    """Return the width of axes in inches, before the layout is computed."""
    return float(ax.get_position().width * ax.figure.get_size_inches()[0])


def legend_above(
    ax: Any, handles: Any = None, labels: Any = None, *, n_columns: int = 3, **options: Any
) -> None:
    """Add a legend above the axes and their title, where it hides no data.

    The legend has `n_columns` columns, or fewer if the axes are narrow.
    """
    from matplotlib.transforms import ScaledTranslation

    if handles is None:
        handles, labels = ax.get_legend_handles_labels()
    has_title = any(ax.get_title(loc=where) for where in ("left", "center", "right"))
    lift = ScaledTranslation(0.0, 0.27 if has_title else 0.04, ax.figure.dpi_scale_trans)
    is_wide = width_of(ax) > 4.5
    ax.legend(
        handles,
        labels,
        frameon=False,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        bbox_transform=ax.transAxes + lift,
        borderpad=0.0,
        borderaxespad=0.0,
        alignment="left",
        ncols=n_columns if is_wide else 1 + (len(labels) > 4),
        fontsize="small" if is_wide else "x-small",
        title_fontsize="small" if is_wide else "x-small",
        **options,
    )


def heat_map(palette: Palette) -> Any:
    """Return the colors for probabilities from 0 to 1 as a matplotlib color map."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("heat", palette.heat)


def _open_frame(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
