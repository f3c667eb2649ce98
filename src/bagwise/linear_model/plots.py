"""Pictures of a path, of the choice of a penalty, and of odds ratios. Each returns a matplotlib Figure."""

from __future__ import annotations

import numpy as np
from sklearn.isotonic import isotonic_regression

from bagwise._pictures import ACCENT, CHOSEN, QUIET, new_axes
from bagwise.linear_model.inference import Inference
from bagwise.linear_model.path import MILRPath


def plot_path(path: MILRPath, *, feature_names=None, alpha: float | None = None, highlight=None, n_names=8):
    """Draw how coefficients grow as the penalty falls.

    Parameters
    ----------
    path : MILRPath
        From `milr_path`, or the `path_` of a `MILogisticRegressionCV`.
    feature_names : sequence of str, optional
        Names of the features; numbers by default.
    alpha : float, optional
        The penalty chosen, drawn as a line.
    highlight : array of bool, optional
        Features drawn in red, such as those that truly matter; by default those in the model at `alpha`.
    n_names : int, default=8
        How many of the largest coefficients are named at the right.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from bagwise import make_noisy_or_bags, milr_path, plot_path
    >>> data = make_noisy_or_bags(60, random_state=0)
    >>> type(plot_path(milr_path(data.bags, data.y, alphas=5))).__name__
    'Figure'
    """
    n_features = path.coefs.shape[1]
    names = [f"x{i}" for i in range(n_features)] if feature_names is None else list(map(str, feature_names))
    if len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} names but the path has {n_features} features.")
    if highlight is None:
        at = len(path.alphas) - 1 if alpha is None else int(np.argmin(np.abs(path.alphas - alpha)))
        highlight = path.coefs[at] != 0
    figure, axes = new_axes(7.5, 4.5)
    for k in np.argsort(highlight, kind="stable"):  # what matters is drawn on top
        axes.plot(
            path.alphas,
            path.coefs[:, k],
            color=ACCENT if highlight[k] else QUIET,
            linewidth=1.6 if highlight[k] else 0.8,
            alpha=1.0 if highlight[k] else 0.6,
        )
    axes.axhline(0.0, color="black", linewidth=0.6)
    if alpha is not None:
        axes.axvline(alpha, color=CHOSEN, linewidth=1.0, linestyle="--")
        axes.annotate(
            f"chosen: {alpha:.3g}", (alpha, 1.0), xycoords=("data", "axes fraction"), xytext=(4, -2),
            textcoords="offset points", va="top", color=CHOSEN, fontsize=9,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.invert_xaxis()
    _name_ends(axes, path, names, n_names)
    axes.set_xlabel("penalty alpha (falling)")
    axes.set_ylabel("coefficient")
    return figure


def _name_ends(axes, path: MILRPath, names, n_names: int) -> None:
    """Write the names of the largest coefficients beside their ends, none over another."""
    ends = path.coefs[-1]
    largest = [k for k in np.argsort(-np.abs(ends))[:n_names] if ends[k] != 0]
    if not largest:
        return
    low, high = axes.get_ylim()
    chosen = np.array(sorted(largest, key=lambda k: ends[k]))
    # As near to the ends as a gap between neighbours allows: least squares under a monotone constraint.
    steps = 0.045 * (high - low) * np.arange(len(chosen))
    places = isotonic_regression(ends[chosen] - steps) + steps
    for k, place in zip(chosen, places, strict=True):
        axes.annotate(
            names[k], (path.alphas[-1], ends[k]), xytext=(1.03, place),
            textcoords=("axes fraction", "data"), va="center", fontsize=9, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": "#bbbbbb", "linewidth": 0.6},
        )  # fmt: skip


def plot_cv(model):
    """Draw the criterion along the path of a fitted `MILogisticRegressionCV`, with errors over folds.

    Parameters
    ----------
    model : fitted MILogisticRegressionCV
        By cross-validation the bars are one standard error over the folds, and a line shows what the base
        rate alone would have; BIC and AIC have neither. The curve is that of the paths of the folds down from
        the model without features (`MILogisticRegressionCV.deviances_`).

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from bagwise import MILogisticRegressionCV, make_noisy_or_bags, plot_cv
    >>> data = make_noisy_or_bags(60, random_state=0)
    >>> model = MILogisticRegressionCV(alphas=5, cv=3, n_init=1, random_state=0).fit(data.bags, data.y)
    >>> type(plot_cv(model)).__name__
    'Figure'
    """
    figure, axes = new_axes(7.0, 4.5)
    if model.criterion == "deviance":
        error = model.deviances_.std(axis=1, ddof=1) / np.sqrt(model.deviances_.shape[1])
        axes.fill_between(
            model.alphas_, model.criterion_path_ - error, model.criterion_path_ + error,
            color=QUIET, alpha=0.3, linewidth=0, label="one standard error",
        )  # fmt: skip
        axes.axhline(model.base_deviance_, color=QUIET, linewidth=1.0, linestyle=":", label="base rate")
    label = {"deviance": "mean deviance of a held-out bag, on paths down", "bic": "BIC", "aic": "AIC"}
    axes.plot(model.alphas_, model.criterion_path_, color=ACCENT, marker="o", markersize=3.5)
    axes.axvline(
        model.alpha_, color=CHOSEN, linewidth=1.0, linestyle="--", label=f"chosen: {model.alpha_:.3g}"
    )
    axes.set_xscale("log")
    axes.invert_xaxis()
    axes.set_xlabel("penalty alpha (falling)")
    axes.set_ylabel(label[model.criterion])
    axes.legend(frameon=False, ncols=3, loc="lower left", bbox_to_anchor=(0.0, 1.0))  # clear of the lines
    return figure


def plot_odds_ratios(inference: Inference, *, level: float = 0.95):
    """Draw a forest plot: the odds ratio of every feature with its confidence interval.

    Parameters
    ----------
    inference : Inference
        From `MILogisticRegression.inference`.
    level : float, default=0.95
        The level of the intervals.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from bagwise import MILogisticRegression, make_noisy_or_bags, plot_odds_ratios
    >>> data = make_noisy_or_bags(100, random_state=0)
    >>> model = MILogisticRegression(alpha=0.0, random_state=0).fit(data.bags, data.y)
    >>> type(plot_odds_ratios(model.inference())).__name__
    'Figure'
    """
    shown = [i for i, name in enumerate(inference.names) if name != "(intercept)"]
    figure, axes = new_axes(6.5, 1.2 + 0.38 * len(shown))
    from matplotlib.ticker import LogLocator, NullFormatter

    ratios = inference.odds_ratios(level)[shown]
    names = [inference.names[i] for i in shown]
    place = np.arange(len(names))[::-1]
    sure = (ratios[:, 1] > 1) | (ratios[:, 2] < 1)
    colors = [ACCENT if s else QUIET for s in sure]
    # An interval without end leaves the picture.
    there = ratios[np.isfinite(ratios) & (ratios > 0)]
    ratios = np.clip(ratios, 0.1 * there.min(initial=1.0), 10.0 * there.max(initial=1.0))
    axes.hlines(place, ratios[:, 1], ratios[:, 2], color=colors, linewidth=2.0)
    axes.scatter(ratios[:, 0], place, color=colors, s=36, zorder=3)
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(place, names)
    axes.set_ylim(-0.7, len(names) - 0.3)
    axes.set_xlabel(f"odds ratio per unit, with {100 * level:g} % interval")
    return figure


def plot_labeler(labeler, *, level: float = 0.95):
    """Draw P(+ | n positive instances) as learned, its band, the or-rule, and the expected numbers of bags.

    Parameters
    ----------
    labeler : Labeler
        The `labeler_` of a `SoftORLogisticRegression`.
    level : float, default=0.95
        Of the band.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from bagwise import SoftORLogisticRegression, make_count_bags
    >>> data = make_count_bags(100, random_state=0)
    >>> model = SoftORLogisticRegression(random_state=0).fit(data.bags, data.y)
    >>> type(model.labeler_.plot()).__name__
    'Figure'
    """
    figure, axes = new_axes(6.5, 4.2)
    counts, (negative, positive) = labeler.counts, labeler.expected_bags
    # Counts that no bag has would only stretch the picture.
    seen = np.flatnonzero(negative + positive > 0.5)
    last = min(len(counts), (seen[-1] if len(seen) else 0) + 2)
    bars = axes.twinx()
    bars.bar(
        counts[:last], positive[:last], color=ACCENT, alpha=0.25, width=0.8, label="positive bags, expected"
    )
    bars.bar(
        counts[:last], negative[:last], bottom=positive[:last], color=QUIET, alpha=0.3, width=0.8,
        label="negative bags, expected",
    )  # fmt: skip
    bars.set_ylabel("expected bags")
    bars.set_ylim(0, 2.5 * max(1.0, (negative + positive)[:last].max()))
    bars.spines[["top", "left"]].set_visible(False)
    axes.set_zorder(bars.get_zorder() + 1)
    axes.patch.set_visible(False)
    axes.step(counts[:last], counts[:last] >= 1, where="mid", color=QUIET, linestyle="--", label="or-rule")
    axes.plot(counts[:last], labeler.values[:last], "o-", color=CHOSEN, label="learned P(+ | n)")
    if labeler.std_err is not None:
        low, high = labeler.band(level, counts=counts[:last]).T
        axes.fill_between(counts[:last], low, high, color=CHOSEN, alpha=0.2, label=f"{level:.0%} band")
    axes.set_xlabel("positive instances in the bag, n")
    axes.set_ylabel("P(bag is positive | n)")
    axes.set_ylim(-0.03, 1.05)
    axes.xaxis.get_major_locator().set_params(integer=True)
    handles, labels = (
        a + b for a, b in zip(axes.get_legend_handles_labels(), bars.get_legend_handles_labels(), strict=True)
    )
    axes.legend(handles, labels, frameon=False, fontsize="small", loc="center right")
    return figure


def plot_diagnosis(diagnosis):
    """Draw P(+ | n) under every rule that `diagnose_rule` compared; the best one is strong, with its band.

    Parameters
    ----------
    diagnosis : RuleDiagnosis
        From `diagnose_rule`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    best = diagnosis.models[diagnosis.best].labeler_
    figure = plot_labeler(best)
    bars, axes = sorted(figure.axes, key=lambda part: part.get_zorder())
    last = len(axes.lines[-1].get_xdata())
    # Each fit has its own opinion which instances are positive, so counts are not quite the same thing.
    styles = {"or": ":", "threshold": "-.", "logistic": "--", "table": (0, (1, 1))}
    for name, bic in zip(diagnosis.names, diagnosis.bic, strict=True):
        if name not in (diagnosis.best, "or"):
            labeler = diagnosis.models[name].labeler_
            axes.plot(
                labeler.counts[:last], labeler.values[:last], color=ACCENT, linewidth=1.0,
                linestyle=styles[name], label=f"{name}, BIC {bic:.0f}",
            )  # fmt: skip
    own = diagnosis.bic[diagnosis.names.index(diagnosis.best)]
    axes.set_title(f"best: {diagnosis.best}, BIC {own:.0f}", loc="left", fontsize="medium")
    both = (axes.get_legend_handles_labels(), bars.get_legend_handles_labels())
    axes.legend(
        *(a + b for a, b in zip(*both, strict=True)), frameon=False, fontsize="small", loc="center right"
    )
    return figure
