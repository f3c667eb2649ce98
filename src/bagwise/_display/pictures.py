"""What pictures have in common: figures made without pyplot, open frames, and colours by what they mean.

A picture is drawn into the axes that it is given, or into a figure of its own, and comes back as a `Display`.
It is light or dark as matplotlib's style says (``plt.style.use("dark_background")``): colours are chosen for
the ground on which they stand.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import Any


@dataclass
class Display:
    """A picture that was drawn, as scikit-learn's displays are; notebooks show it.

    Attributes
    ----------
    figure_ : matplotlib figure
        Where it is; ``display.figure_.savefig("picture.pdf")`` writes it.
    ax_ : matplotlib axes
        Its axes, the first if there are several.
    """

    figure_: Any
    ax_: Any

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.figure_.savefig(buffer, format="png")
        return buffer.getvalue()


@dataclass(frozen=True)
class Palette:
    """Colours by what they mean, for a light or a dark ground."""

    ink: str  # lines of reference
    ground: str  # what empty places look like
    accent: str  # what matters
    quiet: str  # the rest
    chosen: str  # what was decided
    positive: str  # the classes
    negative: str
    faint: str  # lines behind them
    wrong: str
    heat: tuple[str, ...]  # from nothing to certain


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
# Other lines, dashes and all, where there are several of a kind.
STYLES = ("-", "--", "-.", ":")

# The light colours by their names, for pictures that are always light.
ACCENT, QUIET, CHOSEN = LIGHT.accent, LIGHT.quiet, LIGHT.chosen


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
        _open_frame(axes)
    return figure, panels


def axes_for(ax: Any, width: float, height: float) -> tuple[Any, Palette]:
    """Give the axes to draw into, those of the user or of a new figure of this size, and their colours."""
    if ax is None:
        _, ax = new_axes(width, height)
    _open_frame(ax)
    return ax, palette_of(ax)


def palette_of(ax: Any) -> Palette:
    """Choose colours for the ground of axes; where that is transparent, it is that of the figure."""
    red, green, blue, alpha = ax.get_facecolor()
    if alpha == 0:
        from matplotlib.colors import to_rgba

        red, green, blue, alpha = to_rgba(ax.figure.get_facecolor())
    brightness = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return DARK if alpha > 0 and brightness < 0.5 else LIGHT


def width_of(ax: Any) -> float:
    """The width of axes in inches, before a layout has moved them."""
    return float(ax.get_position().width * ax.figure.get_size_inches()[0])


def legend_above(ax: Any, handles: Any = None, labels: Any = None, *, n_columns: int = 3, **how: Any) -> None:
    """Name what is drawn, above the axes and their title: inside it would hide some of it.

    Names stand in `n_columns`, in fewer where axes are narrow.
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
        **how,
    )


def heat_map(palette: Palette) -> Any:
    """Give the colours from nothing to certain as matplotlib's colour map."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("heat", palette.heat)


def _open_frame(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
