"""Data for class-prior estimates: positive and unlabeled rows, which are either bags or instances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.models.base import Training
from bagwise.models.base.folds import Split, bag_folds
from bagwise.models.pu.estimates import PriorEstimate, warn_if_unreliable
from bagwise.models.pu.ratio import PriorPath, choose_ratio, rotated
from bagwise.models.pu.tail import UpperTails, bag_vectors, deal_folds, out_of_fold_scores
from bagwise.similarity import require_memory

# If one bag has all but this share of its class's weight, there is no other bag to compare it with.
_SHARE_OF_OTHERS = 1e-9


@dataclass(frozen=True)
class PriorSample:
    """Rows from which both estimates of the class prior are computed.

    Attributes
    ----------
    y, weight : arrays of shape (n_rows,)
        Label of each row (1 positive, 0 unlabeled), and its weight.
    bag : array of int, shape (n_rows,)
        Index of the bag of each row, ascending from 0. Bags are independent of each other; the rows of a bag
        are not.
    score : array of shape (n_rows,)
        Out-of-fold scores; NaN for rows that are not held out in any fold.
    fold : array of int, shape (n_rows,)
        Index of the fold that holds out the row.
    matrices : mapping of float to array of shape (n_rows, n_centers)
        Features of the rows, by degree or width.
    """

    y: np.ndarray
    weight: np.ndarray
    bag: np.ndarray
    score: np.ndarray
    fold: np.ndarray
    matrices: Mapping[float, np.ndarray]

    def tail(self, weight: np.ndarray | None = None) -> PriorEstimate:
        """Estimate the prior from the tails of the scores; a bootstrap passes other weights."""
        weight = self.weight if weight is None else weight
        used = (weight > 0) & ~np.isnan(self.score)
        tails = UpperTails(self.score[used], self.y[used], self.fold[used])
        return tails.estimate(weight[used], *(self._n_bags(label, weight) for label in (0, 1)))

    def ratio(self, ridge: float | None, weight: np.ndarray | None = None) -> tuple[float, PriorPath]:
        """Return the best degree or width of the density ratio, and its estimates for all ridges."""
        weight = self.weight if weight is None else weight
        used = weight > 0
        matrices = {setting: matrix[used] for setting, matrix in self.matrices.items()}
        setting, path = choose_ratio(matrices, self.y[used], weight[used], ridge)
        # Rows of a bag may be completely dependent, so the error counts bags.
        n_bags = sum(self._n_bags(label, weight) for label in (0, 1))
        factor = np.sqrt(max(1.0, np.count_nonzero(used) / n_bags))
        return setting, replace(path, log_errors=factor * path.log_errors)

    def _n_bags(self, label: int, weight: np.ndarray) -> float:
        """Return the effective number of bags with a label, according to their weights."""
        first = np.append(True, self.bag[1:] != self.bag[:-1])
        of_bags = weight[first & (self.y == label)]
        return max(float(of_bags.sum()), float(np.count_nonzero(of_bags)), 1.0)

    def without_features(self) -> PriorSample:
        """Return the same rows without their features, which may be large."""
        return replace(self, matrices={})

    def with_rotated_features(self, matrices: Mapping[float, np.ndarray]) -> PriorSample:
        """Return the same rows with rotated features, which are faster to fit repeatedly."""
        return replace(self, matrices={setting: rotated(matrix) for setting, matrix in matrices.items()})

    def draw(self, rng: np.random.RandomState) -> np.ndarray:
        """Return weights of the rows after drawing bags of each class with replacement."""
        times = np.zeros(int(self.bag[-1]) + 1)
        for label in (0, 1):
            members = np.unique(self.bag[self.y == label])
            drawn = rng.randint(len(members), size=len(members))
            times[members] = np.bincount(drawn, minlength=len(members))
        return self.weight * times[self.bag]


def sample_bags(
    training: Training, matrices: Mapping[float, np.ndarray], splits: list[Split], *, named_kernel: bool
) -> PriorSample:
    """Build a sample of bags; its scores use bag statistics, or the matrix of a callable kernel."""
    vectors = bag_vectors(training.bags) if named_kernel else next(iter(matrices.values()))
    score = out_of_fold_scores(vectors, training.y, training.weight, splits)
    indices = np.arange(len(training.y))
    return PriorSample(training.y, training.weight, indices, score, _fold_of(splits, len(indices)), matrices)


def sample_instances(
    training: Training, matrices: Mapping[float, np.ndarray], splits: list[Split]
) -> PriorSample:
    """Build a sample of instances with the labels and weights of their bags; folds never split a bag."""
    bags, (y, weight) = training.bags, (part[training.bags.bag_index] for part in training[1:])
    require_memory(bags.n_instances, bags.n_features, "instances and features")
    X = bags.instances.toarray() if sp.issparse(bags.instances) else bags.instances
    middle = list(matrices.values())[len(matrices) // 2]
    rows = [np.flatnonzero(np.isin(bags.bag_index, part)) for split in splits for part in split]
    of_rows = list(zip(rows[::2], rows[1::2], strict=True))
    score = out_of_fold_scores(np.hstack([X, middle]), y, weight, of_rows)
    fold = _fold_of(splits, len(training.y))[bags.bag_index]
    return PriorSample(y, weight, bags.bag_index, score, fold, matrices)


def _fold_of(splits: list[Split], n_bags: int) -> np.ndarray:
    fold = np.zeros(n_bags, dtype=np.int64)
    for i, (_, test) in enumerate(splits):
        fold[test] = i
    return fold


def prior_splits(cv: Any, training: Training, sample_weight: Any, name: str) -> list[Split]:
    """Return folds for the scores: deterministic folds for an integer `cv`, otherwise `bag_folds`."""
    y = training.y
    rarest = int(np.bincount(y, minlength=2).min())
    if rarest < 2:
        raise ValueError(
            f"{name} needs at least two positive and two unlabeled bags to estimate the class prior; "
            f"one class has {rarest}. Pass class_prior, a number between 0 and 1."
        )
    for label, word in ((0, "unlabeled"), (1, "positive")):
        weight = training.weight[y == label]
        if weight.max() >= (1.0 - _SHARE_OF_OTHERS) * weight.sum():
            raise ValueError(
                f"{name} cannot estimate the class prior: one bag has nearly all of the weight of the {word} "
                "bags. Pass class_prior, a number between 0 and 1, or other weights."
            )
    if isinstance(cv, Integral):
        n_folds = min(int(cv), rarest)
        fold = deal_folds(training.bags, y, n_folds)
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]
    kinds, remedy = ("unlabeled", "positive"), "Pass class_prior, a number between 0 and 1."
    return bag_folds(cv, training, sample_weight, seed=0, kinds=kinds, remedy=remedy)


def compared_estimates(
    sample: PriorSample, method: str, ridge: float | None = None
) -> tuple[PriorEstimate, PriorEstimate, float, PriorPath]:
    """Return the estimates by `method` and by the other method; warn if they are not reliable."""
    tail = sample.tail()
    setting, path = sample.ratio(ridge)
    ratio = path.estimate(tail.overlap)
    is_tail = tail.class_prior <= ratio.class_prior if method == "least" else method == "tail"
    estimate, check = (tail, ratio) if is_tail else (ratio, tail)
    if method == "least":
        # The choice between two estimates with errors is itself uncertain.
        estimate = replace(estimate, log_error=max(tail.log_error, ratio.log_error))
    warn_if_unreliable(estimate, check)
    return estimate, check, setting, path
