"""Best bin estimation: the class prior from the upper tails of scores."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from bagwise._core.interrupt import raise_if_stopped
from bagwise.data.bags import Bags
from bagwise.models.base.folds import Split
from bagwise.models.base.held_out import mean_of_splits
from bagwise.models.base.log_loss import loss_of_margin
from bagwise.models.pu.estimates import LEVEL, PriorEstimate
from bagwise.similarity import bag_statistics

# Values of C for the logistic regression that computes the scores.
_PENALTIES = (0.01, 0.1, 1.0)
# Parameters delta and gamma of the paper's confidence margin.
_DELTA, _GAMMA = 0.1, 0.01
# Folds are merged into at most this many parts; every subset of half of the parts is used as a half.
_MOST_PARTS = 5
# The classes overlap if the tail contains less than the first share of the positive bags, or if there is no
# gap below the cut: more than the second share of the other unlabeled bags are just below it.
_WITHIN, _NEAR = 0.9, 0.1


def bag_vectors(bags: Bags) -> np.ndarray:
    """Return the minimum, maximum and mean of every feature, one row per bag."""
    return np.hstack([bag_statistics(bags, "minimax"), bag_statistics(bags, "mean")])


def deal_folds(bags: Bags, y: np.ndarray, n_folds: int) -> np.ndarray:
    """Assign the bags of each class to folds, in the order of their minima and maxima.

    The folds depend neither on the order of the bags nor on random numbers. Equal bags are in the same fold,
    unless a class has so few distinct bags that some folds would have none.
    """
    vectors = bag_statistics(bags, "minimax")
    fold = np.empty(len(y), dtype=np.int64)
    for label in (0, 1):
        members = np.flatnonzero(y == label)
        different, group = np.unique(vectors[members], axis=0, return_inverse=True)
        group = group.reshape(-1)
        if len(different) < 2 * n_folds:
            group = np.argsort(np.argsort(group, kind="stable"), kind="stable")
        fold[members] = group % n_folds
    return fold


def out_of_fold_scores(
    vectors: np.ndarray, y: np.ndarray, weight: np.ndarray, splits: list[Split]
) -> np.ndarray:
    """Return out-of-fold log-odds of positive against unlabeled rows by a logistic regression.

    The score of a row that is held out several times is the mean over the folds; the score of a row that is
    never held out is NaN. The penalty is the one with the lowest log loss.
    """
    vectors = vectors[:, np.ptp(vectors, axis=0) > 0]
    if vectors.shape[1]:
        vectors = (
            StandardScaler().set_output(transform="default").fit_transform(vectors, sample_weight=weight)
        )
    if vectors.shape[1] > vectors.shape[0]:
        # Rotate the rows into fewer columns: this does not change a fit with a ridge penalty.
        left, lengths, _ = np.linalg.svd(vectors, full_matrices=False)
        vectors = left * lengths
    best = np.inf, np.zeros(len(y))
    for C in _PENALTIES:
        parts = []
        for train, test in splits:
            raise_if_stopped()
            parts.append(_learned_score(vectors, y, weight, C, train)(test))
        score = mean_of_splits(len(y), splits, parts)
        is_held = ~np.isnan(score)
        margin = np.where(y == 1, score, -score)[is_held]
        loss = float(np.average(loss_of_margin(margin), weights=weight[is_held]))
        if loss < best[0]:
            best = loss, score
    # Scores that differ only by rounding errors become equal, so that no cut separates them.
    return np.round(best[1], 5)


def _learned_score(vectors: Any, y: Any, weight: Any, C: Any, train: Any) -> Any:
    """Fit a logistic regression to some rows and return a function that scores other rows."""
    shares = np.bincount(y[train], weights=weight[train], minlength=2)
    if not vectors.shape[1]:
        return lambda rows: np.zeros(len(rows))
    model = LogisticRegression(C=C, max_iter=2000)
    model.fit(vectors[train], y[train], sample_weight=weight[train])
    # Folds have slightly different shares of positive rows, which must not influence the order of scores.
    shift = np.log(shares[1] / shares[0])
    return lambda rows: model.decision_function(vectors[rows]) - shift


class UpperTails:
    """Upper tails of the scores of positive and of unlabeled bags; their lowest ratio estimates the prior.

    Let q_P(c) and q_U(c) be the shares of positive and of unlabeled bags with a score of at least c. For
    every c, the class prior is at most q_U(c) / q_P(c). It is equal to this ratio if no negative bag scores c
    or more. The cut c minimizes ::

        q_U(c) / q_P(c) + margin / q_P(c),   margin = 1.01 (sqrt(log(40) / 2 n_U) + sqrt(log(40) / 2 n_P))

    A cut is chosen on one half of the folds, as the midpoint to the next lower score, and the tails are
    counted in the other half. This is repeated for all halves. The degree to which a bag belongs to the tail
    is the share of its halves in which it is above the cut.

    Parameters
    ----------
    score : array of shape (n,)
        Out-of-fold scores.
    y : array of shape (n,)
        1 for positive bags, 0 for unlabeled ones.
    fold : array of int, shape (n,)
        Index of the fold of every bag.
    """

    def __init__(self, score: np.ndarray, y: np.ndarray, fold: np.ndarray):
        self._order = np.argsort(-score, kind="stable")
        ordered = score[self._order]
        self._score = ordered
        self._is_cut = np.append(ordered[1:] < ordered[:-1], True)
        self._positive = y[self._order] == 1
        part = fold[self._order] % _MOST_PARTS
        n_parts = int(part.max()) + 1
        chosen = np.array(list(combinations(range(n_parts), n_parts // 2)))
        halves = (chosen[:, :, None] == np.arange(n_parts)).any(axis=1)
        self._halves = np.concatenate([halves, ~halves])[:, part]

    def _shares(self, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return cumulative shares of unlabeled and positive bags, and effective numbers of bags."""
        totals, shares = [], []
        for kind in (~self._positive, self._positive):
            running = np.cumsum(weight * kind, axis=-1)
            total, count = running[..., -1], np.count_nonzero((weight > 0) & kind, axis=-1)
            shares.append(running / np.where(total > 0, total, 1.0)[..., None])
            totals.append(np.maximum(np.maximum(total, count), 1.0))
        return shares[0], shares[1], totals[0], totals[1]

    def membership(self, weight: np.ndarray) -> np.ndarray:
        """Return the degree to which every bag belongs to the tail."""
        ordered = weight[self._order]
        unlabeled, positive, n_unlabeled, n_positive = self._shares(ordered * self._halves)
        bound = 0.5 * np.log(4.0 / _DELTA)
        margin = (1.0 + _GAMMA) * (np.sqrt(bound / n_unlabeled) + np.sqrt(bound / n_positive))
        usable = (positive > 0) & self._is_cut
        value = np.full(positive.shape, np.inf)
        np.divide(unlabeled + margin[:, None], positive, out=value, where=usable)
        last = value.argmin(axis=1)[:, None]
        below = self._halves & (ordered > 0) & (np.arange(len(ordered)) > last)
        cut = 0.5 * (self._score[last[:, 0]] + self._score[below.argmax(axis=1)])
        # In a bootstrap, a half may have no positive bag and thus no cut: its tail contains all bags.
        cut[~(usable.any(axis=1) & below.any(axis=1))] = -np.inf
        inside = (self._score >= cut[:, None]) & ~self._halves
        degree = np.empty(len(ordered))
        degree[self._order] = inside.sum(axis=0) / (0.5 * len(self._halves))
        return degree

    def estimate(self, weight: np.ndarray, n_unlabeled: float, n_positive: float) -> PriorEstimate:
        """Estimate the prior from all bags; the numbers of independent bags determine the error."""
        degree = self.membership(weight)[self._order]
        ordered = weight[self._order]
        kinds = (~self._positive, n_unlabeled), (self._positive, n_positive)
        # Count half a bag instead of none, because an observed share of zero does not imply a share of zero.
        below, above = (
            max(float(np.average(degree[kind], weights=ordered[kind])), 0.5 / (n + 1.0)) for kind, n in kinds
        )
        error = np.sqrt((1.0 - below) / (n_unlabeled * below) + (1.0 - above) / (n_positive * above))
        value = min(1.0, below / above)
        overlap = above < _WITHIN or self._crowd_below(degree, ordered) > _NEAR
        result = PriorEstimate("tail", value, float(error), bool(overlap))
        # If the interval includes 1, there is no evidence of any negative bag.
        return replace(result, overlap=True) if result.interval(LEVEL)[1] >= 1.0 else result

    def _crowd_below(self, degree: np.ndarray, weight: np.ndarray) -> float:
        """Return the share of the unlabeled bags below the tail that are just below it.

        "Just below" is within half the distance from the cut up to the median score in the tail.
        """
        inside = degree > 0.5
        if not inside.any() or inside.all():
            return 0.0
        positive = self._positive & inside
        cut, middle = (
            self._score[inside].min(),
            np.median(self._score[positive if positive.any() else inside]),
        )
        below = ~self._positive & (self._score < cut)
        near = below & (self._score >= cut - 0.5 * (middle - cut))
        return float(weight[near].sum() / weight[below].sum()) if below.any() else 0.0
