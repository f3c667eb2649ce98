"""Calibration plots for any bag classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils.validation import column_or_1d

from bagwise._core.types import Folds
from bagwise._display.pictures import Display, axes_for, legend_above
from bagwise.data.bags import aligned
from bagwise.models.base.log_loss import log_probability
from bagwise.models.wrappers.instance_level import positive_column

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MOST_MODELS = 5
_CONFIDENCE = 0.9


def plot_calibration(
    model: Any, X: Any, y: ArrayLike, *, cv: Folds | None = None, n_bins: int = 8, ax: Axes | None = None
) -> Display:
    """Plot the share of positive bags against the predicted probability (calibration curve).

    Bags are sorted by predicted probability and divided into bins of about equal size; each bin is one point.
    For a calibrated model, the points are on the diagonal. The bars are 90 % confidence intervals of the
    share (Clopper-Pearson). The panel below shows a histogram of the probabilities. The legend shows the log
    loss of each model, and the log loss of always predicting the share of positive bags as a baseline.

    Parameters
    ----------
    model : classifier with predict_proba, or dict of name to classifier
        Up to five classifiers are drawn into one figure. Without `cv`, they must be fitted.
    X : Bags, or any input that the model accepts
        Evaluation bags. Without `cv`, the model must not have been fitted to them.
    y : array of shape (n_bags,)
        Labels of the bags, of two classes.
    cv : int, splitter or None, default=None
        If not None, every fold is predicted by a clone of the model that is fitted to the other folds, as in
        scikit-learn's `cross_val_predict`.
    n_bins : int, default=8
        Maximum number of points. There are fewer if many probabilities are equal, or if there are fewer than
        five bags per point.
    ax : matplotlib axes, optional
        Axes to draw into; by default a new figure. If the axes are a subplot, the panel below takes a fifth
        of their height; otherwise the panel is omitted.

    Returns
    -------
    Display
        Display with the attributes `figure_` and `ax_` (the upper panel).

    Examples
    --------
    >>> from bagwise import MIMixture, make_mixture_bags, plot_calibration
    >>> data = make_mixture_bags(120, random_state=0)
    >>> model = MIMixture(n_init=2, random_state=0).fit(data.bags[:60], data.y[:60])
    >>> plot_calibration(model, data.bags[60:], data.y[60:]).ax_.get_ylabel()
    'share of positive bags'
    """
    models = dict(model) if isinstance(model, Mapping) else {type(model).__name__: model}
    if not 1 <= len(models) <= _MOST_MODELS:
        raise ValueError(f"model has {len(models)} classifiers; expected 1 to {_MOST_MODELS}.")
    y = column_or_1d(np.asarray(aligned("y", y, X)))
    classes = np.unique(y)
    if len(classes) != 2:
        raise ValueError(f"y has {len(classes)} classes; a calibration plot needs two.")
    column = positive_column(next(iter(models.values())))  # unfitted: the last class in sorted order
    positive = y == classes[column]
    probabilities = {
        name: _probabilities(name, classifier, X, y, classes, cv)[:, [1 + column, column]]
        for name, classifier in models.items()
    }

    above, palette = axes_for(ax, 5.2, 6.4)
    below = _panel_below(above)
    above.plot([0, 1], [0, 1], color=palette.faint, linewidth=0.8, linestyle="--")
    edges = np.linspace(0.0, 1.0, 26)
    colors = (palette.accent, palette.negative, palette.positive, palette.chosen, palette.quiet)
    for (name, proba), color in zip(probabilities.items(), colors, strict=False):
        predicted, share, low, high = calibration_points(positive, proba[:, 1], n_bins)
        above.errorbar(
            predicted,
            share,
            # Lists, because matplotlib 3.10 converts arrays with one point to a scalar and numpy then warns.
            yerr=[(share - low).tolist(), (high - share).tolist()],
            color=color,
            marker="o",
            markersize=4.5,
            linewidth=1.2,
            elinewidth=0.8,
            label=f"{name}: {log_loss(positive, proba):.2f}",
        )
        if below is not None:
            below.stairs(np.histogram(proba[:, 1], edges)[0], edges, color=color, linewidth=1.2)
    shares = np.array([np.mean(~positive), np.mean(positive)])
    base = log_loss(positive, np.tile(shares, (len(positive), 1)))
    above.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel="share of positive bags")
    legend_above(above, title=f"log loss (baseline {base:.2f})")
    (above if below is None else below).set_xlabel("predicted probability of the positive class")
    if below is not None:
        above.tick_params(labelbottom=False)
        below.set_ylabel("number of bags")
        below.set_yscale("symlog", linthresh=1)
        below.yaxis.set_major_formatter("{x:g}")
        below.set_ylim(bottom=0)
    return Display(above.figure, above)


def _panel_below(above: Axes) -> Axes | None:
    """Add a panel below a subplot, with a fifth of its height; return None if the axes are not a subplot."""
    subplot_spec = above.get_subplotspec()
    if subplot_spec is None:
        return None
    parts = subplot_spec.subgridspec(2, 1, height_ratios=(4, 1))
    above.set_subplotspec(parts[0])
    below = above.figure.add_subplot(parts[1], sharex=above)
    below.spines[["top", "right"]].set_visible(False)
    return below


def _probabilities(name: str, model: Any, X: Any, y: Any, classes: Any, cv: Any) -> np.ndarray:
    if not hasattr(model, "predict_proba"):
        has_option = hasattr(model, "get_params") and "calibrate" in model.get_params(deep=False)
        remedy = "set calibrate=True" if has_option else "use scikit-learn's CalibratedClassifierCV"
        raise ValueError(
            f"{name} has no predict_proba, but a calibration plot needs probabilities; {remedy}."
        )
    if cv is None:
        fitted_classes = model.classes_
        if not np.array_equal(fitted_classes, classes):
            raise ValueError(
                f"y has the classes {classes.tolist()}, but {name} was fitted to {fitted_classes.tolist()}."
            )
        return model.predict_proba(X)
    return cross_val_predict(clone(model), X, y, cv=cv, method="predict_proba")


def log_loss(positive: np.ndarray, proba: np.ndarray) -> float:
    """Return the mean negative log probability of the labels; infinite if a label has probability 0."""
    return float(-log_probability(proba, positive.astype(int), least=0.0).mean())


def calibration_points(
    positive: np.ndarray, probability: np.ndarray, n_bins: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Compute the points of a calibration curve: bins of about equal size, with equal values in one bin.

    Returns
    -------
    predicted, share, low, high : arrays of shape (n_points,)
        Mean probability of each bin, its share of positive bags, and the limits of the share's interval.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.evaluation.calibration_plots import calibration_points
    >>> positive, probability = np.arange(20) % 4 == 0, np.repeat([0.2, 0.6], 10)
    >>> predicted, share, low, high = calibration_points(positive, probability, 4)
    >>> predicted.round(2).tolist(), share.tolist(), high.round(2).tolist()
    ([0.2, 0.6], [0.3, 0.2], [0.61, 0.51])
    """
    order, starts = calibration_runs(probability, n_bins)
    size = np.diff(np.append(starts, len(order)))
    hits = np.add.reduceat(positive[order].astype(float), starts)
    predicted = np.add.reduceat(probability[order], starts) / size
    tail = (1.0 - _CONFIDENCE) / 2
    # Limits are quantiles of beta distributions; if no bag or every bag is positive, one limit is 0 or 1.
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), size - hits + 1, tail), 0.0)
    high = np.where(hits < size, betaincinv(hits + 1, np.maximum(size - hits, 1), 1 - tail), 1.0)
    return predicted, hits / size, low, high


def calibration_runs(probability: np.ndarray, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of the bags by probability, and the start of each bin in that order."""
    n = len(probability)
    n_bins = max(1, min(n_bins, n // 5))
    order = np.argsort(probability, kind="stable")
    ordered = probability[order]
    # A bin ends at the next change of the probability, so that equal probabilities share a bin.
    wanted = np.round(np.arange(1, n_bins) * n / n_bins).astype(int)
    starts = np.unique(np.searchsorted(ordered, ordered[wanted], side="left"))
    return order, np.union1d([0], starts[starts < n])
