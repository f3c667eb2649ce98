"""Plots of penalty paths, cross-validation curves, odds ratios and learned rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.isotonic import isotonic_regression

from bagwise._display.pictures import STYLES, Display, Palette, axes_for, legend_above, palette_of, width_of
from bagwise.models.linear_model.inference import Inference
from bagwise.models.linear_model.labeler import n_plausible_counts
from bagwise.models.linear_model.path import MILRPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bagwise.models.linear_model.diagnose import RuleDiagnosis
    from bagwise.models.linear_model.labeler import Labeler

# Limits of the plotted odds ratios, in powers of ten: distance beyond the estimates, and distance from 1. An
# arrow marks an interval that continues beyond them.
_BEYOND, _FURTHEST = 3.0, 6.0


def plot_path(
    path: MILRPath,
    *,
    feature_names: Sequence[str] | np.ndarray | None = None,
    alpha: float | None = None,
    highlight: ArrayLike | None = None,
    n_names: int = 8,
    ax: Axes | None = None,
) -> Display:
    """Plot the coefficients of a path against the penalty.

    Parameters
    ----------
    path : MILRPath
        From `milr_path`, or the `path_` of a `MILogisticRegressionCV`.
    feature_names : sequence of str, optional
        Names of the features; by default the feature names of the bags, or x0, x1, ...
    alpha : float, optional
        The selected penalty, which is marked by a vertical line. The features that are in the model at this
        penalty have strong lines, each in a different color.
    highlight : array of bool, optional
        Features to draw with a strong line in a single color instead, such as the features with a true
        effect. If neither `alpha` nor `highlight` is passed, the named features have strong lines, each in a
        different color.
    n_names : int, default=8
        Number of the largest coefficients whose names are written at the end of their lines.
    ax : matplotlib axes, optional
        The axes to draw on; by default a new figure is created.

    Returns
    -------
    Display
        The plot, with the attributes `figure_` and `ax_`.

    Examples
    --------
    >>> from bagwise import make_noisy_or_bags, milr_path, plot_path
    >>> data = make_noisy_or_bags(100, random_state=0)
    >>> plot_path(milr_path(data.bags, data.y, alphas=5)).ax_.get_ylabel()
    'coefficient'
    """
    n_features = path.coefs.shape[1]
    if feature_names is None:
        feature_names = getattr(path, "feature_names", None)
    names = [f"x{i}" for i in range(n_features)] if feature_names is None else list(map(str, feature_names))
    if len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} names but the path has {n_features} features.")
    ax, palette = axes_for(ax, 7.5, 4.5)
    ends = path.coefs[-1]
    named = [int(k) for k in np.argsort(-np.abs(ends))[:n_names] if ends[k] != 0]
    colored = named
    if alpha is not None:
        selected = path.coefs[int(np.argmin(np.abs(path.alphas - alpha)))]
        colored = [int(k) for k in np.argsort(-np.abs(ends), kind="stable") if selected[k] != 0]
    looks = _looks(ax, palette, n_features, colored, highlight)
    for k in sorted(range(n_features), key=lambda k: looks[k]["linewidth"]):  # highlighted lines on top
        ax.plot(path.alphas, path.coefs[:, k], **looks[k])
    ax.axhline(0.0, color=palette.ink, linewidth=0.6)
    ax.set_xscale("log")
    ax.invert_xaxis()
    if alpha is not None:
        ax.axvline(alpha, color=palette.chosen, linewidth=1.0, linestyle="--")
        ax.set_title(f"selected: {alpha:.3g}", loc="left", fontsize="small", color=palette.chosen)
    _name_ends(ax, path, names, named, looks, palette)
    ax.set_xlabel("penalty alpha (decreasing)")
    ax.set_ylabel("coefficient")
    return Display(ax.figure, ax)


def _looks(
    ax: Any, palette: Palette, n_features: int, colored: list[int], highlight: Any
) -> list[dict[Any, Any]]:
    """Return the line style of every feature."""
    plain = {"color": palette.quiet, "linewidth": 0.8, "alpha": 0.6}
    if highlight is not None:
        strong = {"color": palette.accent, "linewidth": 1.6}
        return [strong if highlight[k] else plain for k in range(n_features)]
    looks = [dict(plain) for _ in range(n_features)]
    colors = _cycle(ax)
    for i, k in enumerate(colored):
        style = STYLES[i // len(colors) % len(STYLES)]
        looks[k] = {"color": colors[i % len(colors)], "linewidth": 1.6, "linestyle": style}
    return looks


def _cycle(ax: Any) -> list[str]:
    """Return the line colors of the current matplotlib style, without pale and gray ones."""
    from matplotlib import rcParams
    from matplotlib.colors import to_rgb

    colors = rcParams["axes.prop_cycle"].by_key().get("color", ["C0"])
    return [color for color in colors if max(to_rgb(color)) - min(to_rgb(color)) > 0.15] or colors


def _name_ends(
    ax: Any, path: MILRPath, names: Any, named: list[int], looks: list[dict[Any, Any]], palette: Palette
) -> None:
    """Write the names of the largest coefficients next to their lines, without overlaps."""
    if not named:
        return
    ends = path.coefs[-1]
    low, high = ax.get_ylim()
    chosen = np.array(sorted(named, key=lambda k: ends[k]))
    height = ax.get_position().height * ax.figure.get_size_inches()[1]
    # Put names as close to the line ends as the minimum distance between names allows: least squares with
    # a monotonicity constraint.
    line = min(0.19 / max(height, 0.5), 1.0 / len(chosen))
    steps = line * (high - low) * np.arange(len(chosen))
    positions = isotonic_regression(ends[chosen] - steps) + steps
    for k, position in zip(chosen, positions, strict=True):
        ax.annotate(
            names[k], (path.alphas[-1], ends[k]), xytext=(1.03, position),
            textcoords=("axes fraction", "data"), va="center", fontsize="small", annotation_clip=False,
            color=looks[k]["color"] if "linestyle" in looks[k] else None, parse_math=False,
            arrowprops={"arrowstyle": "-", "color": palette.faint, "linewidth": 0.6},
        )  # fmt: skip


def plot_cv(model: Any, *, ax: Axes | None = None) -> Display:
    """Plot the selection criterion of a fitted `MILogisticRegressionCV` against the penalty.

    Parameters
    ----------
    model : fitted MILogisticRegressionCV
        The model. For cross-validation, the plot contains a band of one standard error over the folds, and
        the deviance of the base rate as a horizontal line; BIC and AIC have neither. The curve belongs to the
        fold paths, which start at the model without features (`MILogisticRegressionCV.deviances_`).
    ax : matplotlib axes, optional
        The axes to draw on; by default a new figure is created.

    Returns
    -------
    Display
        The plot, with the attributes `figure_` and `ax_`.

    Examples
    --------
    >>> from bagwise import MILogisticRegressionCV, make_noisy_or_bags, plot_cv
    >>> data = make_noisy_or_bags(60, random_state=0)
    >>> model = MILogisticRegressionCV(alphas=5, cv=3, n_init=1, random_state=0).fit(data.bags, data.y)
    >>> plot_cv(model).ax_.get_xlabel()
    'penalty alpha (decreasing)'
    """
    ax, palette = axes_for(ax, 7.0, 4.5)
    if model.criterion == "deviance":
        error = model.deviances_.std(axis=1, ddof=1) / np.sqrt(model.deviances_.shape[1])
        ax.fill_between(
            model.alphas_, model.criterion_path_ - error, model.criterion_path_ + error,
            color=palette.quiet, alpha=0.3, linewidth=0, label="one standard error",
        )  # fmt: skip
        ax.axhline(model.base_deviance_, color=palette.quiet, linewidth=1.0, linestyle=":", label="base rate")
    label = {"deviance": "deviance per held-out bag\n(fold paths)", "bic": "BIC", "aic": "AIC"}
    ax.plot(model.alphas_, model.criterion_path_, color=palette.accent, marker="o", markersize=3.5)
    ax.axvline(
        model.alpha_,
        color=palette.chosen,
        linewidth=1.0,
        linestyle="--",
        label=f"selected: {model.alpha_:.3g}",
    )
    ax.set_xscale("log")
    ax.invert_xaxis()
    ax.set_xlabel("penalty alpha (decreasing)")
    ax.set_ylabel(label[model.criterion])
    legend_above(ax)
    return Display(ax.figure, ax)


def plot_odds_ratios(inference: Inference, *, level: float = 0.95, ax: Axes | None = None) -> Display:
    """Draw a forest plot of the odds ratios of all features with their confidence intervals.

    Parameters
    ----------
    inference : Inference
        From `MILogisticRegression.inference`.
    level : float, default=0.95
        The confidence level of the intervals. Intervals are cut off at three powers of ten beyond all
        estimates, and at odds ratios of a million and a millionth. Arrows mark cut intervals; estimates
        beyond these limits are not drawn.
    ax : matplotlib axes, optional
        The axes to draw on; by default a new figure is created.

    Returns
    -------
    Display
        The plot, with the attributes `figure_` and `ax_`.

    Examples
    --------
    >>> from bagwise import MILogisticRegression, make_noisy_or_bags, plot_odds_ratios
    >>> data = make_noisy_or_bags(100, random_state=0)
    >>> model = MILogisticRegression(alpha=0.0, random_state=0).fit(data.bags, data.y)
    >>> [tick.get_text() for tick in plot_odds_ratios(model.inference()).ax_.get_yticklabels()]
    ['x0', 'x1', 'x2']
    """
    shown = [i for i, name in enumerate(inference.names) if name != "(intercept)"]
    ax, palette = axes_for(ax, 6.5, 1.2 + 0.38 * len(shown))
    # Use powers of ten, because odds ratios overflow if the bags are nearly separated.
    estimate = inference.coef[shown] / np.log(10.0)
    low, high = inference.confidence_interval(level)[shown].T / np.log(10.0)
    first = max(-_FURTHEST, estimate.min(initial=0.0) - _BEYOND)
    last = min(_FURTHEST, estimate.max(initial=0.0) + _BEYOND)
    names = [inference.names[i] for i in shown]
    positions = np.arange(len(names))[::-1]
    colors = np.where((low > 0) | (high < 0), palette.accent, palette.quiet)
    ends = np.clip(low, first, last), np.clip(high, first, last)
    ax.hlines(positions, *ends, color=colors, linewidth=2.0)
    inside = (estimate >= first) & (estimate <= last)
    ax.scatter(estimate[inside], positions[inside], color=colors[inside], s=36, zorder=3)
    for is_cut, at, marker in ((low < first, first, "<"), (high > last, last, ">")):
        ax.scatter(np.full(is_cut.sum(), at), positions[is_cut], color=colors[is_cut], marker=marker, s=36)
    ax.axvline(0.0, color=palette.ink, linewidth=0.8)
    low_end, high_end = float(ends[0].min(initial=0.0)), float(ends[1].max(initial=0.0))
    ticks, texts = _ratio_ticks(low_end, high_end, int(np.clip(2 * width_of(ax), 3, 8)))
    ax.set_xticks(ticks, texts)
    ax.set_yticks(positions, names)
    ax.set_ylim(-0.7, len(names) - 0.3)
    ax.set_xlabel(f"odds ratio, {100 * level:g} % interval")
    return Display(ax.figure, ax)


def _ratio_ticks(low: float, high: float, most: int) -> tuple[np.ndarray, list[str]]:
    """Return the positions and labels of at least three ticks between two powers of ten."""
    span = max(high - low, 0.1)
    if span > 2:
        step = int(np.ceil(span / max(2, most - 1)))
        powers = step * np.arange(np.ceil(low / step), np.floor(high / step) + 1)
        return powers, [f"{10.0**p:g}" if abs(p) <= 4 else f"$10^{{{p:.0f}}}$" for p in powers]
    for subs in ((1, 2, 5), (1, 1.2, 1.5, 2, 3, 5, 7), tuple(np.arange(1.0, 10.0, 0.1).round(1))):
        ratios = np.outer(10.0 ** np.arange(np.floor(low), np.ceil(high) + 1), subs).ravel()
        inside = ratios[(np.log10(ratios) >= low - 0.02) & (np.log10(ratios) <= high + 0.02)]
        if len(inside) >= 3:
            break
    # Thin out the ticks, but keep the ratio 1.
    unit_index = int(np.argmin(np.abs(np.log10(inside))))
    inside = inside[unit_index % -(-len(inside) // most) :: -(-len(inside) // most)]
    return np.log10(inside), [f"{ratio:g}" for ratio in inside]


def plot_labeler(
    labeler: Labeler,
    *,
    level: float = 0.95,
    intervals: Literal["profile", "wald"] | None = None,
    ax: Axes | None = None,
) -> Display:
    """Plot the learned P(+ | n) with intervals, the or-rule, and the expected numbers of bags.

    P(+ | n) is the probability that a bag with n positive instances is positive.

    Parameters
    ----------
    labeler : Labeler
        The `labeler_` of a `SoftORLogisticRegression`.
    level : float, default=0.95
        The confidence level of the intervals.
    intervals : {"profile", "wald"}, optional
        Kind of intervals, as in `Labeler.band`. The default is "profile", or "wald" if the labeler no longer
        has the training bags (because it was loaded from a file, for example).
    ax : matplotlib axes, optional
        The axes to draw on; by default a new figure is created.

    Returns
    -------
    Display
        The plot, with the attributes `figure_` and `ax_`.

    Examples
    --------
    >>> from bagwise import SoftORLogisticRegression, make_count_bags
    >>> data = make_count_bags(100, random_state=0)
    >>> model = SoftORLogisticRegression(random_state=0).fit(data.bags, data.y)
    >>> model.labeler_.plot().ax_.get_xlabel()
    'positive instances in the bag, n'
    """
    ax, bars, _ = _draw_labeler(labeler, level, ax, intervals)
    _write_legend(ax, bars)
    return Display(ax.figure, ax)


def _draw_labeler(
    labeler: Labeler, level: float, ax: Any, intervals: Literal["profile", "wald"] | None = None
) -> tuple[Any, Any, int]:
    """Draw the plot without a legend.

    Return the axes of the probabilities, the axes of the bags, and the number of counts in the plot.
    """
    ax, palette = axes_for(ax, 6.5, 4.2)
    counts, (negative, positive) = labeler.counts, labeler.expected_bags
    last = n_plausible_counts(labeler)
    counts, negative, positive = counts[:last], negative[:last], positive[:last]
    bars = ax.twinx()
    bars.bar(counts, positive, color=palette.accent, alpha=0.25, width=0.8, label="positive bags")
    bars.bar(
        counts, negative, bottom=positive, color=palette.quiet, alpha=0.3, width=0.8,
        label="negative bags",
    )  # fmt: skip
    bars.set_ylabel("expected bags")
    bars.set_ylim(0, 2.5 * max(1.0, (negative + positive).max()))
    bars.spines[["top", "left"]].set_visible(False)
    ax.set_zorder(bars.get_zorder() + 1)
    ax.patch.set_visible(False)
    ax.plot(counts, counts >= 1, "_", color=palette.quiet, markersize=9, markeredgewidth=1.6, label="or-rule")
    ax.plot(counts, labeler.values[:last], "o", color=palette.chosen, label="learned P(+ | n)")
    if labeler.std_err is not None:
        kind: Literal["profile", "wald"] = intervals or ("profile" if labeler.can_profile else "wald")
        low, high = labeler.band(level, intervals=kind, counts=counts).T
        ax.vlines(counts, low, high, color=palette.chosen, linewidth=1.6, label=f"{level:.0%} interval")
    ax.set_xlabel("positive instances in the bag, n")
    ax.set_ylabel("P(bag is positive | n)")
    ax.set_ylim(-0.03, 1.05)
    ax.xaxis.get_major_locator().set_params(integer=True)
    return ax, bars, last


def plot_diagnosis(diagnosis: RuleDiagnosis, *, ax: Axes | None = None) -> Display:
    """Plot P(+ | n) for every rule that `diagnose_rule` compared, with intervals for the best one.

    Parameters
    ----------
    diagnosis : RuleDiagnosis
        From `diagnose_rule`.
    ax : matplotlib axes, optional
        The axes to draw on; by default a new figure is created.

    Returns
    -------
    Display
        The plot, with the attributes `figure_` and `ax_`.
    """
    best = diagnosis.models[diagnosis.best].labeler_
    ax, bars, last = _draw_labeler(best, 0.95, ax)
    palette = palette_of(ax)
    # The fits disagree about which instances are positive, so their counts are not exactly comparable.
    marks = {"or": "1", "threshold": "^", "logistic": "s", "table": "D"}
    others = [name for name in diagnosis.names if name not in (diagnosis.best, "or")]
    offsets = np.linspace(0.14, 0.3, len(others))
    for name, bic in zip(diagnosis.names, diagnosis.bic, strict=True):
        if name in others:
            labeler = diagnosis.models[name].labeler_
            ax.plot(
                labeler.counts[:last] + offsets[others.index(name)], labeler.values[:last], marks[name],
                color=palette.accent, markersize=4, markerfacecolor="none", label=f"{name}, BIC {bic:.0f}",
            )  # fmt: skip
    best_bic = diagnosis.bic[diagnosis.names.index(diagnosis.best)]
    _write_legend(ax, bars, title=f"best: {diagnosis.best}, BIC {best_bic:.0f}")
    return Display(ax.figure, ax)


def _write_legend(ax: Any, bars: Any, **options: Any) -> None:
    """Draw one legend for the elements of both axes."""
    both = zip(ax.get_legend_handles_labels(), bars.get_legend_handles_labels(), strict=True)
    legend_above(ax, *(a + b for a, b in both), **options)
