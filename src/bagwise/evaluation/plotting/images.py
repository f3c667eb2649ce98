"""`plot_bags`: plot bags of images or feature vectors, with the intensity of each instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from bagwise._display.pictures import Display
from bagwise.data.bags import Bags, as_bags
from bagwise.data.types import BagsLike
from bagwise.evaluation.plotting.canvas import GAP, ROW, Canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE, _STRIP, _SPACE = 0.13, 0.16, 0.05  # height of a line, width of the intensity strip, space next to it
_MOST_NAMES = 40
_MOST_FEATURES = 2000


def plot_bags(
    bags: BagsLike,
    intensity: ArrayLike,
    *,
    image_shape: Sequence[int] | None = None,
    y: ArrayLike | None = None,
    probability: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    title: str | None = None,
    subtitle: str | None = None,
    intensity_label: str = "P(instance positive)",
    truth_label: str = "truly positive",
    max_images: int = 12,
    ax: Axes | None = None,
) -> Display:
    """Plot bags of images or feature vectors, one bag per row, with the intensity of each instance.

    An image with intensity 1 is clear and has a glowing frame; an image with intensity 0 fades into the
    background. Feature vectors are plotted as a color table with one line per instance and one column per
    feature. The intensity is shown to the left of each line. Use the posterior of the instances as intensity
    to show which instances make a bag positive, or any other values between 0 and 1.

    Parameters
    ----------
    bags : Bags, list of arrays, or 3-D array
        The bags to plot.
    intensity : array of shape (n_instances,)
        Values between 0 and 1, in the order of the instances.
    image_shape : (height, width) or (height, width, 3), optional
        Shape of the images, grayscale or color, if every instance is a flattened image. The values are
        scaled to the full range from dark to bright over all plotted bags. By default, instances are plotted
        as feature vectors, with each feature standardized over the plotted bags.
    y : array of shape (n_bags,), optional
        Bag labels, 1 or True for positive bags; shown on the left.
    probability : array of shape (n_bags,), optional
        Predicted probability that a bag is positive; shown on the left. It is red if `y` is passed and
        differs from the more probable label.
    truth : array of shape (n_instances,), optional
        True for positive instances, which are marked with a small dot.
    title, subtitle : str, optional
        Text above the bags. The subtitle can have several lines.
    intensity_label : str
        Label of the color bar, which describes the intensity.
    truth_label : str
        Text of the legend, which describes the dots.
    max_images : int, default=12
        Maximum number of plotted instances per bag. For larger bags, only the instances with the largest
        intensity are plotted, in their original order.
    ax : matplotlib axes, optional
        Axes to draw into; by default those of a new figure.

    Returns
    -------
    Display
        Display with the attributes `figure_` and `ax_`. Save it with
        ``display.figure_.savefig("bags.png")``.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, load_digit_bags, plot_bags
    >>> data = load_digit_bags(60, random_state=0)
    >>> model = MILogisticRegression(random_state=0).fit(data.bags[5:], data.y[5:])
    >>> bags, y = data.bags[:5], data.y[:5]
    >>> display = plot_bags(bags, model.posterior_instances(bags, y), image_shape=(8, 8), y=y,
    ...                     probability=model.predict_proba(bags)[:, 1])
    >>> type(display.figure_).__name__
    'Figure'
    """
    bags = as_bags(bags)
    intensity = _check_values("intensity", intensity, bags.n_instances, "instances", unit_interval=True)
    y = None if y is None else _check_values("y", y, len(bags), "bags") == 1
    if probability is not None:
        probability = _check_values("probability", probability, len(bags), "bags", unit_interval=True)
    if truth is not None:
        truth = _check_values("truth", truth, bags.n_instances, "instances").astype(bool)
    if max_images < 1:
        raise ValueError(f"max_images must be at least 1; got {max_images!r}.")
    members = [np.arange(*ends) for ends in zip(bags.offsets[:-1], bags.offsets[1:], strict=True)]
    shown = [
        np.sort(selected[np.argsort(-intensity[selected], kind="stable")[:max_images]])
        for selected in members
    ]
    canvas_options = {
        "title": title,
        "subtitle": subtitle,
        "truth_label": None if truth is None else truth_label,
        "has_probability": probability is not None,
        "ax": ax,
    }
    if image_shape is None:
        canvas = draw_tables(bags, shown, intensity, truth, intensity_label, canvas_options)
    else:
        canvas = _draw_images(bags, shown, intensity, truth, _as_images(bags, image_shape), canvas_options)
        canvas.draw_color_bar(intensity_label)
    for row in range(len(bags)):
        canvas.write_label(
            row,
            None if y is None else bool(y[row]),
            None if probability is None else float(probability[row]),
        )
    return Display(canvas.axes.figure, canvas.axes)


def _check_values(name: str, values: Any, n: int, of: str, *, unit_interval: bool = False) -> np.ndarray:
    if isinstance(values, (list, tuple)) and len(values) and np.ndim(values[0]) > 0:
        raise ValueError(
            f"{name} is a list of arrays; expected one array of {n} values, one for each of the {of}: "
            f"np.concatenate({name})."
        )
    values = np.asarray(values)
    if values.shape != (n,):
        raise ValueError(f"{name} has shape {values.shape} but there are {n} {of}; pass one value for each.")
    if unit_interval and not bool(np.all((values >= 0) & (values <= 1))):
        raise ValueError(f"{name} must contain values between 0 and 1.")
    return values


def _as_images(bags: Bags, image_shape: Sequence[int]) -> np.ndarray:
    """Reshape the instances to RGB images with values between 0 and 1."""
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


def _draw_images(
    bags: Bags, shown: Any, intensity: Any, truth: Any, images: Any, canvas_options: Any
) -> Canvas:
    n_columns = max([1, *(len(selected) for selected in shown)])
    is_cut = bool((bags.sizes > [len(selected) for selected in shown]).any())
    canvas = Canvas(
        np.full(len(bags), ROW), n_columns * (ROW + GAP) - GAP + (0.75 if is_cut else 0), **canvas_options
    )
    for row, selected in enumerate(shown):
        y = canvas.tops[row] - ROW
        for column, i in enumerate(selected):
            x = canvas.left + column * (ROW + GAP)
            _draw_image(canvas, x, y, images[i], float(intensity[i]))
            if truth is not None and truth[i]:
                canvas.dot(x + ROW / 2, y - 0.105)
        left_out = int(bags.sizes[row]) - len(selected)
        if left_out:
            x = canvas.left + len(selected) * (ROW + GAP)
            canvas.text(x, y + ROW / 2, f"+ {left_out:,}", color=canvas.palette.faint)
    return canvas


def _draw_image(canvas: Canvas, x: Any, y: Any, image: Any, intensity: Any) -> None:
    """Draw an image with contrast, frame and glow depending on the intensity."""
    color = canvas.heat(intensity)
    for grow in np.linspace(0.02, 0.13, 8):
        glow = {"facecolor": color, "edgecolor": "none", "alpha": 0.075 * intensity, "zorder": 1}
        canvas.box(x, y, ROW, ROW, grow, **glow)
    if canvas.is_dark:
        ground = np.array([0.085, 0.105, 0.15]) * (1 - intensity) + np.array([0.20, 0.13, 0.05]) * intensity
        light = np.array([0.42, 0.46, 0.56]) * (1 - intensity) + np.array([1.0, 0.96, 0.86]) * intensity
        toned = ground + image * (light - ground)
    else:
        toned = 1.0 - (1.0 - image) * (0.22 + 0.78 * intensity)
    drawn = canvas.show(
        toned,
        x,
        y,
        ROW,
        ROW,
        # Small images, such as digits, are easier to recognize if they are smoothed.
        interpolation="bicubic" if len(image) < 64 else "antialiased",
        aspect="auto",
    )
    width = (0.8 + 1.7 * intensity) * canvas.scale
    drawn.set_clip_path(
        canvas.box(x, y, ROW, ROW, facecolor="none", edgecolor=color, linewidth=width, zorder=3)
    )


def draw_tables(
    bags: Bags, shown: Any, intensity: Any, truth: Any, intensity_label: str, canvas_options: dict[Any, Any]
) -> Canvas:
    """Draw each bag as a table, with intensities on the left and feature names below."""
    if bags.n_features > _MOST_FEATURES:
        raise ValueError(
            f"the bags have {bags.n_features} features, but at most {_MOST_FEATURES} can be plotted; select "
            "features with bags.with_instances, or pass image_shape if instances are images."
        )
    rows = np.concatenate([*shown, []]).astype(int)
    X = bags.instances[rows]
    scaled = _in_deviations(np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64))
    names = bags.feature_names if bags.n_features <= _MOST_NAMES else None
    cell = min(0.34, max(0.004, 6.0 / max(1, bags.n_features)))
    width = cell * bags.n_features
    foot = 0.12 + 0.075 * max(len(str(name)) for name in names) if names is not None else 0.0
    heights = [max(0.5, _LINE * len(selected)) for selected in shown]
    canvas = Canvas(heights, _STRIP + _SPACE + width + 0.55, foot=foot, **canvas_options)
    colors = _two_sided(canvas)
    begin = 0
    for row, selected in enumerate(shown):
        table = scaled[begin : begin + len(selected)]
        begin += len(selected)
        if not len(selected):
            continue
        height = _LINE * len(selected)
        y = canvas.tops[row] - (heights[row] + height) / 2
        lit = canvas.heat(intensity[selected])[:, None, :3]
        plain = {"interpolation": "nearest", "aspect": "auto"}
        canvas.show(lit, canvas.left, y, _STRIP, height, **plain)
        shades = colors(0.5 + table / 6.0)[..., :3]
        canvas.show(shades, canvas.left + _STRIP + _SPACE, y, width, height, **plain)
        for line, i in enumerate(selected):
            if truth is not None and truth[i]:
                canvas.dot(canvas.left - 0.08, y + height - _LINE * (line + 0.5))
        left_out = int(bags.sizes[row]) - len(selected)
        if left_out:
            x = canvas.left + _STRIP + _SPACE + width + 0.08
            canvas.text(x, y + height / 2, f"+ {left_out:,}", color=canvas.palette.faint)
    if names is not None:
        _name_features(canvas, names, cell)
    canvas.text(
        canvas.left, canvas.tops[0] + 0.1, intensity_label, size=7.5, color=canvas.palette.faint, va="bottom"
    )
    canvas.draw_color_bar("features, standard deviations", colors=colors, ticks=("-3", "0", "3"))
    return canvas


def _in_deviations(X: np.ndarray) -> np.ndarray:
    """Standardize the features and clip them to [-3, 3]; missing values become 0."""
    if not len(X):
        return X
    is_finite = np.isfinite(X)
    n = np.maximum(1, is_finite.sum(axis=0))
    mean = np.where(is_finite, X, 0.0).sum(axis=0) / n
    centred = np.where(is_finite, X - mean, 0.0)
    spread = np.sqrt(np.square(centred).sum(axis=0) / n)
    return np.clip(centred / np.where(spread > 0, spread, 1.0), -3.0, 3.0)


def _two_sided(canvas: Canvas) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    palette = canvas.palette
    middle = "#1c2230" if canvas.is_dark else "#f4f4f2"
    return LinearSegmentedColormap.from_list("two_sided", [palette.negative, middle, palette.positive])


def _name_features(canvas: Canvas, names: np.ndarray, cell: float) -> None:
    y = canvas.tops[-1] + 0.2
    begin = canvas.left + _STRIP + _SPACE
    for k, name in enumerate(names):
        canvas.text(
            begin + (k + 0.5) * cell, y, str(name), size=min(8.0, 72 * cell * 0.9), rotation=90, ha="center",
            va="top", color=canvas.palette.faint,
        )  # fmt: skip
