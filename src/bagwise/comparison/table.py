"""A comparison as text in 80 columns, and as a frame."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from bagwise.comparison.results import ModelResult
from bagwise.report import Table
from bagwise.report.text import table_lines

if TYPE_CHECKING:
    from bagwise.comparison.comparison import Comparison

WIDTH = 80
# Longer names are cut in tables.
_LONGEST_NAME = 26
# What scores are called in headings.
TITLES = {
    "accuracy": "accuracy",
    "roc_auc": "AUC",
    "roc_auc_ovr": "AUC",
    "neg_log_loss": "-log loss",
    "neg_brier_score": "-Brier",
}


def title_of(scoring: str) -> str:
    """What a score is called."""
    return TITLES.get(scoring, scoring.replace("_", " "))


def headings(comparison: Comparison) -> list[str]:
    """Headings of a table that fits 80 columns: the first score with its interval, others by their value."""
    first, *others = comparison.scoring
    return ["model", title_of(first), "95 %", *map(title_of, others[:2]), "against best", "seconds"]


def table_rows(comparison: Comparison) -> list[list[str]]:
    """Cells of that table, a row for every model, best first."""
    first, *others = comparison.scoring
    best = comparison.best
    behind = {one.name: one for one in comparison.differences()}
    rows = []
    for one in comparison.rows:
        difference = behind.get(one.name)
        against = "best" if one is best else ""
        if difference is not None:
            against = f"{_signed(difference.mean)} {_p_value(difference.p)}"
        rows.append(
            [
                _cut(one.name),
                _number(one.mean[first]),
                "-".join(_number(end) for end in one.interval[first]) if one.error is None else "",
                *(_number(one.mean[name]) for name in others[:2]),
                against if one.error is None else "failed",
                _seconds(one),
            ]
        )
    return rows


def as_text(comparison: Comparison) -> str:
    """Lay a comparison out in 80 columns."""
    table = Table.of(headings(comparison), table_rows(comparison))
    return "\n".join([*table_lines(table), "", *remarks(comparison)])


def remarks(comparison: Comparison, width: int = WIDTH) -> list[str]:
    """What stands below the table: how it came about, what failed, and what the data say."""
    n_bags, n_folds = len(comparison.y_), len(comparison.folds_) // comparison.n_repeats
    how = f"{n_bags} bags, {n_folds} folds"
    if comparison.n_repeats > 1:
        how += f", {comparison.n_repeats} times"
    if comparison.groups_ is not None:
        how += f", {len(np.unique(comparison.groups_))} groups held together"
    how += f"; seed {comparison.seed_}. Differences from the best with p values of the corrected t-test."
    if not comparison.is_complete:
        how = f"Not finished. {how}"
    told = [how]
    told += [f"{one.name} failed: {one.error}" for one in comparison.rows if one.error is not None]
    if comparison.assumption_ is not None:
        told.append(comparison.assumption_.sentence)
    return [line for text in told for line in textwrap.wrap(text, width)]


def as_frame(comparison: Comparison) -> Any:
    """Give a pandas frame, a row for every model, best first."""
    import pandas as pd

    p_values = {one.name: one for one in comparison.differences()}
    rows = []
    for one in comparison.rows:
        row: dict[str, Any] = {"model": one.name, "family": one.family, "assumes": one.assumes}
        for name in comparison.scoring:
            low, high = one.interval[name]
            row |= {name: one.mean[name], f"{name}_low": low, f"{name}_high": high}
        difference = p_values.get(one.name)
        row["difference"] = np.nan if difference is None else difference.mean
        row["p"] = np.nan if difference is None else difference.p
        row["fit_seconds"] = float(np.mean(one.fit_seconds))
        row["predict_seconds"] = float(np.mean(one.predict_seconds))
        row["error"] = one.error
        rows.append(row)
    return pd.DataFrame(rows).set_index("model")


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}".replace("0.", ".", 1)


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("0.", ".", 1)


def _p_value(p: float) -> str:
    return "" if np.isnan(p) else "p<.001" if p < 0.001 else f"p={p:.3f}".replace("0.", ".", 1)


def _seconds(one: ModelResult) -> str:
    total = float(np.sum(one.fit_seconds + one.predict_seconds))
    return "-" if np.isnan(total) else f"{total:.1f}" if total < 100 else f"{total:.0f}"
