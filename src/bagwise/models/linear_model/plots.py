"""Pictures of a path, of the choice of a penalty, of odds ratios, and of what was learned of a rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.isotonic import isotonic_regression

from bagwise._display.pictures import STYLES, Display, Palette, axes_for, legend_above, palette_of, width_of
from bagwise.models.linear_model.inference import Inference
from bagwise.models.linear_model.path import MILRPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bagwise.models.linear_model.diagnose import RuleDiagnosis
    from bagwise.models.linear_model.labeler import Labeler

# An interval is drawn so far beyond the estimates, in powers of ten, and these so far from one; an arrow says
# that it goes on.
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
    """Draw how coefficients grow as the penalty falls.

    Parameters
    ----------
    path : MILRPath
        From `milr_path`, or the `path_` of a `MILogisticRegressionCV`.
    feature_names : sequence of str, optional
        Names of the features; by default those of the bags, or numbers.
    alpha : float, optional
        The penalty chosen, drawn as a line.
    highlight : array of bool, optional
        Which features are drawn strongly, in one colour: by default, if `alpha` is given, those that are in
        the model there. Without either, every feature with a name has a colour of its own.
    n_names : int, default=8
        So many of the largest coefficients are named at their ends.
    ax : matplotlib axes, optional
        Where to draw; by default into a new figure.

    Returns
    -------
    Display
        With `figure_` and `ax_`.

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
    if highlight is None and alpha is not None:
        highlight = path.coefs[int(np.argmin(np.abs(path.alphas - alpha)))] != 0
    looks = _looks(ax, palette, n_features, named, highlight)
    for k in sorted(range(n_features), key=lambda k: looks[k]["linewidth"]):  # what matters is on top
        ax.plot(path.alphas, path.coefs[:, k], **looks[k])
    ax.axhline(0.0, color=palette.ink, linewidth=0.6)
    ax.set_xscale("log")
    ax.invert_xaxis()
    if alpha is not None:
        ax.axvline(alpha, color=palette.chosen, linewidth=1.0, linestyle="--")
        ax.set_title(f"chosen: {alpha:.3g}", loc="left", fontsize="small", color=palette.chosen)
    _name_ends(ax, path, names, named, looks, palette)
    ax.set_xlabel("penalty alpha (falling)")
    ax.set_ylabel("coefficient")
    return Display(ax.figure, ax)


def _looks(
    ax: Any, palette: Palette, n_features: int, named: list[int], highlight: Any
) -> list[dict[Any, Any]]:
    """How the line of every feature looks."""
    plain = {"color": palette.quiet, "linewidth": 0.8, "alpha": 0.6}
    if highlight is not None:
        strong = {"color": palette.accent, "linewidth": 1.6}
        return [strong if highlight[k] else plain for k in range(n_features)]
    looks = [dict(plain) for _ in range(n_features)]
    colors = _cycle(ax)
    for place, k in enumerate(named):
        style = STYLES[place // len(colors) % len(STYLES)]
        looks[k] = {"color": colors[place % len(colors)], "linewidth": 1.6, "linestyle": style}
    return looks


def _cycle(ax: Any) -> list[str]:
    """The colours of lines in matplotlib's present style, beside those of pale or grey ones."""
    from matplotlib import rcParams
    from matplotlib.colors import to_rgb

    colors = rcParams["axes.prop_cycle"].by_key().get("color", ["C0"])
    return [color for color in colors if max(to_rgb(color)) - min(to_rgb(color)) > 0.15] or colors


def _name_ends(
    ax: Any, path: MILRPath, names: Any, named: list[int], looks: list[dict[Any, Any]], palette: Palette
) -> None:
    """Write the names of the largest coefficients beside their ends, none over another."""
    if not named:
        return
    ends = path.coefs[-1]
    low, high = ax.get_ylim()
    chosen = np.array(sorted(named, key=lambda k: ends[k]))
    height = ax.get_position().height * ax.figure.get_size_inches()[1]
    # As near to the ends as a gap between neighbours allows: least squares under a monotone constraint.
    line = min(0.19 / max(height, 0.5), 1.0 / len(chosen))
    steps = line * (high - low) * np.arange(len(chosen))
    places = isotonic_regression(ends[chosen] - steps) + steps
    for k, place in zip(chosen, places, strict=True):
        ax.annotate(
            names[k], (path.alphas[-1], ends[k]), xytext=(1.03, place),
            textcoords=("axes fraction", "data"), va="center", fontsize="small", annotation_clip=False,
            color=looks[k]["color"] if "linestyle" in looks[k] else None, parse_math=False,
            arrowprops={"arrowstyle": "-", "color": palette.faint, "linewidth": 0.6},
        )  # fmt: skip


def plot_cv(model: Any, *, ax: Axes | None = None) -> Display:
    """Draw the criterion along the path of a fitted `MILogisticRegressionCV`, with errors over folds.

    Parameters
    ----------
    model : fitted MILogisticRegressionCV
        By cross-validation the bars are one standard error over the folds, and a line shows what the base
        rate alone would have; BIC and AIC have neither. The curve is that of the paths of the folds down from
        the model without features (`MILogisticRegressionCV.deviances_`).
    ax : matplotlib axes, optional
        Where to draw; by default into a new figure.

    Returns
    -------
    Display
        With `figure_` and `ax_`.

    Examples
    --------
    >>> from bagwise import MILogisticRegressionCV, make_noisy_or_bags, plot_cv
    >>> data = make_noisy_or_bags(60, random_state=0)
    >>> model = MILogisticRegressionCV(alphas=5, cv=3, n_init=1, random_state=0).fit(data.bags, data.y)
    >>> plot_cv(model).ax_.get_xlabel()
    'penalty alpha (falling)'
    """
    ax, palette = axes_for(ax, 7.0, 4.5)
    if model.criterion == "deviance":
        error = model.deviances_.std(axis=1, ddof=1) / np.sqrt(model.deviances_.shape[1])
        ax.fill_between(
            model.alphas_, model.criterion_path_ - error, model.criterion_path_ + error,
            color=palette.quiet, alpha=0.3, linewidth=0, label="one standard error",
        )  # fmt: skip
        ax.axhline(model.base_deviance_, color=palette.quiet, linewidth=1.0, linestyle=":", label="base rate")
    label = {"deviance": "deviance of held-out bags,\non paths down", "bic": "BIC", "aic": "AIC"}
    ax.plot(model.alphas_, model.criterion_path_, color=palette.accent, marker="o", markersize=3.5)
    ax.axvline(
        model.alpha_,
        color=palette.chosen,
        linewidth=1.0,
        linestyle="--",
        label=f"chosen: {model.alpha_:.3g}",
    )
    ax.set_xscale("log")
    ax.invert_xaxis()
    ax.set_xlabel("penalty alpha (falling)")
    ax.set_ylabel(label[model.criterion])
    legend_above(ax)
    return Display(ax.figure, ax)


def plot_odds_ratios(inference: Inference, *, level: float = 0.95, ax: Axes | None = None) -> Display:
    """Draw a forest plot: the odds ratio of every feature with its confidence interval.

    Parameters
    ----------
    inference : Inference
        From `MILogisticRegression.inference`.
    level : float, default=0.95
        The level of the intervals. One that goes on for more than three powers of ten beyond all estimates is
        cut there, and an arrow says so; so is an estimate of more than a million, or less than a millionth.
    ax : matplotlib axes, optional
        Where to draw; by default into a new figure.

    Returns
    -------
    Display
        With `figure_` and `ax_`.

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
    # Powers of ten: odds ratios of bags that are nearly separated are no numbers of the machine.
    estimate = inference.coef[shown] / np.log(10.0)
    low, high = inference.confidence_interval(level)[shown].T / np.log(10.0)
    first = max(-_FURTHEST, estimate.min(initial=0.0) - _BEYOND)
    last = min(_FURTHEST, estimate.max(initial=0.0) + _BEYOND)
    names = [inference.names[i] for i in shown]
    place = np.arange(len(names))[::-1]
    colors = np.where((low > 0) | (high < 0), palette.accent, palette.quiet)
    ends = np.clip(low, first, last), np.clip(high, first, last)
    ax.hlines(place, *ends, color=colors, linewidth=2.0)
    inside = (estimate >= first) & (estimate <= last)
    ax.scatter(estimate[inside], place[inside], color=colors[inside], s=36, zorder=3)
    for is_cut, at, marker in ((low < first, first, "<"), (high > last, last, ">")):
        ax.scatter(np.full(is_cut.sum(), at), place[is_cut], color=colors[is_cut], marker=marker, s=36)
    ax.axvline(0.0, color=palette.ink, linewidth=0.8)
    low_end, high_end = float(ends[0].min(initial=0.0)), float(ends[1].max(initial=0.0))
    ticks, texts = _ratio_ticks(low_end, high_end, int(np.clip(2 * width_of(ax), 3, 8)))
    ax.set_xticks(ticks, texts)
    ax.set_yticks(place, names)
    ax.set_ylim(-0.7, len(names) - 0.3)
    ax.set_xlabel(f"odds ratio, {100 * level:g} % interval")
    return Display(ax.figure, ax)


def _ratio_ticks(low: float, high: float, most: int) -> tuple[np.ndarray, list[str]]:
    """Choose some ratios to be marked between two powers of ten, three at least, and write them."""
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
    # Around one, which is always there.
    one = int(np.argmin(np.abs(np.log10(inside))))
    inside = inside[one % -(-len(inside) // most) :: -(-len(inside) // most)]
    return np.log10(inside), [f"{ratio:g}" for ratio in inside]


def plot_labeler(
    labeler: Labeler,
    *,
    level: float = 0.95,
    intervals: Literal["profile", "wald"] | None = None,
    ax: Axes | None = None,
) -> Display:
    """Draw P(+ | n positive instances) as learned, its intervals, the or-rule, and the expected bags.

    Parameters
    ----------
    labeler : Labeler
        The `labeler_` of a `SoftORLogisticRegression`.
    level : float, default=0.95
        Of the intervals.
    intervals : {"profile", "wald"}, optional
        Those of `Labeler.band`: by default of the profile or, for a labeler out of a file, of Wald.
    ax : matplotlib axes, optional
        Where to draw; by default into a new figure.

    Returns
    -------
    Display
        With `figure_` and `ax_`.

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
    """Draw it but for the legend: the axes of probabilities, those of bags, and how many counts are drawn."""
    ax, palette = axes_for(ax, 6.5, 4.2)
    counts, (negative, positive) = labeler.counts, labeler.expected_bags
    # Counts that no bag has would only stretch the picture.
    seen = np.flatnonzero(negative + positive > 0.5)
    last = min(len(counts), (seen[-1] if len(seen) else 0) + 2)
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
        how: Literal["profile", "wald"] = intervals or ("profile" if labeler.can_profile else "wald")
        low, high = labeler.band(level, intervals=how, counts=counts).T
        ax.vlines(counts, low, high, color=palette.chosen, linewidth=1.6, label=f"{level:.0%} interval")
    ax.set_xlabel("positive instances in the bag, n")
    ax.set_ylabel("P(bag is positive | n)")
    ax.set_ylim(-0.03, 1.05)
    ax.xaxis.get_major_locator().set_params(integer=True)
    return ax, bars, last


def plot_diagnosis(diagnosis: RuleDiagnosis, *, ax: Axes | None = None) -> Display:
    """Draw P(+ | n) under every rule that `diagnose_rule` compared; the best one with its intervals.

    Parameters
    ----------
    diagnosis : RuleDiagnosis
        From `diagnose_rule`.
    ax : matplotlib axes, optional
        Where to draw; by default into a new figure.

    Returns
    -------
    Display
        With `figure_` and `ax_`.
    """
    best = diagnosis.models[diagnosis.best].labeler_
    ax, bars, last = _draw_labeler(best, 0.95, ax)
    palette = palette_of(ax)
    # Each fit has its own opinion which instances are positive, so counts are not quite the same thing.
    marks = {"or": "1", "threshold": "^", "logistic": "s", "table": "D"}
    others = [name for name in diagnosis.names if name not in (diagnosis.best, "or")]
    aside = np.linspace(0.14, 0.3, len(others))
    for name, bic in zip(diagnosis.names, diagnosis.bic, strict=True):
        if name in others:
            labeler = diagnosis.models[name].labeler_
            ax.plot(
                labeler.counts[:last] + aside[others.index(name)], labeler.values[:last], marks[name],
                color=palette.accent, markersize=4, markerfacecolor="none", label=f"{name}, BIC {bic:.0f}",
            )  # fmt: skip
    own = diagnosis.bic[diagnosis.names.index(diagnosis.best)]
    _write_legend(ax, bars, title=f"best: {diagnosis.best}, BIC {own:.0f}")
    return Display(ax.figure, ax)


def _write_legend(ax: Any, bars: Any, **how: Any) -> None:
    """Name what is drawn of both axes."""
    both = zip(ax.get_legend_handles_labels(), bars.get_legend_handles_labels(), strict=True)
    legend_above(ax, *(a + b for a, b in both), **how)
