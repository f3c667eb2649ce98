"""What class priors are estimated from: positive and unlabeled rows, either bags or their instances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.models.base import Training
from bagwise.models.base.folds import Split, bag_folds
from bagwise.models.pu.estimates import PriorEstimate, warn_if_apart
from bagwise.models.pu.ratio import PriorPath, choose_ratio, rotated
from bagwise.models.pu.tail import UpperTails, bag_vectors, deal_folds, out_of_fold_scores
from bagwise.similarity import require_memory

# Without a bag that has all but this share of its class's weight there is nothing to compare it with.
_SHARE_OF_OTHERS = 1e-9


@dataclass(frozen=True)
class PriorSample:
    """Rows that both estimates of a class prior are computed from.

    Attributes
    ----------
    y, weight : arrays of shape (n_rows,)
        1 for a positive row and 0 for an unlabeled one; its weight.
    bag : array of int, shape (n_rows,)
        The bag of every row, rising from 0: bags are drawn independently of each other, rows are not.
    score : array of shape (n_rows,)
        Out-of-fold scores; NaN for rows that no fold held out.
    fold : array of int, shape (n_rows,)
        The fold that held a row out.
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
        """Best bin estimation on the scores; with other weights if given, as a bootstrap draws them."""
        weight = self.weight if weight is None else weight
        used = (weight > 0) & ~np.isnan(self.score)
        tails = UpperTails(self.score[used], self.y[used], self.fold[used])
        return tails.estimate(weight[used], *(self._n_bags(label, weight) for label in (0, 1)))

    def ratio(self, ridge: float | None, weight: np.ndarray | None = None) -> tuple[float, PriorPath]:
        """The density ratio with the best degree or width, and the estimates along its ridges."""
        weight = self.weight if weight is None else weight
        used = weight > 0
        matrices = {setting: matrix[used] for setting, matrix in self.matrices.items()}
        setting, path = choose_ratio(matrices, self.y[used], weight[used], ridge)
        # Rows of one bag count as one in the error, whatever they have in common.
        n_bags = sum(self._n_bags(label, weight) for label in (0, 1))
        factor = np.sqrt(max(1.0, np.count_nonzero(used) / n_bags))
        return setting, replace(path, log_errors=factor * path.log_errors)

    def _n_bags(self, label: int, weight: np.ndarray) -> float:
        """The number of bags with a label, as their weights count them."""
        first = np.append(True, self.bag[1:] != self.bag[:-1])
        of_bags = weight[first & (self.y == label)]
        return max(float(of_bags.sum()), float(np.count_nonzero(of_bags)), 1.0)

    def without_features(self) -> PriorSample:
        """The same rows without their features, which may be large."""
        return replace(self, matrices={})

    def with_rotated_features(self, matrices: Mapping[float, np.ndarray]) -> PriorSample:
        """The same rows with features that can be fitted often."""
        return replace(self, matrices={setting: rotated(matrix) for setting, matrix in matrices.items()})

    def draw(self, rng: np.random.RandomState) -> np.ndarray:
        """Weights of the rows if bags of either class are drawn anew, with replacement."""
        times = np.zeros(int(self.bag[-1]) + 1)
        for label in (0, 1):
            members = np.unique(self.bag[self.y == label])
            drawn = rng.randint(len(members), size=len(members))
            times[members] = np.bincount(drawn, minlength=len(members))
        return self.weight * times[self.bag]


def sample_bags(
    training: Training, matrices: Mapping[float, np.ndarray], splits: list[Split], *, named_kernel: bool
) -> PriorSample:
    """Bags as rows; scores are learnt from their statistics, or from a kernel that the user has written."""
    vectors = bag_vectors(training.bags) if named_kernel else next(iter(matrices.values()))
    score = out_of_fold_scores(vectors, training.y, training.weight, splits)
    number = np.arange(len(training.y))
    return PriorSample(training.y, training.weight, number, score, _fold_of(splits, len(number)), matrices)


def sample_instances(
    training: Training, matrices: Mapping[float, np.ndarray], splits: list[Split]
) -> PriorSample:
    """Instances as rows, with the labels and weights of their bags, which stay together in all folds."""
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
    for number, (_, test) in enumerate(splits):
        fold[test] = number
    return fold


def prior_splits(cv: Any, training: Training, sample_weight: Any, name: str) -> list[Split]:
    """Folds for scores: a number deals bags out by what they hold, anything else is as in `bag_folds`."""
    y = training.y
    rarest = int(np.bincount(y, minlength=2).min())
    if rarest < 2:
        raise ValueError(
            f"{name} cannot estimate the class prior from fewer than two positive or unlabeled bags; here "
            f"one class has {rarest}. Pass class_prior, a number between 0 and 1."
        )
    for label, word in ((0, "unlabeled"), (1, "positive")):
        weight = training.weight[y == label]
        if weight.max() >= (1.0 - _SHARE_OF_OTHERS) * weight.sum():
            raise ValueError(
                f"{name} cannot estimate the class prior: nearly all weight of {word} bags is that of one. "
                "Pass class_prior, a number between 0 and 1, or other weights."
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
    """The estimate by a method, that by the other, and the ratio's setting and path; a warning between."""
    tail = sample.tail()
    setting, path = sample.ratio(ridge)
    ratio = path.estimate(tail.overlap)
    estimate, check = (tail, ratio) if method == "tail" else (ratio, tail)
    warn_if_apart(estimate, check)
    return estimate, check, setting, path
