"""Iterated-discrim APR: a box in the feature space that an instance of every positive bag lies in."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from bagwise._core.interrupt import raise_if_stopped
from bagwise._core.sklearn_private import Interval
from bagwise.data.bags import Bags
from bagwise.models.base import BagsLike, InstanceScoreClassifier, fit_scaler, validated_fit

_BISECTIONS = 100  # of the distance by which a bound is moved, until neighbouring numbers


class APRClassifier(InstanceScoreClassifier):
    """A bag is positive if one of its instances lies in a box: a range for each of a few features.

    The box is found in three steps. *Grow*: one instance of every positive bag is chosen so that the box
    about them is small, the size of a box being the sum of its sides in standard deviations. *Discriminate*:
    features are taken one by one, each the one that keeps out most of the instances of negative bags that are
    still inside; the box is then grown again in the features taken, until they stay the same. *Expand*: the
    bounds are moved outward to where new positive instances may be expected.

    Use it where few features decide, each by a range, and where an answer that can be read is wanted: the
    box says between which values, and which bag set each bound (`bound_bags_`). One positive bag that is
    unlike the others, or wrongly labelled, widens the box; it takes no weights, for a bag counts or not.

    Parameters
    ----------
    margin : float, default=1.0
        How far outside of a bound, in standard deviations of the feature, an instance counts as kept out for
        sure.
    tau : float, default=0.999
        How much of a Gaussian in the middle of the box lies in it: larger is a smaller expansion.
    epsilon : float, default=0.01
        The share of positive instances that is expected outside of the expanded bounds of a feature.

    Attributes
    ----------
    features_ : array of shape (n_selected,)
        The features with bounds.
    lower_, upper_ : array of shape (n_selected,)
        The bounds, in the units of the features.
    bound_bags_ : array of shape (n_selected, 2)
        Which training bags have the instances at the lower and at the upper bound, before it was moved.
    chosen_ : array of shape (n_bags,)
        The place in its bag of the instance chosen of every positive training bag; -1 for negative ones.
    n_rounds_ : int
        How often the box was grown.
    classes_ : array of shape (2,)
        The labels; ``classes_[1]`` is the positive class.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    The score of an instance is its distance to the nearest bound, in half sides of the box: 1 in the middle,
    0 on a bound and negative outside; that of a bag is the largest of its instances'. If no feature keeps any
    negative instance out, all features have bounds.

    Of choices that are equally good, as between instances on a grid of values, the one that comes first is
    taken: there the box depends on the order of bags and instances.

    A growth costs O(p^2 * n_positive * n_features) at worst, for p positive bags with n_positive instances,
    and discrimination O(n_negative * n_features) a feature taken. The steps are those of the paper; its
    margin is a length, and here a multiple of each feature's deviation, so that features of any units will
    do.

    References
    ----------
    T. G. Dietterich, R. H. Lathrop and T. Lozano-Pérez (1997), Solving the multiple instance problem with
    axis-parallel rectangles, Artificial Intelligence 89, doi:10.1016/S0004-3702(96)00034-3.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import APRClassifier
    >>> rng = np.random.default_rng(4)
    >>> y = np.arange(60) % 2
    >>> bags = rng.uniform(0, 100, size=(60, 4, 5))
    >>> bags[y == 1, 0, 2:4] = rng.uniform(40, 50, size=(30, 2))  # what makes them positive
    >>> model = APRClassifier().fit(bags, y)
    >>> model.features_
    array([2, 3])
    >>> bool((model.lower_ < 42).all() and (model.upper_ > 48).all())
    True
    """

    bound_bags_: np.ndarray
    chosen_: np.ndarray
    n_rounds_: int
    features_: np.ndarray
    lower_: np.ndarray
    upper_: np.ndarray

    _accepts_sparse = False
    _parameter_constraints: dict[str, Any] = {
        "margin": [Interval(Real, 0, None, closed="neither")],
        "tau": [Interval(Real, 0, 1, closed="neither")],
        "epsilon": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(self, margin: float = 1.0, *, tau: float = 0.999, epsilon: float = 0.01):
        self.margin = margin
        self.tau = tau
        self.epsilon = epsilon

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike) -> Self:
        """Learn from bags and their labels.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            The training bags.
        y : array of shape (n_bags,)
            Two classes; the one that sorts last is the positive class.

        Returns
        -------
        self
        """
        bags, y, _ = self._read_training(X, y)
        scaler = fit_scaler("standard", bags.blocks())
        Z = scaler.transform(bags.instances.astype(np.float64, copy=False))
        positive = np.flatnonzero(y == 1)
        is_positive = np.repeat(y == 1, bags.sizes)
        inside, outside = Z[is_positive], Z[~is_positive]
        offsets = np.append(0, np.cumsum(bags.sizes[positive]))
        features, self.n_rounds_ = np.arange(Z.shape[1]), 0
        while True:
            raise_if_stopped()
            chosen = grow(inside[:, features], offsets)
            self.n_rounds_ += 1
            values = inside[chosen]
            taken = discriminate(outside, values.min(axis=0), values.max(axis=0), features, self.margin)
            # The features are fewer in every round, so this ends.
            if not len(taken) or len(taken) == len(features):
                break
            features = taken
        values = inside[np.ix_(chosen, features)]
        lower, upper = expand(values, self.tau, self.epsilon, 0.5 * self.margin)
        self.features_ = features
        self.lower_ = lower * scaler.scale_[features] + scaler.mean_[features]
        self.upper_ = upper * scaler.scale_[features] + scaler.mean_[features]
        self.bound_bags_ = np.column_stack([positive[values.argmin(axis=0)], positive[values.argmax(axis=0)]])
        self.chosen_ = np.full(len(y), -1)
        self.chosen_[positive] = np.flatnonzero(is_positive)[chosen] - bags.offsets[positive]
        return self

    def _instance_scores(self, bags: Bags) -> np.ndarray:
        X = bags.instances[:, self.features_].astype(np.float64, copy=False)
        half = 0.5 * self.upper_ - 0.5 * self.lower_
        return (np.minimum(X - self.lower_, self.upper_ - X) / half).min(axis=1)


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
