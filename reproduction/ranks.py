"""Models over several data sets: mean ranks, which differences are more than chance, and a picture of both.

Demsar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7, with the correction of
Benavoli, Corani and Mangili (2016), JMLR 17: pairs are compared by Wilcoxon's signed-rank test, whose answer
does not depend on who else is in the comparison, and not by mean ranks.
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
        p value of Friedman's test that all models are alike.
    p : array of shape (n_models, n_models)
        Wilcoxon's p values of pairs, corrected by Holm.
    cliques : list of (int, int)
        First and last place of the longest runs without a pair that differs.
    n_datasets : int
        How many data sets there are.
    """

    names: list[str]
    ranks: np.ndarray
    friedman: float
    p: np.ndarray
    cliques: list[tuple[int, int]]
    n_datasets: int


def rank_models(names: Sequence[str], scores: np.ndarray, level: float = 0.05) -> Ranking:
    """Rank models by scores, high for good ones, of shape (n_datasets, n_models)."""
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
    """Give Wilcoxon's two-sided p value, exact with ties too; differences of zero are left out.

    Under the hypothesis every sign is a coin: the distribution of the sum of positive ranks is built up rank
    by rank, in halves of a rank.
    """
    differences = np.asarray(differences, dtype=float)
    # Accuracies are multiples of a bag: what differs in the last digits alone is equal.
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
    """Correct p values of several tests, as Holm does: all of them hold together."""
    found = np.asarray(p, dtype=float)
    order = np.argsort(found)
    steps = np.maximum.accumulate(found[order] * np.arange(len(found), 0, -1))
    corrected = np.empty(len(found))
    corrected[order] = np.minimum(steps, 1.0)
    return corrected


def find_cliques(alike: np.ndarray) -> list[tuple[int, int]]:
    """Find the longest runs of at least two places in which all pairs are alike."""
    runs: list[tuple[int, int]] = []
    for first in range(len(alike)):
        last = first
        while last + 1 < len(alike) and alike[last + 1, first : last + 1].all():
            last += 1
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs


def draw_ranks(ranking: Ranking, title: str) -> Any:
    """Draw models by their mean ranks, and bars beside those that nothing tells apart."""
    from bagwise._display.pictures import ACCENT, CHOSEN, QUIET, new_axes

    n = len(ranking.names)
    figure, axes = new_axes(7.5, 0.8 + 0.21 * n)
    places = np.arange(n)
    axes.hlines(places, 1, ranking.ranks, colors=QUIET, linewidth=0.7)
    # A first place lies on the axis: its dot is whole, and in front.
    axes.plot(ranking.ranks, places, "o", color=CHOSEN, markersize=5, clip_on=False, zorder=3)
    right = max(float(ranking.ranks.max()) + 1.0, 0.75 * n)
    for i, (first, last) in enumerate(ranking.cliques):
        axes.plot([right + 0.03 * n * i] * 2, [first - 0.25, last + 0.25], color=ACCENT, linewidth=3)
    axes.set_yticks(places, ranking.names, fontsize=8)
    axes.set_ylim(n - 0.4, -0.6)
    axes.set_xlim(left=1)
    axes.set_xticks([1, *(tick for tick in axes.get_xticks() if 1 < tick <= n)])
    axes.set_xlabel(f"mean rank over {ranking.n_datasets} data sets (1 is the best)")
    axes.set_title(f"{title}; no difference was found between models along one bar", fontsize=9, loc="left")
    return figure
