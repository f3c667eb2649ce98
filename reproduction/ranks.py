"""Comparison of models across several data sets: mean ranks, significance tests, and a plot of both.

Demsar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7, with the correction of
Benavoli, Corani and Mangili (2016), JMLR 17. Pairs are compared by Wilcoxon's signed-rank test instead of
mean ranks. Its result does not depend on which other models are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import friedmanchisquare, rankdata


@dataclass(frozen=True)
class Ranking:
    """Models in the order of their mean ranks.

    Attributes
    ----------
    names : list of str
        The models, best first.
    ranks : array of shape (n_models,)
        Their mean ranks; 1 is the best.
    friedman : float
        p value of Friedman's test of the hypothesis that all models perform equally.
    p : array of shape (n_models, n_models)
        Wilcoxon's p values of all pairs, with Holm's correction.
    cliques : list of (int, int)
        First and last index of the longest runs in which no pair differs significantly.
    n_datasets : int
        Number of data sets.
    """

    names: list[str]
    ranks: np.ndarray
    friedman: float
    p: np.ndarray
    cliques: list[tuple[int, int]]
    n_datasets: int


def rank_models(names: Sequence[str], scores: np.ndarray, level: float = 0.05) -> Ranking:
    """Rank models by scores of shape (n_datasets, n_models); higher is better."""
    scores = np.asarray(scores, dtype=float)
    mean = rankdata(-scores, axis=1).mean(axis=0)
    order = np.argsort(mean, kind="stable")
    scores = scores[:, order]
    n = len(order)
    pairs = list(combinations(range(n), 2))
    corrected = holm([signed_rank_p(scores[:, i] - scores[:, j]) for i, j in pairs])
    p = np.ones((n, n))
    for (i, j), value in zip(pairs, corrected, strict=True):
        p[i, j] = p[j, i] = value
    return Ranking(
        [names[i] for i in order],
        mean[order],
        float(friedmanchisquare(*scores.T).pvalue),
        p,
        find_cliques(p > level),
        len(scores),
    )


def signed_rank_p(differences: np.ndarray) -> float:
    """Return Wilcoxon's two-sided p value, which is exact even with ties; differences of zero are dropped.

    Under the null hypothesis, both signs are equally likely. The distribution of the sum of positive ranks is
    computed rank by rank; ranks are doubled, because ties lead to half-integer ranks.
    """
    differences = np.asarray(differences, dtype=float)
    # Accuracies are multiples of 1 / n_bags: differences in only the last digits are rounding errors.
    differences = np.round(differences[np.abs(differences) > 1e-12], 12)
    if not len(differences):
        return 1.0
    ranks = np.rint(2 * rankdata(np.abs(differences))).astype(int)
    ways = np.ones(1)
    for rank in ranks:
        ways = (np.pad(ways, (0, rank)) + np.pad(ways, (rank, 0))) / 2
    observed = int(ranks[differences > 0].sum())
    smaller = min(observed, int(ranks.sum()) - observed)
    return float(min(1.0, 2 * ways[: smaller + 1].sum()))


def holm(p: Sequence[float]) -> np.ndarray:
    """Correct the p values of several tests by Holm's method, which controls the family-wise error rate."""
    values = np.asarray(p, dtype=float)
    order = np.argsort(values)
    steps = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(steps, 1.0)
    return corrected


def find_cliques(alike: np.ndarray) -> list[tuple[int, int]]:
    """Return the longest runs of at least two models in which no pair differs significantly."""
    runs: list[tuple[int, int]] = []
    for first in range(len(alike)):
        last = first
        while last + 1 < len(alike) and alike[last + 1, first : last + 1].all():
            last += 1
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def draw_ranks(ranking: Ranking, title: str) -> Any:
    """Plot models by mean rank, with bars next to groups without significant differences."""
    from bagwise._display.pictures import ACCENT, CHOSEN, QUIET, new_axes

    n = len(ranking.names)
    figure, axes = new_axes(7.5, 0.8 + 0.21 * n)
    positions = np.arange(n)
    axes.hlines(positions, 1, ranking.ranks, colors=QUIET, linewidth=0.7)
    # A mean rank of 1 is on the axis: do not clip its marker, and draw it in front.
    axes.plot(ranking.ranks, positions, "o", color=CHOSEN, markersize=5, clip_on=False, zorder=3)
    right = max(float(ranking.ranks.max()) + 1.0, 0.75 * n)
    for i, (first, last) in enumerate(ranking.cliques):
        axes.plot([right + 0.03 * n * i] * 2, [first - 0.25, last + 0.25], color=ACCENT, linewidth=3)
    axes.set_yticks(positions, ranking.names, fontsize=8)
    axes.set_ylim(n - 0.4, -0.6)
    axes.set_xlim(left=1)
    axes.set_xticks([1, *(tick for tick in axes.get_xticks() if 1 < tick <= n)])
    axes.set_xlabel(f"mean rank over {ranking.n_datasets} data sets (1 is the best)")
    axes.set_title(f"{title}; models along one bar do not differ significantly", fontsize=9, loc="left")
    return figure
