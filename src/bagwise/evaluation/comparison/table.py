"""A comparison as a text table that is 80 characters wide, as a data frame, and as a plot."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from bagwise._display.parts import Table
from bagwise._display.pictures import Display, axes_for
from bagwise._display.text import table_lines
from bagwise.evaluation.comparison.results import ModelResult
from bagwise.models.base.tags import can_use_absence, describe_absence

if TYPE_CHECKING:
    from bagwise.evaluation.comparison.comparison import Comparison

WIDTH = 80
# Longer names are shortened, so that the table is at most 80 characters wide.
_LONGEST_NAME = 24
# Titles of scores.
TITLES = {"roc_auc": "AUC", "roc_auc_ovr": "AUC", "brier_score": "Brier score", "pu_risk": "PU risk"}


def title_of(scoring: str) -> str:
    """Return the title of a score, with a minus sign for scikit-learn's negated losses."""
    return ("-" if scoring.startswith("neg_") else "") + title_of_shown(scoring)


def title_of_shown(scoring: str) -> str:
    """Return the title of a score for values converted by `shown`, without the minus sign."""
    plain = scoring.removeprefix("neg_")
    return TITLES.get(plain, plain.replace("_", " "))


def shown(scoring: str, value: Any) -> Any:
    """Return the value to display: a negated loss is converted back to a loss."""
    return -value if scoring.startswith("neg_") else value


def _headings(comparison: Comparison) -> list[str]:
    r"""Return the headings of the text table, with ``\n`` between the lines of a heading."""
    first, *others = comparison.scoring
    heads = [title_of_shown(name).replace(" ", "\n", 1) for name in others[:2]]
    return ["model", f"{title_of_shown(first)}\n(95 % interval)", *heads, "vs\nbest", "p", "time\n(s)"]


def _cells(comparison: Comparison) -> list[list[str]]:
    """Return the cells of the text table, one row per model, best first."""
    first, *others = comparison.scoring
    behind = {d.name: d for d in comparison.differences()}
    rows = []
    for result in comparison.rows:
        difference = behind.get(result.name)
        low, high = sorted(shown(first, end) for end in result.interval[first])
        value = _format_value(shown(first, result.mean[first]))
        away = "" if difference is None else _signed(shown(first, difference.mean))
        rows.append(
            [
                result.name if len(result.name) <= _LONGEST_NAME else result.name[: _LONGEST_NAME - 1] + "…",
                value if np.isnan(low) else f"{value} ({_format_value(low)}-{_format_value(high)})",
                *(_format_value(shown(name, result.mean[name])) for name in others[:2]),
                "failed" if result.error else away,
                "" if difference is None else _p_value(difference.p),
                _seconds(result),
            ]
        )
    return rows


def as_table(comparison: Comparison) -> Table:
    """Return the table of all models, which is at most 80 characters wide."""
    return Table.of(_headings(comparison), _cells(comparison))


def as_text(comparison: Comparison) -> str:
    """Format a comparison as text with lines of at most 80 characters."""
    lines = list(table_lines(as_table(comparison)))
    for text in remarks(comparison):
        lines += ["", *textwrap.wrap(text, WIDTH)]
    return "\n".join(lines)


def remarks(comparison: Comparison) -> list[str]:
    """Return the remarks below the table: folds and seed, failures, and the supported assumption."""
    n_folds = len(comparison.folds_) // comparison.n_repeats
    summary = f"{len(comparison.y_)} bags, {n_folds} folds"
    if comparison.n_repeats > 1:
        summary += f", {comparison.n_repeats} repeats"
    if comparison.groups_ is not None:
        summary += f", {len(np.unique(comparison.groups_))} groups kept together"
    summary += f", seed {comparison.seed_}."
    if comparison.best is not None:
        summary += " vs best: difference from the best model, with its p value (corrected resampled t-test)."
    if not comparison.is_complete:
        summary = f"Interrupted: only finished models are shown. {summary}"
    texts = [summary]
    texts += [
        f"{result.name} failed: {result.error}" for result in comparison.rows if result.error is not None
    ]
    if comparison.assumption_ is not None:
        texts.append(comparison.assumption_.sentence)
    return [*texts, *filter(None, [about_absence(comparison)])]


def about_absence(comparison: Comparison) -> str:
    """Return whether the best model can use the absence of instances, and the best model that cannot."""
    best = comparison.best
    if best is None or len(comparison.classes_) != 2 or comparison.from_unlabeled:
        return ""
    text = describe_absence(best.estimator, repr(best.name))
    others = [result for result in comparison.rows if not result.is_baseline and result.error is None]
    other = next((result for result in others if not can_use_absence(result.estimator)), None)
    if text and other is not None:
        text += f" The best model that cannot is {other.name!r}."
    return text


def as_frame(comparison: Comparison) -> Any:
    """Return a pandas data frame with one row per model, best first."""
    import pandas as pd

    behind = {d.name: d for d in comparison.differences()}
    rows = []
    for result in comparison.rows:
        row: dict[str, Any] = {"model": result.name, "family": result.family, "assumes": result.assumes}
        row["can_use_absence"] = can_use_absence(result.estimator)
        for name in comparison.scoring:
            low, high = result.interval[name]
            row |= {name: result.mean[name], f"{name}_low": low, f"{name}_high": high}
        difference = behind.get(result.name)
        row["difference"] = np.nan if difference is None else difference.mean
        row["p"] = np.nan if difference is None else difference.p
        row["fit_seconds"] = float(np.mean(result.fit_seconds))
        row["predict_seconds"] = float(np.mean(result.predict_seconds))
        row["error"] = result.error
        rows.append(row)
    return pd.DataFrame(rows).set_index("model")


def _format_value(value: float) -> str:
    return (
        "-" if np.isnan(value) else f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"
    )


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("0.", ".", 1)


def _p_value(p: float) -> str:
    return "" if np.isnan(p) else "<.001" if p < 0.001 else f"{p:.3f}".replace("0.", ".", 1)


def _seconds(result: ModelResult) -> str:
    total = float(np.sum(result.fit_seconds + result.predict_seconds))
    return "-" if np.isnan(total) else f"{total:.1f}" if total < 100 else f"{total:.0f}"


def plot_comparison(comparison: Comparison, scoring: str | None = None, *, ax: Any = None) -> Display:
    """Plot scores with intervals, one line per model, best on top: see `Comparison.plot`."""
    scoring = comparison.scoring[0] if scoring is None else scoring
    if scoring not in comparison.scoring:
        names = ", ".join(map(repr, comparison.scoring))
        raise ValueError(f"scoring must be one of {names}; got {scoring!r}.")
    rows = [result for result in comparison.rows if np.isfinite(result.mean[scoring])]
    rows.sort(key=lambda result: result.mean[scoring])
    ax, palette = axes_for(ax, 6.4, 1.1 + 0.36 * max(1, len(rows)))
    best = comparison.best
    for position, result in enumerate(rows):
        colour = palette.faint if result.is_baseline else palette.accent if result is best else palette.chosen
        splits = shown(scoring, result.scores[scoring])
        ax.plot(splits, np.full(len(splits), position - 0.22), "|", color=palette.quiet, markersize=5)
        ends = [shown(scoring, end) for end in result.interval[scoring]]
        if np.isfinite(ends).all():
            ax.plot(ends, [position, position], color=colour, linewidth=2, solid_capstyle="butt")
        ax.plot(shown(scoring, result.mean[scoring]), position, "o", color=colour, markersize=6)
    ax.set_yticks(range(len(rows)), [result.name for result in rows])
    ax.set_ylim(-0.6, len(rows) - 0.4)
    better = " (lower is better)" if scoring.startswith("neg_") else ""
    ax.set_xlabel(f"{title_of_shown(scoring)} of held-out bags{better}, 95 % interval; small marks: splits")
    return Display(ax.figure, ax)
