"""The tables on the leaderboard: scores by model and data set, and detectable differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import rankdata

from reproduction.framework import Table, paired_difference, with_error
from reproduction.nested import CLASSIC, fetched

# Smallest difference, in standard errors, that a test at the 5 % level detects with 80 % power.
DETECTABLE = 1.96 + 0.84


class Board:
    """Cell results by data set and model, with all available repetitions."""

    def __init__(self, results: Mapping[str, Any], titles: Mapping[str, str]):
        self.cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for key, value in results.items():
            dataset, model, repetition = key.split("-")
            self.cells.setdefault((dataset, model), []).append({"repetition": int(repetition), **value})
        self.datasets = list(dict.fromkeys(dataset for dataset, _ in self.cells))
        present = {model for _, model in self.cells}
        self.titles = {model: title for model, title in titles.items() if model in present}

    def values(self, dataset: str, model: str, score: str) -> list[float]:
        """Return a score for every repetition; the list is empty if the model does not have this score."""
        scores = [cell[score] for cell in self.cells.get((dataset, model), ())]
        return [value for value in scores if value is not None]

    def mean(self, datasets: Sequence[str], model: str, score: str) -> float | None:
        """Return the mean over data sets, or None if a data set has no score."""
        values = [self.values(dataset, model, score) for dataset in datasets]
        return float(np.mean([np.mean(v) for v in values])) if all(values) else None

    def repetitions(self, datasets: Sequence[str], model: str) -> str:
        """Return the number of repetitions per data set, as a number or a range."""
        counts = [len(self.cells.get((dataset, model), ())) for dataset in datasets]
        return str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"

    def complete(self, datasets: Sequence[str], score: str) -> tuple[list[str], np.ndarray]:
        """Return the titles of models with results on all data sets, and scores by data set and model."""
        names = [m for m in self.titles if all((dataset, m) in self.cells for dataset in datasets)]
        scores = [[np.mean(self.values(dataset, m, score)) for m in names] for dataset in datasets]
        return [self.titles[m] for m in names], np.array(scores)

    def right(self, dataset: str, model: str) -> np.ndarray:
        """Return the share of repetitions in which each bag was classified correctly."""
        rows = [[int(hit) for hit in cell["right"]] for cell in self.cells[dataset, model]]
        return np.mean(rows, axis=0)


def cells_of(board: Board) -> list[dict[str, Any]]:
    """Return one row per cell, for other statistical tests.

    Correctly classified bags are "r" and misclassified bags are "w", in the order of the data. With digits,
    spreadsheet programs would read the text as a number.
    """
    scores = ("accuracy", "auc", "log_loss", "seconds")
    called = str.maketrans("10", "rw")
    return [
        {
            "data": dataset,
            "model": board.titles[model],
            "repetition": cell["repetition"],
            **{score: "" if cell[score] is None else f"{cell[score]:.6g}" for score in scores},
            "bags": cell["right"].translate(called),
        }
        for (dataset, model), cells in board.cells.items()
        for cell in cells
    ]


def tables_of(board: Board) -> list[Table]:
    """Make all tables that have results."""
    classic = [dataset for dataset in board.datasets if dataset in CLASSIC]
    groups = [dataset for dataset in board.datasets if dataset not in CLASSIC]
    tables = [_accuracy(board, classic)]
    for score, title, digits, factor in (
        ("auc", "AUC (%), from pairs of bags in the same fold", 1, 100.0),
        ("log_loss", "Log loss of models that predict probabilities", 3, 1.0),
        ("seconds", "Processor seconds per fit, including tuning", 2, 1.0),
    ):
        tables.append(Table(title, _rows(board, classic, score, digits, factor, best_is_high=score == "auc")))
    if groups:
        tables.append(_newsgroups(board, groups))
    return [table for table in tables if table.rows]


def _accuracy(board: Board, classic: Sequence[str]) -> Table:
    majority = {d: max(np.mean(fetched(d)[1]), 1 - np.mean(fetched(d)[1])) for d in classic}
    larger = {d: f"{100 * share:.1f}" for d, share in majority.items()}
    rows = _rows(board, classic, "accuracy", 1, 100.0, best_is_high=True)
    mean = f"{100 * np.mean(list(majority.values())):.1f}"
    rows.append({"model": "(larger class)", **larger, "mean": mean, "repetitions": ""})
    note = (
        "The values are means over repetitions ± standard errors, which show the variation between shuffles. "
        "Another sample of bags would change the accuracy far more; see the last table."
    )
    return Table("Accuracy (%), classic data sets", rows, note)


def _rows(
    board: Board, datasets: Sequence[str], score: str, digits: int, factor: float, *, best_is_high: bool
) -> list[dict[str, Any]]:
    """Make a row for every model that has this score on any data set; the best mean comes first."""
    rows, order = [], []
    for model, title in board.titles.items():
        values = {d: board.values(d, model, score) for d in datasets}
        if not any(values.values()):
            continue
        mean = board.mean(datasets, model, score)
        order.append(np.inf if mean is None else -mean if best_is_high else mean)
        rows.append(
            {
                "model": title,
                **{d: with_error(v, digits, factor) if v else "-" for d, v in values.items()},
                "mean": "-" if mean is None else f"{factor * mean:.{digits}f}",
                "repetitions": board.repetitions(datasets, model),
            }
        )
    return [rows[i] for i in np.argsort(order, kind="stable")]


def unsettled(board: Board, n_folds: int) -> str:
    """List the models with fits that did not converge, and the number of these fits."""
    counts = {model: [0, 0] for model in board.titles}
    for (_, model), cells in board.cells.items():
        counts[model][0] += sum(cell["unsettled"] for cell in cells)
        counts[model][1] += n_folds * len(cells)
    entries = [f"{board.titles[m]} ({bad} of {fits} fits)" for m, (bad, fits) in counts.items() if bad]
    return f"\nFits with a convergence warning: {'; '.join(entries) or 'none'}.\n"


def _newsgroups(board: Board, groups: Sequence[str]) -> Table:
    rows, order = [], []
    for model, title in board.titles.items():
        means = {
            score: board.mean(groups, model, score) for score in ("accuracy", "auc", "log_loss", "seconds")
        }
        if means["accuracy"] is None:
            continue
        order.append(-means["accuracy"])
        each = {g: f"{100 * np.mean(board.values(g, model, 'accuracy')):.0f}" for g in groups}
        rows.append(
            {
                "model": title,
                "accuracy": f"{100 * means['accuracy']:.1f}",
                "AUC": "-" if means["auc"] is None else f"{100 * means['auc']:.1f}",
                "log loss": "-" if means["log_loss"] is None else f"{means['log_loss']:.3f}",
                "seconds": "-" if means["seconds"] is None else f"{means['seconds']:.2f}",
                **each,
                "repetitions": board.repetitions(groups, model),
            }
        )
    rows = [rows[i] for i in np.argsort(order, kind="stable")]
    note = "The first four columns are means over the ten sets; the others are accuracies in percent."
    return Table("Ten newsgroups", rows, note)


def scaling_study(board: Board, before: str, after: Sequence[str]) -> Table | None:
    """Compare pipelines with a pipeline that differs only in its scaling, paired by bag."""
    classic = [dataset for dataset in board.datasets if dataset in CLASSIC]
    after = [model for model in after if all((d, model) in board.cells for d in classic)]
    if not after or not all((d, before) in board.cells for d in classic):
        return None
    rows = []
    for model in (before, *after):
        rows.append(
            {
                "": board.titles[model],
                **{d: with_error(board.values(d, model, "accuracy")) for d in classic},
                "mean": f"{100 * (board.mean(classic, model, 'accuracy') or 0.0):.1f}",
            }
        )
    for model in after:
        gains = {d: paired_difference(board.right(d, model), board.right(d, before)) for d in classic}
        each, errors = np.transpose(list(gains.values()))
        rows.append(
            {
                "": f'gain by "{board.titles[model]}"',
                **{d: _gain(*gain) for d, gain in gains.items()},
                "mean": _gain(np.mean(each), np.sqrt(np.sum(errors**2)) / len(classic)),
            }
        )
    note = (
        "The table shows the accuracy in percent ± its standard error over repetitions. Gains are paired by "
        "bag; their standard error over bags shows the variation between samples of bags. The first variant "
        "ranks instances "
        '(``scale="rank"``); the second ranks the minima and maxima (with a `RankScaler`). In an '
        "earlier nested study, whose settings are not recorded here, the mean rose from 78.8 to 84.1."
    )
    return Table("Ranks instead of standardized features", rows, note)


def _gain(mean: float, error: float) -> str:
    return f"{100 * mean:+.1f} ± {100 * error:.1f}"


def against_the_best(board: Board, model: str) -> Table | None:
    """Compare a model with the best other model on each data set and on all other data sets."""
    names = [m for m in board.titles if all((d, m) in board.cells for d in board.datasets)]
    others = [m for m in names if m != model]
    if model not in names or len(others) < 2 or len(board.datasets) < 2:
        return None
    accuracy = np.array([[board.right(d, m).mean() for m in others] for d in board.datasets])
    ranks = rankdata(-accuracy, axis=1)
    rows = []
    for i, dataset in enumerate(board.datasets):
        best = others[int(np.argmax(accuracy[i]))]
        best_elsewhere = others[int(np.argmin(np.delete(ranks, i, axis=0).mean(axis=0)))]
        ours = board.right(dataset, model)
        row = {"data": dataset, "ensemble (%)": f"{100 * ours.mean():.1f}"}
        for title, rival in (("best here", best), ("best elsewhere", best_elsewhere)):
            theirs = board.right(dataset, rival)
            row[title] = f"{board.titles[rival]} ({100 * theirs.mean():.1f})"
            row[f"difference from the {title}"] = _gain(*paired_difference(ours, theirs))
        rows.append(row)
    note = (
        f"*Best here*: the model with the highest accuracy among {len(others)} other models, on the same "
        "folds that are shown. With this many models, the best one is partly the best by chance, especially "
        "on few bags. It could not have been chosen beforehand. *Best elsewhere*: the model with the best "
        "mean rank on all other data sets, which could have been chosen beforehand. Differences are shown ± "
        "their standard error over bags."
    )
    return Table("The ensemble against single models", rows, note)


def what_can_be_seen(board: Board) -> Table:
    """Show the smallest detectable difference between two models on every data set."""
    rows = []
    for dataset in board.datasets:
        models = [model for model in board.titles if (dataset, model) in board.cells]
        right = {model: board.right(dataset, model) for model in models}
        spreads = [np.std(right[a] - right[b], ddof=1) for a, b in combinations(models, 2)]
        n = len(fetched(dataset)[1])
        accuracy = float(np.mean([hits.mean() for hits in right.values()]))
        best = max(hits.mean() for hits in right.values())
        error = float(np.median(spreads)) / np.sqrt(n)
        near = sum(best - hits.mean() < DETECTABLE * error for hits in right.values())
        rows.append(
            {
                "data": dataset,
                "bags": n,
                "one bag (%)": f"{100 / n:.1f}",
                "error of an accuracy (%)": f"{100 * np.sqrt(accuracy * (1 - accuracy) / n):.1f}",
                "error of a difference (%)": f"{100 * error:.1f}",
                "smallest detectable difference (%)": f"{100 * DETECTABLE * error:.1f}",
                "models within this difference of the best": f"{near} of {len(models)}",
            }
        )
    note = (
        "Both errors are standard errors over bags. The error of an accuracy is computed at the mean "
        "accuracy of all models. The error of a difference refers to two models on the same bags (median "
        "over all pairs). A two-sided test at the 5 % level detects a difference of 2.8 standard errors "
        "with 80 % power, if the two models were chosen beforehand."
    )
    return Table("Detectable differences per data set", rows, note)
