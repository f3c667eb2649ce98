"""All classifiers in nested cross-validation on the five classic data sets and ten newsgroups."""

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
# Repetitions on each classic data set, and on each of the ten newsgroups.
N_REPEATS, N_REPEATS_NEWS = 10, 3
# Slow models (more than 0.5 s per fit on Elephant, or 10 s on Musk2) have fewer repetitions.
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
    """Make the cell for a model, a data set and a repetition."""
    arguments = {"dataset": dataset, "repeat": repeat, "n_folds": n_folds, "seed": seed}
    return Cell(f"{dataset}-{run.__name__}-{repeat}", run, arguments)


def cells(settings: Settings) -> list[Cell]:
    """Return the cells ordered by repetition, so that a partial run covers all models and data sets."""
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
    """Return the number of cross-validations of a model on a data set."""
    return min(FEWER.get(run.__name__, N_REPEATS), N_REPEATS if dataset in CLASSIC else N_REPEATS_NEWS)


def _can_run(run: Callable[..., Any]) -> bool:
    """Return whether the dependencies of a model are installed; the network requires torch."""
    return run is not models.attention or find_spec("torch") is not None


def report(results: Mapping[str, Any], settings: Settings) -> Report:
    """Make the tables, and rank the models that have results on all data sets."""
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
    figures = [
        Figure(title.lower().replace(", ", "-"), draw_ranks(ranking, title)) for title, ranking in ranked
    ]
    return Report(text, tables, figures, {"cells": cells_of(board)})


def _rankings(board: Board) -> list[tuple[str, Ranking]]:
    """Rank the models with complete results, on the classic data sets and on all data sets."""
    classic = [dataset for dataset in board.datasets if dataset in CLASSIC]
    sets = {"classic": classic, "all": board.datasets if len(board.datasets) > len(classic) else []}
    rankings = []
    for name, datasets in sets.items():
        for score, title in (("accuracy", "Accuracy"), ("auc", "AUC")):
            names, scores = board.complete(datasets, score)
            if len(names) > 2 and len(datasets) > 2:
                rankings.append((f"{title}, {name}", rank_models(names, scores)))
    return rankings


def _missing(board: Board) -> str:
    """Describe the missing results on a page that is based on only some of the cells."""
    gaps = sum((dataset, model) not in board.cells for dataset in board.datasets for model in board.titles)
    lacking = [dataset for dataset in (*CLASSIC, *NEWSGROUPS) if dataset not in board.datasets]
    if not gaps and not lacking:
        return ""
    rest = f"; there are no results on {', '.join(lacking)} yet" if lacking else ""
    return f"\n**Incomplete**: {gaps} combinations of model and data set have no results (-){rest}.\n"


def title_of(run: Callable[..., Any]) -> str:
    """Return the display name of a model: the first line of its function's docstring."""
    return (run.__doc__ or "").splitlines()[0].removesuffix(".")


def _of_ranks(ranked: tuple[str, Ranking]) -> str:
    title, ranks = ranked
    n, k = ranks.n_datasets, len(ranks.names)
    pairs = [(i, j) for j in range(k) for i in range(j) if ranks.p[i, j] <= 0.05]
    return f"""
**{title}, {k} models on {n} data sets.** Models with the best mean ranks:
{ranks.names[0]} ({ranks.ranks[0]:.1f});
{ranks.names[1]} ({ranks.ranks[1]:.1f}); {ranks.names[2]} ({ranks.ranks[2]:.1f}). Friedman's test of equal
performance: p = {ranks.friedman:.1g}. In Wilcoxon's test with Holm's correction, {len(pairs)} of
{k * (k - 1) // 2} pairs differ at the 5 % level. The smallest possible p value of this test is
{min(1.0, k * (k - 1) / 2**n):.2g}.
"""


_TEXT = """
Models are evaluated by stratified {n_folds}-fold cross-validation over bags, repeated with different
shuffles. A complete run has ten repetitions on the classic data sets and three on the newsgroups. Slow models
have three repetitions on all data sets. The tables show the number of repetitions on this page. All models
use the same folds.

Models are tuned by their accuracy in 3 stratified folds of the training bags. SVMs on bag vectors and on
whole bags use C of 0.1, 1, ..., 1000. Instance-level SVMs use C of 1, 10 or 100 (sbMIL: 1 or 10). Ridge
penalties are 1, 10 or 100 (SORLR: 10). Ridge logistic regressions use C of 0.1, ..., 1000 on vectors and
0.001, ..., 1 on instances. MILES uses C of 0.5, 2 or 8. The margin for APR is 1 or 2. Neighbor methods use
the minimal distance, or the mean of minimal distances. Mixtures use diagonal Gaussians on all features, or
full Gaussians on ten principal components. All other parameters have their default values, including the
width of Gaussian kernels and the feature scaling of each model. Trees are not tuned.

Bag vectors and bag kernels that need no labels are computed once from all training bags. DD-SVM uses 10
starts per class and diverse density uses only 5. Boosting uses 50 trees, and instance-level logistic
regressions use one start. The network has default parameters and holds out a fifth of its training bags for
early stopping. The ensemble also has default parameters. It calibrates and weights its families with ten
folds within the training bags. Its recipe was developed on the five classic sets (see the page *ensemble*).
Times are processor seconds on one thread.

Five data sets are too few for firm conclusions. With five data sets, Wilcoxon's signed-rank test cannot find
any difference at the 5 % level, because its smallest p value is 2/32 = 0.0625. The correction for many
comparisons increases this value further. A single data set has so few bags that most models do not differ
significantly from the best (see the last table). A claim such as "one point better on Musk1" is a claim about
a single molecule. The ten newsgroups come from the same collection and were prepared in the same way, so they
are less informative than ten unrelated data sets.

For further tests, [{cells_file}]({cells_file}) contains the scores of every model, data set and repetition.
It also shows which bags were classified correctly (r) or incorrectly (w), in the order of the data.
"""

EXPERIMENTS = [
    Experiment(
        name="leaderboard",
        title="all classifiers in nested cross-validation, on classic data sets and newsgroups",
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
