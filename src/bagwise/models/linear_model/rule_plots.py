"""Pictures of what was learned of a rule: from the number of positive instances to the label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bagwise._display.pictures import Display, axes_for, legend_above, palette_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bagwise.models.linear_model.diagnose import RuleDiagnosis
    from bagwise.models.linear_model.labeler import Labeler


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
