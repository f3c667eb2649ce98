"""The three steps of a box: grown about positive bags, few features chosen, bounds moved outward.

Instances are in units in which features compare, and the size of a box is the sum of its sides.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

_BISECTIONS = 100  # of the distance by which a bound is moved, until neighbouring numbers


def first_choice(X: np.ndarray, offsets: np.ndarray) -> int:
    """Give the instance nearest to the middle of what all bags have in common, feature by feature.

    A box that meets every bag in a feature reaches from the least of the bags' maxima to the largest of
    their minima; its middle is the point where to begin.
    """
    least = np.minimum.reduceat(X, offsets[:-1], axis=0).max(axis=0)
    most = np.maximum.reduceat(X, offsets[:-1], axis=0).min(axis=0)
    return int(np.argmin(np.square(X - 0.5 * (least + most)).sum(axis=1)))


def grow(X: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Choose an instance of every bag so that the box about them is small: their numbers, by bag.

    From the first choice on, the instance is added that enlarges the box least, of any bag not in it; then
    all earlier choices are looked at again, and exchanged for others of their bags as long as that makes
    the box smaller (backfitting). So at the end no single exchange does.
    """
    bag = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    chosen: dict[int, int] = {}
    candidate = first_choice(X, offsets)
    while True:
        chosen[int(bag[candidate])] = candidate
        _backfit(X, offsets, chosen)
        open_ = np.flatnonzero(~np.isin(bag, list(chosen)))
        if not len(open_):
            return np.array([chosen[i] for i in range(len(offsets) - 1)])
        inside = X[list(chosen.values())]
        candidate = int(open_[np.argmin(_growth(X[open_], inside.min(axis=0), inside.max(axis=0)))])


def _growth(X: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """By how much a box grows to hold each of some instances."""
    return (np.maximum(lower - X, 0.0) + np.maximum(X - upper, 0.0)).sum(axis=1)


def _backfit(X: np.ndarray, offsets: np.ndarray, chosen: dict[int, int]) -> None:
    """Exchange choices for others of their bags until no exchange makes the box smaller."""
    has_others = [i for i in chosen if offsets[i + 1] - offsets[i] > 1]
    if len(chosen) < 2:
        return
    is_changing = True
    while is_changing:
        is_changing = False
        for i in has_others:
            others = X[[row for j, row in chosen.items() if j != i]]
            growth = _growth(X[offsets[i] : offsets[i + 1]], others.min(axis=0), others.max(axis=0))
            best = int(np.argmin(growth))
            # More than rounding, so that it ends.
            if growth[best] < growth[chosen[i] - offsets[i]] * (1 - 1e-12):
                chosen[i] = int(offsets[i]) + best
                is_changing = True


def discriminate(
    X: np.ndarray, lower: np.ndarray, upper: np.ndarray, features: np.ndarray, margin: float
) -> np.ndarray:
    """Choose the features whose bounds keep negative instances out, one by one; they rise.

    An instance is kept out by every feature in which it lies at least a margin outside of the bounds, or by
    the one in which it lies farthest outside where there is no such feature. Of `features` the one is taken
    that keeps out most instances, then the one that keeps out most of the others, and so on; of several the
    one that does so by more. Instances inside in all features are given up.
    """
    outside = np.maximum(lower - X, X - upper)[:, features]
    is_out = outside >= margin
    farthest = outside.argmax(axis=1)
    weak = ~is_out.any(axis=1) & (outside[np.arange(len(X)), farthest] > 0)
    is_out[weak, farthest[weak]] = True
    left, taken = is_out.any(axis=1), []
    while left.any():
        count = is_out[left].sum(axis=0)
        by = np.where(is_out[left], outside[left], 0.0).sum(axis=0)
        best = int(np.lexsort((-by, -count))[0])
        taken.append(best)
        left &= ~is_out[:, best]
    return features[np.sort(np.array(taken, dtype=np.int64))]


def expand(values: np.ndarray, tau: float, epsilon: float, least: float) -> tuple[np.ndarray, np.ndarray]:
    """Move the bounds of a box outward, as far as instances like the chosen ones may be expected.

    The density of a feature is estimated by Gaussian kernels on the chosen values; their deviation is such
    that the share `tau` of one in the middle of the box lies in it, or in one with the half side `least` if
    that is larger. Either bound is moved until at most the share epsilon / 2 of the density lies beyond.

    Parameters
    ----------
    values : array of shape (n_chosen, n_features)
        The chosen instances.
    tau, epsilon, least : float
        See above.

    Returns
    -------
    lower, upper : array of shape (n_features,)
    """
    lower, upper = values.min(axis=0), values.max(axis=0)
    deviation = np.maximum(0.5 * (upper - lower), least) / ndtri(0.5 * (1.0 + tau))
    moved = []
    for bound, sign in ((lower, -1.0), (upper, 1.0)):
        depth = sign * (bound - values) / deviation  # how deep inside each value lies, in deviations
        low, high = np.zeros(values.shape[1]), np.full(values.shape[1], -ndtri(0.5 * epsilon))
        is_enough = ndtr(-depth).mean(axis=0) <= 0.5 * epsilon
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            beyond = ndtr(-(depth + middle)).mean(axis=0) > 0.5 * epsilon
            low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
        moved.append(bound + sign * np.where(is_enough, 0.0, high) * deviation)
    return moved[0], moved[1]
