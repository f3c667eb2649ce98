"""The tables of the leaderboard: scores of models by data sets, and what so few bags can show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import rankdata

from reproduction.framework import Table, paired_difference, with_error
from reproduction.nested import CLASSIC, fetched

# Standard errors that a difference must be away from zero, to be seen at 5 % in four cases of five.
DETECTABLE = 1.96 + 0.84


class Board:
    """Results of cells by data set and model, as many repetitions as are there."""

    def __init__(self, results: Mapping[str, Any], titles: Mapping[str, str]):
        self.found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for key, value in results.items():
            dataset, model, repetition = key.split("-")
            self.found.setdefault((dataset, model), []).append({"repetition": int(repetition), **value})
        self.datasets = list(dict.fromkeys(dataset for dataset, _ in self.found))
        there = {model for _, model in self.found}
        self.titles = {model: title for model, title in titles.items() if model in there}

    def values(self, dataset: str, model: str, score: str) -> list[float]:
        """Give a score of every repetition; empty if there is none."""
        found = [cell[score] for cell in self.found.get((dataset, model), ())]
        return [value for value in found if value is not None]

    def mean(self, datasets: Sequence[str], model: str, score: str) -> float | None:
        """Give the mean over data sets, or None unless there is a score of each."""
        values = [self.values(dataset, model, score) for dataset in datasets]
        return float(np.mean([np.mean(v) for v in values])) if all(values) else None

    def repetitions(self, datasets: Sequence[str], model: str) -> str:
        """Say how many repetitions there are, from the fewest to the most."""
        counts = [len(self.found.get((dataset, model), ())) for dataset in datasets]
        return str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"

    def complete(self, datasets: Sequence[str], score: str) -> tuple[list[str], np.ndarray]:
        """Give the titles of models with results on all these data sets, and scores by data set and model."""
        names = [m for m in self.titles if all((dataset, m) in self.found for dataset in datasets)]
        scores = [[np.mean(self.values(dataset, m, score)) for m in names] for dataset in datasets]
        return [self.titles[m] for m in names], np.array(scores)

    def right(self, dataset: str, model: str) -> np.ndarray:
        """Give the share of repetitions that had every bag right."""
        rows = [[int(hit) for hit in cell["right"]] for cell in self.found[dataset, model]]
        return np.mean(rows, axis=0)


def cells_of(board: Board) -> list[dict[str, Any]]:
    """Make a row of every cell, for whoever wants to test something else.

    The bags that a model called right are r and the others w, in the order of the data: no program takes such
    a text for a number.
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
        for (dataset, model), cells in board.found.items()
        for cell in cells
    ]


def tables_of(board: Board) -> list[Table]:
    """Make all tables for which there are results."""
    classic = [dataset for dataset in board.datasets if dataset in CLASSIC]
    groups = [dataset for dataset in board.datasets if dataset not in CLASSIC]
    tables = [_accuracy(board, classic)]
    for score, title, digits, factor in (
        ("auc", "AUC (%): pairs of bags in one fold", 1, 100.0),
        ("log_loss", "Log loss, of models with probabilities", 3, 1.0),
        ("seconds", "Processor seconds of a fit with its choices", 2, 1.0),
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
    rows.append({"model": "(the larger class)", **larger, "mean": mean, "repetitions": ""})
    note = (
        "Mean of repetitions ± its standard error over repetitions: how much another shuffle into folds "
        "changes. Other bags of the same kind would change far more; see the last table."
    )
    return Table("Accuracy (%), classic data sets", rows, note)


def _rows(
    board: Board, datasets: Sequence[str], score: str, digits: int, factor: float, *, best_is_high: bool
) -> list[dict[str, Any]]:
    """Make a row for every model that has the score anywhere, the best mean first."""
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
    """Say of which models some fits ended with a warning that they had not converged."""
    counts = {model: [0, 0] for model in board.titles}
    for (_, model), cells in board.found.items():
        counts[model][0] += sum(cell["unsettled"] for cell in cells)
        counts[model][1] += n_folds * len(cells)
    some = [f"{board.titles[m]} ({bad} of {fits} fits)" for m, (bad, fits) in counts.items() if bad]
    return f"\nWith a warning that a fit had not converged: {'; '.join(some) or 'none'}.\n"


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
    """Hold pipelines against one that differs from them in its scaling alone, bag by bag."""
    classic = [dataset for dataset in board.datasets if dataset in CLASSIC]
    after = [model for model in after if all((d, model) in board.found for d in classic)]
    if not after or not all((d, before) in board.found for d in classic):
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
        "Accuracy in percent, ± over repetitions; gains ± the standard error over bags, paired: what a gain "
        'on other bags of these kinds may be. The first ranks instances (``scale="rank"``), the second the '
        "minima and maxima themselves (`RankScaler` after them). An earlier nested study, whose settings "
        "are not recorded here, had the mean rise from 78.8 to 84.1."
    )
    return Table("Ranks in place of standardised features", rows, note)


def _gain(mean: float, error: float) -> str:
    return f"{100 * mean:+.1f} ± {100 * error:.1f}"


def against_the_best(board: Board, model: str) -> Table | None:
    """Hold a model against the best other one of each data set, and the best one of all other data sets."""
    names = [m for m in board.titles if all((d, m) in board.found for d in board.datasets)]
    others = [m for m in names if m != model]
    if model not in names or len(others) < 2 or len(board.datasets) < 2:
        return None
    accuracy = np.array([[board.right(d, m).mean() for m in others] for d in board.datasets])
    ranks = rankdata(-accuracy, axis=1)
    rows = []
    for number, dataset in enumerate(board.datasets):
        here = others[int(np.argmax(accuracy[number]))]
        elsewhere = others[int(np.argmin(np.delete(ranks, number, axis=0).mean(axis=0)))]
        ours = board.right(dataset, model)
        row = {"data": dataset, "ensemble (%)": f"{100 * ours.mean():.1f}"}
        for what, rival in (("best here", here), ("best elsewhere", elsewhere)):
            theirs = board.right(dataset, rival)
            row[what] = f"{board.titles[rival]} ({100 * theirs.mean():.1f})"
            row[f"difference to the {what}"] = _gain(*paired_difference(ours, theirs))
        rows.append(row)
    note = (
        f"*Best here*: of {len(others)} others the one with the highest accuracy on the very folds that are "
        "shown. Among so many one is first by luck, the more so the fewer the bags: it could not have been "
        "chosen beforehand. *Best elsewhere*: the one with the best mean rank on all other data sets, which "
        "could. Differences ± their standard error over bags."
    )
    return Table("The ensemble against single models", rows, note)


def what_can_be_seen(board: Board) -> Table:
    """Say how far two models must be apart on a data set for the difference to be seen at all."""
    rows = []
    for dataset in board.datasets:
        models = [model for model in board.titles if (dataset, model) in board.found]
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
                "least difference that can be seen (%)": f"{100 * DETECTABLE * error:.1f}",
                "models within that of the best": f"{near} of {len(models)}",
            }
        )
    note = (
        "Standard errors over bags: of an accuracy that is the mean of the models', and of the difference "
        "between two models that met the same bags (median of all pairs). A difference of 2.8 such errors is "
        "found by a two-sided test at 5 % in four cases of five, if the two models were chosen beforehand."
    )
    return Table("What a data set can show", rows, note)
