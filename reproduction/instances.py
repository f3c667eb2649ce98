"""Evaluation of instance predictions against true instance labels, which are not used in fits."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from inspect import unwrap
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from bagwise import datasets
from bagwise.data.bags import Bags
from bagwise.exceptions import ConvergenceWarning
from bagwise.models.wrappers.instance_level import instance_predictions
from reproduction import leaderboard
from reproduction import leaderboard_models as models
from reproduction.framework import Cell, Experiment, Report, Settings, Table, with_error

N_FOLDS, N_REPEATS = 3, 2
N_BAGS = 50
DATASETS = ("digits", "birdsong", "mscv2", "slides")
MODELS = {
    run.__name__: run
    for run in (
        models.single_logistic,
        models.single_forest,
        models.milr_or,
        models.milr_mean,
        models.milr_softmax,
        models.milr_log_odds_mean,
        models.soft_or,
        models.boosting_or,
        models.boosting_log_odds,
        models.boosting_exponential,
        models.apr,
        models.miles,
        models.mi_svm,
        models.instance_mi_svm,
        models.miss_svm,
        models.sparse_svm,
        models.emdd,
        models.diverse_density,
        models.mimm,
        models.attention,
        models.ensemble,
        models.ensemble_standard,
    )
}
QUICK = ("single_logistic", "milr_or")
# Log-odds are limited for the calibration slope; a probability of 0 or 1 has infinite log-odds.
_LIMIT = 1e-9


class Judged(NamedTuple):
    """Bags, their labels, and the true labels of instances: 1, 0, or -1 if unknown."""

    bags: Bags
    y: np.ndarray
    instance_y: np.ndarray


@cache
def load(dataset: str, n_bags: int, seed: int) -> Judged:
    """Return a data set with known instance labels; half of the bags are positive."""
    if dataset == "digits":
        data = datasets.load_digit_bags(n_bags, random_state=seed)
        return Judged(data.bags, np.asarray(data.y), np.asarray(data.instance_y))
    if dataset == "slides":
        return draw_slides(n_bags, seed)
    name, label = ("hja_birdsong", 0) if dataset == "birdsong" else ("mscv2", 1)  # Brown Creeper; grass
    data = getattr(datasets, f"fetch_{name}")()
    y = np.asarray(data.y)[:, label].astype(int)
    rng = np.random.default_rng(seed)
    chosen = np.concatenate([rng.choice(np.flatnonzero(y == c), n_bags // 2, replace=False) for c in (0, 1)])
    truth = np.where(data.instance_y < 0, -1, (data.instance_y == label).astype(int))
    bags = data.bags.with_instances(np.asarray(data.bags.instances, dtype=np.float64))
    offsets = data.bags.offsets
    rows = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in chosen])
    return Judged(bags[chosen], y[chosen], truth[rows])


def draw_slides(n_slides: int, seed: int) -> Judged:
    """Draw slides of patches; a tumor is a small round region in which the features are shifted.

    Every slide has an offset of its features (its stain), which does not depend on its label.
    """
    rng = np.random.default_rng(seed)
    direction = np.random.default_rng(99).normal(size=16)
    y = rng.permutation(np.arange(n_slides) % 2)
    patches, truth, sizes = [], [], []
    for label in y:
        side = int(rng.integers(5, 8))
        grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), axis=-1).reshape(-1, 2)
        center = grid[rng.integers(len(grid))]
        near = ((grid - center) ** 2).sum(axis=1) < rng.uniform(1.5, 4.5)
        X = rng.normal(size=(len(grid), 16)) + 0.3 * rng.normal(size=16)
        X[near & (label == 1)] += 0.6 * direction
        patches.append(X)
        truth.append((near & (label == 1)).astype(int))
        sizes.append(len(grid))
    return Judged(Bags(np.concatenate(patches), np.cumsum([0, *sizes])), y, np.concatenate(truth))


def run_model(dataset: str, model: str, n_bags: int, n_folds: int, repeat: int, seed: int) -> dict[str, Any]:
    """Predict the instances of held-out bags with models that are tuned on the training bags."""
    drawn = 1000 * seed + repeat
    data = load(dataset, n_bags, drawn)
    kind, fold_values = "", []
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=drawn).split(data.y, data.y):
        fitted = clone(unwrap(MODELS[model])(drawn))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted.fit(data.bags[train], data.y[train])
        kind, values = instance_predictions(fitted, data.bags[test])
        truth = np.concatenate([_of_bag(data, i) for i in test])
        bag = np.repeat(np.arange(len(test)), data.bags.sizes[test])
        is_labeled = truth >= 0
        fold_values.append((values[is_labeled], truth[is_labeled], bag[is_labeled]))
    result = {
        "auc": float(np.mean([roc_auc_score(z, v) for v, z, _ in fold_values])),
        "auc_within": float(np.mean([auc_within(v, z, bag) for v, z, bag in fold_values])),
        "precision": float(np.mean([average_precision_score(z, v) for v, z, _ in fold_values])),
        "share": float(np.mean(np.concatenate([z for _, z, _ in fold_values]))),
        "log_loss": None,
        "slope": None,
    }
    if kind == "probability":
        p, z = (np.concatenate([fold[i] for fold in fold_values]) for i in (0, 1))
        result |= calibration(p, z)
    return result


def _of_bag(data: Judged, i: int) -> np.ndarray:
    return data.instance_y[data.bags.offsets[i] : data.bags.offsets[i + 1]]


def auc_within(values: np.ndarray, truth: np.ndarray, bag: np.ndarray) -> float:
    """Return the AUC over pairs of a positive and a negative instance of the same bag; ties count half."""
    better, total = 0.0, 0
    for index in np.unique(bag):
        positive, negative = (values[(bag == index) & (truth == z)] for z in (1, 0))
        difference = positive[:, None] - negative[None, :]
        better += float((difference > 0).sum() + 0.5 * (difference == 0).sum())
        total += difference.size
    return better / total


def calibration(p: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Return the log loss, relative to predicting the share of positive instances, and the slope."""
    p = np.clip(p, _LIMIT, 1 - _LIMIT)
    share = truth.mean()
    constant = log_loss(truth, np.full(len(truth), share))
    # Practically no penalty; scikit-learn 1.8 warns about an infinite C.
    slope = LogisticRegression(C=1e10, max_iter=1000).fit(logit(p)[:, None], truth).coef_[0, 0]
    return {"log_loss": float(log_loss(truth, p) / constant), "slope": float(slope)}


def cells(settings: Settings) -> list[Cell]:
    """Return the cells ordered by repetition, so that a partial run covers all models and data sets."""
    names = QUICK if settings.quick else [name for name in MODELS if _can_run(name)]
    sets = ("digits", "slides") if settings.quick else DATASETS
    n_bags, n_folds, n_repeats = (30, 2, 2) if settings.quick else (N_BAGS, N_FOLDS, N_REPEATS)
    return [
        Cell(
            f"{dataset}-{name}-{repeat}",
            run_model,
            {
                "dataset": dataset,
                "model": name,
                "n_bags": n_bags,
                "n_folds": n_folds,
                "repeat": repeat,
                "seed": settings.seed,
            },
        )
        for repeat in range(n_repeats)
        for name in names
        for dataset in sets
    ]


def _can_run(name: str) -> bool:
    return name != "attention" or find_spec("torch") is not None


def report(results: Mapping[str, Any], settings: Settings) -> Report:
    """Make a table for every score, with the best mean first."""
    by_cell: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for key, value in results.items():
        dataset, name, _ = key.split("-")
        by_cell.setdefault((dataset, name), []).append(value)
    sets = [dataset for dataset in DATASETS if any(key[0] == dataset for key in by_cell)]
    complete = [name for name in MODELS if all((dataset, name) in by_cell for dataset in sets)]
    tables = []
    for score, title, note in (
        (
            "auc",
            "AUC of instances",
            "The AUC is computed over all instances in positive and negative held-out bags.",
        ),
        (
            "auc_within",
            "AUC within positive bags",
            "The AUC is computed over pairs of a positive and a negative instance from the same bag.",
        ),
        (
            "precision",
            "Average precision of instances",
            "The last row is the share of positive instances, which is the average precision of a random "
            "order.",
        ),
        (
            "log_loss",
            "Log loss of instance probabilities",
            "The log loss is divided by that of a constant prediction, the share of positive instances; "
            "values below 1 are better. The table contains only models that predict instance probabilities.",
        ),
        (
            "slope",
            "Calibration slope of instance probabilities",
            "The slope is from a logistic regression of the true labels on the log-odds. It is 1 "
            "for calibrated probabilities, below 1 if they are too extreme, and negative if they are "
            "misleading. Values are limited to -1 to 10. Slopes nearest to 1 come first.",
        ),
    ):
        rows = _rows(by_cell, sets, complete, score)
        if score == "precision" and complete:
            share = {d: f"{np.mean([c['share'] for c in by_cell[d, complete[0]]]):.3f}" for d in sets}
            rows.append({"model": "(share of positive instances)", **share, "mean": ""})
        if rows:
            tables.append(Table(title, rows, note))
    options = {"n_bags": 30, "n_folds": 2} if settings.quick else {"n_bags": N_BAGS, "n_folds": N_FOLDS}
    n_repeats = max(map(len, by_cell.values()))
    text = _TEXT.format(**options, n_repeats=n_repeats, findings=_findings(by_cell, sets, complete))
    data = [
        {"cell": key, **{k: "" if v is None else f"{v:.4f}" for k, v in value.items()}}
        for key, value in results.items()
    ]
    return Report(text, tables, data={"cells": data})


def _means(by_cell: Any, sets: list[str], name: str, score: str) -> list[float]:
    """Return the mean over repetitions for every data set; empty if a data set has no such score."""
    if any(cell[score] is None for dataset in sets for cell in by_cell[dataset, name]):
        return []
    return [float(np.mean(_values(by_cell[dataset, name], score))) for dataset in sets]


def _values(cells: list[dict[str, Any]], score: str) -> np.ndarray:
    """Return a score of all repetitions; slopes are limited, because they can be huge."""
    values = np.array([cell[score] for cell in cells])
    return np.clip(values, -1.0, 10.0) if score == "slope" else values


def _rows(by_cell: Any, sets: list[str], names: list[str], score: str) -> list[dict[str, Any]]:
    rows, order = [], []
    for name in names:
        means = _means(by_cell, sets, name, score)
        if not means:
            continue
        mean = float(np.mean(means))
        distance = float(np.mean(np.abs(np.log(np.maximum(means, 1e-3))))) if score == "slope" else mean
        order.append(distance if score in ("log_loss", "slope") else -mean)
        shown = {d: with_error(_values(by_cell[d, name], score), 3, 1.0) for d in sets}
        rows.append({"model": leaderboard.title_of(MODELS[name]), **shown, "mean": f"{mean:.3f}"})
    return [rows[i] for i in np.argsort(order, kind="stable")]


def _findings(by_cell: Any, sets: list[str], names: list[str]) -> str:
    lines = []
    for score, title in (
        ("auc", "AUC"),
        ("auc_within", "AUC within positive bags"),
        ("precision", "average precision"),
    ):
        means = {name: float(np.mean(_means(by_cell, sets, name, score))) for name in names}
        best = sorted(means, key=lambda name: -means[name])[:3]
        shown = "; ".join(f"{leaderboard.title_of(MODELS[name])} ({means[name]:.3f})" for name in best)
        lines.append(f"- Models with the best mean {title}: {shown}.")
    return "\n".join(lines)


_TEXT = """
Instance labels are not used in any fit. Models are fitted to {n_bags} bags per data set (half of them
positive) in stratified {n_folds}-fold cross-validation over bags, with {n_repeats} repetitions on
different bags and folds. As on the [leaderboard](leaderboard.md), the models are tuned on the training bags
only, by the accuracy of *bag* predictions in three folds. They then score the instances of held-out bags
without using bag labels, and these scores are compared with the true instance labels.

- *digits*: bags of handwritten digits (`load_digit_bags`); positive instances are nines.
- *birdsong*: recordings with or without a brown creeper (HJA birdsong); only segments of known
  species are evaluated.
- *mscv2*: pictures with or without grass (MSCV2); positive instances are segments of grass.
- *slides*: simulated slides of 25 to 49 patches with 16 features. A tumor is a round region of a few
  patches in which the features are shifted. Every slide has a different stain.

{findings}

SVMs, boxes, MILES, the network and the ensembles predict instance scores instead of probabilities, so
the tables of log loss and slope do not include them. Models of whole bags are not included, because they
do not predict instances. The samples are small, to limit the run time to minutes. Differences of a few
hundredths are therefore not significant.
"""

EXPERIMENTS = [
    Experiment(
        name="instances",
        title="Which instance? Models judged by true instance labels",
        paper=(
            "Data: handwritten digits (UCI); F. Briggs, X. Fern and R. Raich (2012), KDD; J. Winn, "
            "A. Criminisi and T. Minka (2005), ICCV; simulated slides."
        ),
        cells=cells,
        report=report,
        minutes=3.0,
        needs_data=("hja_birdsong", "mscv2"),
        is_partial=True,
    )
]
