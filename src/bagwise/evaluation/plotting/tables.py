"""Bags of numbers as tables of colours: a line an instance, a column a feature."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.data.bags import Bags
from bagwise.evaluation.plotting.canvas import Canvas

_LINE, _STRIP, _SPACE = 0.13, 0.16, 0.05  # a line's height, the strip of intensities, and what parts them
_MOST_NAMES = 40
_MOST_FEATURES = 2000


def draw_tables(
    bags: Bags, shown: Any, intensity: Any, truth: Any, intensity_label: str, around: dict[Any, Any]
) -> Canvas:
    """Draw every bag as a table, with its intensities at the left and features named below."""
    if bags.n_features > _MOST_FEATURES:
        raise ValueError(
            f"the bags have {bags.n_features} features, and a picture has room for {_MOST_FEATURES}; choose "
            "some by bags.with_instances, or pass image_shape if instances are images."
        )
    rows = np.concatenate([*shown, []]).astype(int)
    X = bags.instances[rows]
    scaled = _in_deviations(np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64))
    names = bags.feature_names if bags.n_features <= _MOST_NAMES else None
    cell = min(0.34, max(0.004, 6.0 / max(1, bags.n_features)))
    width = cell * bags.n_features
    foot = 0.12 + 0.075 * max(len(str(name)) for name in names) if names is not None else 0.0
    heights = [max(0.5, _LINE * len(some)) for some in shown]
    canvas = Canvas(heights, _STRIP + _SPACE + width + 0.55, foot=foot, **around)
    colors = _two_sided(canvas)
    begin = 0
    for row, some in enumerate(shown):
        table = scaled[begin : begin + len(some)]
        begin += len(some)
        if not len(some):
            continue
        height = _LINE * len(some)
        y = canvas.tops[row] - (heights[row] + height) / 2
        lit = canvas.heat(intensity[some])[:, None, :3]
        plain = {"interpolation": "nearest", "aspect": "auto"}
        canvas.show(lit, canvas.left, y, _STRIP, height, **plain)
        shades = colors(0.5 + table / 6.0)[..., :3]
        canvas.show(shades, canvas.left + _STRIP + _SPACE, y, width, height, **plain)
        for line, i in enumerate(some):
            if truth is not None and truth[i]:
                canvas.dot(canvas.left - 0.08, y + height - _LINE * (line + 0.5))
        left_out = int(bags.sizes[row]) - len(some)
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
    """Give every feature as deviations from its mean, at most three; missing values are in the middle."""
    if not len(X):
        return X
    there = np.isfinite(X)
    n = np.maximum(1, there.sum(axis=0))
    mean = np.where(there, X, 0.0).sum(axis=0) / n
    centred = np.where(there, X - mean, 0.0)
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
