"""All classifiers by one nested protocol, on the five classic data sets and ten newsgroups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from bagwise.datasets.fetch import NEWSGROUPS
from reproduction import leaderboard_models as models
from reproduction.framework import Cell, Experiment, Figure, Report, Settings
from reproduction.leaderboard_tables import (
    Board,
    against_the_best,
    cells_of,
    scaling_study,
    tables_of,
    unsettled,
    what_can_be_seen,
)
from reproduction.nested import CLASSIC
from reproduction.published import published
from reproduction.ranks import Ranking, draw_ranks, rank_models

N_FOLDS = 10
MODELS: tuple[Callable[..., Any], ...] = (
    models.statistics_standard,
    models.statistics_rank,
    models.statistics_ranked,
    models.citation_knn,
    models.bayesian_knn,
    models.mind,
    models.set_kernel,
    models.graph_kernel,
    models.minimax_kernel,
    models.kernels_mean,
    models.fisher,
    models.vlad,
    models.tree,
    models.clusters,
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
    models.dd_svm,
    models.mimm,
    models.attention,
    models.ensemble,
)
# Ten repetitions on the classic data sets, and three on the newsgroups, which are ten.
N_REPEATS, N_REPEATS_NEWS = 10, 3
# Three also of those that take more than half a second a fit on Elephant, or ten on Musk2.
FEWER = dict.fromkeys(
    (
        "mimm",
        "attention",
        "ensemble",
        "soft_or",
        "miles",
        "boosting_or",
        "boosting_log_odds",
        "boosting_exponential",
        "dd_svm",
        "apr",
        "kernels_mean",
        "instance_mi_svm",
        "miss_svm",
    ),
    3,
)


def cell_of(run: Callable[..., Any], dataset: str, repeat: int, n_folds: int, seed: int) -> Cell:
    """Make the cell of a model, a data set and a repetition."""
    arguments = {"dataset": dataset, "repeat": repeat, "n_folds": n_folds, "seed": seed}
    return Cell(f"{dataset}-{run.__name__}-{repeat}", run, arguments)


def cells(settings: Settings) -> list[Cell]:
    """One cell for every repetition, data set and model, in this order: what is finished is a whole page."""
    if settings.quick:
        return [
            cell_of(run, "musk1", repeat, 2, settings.seed)
            for repeat in range(2)
            for run in (models.statistics_standard, models.statistics_rank, models.bayesian_knn)
        ]
    return [
        cell_of(run, dataset, repeat, N_FOLDS, settings.seed)
        for repeat in range(N_REPEATS)
        for dataset in (*CLASSIC, *NEWSGROUPS)
        for run in MODELS
        if repeat < _repeats(run, dataset) and _can_run(run)
    ]


def _repeats(run: Callable[..., Any], dataset: str) -> int:
    """How often a model is cross-validated on a data set."""
    return min(FEWER.get(run.__name__, N_REPEATS), N_REPEATS if dataset in CLASSIC else N_REPEATS_NEWS)


def _can_run(run: Callable[..., Any]) -> bool:
    """Whether what a model needs is there: the network is left out where torch is missing."""
    return run is not models.attention or find_spec("torch") is not None


def report(results: Mapping[str, Any], settings: Settings) -> Report:
    """Set up the tables, and rank the models that have met all data sets."""
    board = Board(results, {run.__name__: title_of(run) for run in MODELS})
    ranked = _rankings(board)
    studies = (
        against_the_best(board, "ensemble"),
        scaling_study(board, "statistics_standard", ("statistics_rank", "statistics_ranked")),
    )
    tables = [
        *tables_of(board),
        *(study for study in studies if study),
        published(board),
        what_can_be_seen(board),
    ]
    n_folds = 2 if settings.quick else N_FOLDS
    cells_file = f"leaderboard{'-quick' if settings.quick else ''}-cells.csv"
    opening = _TEXT.format(n_folds=n_folds, cells_file=cells_file)
    parts = [opening, _missing(board), unsettled(board, n_folds)]
    text = "".join([*parts, *map(_of_ranks, ranked)])
    figures = [Figure(title.lower().replace(", ", "-"), draw_ranks(found, title)) for title, found in ranked]
    return Report(text, tables, figures, {"cells": cells_of(board)})


def _rankings(board: Board) -> list[tuple[str, Ranking]]:
    """Rank models on the classic data sets and on all, those that have met every one of them."""
    classic = [dataset for dataset in board.datasets if dataset in CLASSIC]
    sets = {"classic": classic, "all": board.datasets if len(board.datasets) > len(classic) else []}
    rankings = []
    for which, datasets in sets.items():
        for score, title in (("accuracy", "Accuracy"), ("auc", "AUC")):
            names, scores = board.complete(datasets, score)
            if len(names) > 2 and len(datasets) > 2:
                rankings.append((f"{title}, {which}", rank_models(names, scores)))
    return rankings


def _missing(board: Board) -> str:
    """Say what this page lacks, where it is made of a part of the cells."""
    gaps = sum((dataset, model) not in board.found for dataset in board.datasets for model in board.titles)
    lacking = [dataset for dataset in (*CLASSIC, *NEWSGROUPS) if dataset not in board.datasets]
    if not gaps and not lacking:
        return ""
    rest = f"; nothing yet on {', '.join(lacking)}" if lacking else ""
    return f"\n**Not whole yet**: {gaps} results of a model on a data set are lacking (-){rest}.\n"


def title_of(run: Callable[..., Any]) -> str:
    """Give the name of a model for readers: the line that its function begins with."""
    return (run.__doc__ or "").splitlines()[0].removesuffix(".")


def _of_ranks(ranked: tuple[str, Ranking]) -> str:
    title, found = ranked
    n, k = found.n_datasets, len(found.names)
    pairs = [(i, j) for j in range(k) for i in range(j) if found.p[i, j] <= 0.05]
    return f"""
**{title}, {k} models on {n} data sets.** First by mean rank: {found.names[0]} ({found.ranks[0]:.1f}),
{found.names[1]} ({found.ranks[1]:.1f}), {found.names[2]} ({found.ranks[2]:.1f}). Friedman's test that all are
alike: p = {found.friedman:.1g}. Of {k * (k - 1) // 2} pairs, {len(pairs)} differ at 5 % by Wilcoxon's test
with Holm's correction, whose least p value here is {min(1.0, k * (k - 1) / 2**n):.2g}.
"""


_TEXT = """
Stratified {n_folds}-fold cross-validation over bags, repeated with other shuffles. A whole run has ten
repetitions on the classic data sets and three on the newsgroups, and three throughout for models whose fits
take long; the tables say how many there are here. All models meet the same folds. Whatever a model chooses,
it chooses by the accuracy of 3 stratified folds of its training bags: the cost C of machines of vectors and
of whole bags among 0.1, 1, ..., 1000, that of machines of instances among 1, 10, 100 (sbMIL: 1, 10), ridge
penalties among 1, 10, 100 (SORLR: 10), C of ridge logistic regressions of vectors among 0.1, ..., 1000 and
of instances among 0.001, ..., 1, MILES' C among 0.5, 2, 8, APR's margin between 1 and 2, the distance of
neighbours between the minimal and the mean of minimal ones, and the mixture between a diagonal Gaussian of
all features and a full one of ten principal components. All else is at its default: Gaussian kernels at the
library's width, features scaled as a model does by itself, trees not tuned. Vectors and kernels of bags that
need no labels are computed once from all training bags. DD-SVM has 10 starts a class and diverse density 5,
which are few; boosting has 50 trees; logistic regressions of instances have one start; the network is as it
comes, with a fifth of its training bags held out for stopping; so is the ensemble, which calibrates and
weighs its families by ten folds of its training bags, and whose recipe was found on the five classic sets
(the page *ensemble* says how). Seconds are those of one thread.

What five data sets can show: little. With five, Wilcoxon's signed-rank test cannot find any difference at
5 %, for its least p value is 2/32 = 0.0625, before any correction for many models. On a single data set,
bags are so few that most models lie within chance of the best: the last table has the numbers. A claim such
as "one point better on Musk1" is a claim about a single molecule. The ten newsgroups are from one collection,
by one recipe: they say less than ten unrelated data sets would.

For tests of your own: [{cells_file}]({cells_file}) has the scores of every model, data set and repetition,
and which bags were called right (r) and wrong (w), in the order of the data.
"""

EXPERIMENTS = [
    Experiment(
        name="leaderboard",
        title="all classifiers by one nested protocol, on classic data sets and newsgroups",
        paper=(
            "Data: Dietterich, Lathrop and Lozano-Perez (1997), Artificial Intelligence 89; Andrews, "
            "Tsochantaridis and Hofmann (2003), NIPS 15; Zhou, Sun and Li (2009), ICML."
        ),
        cells=cells,
        report=report,
        minutes=130.0,
        needs_data=(*CLASSIC, *(f"news_{group.replace('.', '_')}" for group in NEWSGROUPS)),
        is_partial=True,
    )
]
