"""Foulds and Smyth's multi-instance mixture models: table 1, and what its differences come from."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from bagwise import datasets
from bagwise.experiments.framework import Cell, Experiment, Report, Settings, Table, with_error
from bagwise.experiments.mimm import PAPER, SUPERVISION
from bagwise.mixture import MIMixture

DATASETS = ("musk1", "musk2", "elephant", "tiger", "fox")
FEATURES = {"raw": "", "pca_train": " (PCA)", "pca_all": " (PCA on all data)"}
METHODS = ("MIMM", "MM", "MMU", "EMDD", "MaxDD", "MILR")
PRINTED = {
    ("musk1", "raw"): (70.90, 70.82, 53.13, 85.4, 86.8, 73.44),
    ("musk1", "pca_train"): (89.08, 86.68, 56.39, 77.82, 71.78, 77.94),
    ("musk2", "raw"): (67.63, 67.32, 47.35, 85.6, 85.7, 76.97),
    ("musk2", "pca_train"): (67.32, 66.54, 59.96, 72.95, 68.58, 52.54),
    ("elephant", "raw"): (74.40, 68.45, 52.35, 74.80, 80.00, 79.70),
    ("elephant", "pca_train"): (69.40, 60.30, 51.75, 76.20, 77.40, 78.15),
    ("tiger", "raw"): (61.85, 58.45, 53.90, 72.50, 73.95, 75.60),
    ("tiger", "pca_train"): (60.80, 59.15, 49.60, 72.35, 67.20, 73.60),
    ("fox", "raw"): (53.20, 53.00, 48.65, 59.65, 60.55, 59.00),
    ("fox", "pca_train"): (51.90, 52.25, 48.55, 56.50, 50.70, 53.20),
}
# What could explain a difference: the prior, the scaling, or where EM starts.
CAUSES: dict[str, dict[str, Any]] = {
    "as in the table": {},
    "kappa = 0": {"prior": "free_mean"},
    "prior per feature": {"prior": "per_feature"},
    "standardised": {"features": "standard"},
    "PCA without standardising": {"features": "pca_plain"},
    "one start": {"n_init": 1},
    "one start, from the labels": {"n_init": 1, "start": "labels"},
}


@cache
def _fetched(dataset: str) -> Any:
    data = getattr(datasets, f"fetch_{dataset}")()
    return data.bags.with_instances(np.asarray(data.bags.instances, dtype=np.float64)), data.y


def _preparation(features: str) -> Any:
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    pca = PCA(10, svd_solver="covariance_eigh")  # the default may draw random numbers
    match features:
        case "raw":
            return FunctionTransformer()
        case "standard":
            return StandardScaler()
        case "pca_plain":
            return pca
    return make_pipeline(StandardScaler(), pca)


def _make_model(method: str, features: str, prior: str, n_init: int, seed: int) -> Any:
    from bagwise.density import EMDD, DiverseDensity
    from bagwise.families import FraleyRaftery
    from bagwise.linear_model import MILogisticRegression

    if method in SUPERVISION:
        return MIMixture(
            "gaussian" if features.startswith("pca") else "gaussian_diag",
            supervision=SUPERVISION[method],
            prior=FraleyRaftery(kappa=0.0) if prior == "free_mean" else prior,
            n_init=n_init,
            random_state=seed,
        )
    if method == "MILR":
        # Next to no penalty, as in the paper's.
        return MILogisticRegression(alpha=0.01, l1_ratio=0.0, n_init=1, tol=1e-3, random_state=seed)
    return {"EMDD": EMDD, "MaxDD": DiverseDensity}[method](n_init=n_init, random_state=seed)


def accuracy(
    dataset, features, method, repeat, n_folds, n_init, seed, prior="default", removed=0.0, start="random"
) -> float:
    """Accuracy of one cross-validation over bags; `removed` is the share of values that go missing.

    With ``start="labels"`` a class starts in the middle of the instances of its bags.
    """
    from unittest import mock

    from sklearn.model_selection import StratifiedKFold

    from bagwise.mixture.start import Pool

    bags, y = _fetched(dataset)
    right = 0
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed + repeat)
    for number, (train, test) in enumerate(splitter.split(np.zeros(len(y)), y)):
        fitted_on = bags if features == "pca_all" else bags[train]
        preparation = _preparation(features).fit(fitted_on.instances)
        X = np.array(preparation.transform(bags.instances), order="C")
        if removed:
            X[np.random.RandomState([seed, repeat, number]).random_sample(X.shape) < removed] = np.nan
        prepared = bags.with_instances(X)
        model = _make_model(method, features, prior, n_init, seed + repeat)
        draw = Pool.draw if start == "random" else lambda pool, rng: pool.mean
        with warnings.catch_warnings(), mock.patch.object(Pool, "draw", draw):
            warnings.simplefilter("ignore")  # 200 iterations, as in the paper
            model.fit(prepared[train], y[train])
        right += int((model.predict(prepared[test]) == y[test]).sum())
    return right / len(y)


def table1_cells(settings: Settings) -> list[Cell]:
    """A cell for every entry of the table and repeat; then the causes, and missing values."""
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
                    is_aside = method not in SUPERVISION or features == "pca_all"
                    if is_aside and repeat >= 3:
                        continue
                    add(
                        f"{dataset}-{features}-{method}-{repeat}",
                        dataset=dataset,
                        features=features,
                        method=method,
                        repeat=repeat,
                        n_init=min(n_init, 3) if method in ("EMDD", "MaxDD") else n_init,
                    )
    for repeat in range(1 if settings.quick else 2):
        for dataset in names[:3:2]:
            for number, change in enumerate(CAUSES.values()):
                for method in SUPERVISION:
                    for kind in ("raw", "pca_train"):
                        wanted = change.get("features", kind)
                        if wanted.startswith("pca") != (kind == "pca_train"):
                            continue
                        if change.get("prior") == "per_feature" and kind != "raw":
                            continue
                        # Without labels there is nothing to start from but one middle for both.
                        if "start" in change and method == "MMU":
                            continue
                        extra = {"start": change["start"]} if "start" in change else {}
                        add(
                            f"cause{number}-{dataset}-{kind}-{method}-{repeat}",
                            dataset=dataset,
                            features=wanted,
                            method=method,
                            repeat=repeat,
                            n_init=change.get("n_init", n_init),
                            prior=change.get("prior", "default"),
                            **extra,
                        )
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
    return cells


def table1_report(results: Mapping[str, Any], settings: Settings) -> Report:
    """Our table beside the printed one; what the differences come from; missing values."""
    grouped: dict[str, list[float]] = {}
    for key, value in results.items():
        grouped.setdefault(key.rsplit("-", 1)[0], []).append(value)
    rows, causes = [], []
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
    for dataset in DATASETS:
        for kind, suffix in (("raw", ""), ("pca_train", " (PCA)")):
            for number, title in enumerate(CAUSES):
                start = f"cause{number}-{dataset}-{kind}"
                if f"{start}-MIMM" in grouped:
                    found = {
                        m: with_error(grouped[f"{start}-{m}"]) if f"{start}-{m}" in grouped else "-"
                        for m in SUPERVISION
                    }
                    causes.append({"data": dataset.capitalize() + suffix, "changed": title, **found})
    missing = [
        {"values removed": f"{share} %", "MIMM": with_error(grouped[f"removed{share}"])} for share in (0, 20)
    ]
    tables = [
        Table("Accuracy", rows),
        Table("What differences come from", causes, CAUSES_NOTE),
        Table("Musk1, ten principal components, with values missing at random", missing, MISSING_NOTE),
    ]
    folds, repeats = (2, 1) if settings.quick else (10, 10)
    return Report(TEXT.format(folds=folds, repeats=repeats), tables)


TEXT = """
Accuracy in percent of {folds}-fold stratified cross-validation over bags, mean of {repeats} shuffles ± its
standard error over shuffles (of 3 shuffles for EM-DD, MaxDD, MILR, and for principal components of all data).
Mixtures: diagonal Gaussians on the raw features, full ones on ten principal components of the standardised
features, fitted on the training folds, and beside it on all data, as the paper may have done; the prior of
Fraley and Raftery, 10 starts of at most 200 iterations. EM-DD and maximum diverse density ("MaxDD"):
standardised features, 3 starts (the paper: 10) of at most 200 iterations. MILR:
`MILogisticRegression(alpha=0.01, l1_ratio=0, n_init=1, tol=1e-3)`.
"""
CAUSES_NOTE = (
    "Two shuffles each. The prior of the means (kappa) makes no difference, and standardising the raw "
    "features little. Where EM starts does: one start in the middle of the instances of each class's "
    "bags, which the paper may have used or come near, brings MM on Musk1 (PCA) from 70 to 84 (printed: "
    "86.7), MIMM on Musk1 to 70.7 (70.9) and on Elephant (PCA) from 61 to 65, one random start there to "
    "66 (69.4); more starts find better posteriors and, the model being wrong about these data, worse "
    "predictions. MM on the raw features of Musk1 collapses for another reason: the common prior of 166 "
    "variances is worth 171 instances, so that the best mode gives the positive class next to no "
    "instances and the prior's own, small variances. The prior per feature mends MM (68; printed: 70.8), "
    "and costs MIMM some points. The 6 points of MIMM on the raw features of Elephant are explained by "
    "none of these."
)
MISSING_NOTE = (
    "Values of training and test instances are removed alike; they are integrated out, nothing is imputed."
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
