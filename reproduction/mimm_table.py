"""Multi-instance mixture models (Foulds and Smyth 2011): table 1."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from bagwise.models.base.held_out import cross_predict
from bagwise.models.mixture import MIMixture
from reproduction.framework import Cell, Experiment, Report, Settings, Table, with_error
from reproduction.mimm import PAPER, SUPERVISION
from reproduction.mimm_causes import cause_cells, cause_tables
from reproduction.mimm_data import family_of, folds

DATASETS = ("musk1", "musk2", "elephant", "tiger", "fox")
FEATURES = {"raw": "", "pca_train": " (PCA)", "pca_all": " (PCA on all data)"}
METHODS = ("MIMM", "MM", "MMU", "EMDD", "MaxDD", "MILR", "MISVM")
PRINTED = {
    ("musk1", "raw"): (70.90, 70.82, 53.13, 85.4, 86.8, 73.44, 75.94),
    ("musk1", "pca_train"): (89.08, 86.68, 56.39, 77.82, 71.78, 77.94, 55.92),
    ("musk2", "raw"): (67.63, 67.32, 47.35, 85.6, 85.7, 76.97, 71.78),
    ("musk2", "pca_train"): (67.32, 66.54, 59.96, 72.95, 68.58, 52.54, 61.73),
    ("elephant", "raw"): (74.40, 68.45, 52.35, 74.80, 80.00, 79.70, 78.85),
    ("elephant", "pca_train"): (69.40, 60.30, 51.75, 76.20, 77.40, 78.15, 50.00),
    ("tiger", "raw"): (61.85, 58.45, 53.90, 72.50, 73.95, 75.60, 81.45),
    ("tiger", "pca_train"): (60.80, 59.15, 49.60, 72.35, 67.20, 73.60, 49.45),
    ("fox", "raw"): (53.20, 53.00, 48.65, 59.65, 60.55, 59.00, 48.60),
    ("fox", "pca_train"): (51.90, 52.25, 48.55, 56.50, 50.70, 53.20, 50.00),
}


def _make_model(method: str, features: str, n_init: int, seed: int) -> Any:
    from bagwise.models.linear_model import MILogisticRegression
    from bagwise.models.prototypes import EMDD, DiverseDensity
    from bagwise.models.svm import InstanceMISVC

    if method in SUPERVISION:
        supervision = SUPERVISION[method]
        return MIMixture(family_of(features), supervision=supervision, n_init=n_init, random_state=seed)
    if method == "MILR":
        # A very small penalty, as in the paper.
        return MILogisticRegression(alpha=0.01, l1_ratio=0.0, n_init=1, tol=1e-3, random_state=seed)
    if method == "MISVM":
        # WEKA's class MISVM is mi-SVM, with its default parameters.
        return InstanceMISVC(C=1.0, kernel="linear", scale="minmax", random_state=seed)
    return {"EMDD": EMDD, "MaxDD": DiverseDensity}[method](n_init=n_init, random_state=seed)


def accuracy(dataset, features, method, repeat, n_folds, n_init, seed, removed=0.0) -> float:
    """Return the accuracy of one cross-validation over bags; `removed` is the share of missing values."""
    right, total = 0, 0
    for fold, (bags, y, train, test) in enumerate(folds(dataset, features, repeat, n_folds, seed)):
        if removed:
            X = bags.instances.copy()
            X[np.random.RandomState([seed, repeat, fold]).random_sample(X.shape) < removed] = np.nan
            bags = bags.with_instances(X)
        model = _make_model(method, features, n_init, seed + repeat)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # 200 iterations, as in the paper
            # Features differ between folds, so every fold is a separate cross-prediction with one split.
            held = cross_predict(model, bags, y, [(train, test)], outputs=["predict"])
        right += int(held.is_right[test].sum())
        total += len(test)
    return right / total


def table1_cells(settings: Settings) -> list[Cell]:
    """Return the cells for the changed settings, the table entries and the missing values."""
    n_folds, n_repeats = (2, 1) if settings.quick else (10, 10)
    names = ("musk1",) if settings.quick else DATASETS
    n_init = 1 if settings.quick else 10
    common = {"n_folds": n_folds, "seed": settings.seed}
    cells = []

    def add(key, **arguments):
        cells.append(Cell(key, accuracy, common | arguments))

    for repeat in range(n_repeats):
        for dataset in names:
            for features in FEATURES:
                for method in METHODS:
                    add(
                        f"{dataset}-{features}-{method}-{repeat}",
                        dataset=dataset,
                        features=features,
                        method=method,
                        repeat=repeat,
                        n_init=n_init,
                    )
    for repeat in range(1 if settings.quick else 3):
        for removed in (0.0, 0.2):
            add(
                f"removed{100 * removed:g}-{repeat}",
                dataset="musk1",
                features="pca_train",
                method="MIMM",
                repeat=repeat,
                n_init=min(n_init, 5),
                removed=removed,
            )
    return cause_cells(settings) + cells


def table1_report(results: Mapping[str, Any], settings: Settings) -> Report:
    """Compare our table with the printed one, and report causes of differences and missing values."""
    grouped: dict[str, list[float]] = {}
    for key, value in results.items():
        grouped.setdefault(key.rsplit("-", 1)[0], []).append(value)
    rows = []
    for dataset in DATASETS:
        for features, suffix in FEATURES.items():
            if f"{dataset}-{features}-MIMM" not in grouped:
                continue
            title = dataset.capitalize() + suffix
            ours = {m: with_error(grouped[f"{dataset}-{features}-{m}"]) for m in METHODS}
            rows.append({"data": title, "from": "here", **ours})
            if (dataset, features) in PRINTED:
                printed = zip(METHODS, PRINTED[dataset, features], strict=True)
                rows.append({"data": title, "from": "paper", **{m: f"{v:.1f}" for m, v in printed}})
    missing = [
        {"values removed": f"{share} %", "MIMM": with_error(grouped[f"removed{share}"])} for share in (0, 20)
    ]
    tables = [
        Table("Accuracy", rows),
        *cause_tables(grouped, PRINTED),
        Table("Musk1, ten principal components, with values missing at random", missing, MISSING_NOTE),
    ]
    n_folds, n_repeats = (2, 1) if settings.quick else (10, 10)
    return Report(TEXT.format(folds=n_folds, repeats=n_repeats), tables)


TEXT = """
Accuracies (in percent) are means over {repeats} shuffles of {folds}-fold stratified cross-validation over
bags, ± the standard error over shuffles. The mixtures use diagonal Gaussians on the raw features, and full
Gaussians on ten principal components of the standardized features. The components are fitted to the training
folds; extra rows show components fitted to all data, as the paper may have done. The mixtures use the prior
of Fraley and Raftery and 10 starts of at most 200 iterations. EM-DD and maximum diverse density ("MaxDD") use
standardized features and 10 starts of at most 200 iterations. MILR is `MILogisticRegression(alpha=0.01,
l1_ratio=0, n_init=1, tol=1e-3)`. The column MISVM is WEKA's class of that name, which is mi-SVM:
`InstanceMISVC(C=1, kernel="linear", scale="minmax")`.
"""
MISSING_NOTE = (
    "The same share of values is removed from training and test instances. Missing values are integrated "
    "out, not imputed."
)

EXPERIMENTS = [
    Experiment(
        name="mimm-table1",
        title="mixtures, diverse density and logistic regression on the classic data sets",
        paper=f"{PAPER}: table 1.",
        cells=table1_cells,
        report=table1_report,
        minutes=10.0,
        needs_data=DATASETS,
    ),
]
