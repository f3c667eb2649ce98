"""How well a model tells bags apart that it has not seen: scores, curves with bands, and confusions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bagwise._display.parts import Figure, Table
from bagwise.evaluation.calibration_plots import calibration_runs
from bagwise.evaluation.checks.report import count
from bagwise.evaluation.held_out import HeldOut
from bagwise.evaluation.held_out.intervals import share_interval
from bagwise.report.bands import Band, precision_recall_band, roc_band
from bagwise.report.subject import Subject, percent, short

_MOST_CLASSES = 8
_MOST_CONFUSIONS = 12
_N_BINS = 8
_PANEL = 3.5, 3.3  # inches, which a telephone shows as they are


def curve_parts(subject: Subject) -> list[Any]:
    """Scores with intervals, ROC, precision and recall, and calibration, of held-out bags."""
    evaluation = subject.evaluation
    if evaluation is None:
        return []
    table = evaluation.table()
    rows = [{name: short(cell, 60) for name, cell in row.items()} for row in table.rows]
    parts: list[Any] = [replace(table, rows=rows)]
    held = evaluation.held
    if evaluation.from_unlabeled:
        parts.append(
            "There are no curves: bags without a label are no negative ones, and would be counted as errors."
        )
        return parts
    if held.score is None:
        why = "more than two classes" if len(held.classes) > 2 else "labels, and no scores of bags"
        parts.append(f"There are no curves: they need a score of two classes, and the model gives {why}.")
        return parts
    positive = held.codes == 1
    roc = roc_band(positive, held.score, held.fold, subject.groups)
    precision = precision_recall_band(positive, held.score, held.fold, subject.groups)
    if roc is None or precision is None:
        parts.append("There are no curves of ranks: no fold has held out bags of both classes.")
    else:
        note = _band_note(roc, subject)
        auc = evaluation.scores["auc"]["value"]
        parts.append(_curve("roc", f"ROC, area {auc:.3f}", roc, note, _around_roc))
        title = f"Precision and recall, average {precision.area:.3f}"
        share = float(positive.mean())
        parts.append(
            _curve("precision", title, precision, note, lambda ax, palette: _around_pr(ax, palette, share))
        )
    if held.probability is not None:
        parts.append(_calibration(held.codes == 1, held.probability, subject))
    return parts


def _band_note(band: Band, subject: Subject) -> str:
    unit = "bags" if subject.groups is None else "groups"
    text = f"Mean over {count(band.n_folds, 'fold')}. "
    if band.n_draws == 0:
        return f"{text}No band: there are too few groups."
    return f"{text}Band: 95 % at every point, from {band.n_draws} resamples of {unit}."


def _curve(name: str, title: str, band: Band, note: str, around: Callable[[Any, Any], None]) -> Figure:
    def draw() -> Any:
        from bagwise._display.pictures import new_axes, palette_of

        figure, ax = new_axes(*_PANEL)
        palette = palette_of(ax)
        step = "pre" if band.is_step else None
        if band.n_draws:
            ax.fill_between(
                band.x, band.low, band.high, color=palette.accent, alpha=0.18, linewidth=0, step=step
            )
        drawstyle = "steps-pre" if band.is_step else "default"
        ax.plot(band.x, band.y, color=palette.accent, linewidth=1.6, drawstyle=drawstyle)
        around(ax, palette)
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.02), aspect="equal")
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
        ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
        return figure

    return Figure(name, draw, title, note)


def _around_roc(ax: Any, palette: Any) -> None:
    ax.plot([0, 1], [0, 1], color=palette.faint, linewidth=0.8, linestyle="--")
    ax.set_xlabel("negative bags called positive")
    ax.set_ylabel("positive bags found")


def _around_pr(ax: Any, palette: Any, share: float) -> None:
    ax.axhline(share, color=palette.faint, linewidth=0.8, linestyle="--")
    ax.set_xlabel("positive bags found (recall)")
    ax.set_ylabel("of those called positive, right")


def _calibration(positive: np.ndarray, probability: np.ndarray, subject: Subject) -> Figure:
    """Draw what probabilities are worth: of bags that were said alike, the share that is positive."""
    said, share, low, high = calibration_in_groups(positive, probability, subject.groups)

    def draw() -> Any:
        from bagwise._display.pictures import new_axes, palette_of

        figure, ax = new_axes(*_PANEL)
        palette = palette_of(ax)
        ax.plot([0, 1], [0, 1], color=palette.faint, linewidth=0.8, linestyle="--")
        ax.fill_between(said, low, high, color=palette.accent, alpha=0.18, linewidth=0)
        ax.plot(said, share, color=palette.accent, linewidth=1.4, marker="o", markersize=3.5)
        # Where the probabilities lie, along the lower edge.
        heights, edges = np.histogram(probability, np.linspace(0, 1, 41))
        ax.stairs(0.12 * heights / heights.max(), edges, color=palette.quiet, fill=True, alpha=0.5)
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.02), aspect="equal")
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
        ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
        ax.set_xlabel("probability that was said")
        ax.set_ylabel("bags that are positive")
        return figure

    units = "bags" if subject.groups is None else "groups"
    note = (
        f"{count(len(said), 'run')} of bags by rising probability; band: 95 % of each share, by the number "
        f"of {units}. Grey: how many bags were said what."
    )
    return Figure("calibration", draw, "Calibration", note)


def calibration_in_groups(
    positive: np.ndarray, probability: np.ndarray, groups: np.ndarray | None
) -> tuple[np.ndarray, ...]:
    """Give, for runs of bags by rising probability: its mean, the share of positive bags, low and high.

    Of few bags a resample has often no error at all, and its quantiles would be too sure. These intervals are
    Wilson's (`share_interval`), which hold at 0 and 1, and for bags in groups.
    """
    order, starts = calibration_runs(probability, _N_BINS)
    points = []
    for rows in np.split(order, starts[1:]):
        interval = share_interval(positive[rows], None if groups is None else groups[rows])
        points.append((probability[rows].mean(), positive[rows].mean(), *interval))
    return tuple(np.array(points).T)


def confusion_parts(subject: Subject) -> list[Any]:
    """Count what was predicted of which label, at the threshold of the model."""
    evaluation = subject.evaluation
    if evaluation is None or evaluation.from_unlabeled:
        return []
    held = evaluation.held
    names = [short(name, 24) for name in subject.names]
    n = len(names)
    counts = np.bincount(held.codes * n + held.predicted, minlength=n * n).reshape(n, n)
    text = _threshold(subject, held)
    if n > _MOST_CLASSES:
        return [text, _frequent_confusions(counts, names)]
    order = range(n - 1, -1, -1) if n == 2 else range(n)
    rows = []
    for k in order:
        chosen = held.codes == k
        some = None if subject.groups is None else subject.groups[chosen]
        low, high = share_interval(held.predicted[chosen] == k, some)
        total = counts[k].sum()
        row = {"bags that are": names[k]}
        row |= {f"called {names[j]}": f"{counts[k, j]:,} ({percent(counts[k, j] / total)})" for j in order}
        interval = "-" if low != low else f"{percent(low)} to {percent(high)}"
        rows.append(row | {"recognised, 95 %": interval})
    return [text, Table("", rows)]


def _threshold(subject: Subject, held: HeldOut) -> str:
    right = int((held.predicted == held.codes).sum())
    text = f"{right:,} of {len(held.codes):,} held-out bags were called by their label. "
    chosen = subject.inner("best_threshold_")
    if len(held.classes) > 2:
        return text + "A bag is called by the class that the model predicts."
    positive = repr(short(subject.names[1]))
    if chosen is not None:
        return (
            text
            + f"A bag is called {positive} from {chosen:.3g} on, a threshold that each fold chose for itself."
        )
    if held.probability is not None:
        return (
            text
            + f"A bag is called {positive} where its probability is 1/2 or more, as the model's predict does."
        )
    return text + f"A bag is called {positive} where its score is 0 or more, as the model's predict does."


def _frequent_confusions(counts: np.ndarray, names: list[str]) -> Table:
    wrong = counts - np.diag(np.diag(counts))
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_CONFUSIONS]
    rows = [
        {
            "bags that are": names[k],
            "called": names[j],
            "bags": f"{wrong[k, j]:,}",
            "of all such": percent(wrong[k, j] / counts[k].sum()),
        }
        for k, j in (divmod(int(place), len(names)) for place in order)
        if wrong[k, j]
    ]
    n_left = int((wrong > 0).sum()) - len(rows)
    note = f"{n_left:,} rarer confusions of {len(names)} classes are not shown." if n_left else ""
    return Table("The most frequent confusions", rows, note, n_text=2)
