"""Means and variances that can be added over blocks without cancellation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bagwise._core.compiled.arrays import readonly
from bagwise.data.blocks import PickedRows, cut_rows
from bagwise.families.parts import for_kernels, part_rows


@dataclass(frozen=True)
class Moments:
    """Weighted sums of w, w u and w u u' with u = x - origin, over values that are not missing.

    The sums are stored for every feature, (n_features,), or for every pair of features,
    (n_features, n_features). For pairs, entry (j, k) is a sum over the instances with values for both
    features; in `first`, it is the sum of w u_k. The origin is near the mean. When two objects are added,
    both are first shifted to the joint mean (Chan, Golub and LeVeque, 1979).
    """

    total: float
    origin: np.ndarray
    seen: np.ndarray
    first: np.ndarray
    second: np.ndarray

    def __add__(self, other: Moments) -> Moments:
        shift = other.origin - self.origin
        first = _of_each(self.first) + _of_each(other.first) + _of_each(other.seen) * shift
        origin = self.origin + _ratio(first, _of_each(self.seen) + _of_each(other.seen))
        mine, its = self._about(origin), other._about(origin)
        return Moments(
            self.total + other.total,
            origin,
            mine.seen + its.seen,
            mine.first + its.first,
            mine.second + its.second,
        )

    def _about(self, origin: np.ndarray) -> Moments:
        """Return the same sums relative to a different origin."""
        shift = origin - self.origin
        row = shift if self.seen.ndim == 1 else shift[:, None]  # shift of feature j; `shift` is for feature k
        first = self.first - shift * self.seen
        second = self.second - row * self.first - shift * self.first.T + row * shift * self.seen
        return Moments(self.total, origin, self.seen, first, second)

    @property
    def mean(self) -> np.ndarray:
        """Mean of every feature; 0 if the feature has no values."""
        return self.origin + _ratio(_of_each(self.first), _of_each(self.seen))

    @property
    def variance(self) -> np.ndarray:
        """Variance of every feature, with the divisor N - 1 (see `_less_one`)."""
        about = self._about(self.mean)
        return _of_each(about.second) / _less_one(_of_each(self.seen))

    @property
    def covariance(self) -> np.ndarray:
        """Covariance of pairs, with missing values replaced by the mean and a rescaled diagonal."""
        V = self._about(self.mean).second / _less_one(self.total)
        factor = np.sqrt(self.variance / np.where(np.diag(V) > 0, np.diag(V), 1.0))
        return V * factor[:, None] * factor[None, :]


def moments_of(X: np.ndarray | PickedRows, weight: np.ndarray, *, pairs: bool = False) -> Moments:
    """Compute the moments of a block for features or pairs of features, without arrays of its size."""
    from bagwise._core.compiled.mixture import diagonal_moments, second_moments

    matrix = for_kernels(X)
    weight, zero = readonly(weight, np.zeros(X.shape[1]), dtype=np.float64)
    sums = diagonal_moments(*matrix, weight, zero)
    if np.isnan(sums).any():  # there are missing values
        return _moments_with_missing(X, weight, pairs=pairs)
    total, (origin,) = float(weight.sum()), readonly(_ratio(sums[1], sums[0]))
    if not pairs:
        return Moments(total, origin, *diagonal_moments(*matrix, weight, origin))
    first, *second = second_moments(*matrix, weight, origin)
    square = (len(first), len(first))
    return Moments(total, origin, np.full(square, total), np.broadcast_to(first, square), np.array(second))


def _moments_with_missing(X: np.ndarray | PickedRows, weight: np.ndarray, *, pairs: bool) -> Moments:
    """Compute the moments of a block with missing values."""
    parts = cut_rows(len(X), part_rows(X))
    origin = np.zeros(X.shape[1])
    for _ in range(2):  # the first pass determines the origin
        sums = [0.0, 0.0, 0.0]
        for rows in parts:
            seen = ~np.isnan(X[rows])
            U = np.where(seen, X[rows] - origin, 0.0)
            w = weight[rows]
            if pairs:
                mask = seen.astype(np.float64)
                terms = (w[:, None] * mask).T @ mask, (w[:, None] * mask).T @ U, (w[:, None] * U).T @ U
            else:
                terms = w @ seen, w @ U, w @ np.square(U)
            sums = [a + b for a, b in zip(sums, terms, strict=True)]
        moments = Moments(float(weight.sum()), origin, *map(np.asarray, sums))
        origin = moments.mean
    return moments


def _of_each(sums: np.ndarray) -> np.ndarray:
    return sums if sums.ndim == 1 else np.diag(sums)


def _ratio(sums: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return np.divide(sums, weight, out=np.zeros(len(sums)), where=weight > 0)


def _less_one(total: np.ndarray | float) -> np.ndarray:
    """Return N - 1, or N / 2 if N < 2, because the total weight can be arbitrarily small."""
    total = np.asarray(total)
    return np.where(total > 0, np.maximum(total - 1, 0.5 * total), 1.0)
