"""Performance on held-out bags: scores, curves with bands, and confusion matrices."""

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
_PANEL = 3.5, 3.3  # size in inches, which fits on a phone without scaling


def curve_parts(subject: Subject) -> list[Any]:
    """Return scores with intervals, ROC, precision-recall and calibration curves of held-out bags."""
    evaluation = subject.evaluation
    if evaluation is None:
        return []
    table = evaluation.table()
    rows = [{name: short(cell, 60) for name, cell in row.items()} for row in table.rows]
    parts: list[Any] = [replace(table, rows=rows)]
    held = evaluation.held
    if evaluation.from_unlabeled:
        parts.append("There are no curves, because unlabeled bags would be counted as negative.")
        return parts
    if held.score is None:
        why = "more than two classes" if len(held.classes) > 2 else "no bag scores"
        parts.append(f"There are no curves: they need scores for two classes, but the model has {why}.")
        return parts
    positive = held.codes == 1
    roc = roc_band(positive, held.score, held.fold, subject.groups)
    precision = precision_recall_band(positive, held.score, held.fold, subject.groups)
    if roc is None or precision is None:
        parts.append("There are no ROC and precision-recall curves: no fold holds out bags of both classes.")
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
        return f"{text}There is no band because there are too few groups."
    return f"{text}Band: pointwise 95 % intervals from {band.n_draws} resamples of {unit}."


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
    ax.set_xlabel("false positive rate")
    ax.set_ylabel("true positive rate")


def _around_pr(ax: Any, palette: Any, share: float) -> None:
    ax.axhline(share, color=palette.faint, linewidth=0.8, linestyle="--")
    ax.set_xlabel("recall")
    ax.set_ylabel("precision")


def _calibration(positive: np.ndarray, probability: np.ndarray, subject: Subject) -> Figure:
    """Return a calibration plot: the share of positive bags for each bin of predicted probabilities."""
    predicted, share, low, high = calibration_in_groups(positive, probability, subject.groups)

    def draw() -> Any:
        from bagwise._display.pictures import new_axes, palette_of

        figure, ax = new_axes(*_PANEL)
        palette = palette_of(ax)
        ax.plot([0, 1], [0, 1], color=palette.faint, linewidth=0.8, linestyle="--")
        ax.fill_between(predicted, low, high, color=palette.accent, alpha=0.18, linewidth=0)
        ax.plot(predicted, share, color=palette.accent, linewidth=1.4, marker="o", markersize=3.5)
        # Histogram of the predicted probabilities along the lower edge.
        heights, edges = np.histogram(probability, np.linspace(0, 1, 41))
        ax.stairs(0.12 * heights / heights.max(), edges, color=palette.quiet, fill=True, alpha=0.5)
        ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.02), aspect="equal")
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
        ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
        ax.set_xlabel("predicted probability")
        ax.set_ylabel("share of positive bags")
        return figure

    units = "bags" if subject.groups is None else "groups"
    note = (
        f"{count(len(predicted), 'bin')} by predicted probability. Band: 95 % interval of each share, "
        f"based on the number of {units}. Gray: number of bags."
    )
    return Figure("calibration", draw, "Calibration", note)


def calibration_in_groups(
    positive: np.ndarray, probability: np.ndarray, groups: np.ndarray | None
) -> tuple[np.ndarray, ...]:
    """Return mean probability, share of positive bags, and limits of the share for bins of probabilities.

    The limits are Wilson's (`share_interval`), which are valid at 0 and 1 and for grouped bags. They are not
    computed from resamples: resamples of few bags often contain no errors, so the intervals would be too
    narrow.
    """
    order, starts = calibration_runs(probability, _N_BINS)
    points = []
    for rows in np.split(order, starts[1:]):
        interval = share_interval(positive[rows], None if groups is None else groups[rows])
        points.append((probability[rows].mean(), positive[rows].mean(), *interval))
    return tuple(np.array(points).T)


def confusion_parts(subject: Subject) -> list[Any]:
    """Return the confusion matrix at the threshold of the model."""
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
        groups = None if subject.groups is None else subject.groups[chosen]
        low, high = share_interval(held.predicted[chosen] == k, groups)
        total = counts[k].sum()
        row = {"label": names[k]}
        row |= {f"predicted {names[j]}": f"{counts[k, j]:,} ({percent(counts[k, j] / total)})" for j in order}
        interval = "-" if low != low else f"{percent(low)} to {percent(high)}"
        rows.append(row | {"recall, 95 %": interval})
    return [text, Table("", rows)]


def _threshold(subject: Subject, held: HeldOut) -> str:
    right = int((held.predicted == held.codes).sum())
    text = f"{right:,} of {len(held.codes):,} held-out bags were classified correctly. "
    chosen = subject.inner("best_threshold_")
    if len(held.classes) > 2:
        return text + "The predictions are those of the model's predict method."
    positive = repr(short(subject.names[1]))
    if chosen is not None:
        return text + f"The threshold for {positive} is {chosen:.3g}; it was chosen separately in each fold."
    if held.probability is not None:
        return (
            text
            + f"The prediction is {positive} if the probability is at least 1/2, as in the model's predict."
        )
    return text + f"The prediction is {positive} if the score is at least 0, as in the model's predict."


def _frequent_confusions(counts: np.ndarray, names: list[str]) -> Table:
    wrong = counts - np.diag(np.diag(counts))
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_CONFUSIONS]
    rows = [
        {
            "label": names[k],
            "predicted": names[j],
            "bags": f"{wrong[k, j]:,}",
            "share of the label": percent(wrong[k, j] / counts[k].sum()),
        }
        for k, j in (divmod(int(index), len(names)) for index in order)
        if wrong[k, j]
    ]
    n_left = int((wrong > 0).sum()) - len(rows)
    note = f"{n_left:,} rarer confusions of {len(names)} classes are not shown." if n_left else ""
    return Table("Most frequent confusions", rows, note, n_text=2)
