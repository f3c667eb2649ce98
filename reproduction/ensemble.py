"""`BagEnsembleClassifier` on public data: the five sets that it was developed on, and other data sets."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from bagwise import datasets
from bagwise.datasets.fetch import NEWSGROUPS
from bagwise.models.base.held_out import cross_predict
from bagwise.models.base.log_loss import loss_of_margin
from reproduction.classic import DATASETS
from reproduction.classic import make_model as make_baseline
from reproduction.ensemble_report import report
from reproduction.framework import Cell, Experiment, Settings

N_FOLDS, N_SHUFFLES = 10, 10
# Indices of the species that occur in at least a hundred recordings.
SPECIES = (0, 1, 2, 7, 11)
PROBLEMS = (
    *DATASETS,
    *(f"news_{name.replace('.', '_')}" for name in NEWSGROUPS),
    *(f"bird_{index}" for index in SPECIES),
)
RIVALS = (
    "svm",
    "svm_rank",
    "svm_of_ranks",
    "svm_mean",
    "set_kernel",
    "graph",
    "milr_or",
    "milr_mean",
    "single_logistic",
)


@cache
def load(problem: str) -> tuple[Any, np.ndarray]:
    """Return the bags of a problem, and labels 0 and 1."""
    if problem in DATASETS:
        data = getattr(datasets, f"fetch_{problem}")()
        return data.bags, np.asarray(data.y).astype(int)
    kind, _, name = problem.partition("_")
    if kind == "news":
        group = next(each for each in NEWSGROUPS if each.replace(".", "_") == name)
        data = datasets.fetch_newsgroups(group)
        return data.bags, np.asarray(data.y).astype(int)
    data = datasets.fetch_hja_birdsong()
    return data.bags, np.asarray(data.y)[:, int(name)].astype(int)


def make_model(kind: str, seed: int) -> Any:
    """Make the ensemble, or one of the single models that it is compared with."""
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    from bagwise.models.embedding import BagStatistics
    from bagwise.models.ensemble import BagEnsembleClassifier
    from bagwise.models.svm import SetKernelSVC
    from bagwise.models.wrappers.pipeline import make_bag_pipeline

    if kind == "ensemble":
        return BagEnsembleClassifier(random_state=seed)
    if kind == "svm_mean":
        return make_bag_pipeline(BagStatistics(("mean", "std")), StandardScaler(), SVC(C=10.0))
    if kind == "svm_of_ranks":
        return make_bag_pipeline(BagStatistics(("min", "max"), scale="rank"), StandardScaler(), SVC(C=10.0))
    if kind == "set_kernel":
        return SetKernelSVC(scale="standard")
    if kind == "graph":
        return SetKernelSVC(scale="standard", normalize="feature", weights="graph")
    return make_baseline(kind, seed)


def run_cell(problem: str, model: str, n_folds: int, repeat: int, seed: int) -> dict[str, Any]:
    """Score a model in one cross-validation with shuffled folds; all models use the same folds."""
    from sklearn.model_selection import StratifiedKFold

    bags, y = load(problem)
    seed = 1000 * seed + repeat
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    splits = list(folds.split(np.zeros(len(y)), y))
    held = cross_predict(make_model(model, seed), bags, y, splits)
    score = held.score
    assert score is not None  # all models return scores for two classes
    result = {
        "right": held.is_right.astype(int),
        "auc": float(np.mean([_auc(score[test], y[test]) for _, test in splits])),
        "seconds": float(held.seconds[:, 2].mean()),
    }
    if model == "ensemble":
        sign = 2.0 * y - 1.0
        result["log_loss"] = float(loss_of_margin(sign * score).mean())
        result["slope"] = _slope(score, y)
    return result


def _auc(scores: np.ndarray, y: np.ndarray) -> float:
    """Return the AUC within one fold, whose scores come from a single fitted model."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(y, scores))


def _slope(log_odds: np.ndarray, y: np.ndarray) -> float:
    """Return the slope of a logistic regression of labels on log-odds; it is 1 for calibrated log-odds."""
    from sklearn.linear_model import LogisticRegression

    # Practically no penalty; scikit-learn 1.8 warns about an infinite C.
    return float(LogisticRegression(C=1e10, max_iter=1000).fit(log_odds[:, None], y).coef_[0, 0])


def cells(settings: Settings) -> list[Cell]:
    """Return the cells ordered by shuffle, so that a partial run covers all problems and models."""
    problems = ("musk1", "news_sci_med") if settings.quick else PROBLEMS
    n_folds, n_shuffles = (2, 2) if settings.quick else (N_FOLDS, N_SHUFFLES)
    rivals = ("svm_mean", "milr_mean") if settings.quick else RIVALS
    return [
        Cell(
            f"{problem}-{model}-{repeat}",
            run_cell,
            {"problem": problem, "model": model, "n_folds": n_folds, "repeat": repeat, "seed": settings.seed},
        )
        for repeat in range(n_shuffles)
        for problem in problems
        for model in ("ensemble", *(() if problem in DATASETS else rivals))
    ]


EXPERIMENTS = [
    Experiment(
        name="ensemble",
        title="BagEnsembleClassifier on classic sets, ten newsgroups and birdsong, nested cross-validation",
        paper=(
            "Data: Dietterich, Lathrop and Lozano-Perez (1997), Artificial Intelligence 89; Andrews, "
            "Tsochantaridis and Hofmann (2003), NIPS 15; Zhou, Sun and Li (2009), ICML; Briggs, Fern and "
            "Raich (2012), KDD."
        ),
        cells=cells,
        report=report,
        minutes=240.0,
        needs_data=(
            *DATASETS,
            *(name for name in PROBLEMS if name.startswith("news_")),
            "hja_birdsong",
        ),
        is_partial=True,
    )
]
