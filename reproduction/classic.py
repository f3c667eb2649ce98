"""Baseline models on the five classic data sets."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from bagwise import datasets
from reproduction.framework import (
    Cell,
    Experiment,
    Figure,
    Report,
    Settings,
    Table,
    mean_and_error,
    with_error,
)

DATASETS = ("musk1", "musk2", "elephant", "fox", "tiger")
N_FOLDS, N_REPEATS = 10, 10

# Accuracies of the two SVM pipelines, computed independently of this library with the same protocol: shuffled
# folds, with 5 shuffles for standardized features and 3 for ranks.
REFERENCE = {
    "svm": {"musk1": 0.915, "musk2": 0.859, "elephant": 0.815, "fox": 0.621, "tiger": 0.732},
    "svm_rank": {"musk1": 0.880, "musk2": 0.820, "elephant": 0.878, "fox": 0.677, "tiger": 0.847},
}
TITLES = {
    "milr_or": "MILogisticRegression, or",
    "milr_mean": "MILogisticRegression, mean",
    "single_logistic": "SingleInstanceClassifier, logistic regression",
    "single_forest": "SingleInstanceClassifier, random forest",
    "svm": "BagStatistics, standardized, SVC",
    "svm_rank": "BagStatistics, ranks, SVC",
}


def make_model(name: str, seed: int) -> Any:
    """Make one of the models in the table."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import QuantileTransformer, StandardScaler
    from sklearn.svm import SVC

    from bagwise.models.embedding import BagStatistics
    from bagwise.models.linear_model import MILogisticRegression
    from bagwise.models.wrappers.pipeline import make_bag_pipeline
    from bagwise.models.wrappers.single_instance import SingleInstanceClassifier

    if name in ("milr_or", "milr_mean"):
        return MILogisticRegression(name.removeprefix("milr_"), alpha=10.0, l1_ratio=0.0, random_state=seed)
    if name == "single_logistic":
        return SingleInstanceClassifier(
            make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))
        )
    if name == "single_forest":
        return SingleInstanceClassifier(RandomForestClassifier(n_estimators=100, random_state=seed))
    scaler = StandardScaler() if name == "svm" else QuantileTransformer(n_quantiles=40, random_state=seed)
    return make_bag_pipeline(BagStatistics(("min", "max")), scaler, SVC(C=10.0))


def run_cell(dataset: str, model: str, n_folds: int, repeat: int, seed: int) -> float:
    """Return the accuracy of a model in one cross-validation with shuffled folds."""
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    data = _fetched(dataset)
    # All models use the same folds.
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=1000 * seed + repeat)
    predicted = cross_val_predict(make_model(model, 1000 * seed + repeat), data.bags, data.y, cv=folds)
    return float(np.mean(predicted == data.y))


@cache
def _fetched(dataset: str) -> Any:
    return getattr(datasets, f"fetch_{dataset}")()


def cells(settings: Settings) -> list[Cell]:
    """Return one cell for each combination of data set, model and repeat."""
    names = ("musk1",) if settings.quick else DATASETS
    n_folds, n_repeats = (2, 2) if settings.quick else (N_FOLDS, N_REPEATS)
    return [
        Cell(
            f"{dataset}-{model}-{repeat}",
            run_cell,
            {"dataset": dataset, "model": model, "n_folds": n_folds, "repeat": repeat, "seed": settings.seed},
        )
        for dataset in names
        for model in TITLES
        for repeat in range(n_repeats)
    ]


def report(results: Mapping[str, Any], settings: Settings) -> Report:
    """Compare the accuracies with the reference and with the share of the larger class."""
    accuracies: dict[tuple[str, str], list[float]] = {}
    for key, value in results.items():
        dataset, model, _ = key.split("-")
        accuracies.setdefault((dataset, model), []).append(value)
    names = list(dict.fromkeys(dataset for dataset, _ in accuracies))
    rows = [{"model": "larger class", **{name: f"{100 * _majority(name):.1f}" for name in names}}]
    for model, title in TITLES.items():
        rows.append({"model": title, **{name: with_error(accuracies[name, model]) for name in names}})
        if model in REFERENCE:
            reference = REFERENCE[model]
            rows.append({"model": "reference", **{name: f"{100 * reference[name]:.1f}" for name in names}})
    folds, repeats = (2, 2) if settings.quick else (N_FOLDS, N_REPEATS)
    text = (
        f"Accuracies (in percent) are means over {repeats} shuffles of {folds}-fold stratified "
        "cross-validation over bags, ± the standard error over shuffles. All models use the same folds. No "
        "parameter is tuned. `MILogisticRegression` uses a ridge penalty with `alpha=10`. The "
        "instance-level logistic regression uses `C=0.1` on standardized instances. The random forest uses "
        "100 trees. The support vector machines use the minimum and maximum of every feature, `C=10` and "
        "the default kernel.\n\n"
        "The reference was computed independently of this library from prepared copies of the same data. It "
        "uses the same pipelines, with 5 shuffles for standardized features and 3 for ranks."
    )
    note = (
        "On Musk, the minimum and maximum of each feature are the most informative, and the mean rule is "
        "better than the or-rule. On the image sets, whose features have long tails, ranks help. Assigning "
        "every instance the label of its bag is already a strong baseline there."
    )
    return Report(text, [Table("Accuracy", rows, note)], [Figure("accuracy", _figure(accuracies, names))])


def _majority(dataset: str) -> float:
    share = float(np.mean(_fetched(dataset).y))
    return max(share, 1.0 - share)


def _figure(accuracies: Mapping[tuple[str, str], list[float]], names: list[str]) -> Any:
    from bagwise._display.pictures import new_axes

    figure, axes = new_axes(8.0, 3.6)
    for i, (model, title) in enumerate(TITLES.items()):
        centre = np.arange(len(names)) + 0.12 * (i - (len(TITLES) - 1) / 2)
        means, errors = zip(*(mean_and_error(accuracies[name, model]) for name in names), strict=True)
        axes.errorbar(centre, 100 * np.array(means), 100 * np.array(errors), fmt="o", capsize=2, label=title)
    for i, name in enumerate(names):
        axes.hlines(100 * _majority(name), i - 0.4, i + 0.4, colors="0.6", linestyles=":")
    axes.set_xticks(range(len(names)), names)
    axes.set_ylabel("accuracy (%)")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")
    return figure


EXPERIMENTS = [
    Experiment(
        name="classic",
        title="baseline models on the five classic data sets",
        paper=(
            "Data: Dietterich, Lathrop and Lozano-Perez (1997), Artificial Intelligence 89; Andrews, "
            "Tsochantaridis and Hofmann (2003), NIPS 15."
        ),
        cells=cells,
        report=report,
        minutes=6.0,
        needs_data=DATASETS,
    )
]
