"""Pictures of bags, by matplotlib (``pip install 'bagwise[plot]'``).

Figures are made without pyplot: no window opens and the backend of the calling program is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bagwise._pictures import new_figure
from bagwise.bags import Bags, as_bags

_NIGHT, _PAPER, _FAINT = "#0e1118", "#f2efe9", "#8b93a7"
_AMBER, _RED, _GREEN = "#ffb43a", "#ff6b6b", "#7ee0b5"
_GLOW = ["#2a3146", "#6b4a3a", "#d9822b", "#ffb93f", "#ffe49a"]

# Lengths in inches; the one axes of the figure is measured in them too.
_IMAGE, _GAP, _ROW_GAP = 0.74, 0.15, 0.30
_LEFT, _RIGHT, _TOP, _BOTTOM = 1.8, 1.35, 0.30, 0.12
_TITLE, _SUBTITLE_LINE, _LEGEND = 0.36, 0.2, 0.28


def plot_bags(
    bags,
    intensity,
    *,
    image_shape: Sequence[int],
    y=None,
    probability=None,
    truth=None,
    title: str | None = None,
    subtitle: str | None = None,
    intensity_label: str = "P(instance positive)",
    truth_label: str = "truly positive",
    max_images: int = 12,
) -> Any:
    """Draw bags of images, one a row, each image lit by how positive it is held to be.

    An image of intensity 1 is bright in a glowing frame, one of intensity 0 lies in the dark. Give the
    posterior of the instances to show who made a bag positive, or any other number from 0 to 1.

    Parameters
    ----------
    bags : Bags, list of arrays, or 3-D array
        The bags to draw; every instance is a flattened image.
    intensity : array of shape (n_instances,)
        From 0 to 1, in the order of the bags' instances.
    image_shape : (height, width) or (height, width, 3)
        The shape of an image, grey or colour. The values are stretched to the full range from dark to
        bright, over all bags drawn.
    y : array of shape (n_bags,), optional
        Labels of the bags, 1 or True for positive ones; written at the left.
    probability : array of shape (n_bags,), optional
        Predicted probability that a bag is positive; written at the left, in red if `y` is given and
        the more probable label is not the true one.
    truth : array of shape (n_instances,), optional
        True where an instance is positive; these get a small dot below the image.
    title, subtitle : str, optional
        Text above the bags. The subtitle may have several lines.
    intensity_label : str
        What the intensity is: the text at the colour bar.
    truth_label : str
        What the dots mean: the text of the legend.
    max_images : int, default=12
        Of a larger bag, only so many images of the largest intensity are drawn, in their order.

    Returns
    -------
    matplotlib.figure.Figure
        Write it with ``figure.savefig("bags.png")``; in a notebook, ``display(figure)``.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, load_digit_bags
    >>> from bagwise.plotting import plot_bags
    >>> data = load_digit_bags(60, random_state=0)
    >>> model = MILogisticRegression(random_state=0).fit(data.bags[5:], data.y[5:])
    >>> bags, y = data.bags[:5], data.y[:5]
    >>> figure = plot_bags(bags, model.posterior_instances(bags, y), image_shape=(8, 8), y=y,
    ...                    probability=model.predict_proba(bags)[:, 1])
    >>> type(figure).__name__
    'Figure'
    """
    bags = as_bags(bags)
    intensity = _one_each("intensity", intensity, bags.n_instances, "instances", unit_interval=True)
    y = None if y is None else _one_each("y", y, len(bags), "bags") == 1
    if probability is not None:
        probability = _one_each("probability", probability, len(bags), "bags", unit_interval=True)
    if truth is not None:
        truth = _one_each("truth", truth, bags.n_instances, "instances").astype(bool)
    if max_images < 1:
        raise ValueError(f"max_images must be at least 1; got {max_images!r}.")
    images = _as_images(bags, image_shape)
    canvas = _Canvas(
        n_rows=len(bags),
        n_columns=max(1, min(max_images, int(bags.sizes.max(initial=1)))),
        is_cut=bool(bags.sizes.max(initial=0) > max_images),
        title=title,
        subtitle=subtitle,
        truth_label=None if truth is None else truth_label,
        has_probability=probability is not None,
    )
    for row in range(len(bags)):
        members = np.arange(bags.offsets[row], bags.offsets[row + 1])
        shown = np.sort(members[np.argsort(-intensity[members], kind="stable")[:max_images]])
        canvas.write_label(
            row,
            None if y is None else bool(y[row]),
            None if probability is None else float(probability[row]),
        )
        for column, i in enumerate(shown):
            canvas.draw_image(row, column, images[i], float(intensity[i]))
            if truth is not None and truth[i]:
                canvas.mark(row, column)
        if len(shown) < len(members):
            canvas.write_rest(row, len(shown), len(members) - len(shown))
    canvas.draw_color_bar(intensity_label)
    return canvas.figure


def _one_each(name: str, values, n: int, of: str, *, unit_interval: bool = False) -> np.ndarray:
    values = np.asarray(values)
    if values.shape != (n,):
        raise ValueError(f"{name} has shape {values.shape} but there are {n} {of}; give one for each.")
    if unit_interval and not bool(np.all((values >= 0) & (values <= 1))):
        raise ValueError(f"{name} must be numbers from 0 to 1.")
    return values


def _as_images(bags: Bags, image_shape: Sequence[int]) -> np.ndarray:
    """Cut the instances into images of values from 0 to 1; grey ones have three equal colours."""
    shape = tuple(image_shape)
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] != 3):
        raise ValueError(f"image_shape must be (height, width) or (height, width, 3); got {shape}.")
    if int(np.prod(shape)) != bags.n_features:
        raise ValueError(
            f"image_shape={shape} needs {int(np.prod(shape))} values per instance but the bags have "
            f"{bags.n_features} features."
        )
    X = bags.instances
    values = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    values = (values - low) / (high - low) if high > low else np.zeros_like(values)
    images = values.reshape(-1, *shape)
    return images if len(shape) == 3 else np.repeat(images[..., None], 3, axis=3)


class _Canvas:
    """The figure: knows where things stand and what they look like, and nothing of models."""

    def __init__(self, *, n_rows, n_columns, is_cut, title, subtitle, truth_label, has_probability):
        header = _TOP + (_TITLE if title else 0)
        header += _SUBTITLE_LINE * (subtitle.count("\n") + 1) + 0.24 if subtitle else 0
        footer = _BOTTOM + (_LEGEND if truth_label or has_probability else 0)
        self.rows_height = max(1, n_rows) * (_IMAGE + _ROW_GAP)
        self.images_right = _LEFT + n_columns * (_IMAGE + _GAP) - _GAP + (0.75 if is_cut else 0)
        self.width = max(6.4, self.images_right + _RIGHT)
        self.height = header + self.rows_height + footer
        self.first_row_top = self.height - header
        self.figure = new_figure(self.width, self.height, layout=None, dpi=160, facecolor=_NIGHT)
        from matplotlib.colors import LinearSegmentedColormap

        self.glow = LinearSegmentedColormap.from_list("glow", _GLOW)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()
        self.axes.set(xlim=(0, self.width), ylim=(0, self.height))

        top = self.height - _TOP
        if title:
            self._text(0.35, top, title, size=15, weight="bold", va="top")
            top -= _TITLE
        if subtitle:
            self._text(0.35, top, subtitle, size=9.5, color=_FAINT, va="top", linespacing=1.45)
        if has_probability:
            self._text(0.35, _LEGEND, "P(+): predicted", size=8.5, color=_FAINT)
        if truth_label:
            self._dot(_LEFT + 0.06, _LEGEND + 0.01)
            self._text(_LEFT + 0.18, _LEGEND, truth_label, size=8.5, color=_FAINT)

    def _text(self, x, y, text, *, size=9.0, color=_PAPER, va="center", **style):
        # parse_math: a dollar sign in a user's text is a dollar sign.
        self.axes.text(x, y, text, size=size, color=color, va=va, parse_math=False, **style)

    def _dot(self, x, y):
        from matplotlib.patches import Circle

        self.axes.add_patch(Circle((x, y), 0.034, facecolor=_GREEN, edgecolor="none", zorder=5))

    def _corner(self, row, column) -> tuple[float, float]:
        """Give the lower left corner of an image."""
        x = _LEFT + column * (_IMAGE + _GAP)
        return x, self.first_row_top - row * (_IMAGE + _ROW_GAP) - _IMAGE

    def _box(self, x, y, grow=0.0, **style):
        from matplotlib.patches import FancyBboxPatch

        shape = f"round,pad={grow},rounding_size={0.06 + grow}"
        return self.axes.add_patch(FancyBboxPatch((x, y), _IMAGE, _IMAGE, boxstyle=shape, **style))

    def draw_image(self, row, column, image, intensity):
        """Draw an image whose brightness, frame and glow follow the intensity."""
        x, y = self._corner(row, column)
        color = self.glow(intensity)
        for grow in np.linspace(0.02, 0.13, 8):
            self._box(x, y, grow, facecolor=color, edgecolor="none", alpha=0.075 * intensity, zorder=1)
        ground = np.array([0.085, 0.105, 0.15]) * (1 - intensity) + np.array([0.20, 0.13, 0.05]) * intensity
        light = np.array([0.42, 0.46, 0.56]) * (1 - intensity) + np.array([1.0, 0.96, 0.86]) * intensity
        drawn = self.axes.imshow(
            ground + image * (light - ground),
            extent=(x, x + _IMAGE, y, y + _IMAGE),
            # An eye reads the handful of pixels of a digit better when they are smoothed.
            interpolation="bicubic" if len(image) < 64 else "antialiased",
            aspect="auto",
            zorder=2,
        )
        frame = self._box(x, y, facecolor="none", edgecolor=color, linewidth=0.8 + 1.7 * intensity, zorder=3)
        drawn.set_clip_path(frame)
        # imshow moves the limits to its extent.
        self.axes.set(xlim=(0, self.width), ylim=(0, self.height))

    def mark(self, row, column):
        """Put the dot of a truly positive instance below its image."""
        x, y = self._corner(row, column)
        self._dot(x + _IMAGE / 2, y - 0.105)

    def write_label(self, row, is_positive, probability):
        """Write the label of a bag, and its predicted probability with a small gauge."""
        from matplotlib.patches import Rectangle

        middle = self._corner(row, 0)[1] + _IMAGE / 2
        if is_positive is not None:
            lift = 0 if probability is None else 0.17
            word, color = ("positive", _AMBER) if is_positive else ("negative", _PAPER)
            self._text(0.35, middle + lift, word, size=11, color=color, weight="bold")
        if probability is not None:
            is_wrong = is_positive is not None and (probability >= 0.5) != is_positive
            color = _RED if is_wrong else _FAINT
            drop = -0.05 if is_positive is not None else 0.12
            verdict = ", wrong" if is_wrong else ""
            self._text(0.35, middle + drop, f"P(+) = {probability:.2f}{verdict}", color=color)
            for share, shade in ((1.0, "#262c3b"), (probability, color)):
                gauge = Rectangle((0.355, middle + drop - 0.2), 0.9 * share, 0.045, facecolor=shade)
                self.axes.add_patch(gauge)

    def write_rest(self, row, n_shown, n_left_out):
        """Say how many images of a large bag are not drawn."""
        x, y = self._corner(row, n_shown)
        self._text(x, y + _IMAGE / 2, f"+ {n_left_out:,}", color=_FAINT)

    def draw_color_bar(self, label):
        """Draw what the colours of frames mean, at the right of the rows."""
        height = min(2.6, self.rows_height - _ROW_GAP)
        x, top = self.width - 0.78, self.first_row_top
        inset = self.figure.add_axes(
            (x / self.width, (top - height) / self.height, 0.11 / self.width, height / self.height)
        )
        inset.imshow(np.linspace(1, 0, 256)[:, None], cmap=self.glow, aspect="auto", extent=(0, 1, 0, 1))
        inset.set_xticks([])
        inset.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
        inset.yaxis.tick_right()
        inset.tick_params(length=0, labelcolor=_FAINT, labelsize=8)
        inset.spines[:].set_visible(False)
        self._text(x - 0.1, top - height / 2, label, size=8.5, color=_FAINT, rotation=90, ha="right")
