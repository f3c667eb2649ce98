"""Iterated-discrim APR: a box in feature space that contains an instance of every positive bag."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from bagwise._core.interrupt import raise_if_stopped
from bagwise._core.sklearn_private import Interval
from bagwise._core.types import PositiveLabel
from bagwise.data.bags import Bags
from bagwise.models.base import BagsLike, InstanceScoreClassifier, fit_scaler, validated_fit

_BISECTIONS = 100  # enough to compute the shift of a bound to floating-point precision


class APRClassifier(InstanceScoreClassifier):
    """Axis-parallel rectangle (APR): a bag is positive if one of its instances is inside a box.

    The box is a range of values for each of a few features. It is fitted in three steps. *Grow*: choose one
    instance of every positive bag so that the box around them is small. The size of a box is the sum of its
    sides in standard deviations. *Discriminate*: select features one by one, each time the feature that
    excludes most of the instances of negative bags that are still inside. Then grow the box again in the
    selected features, until they no longer change. *Expand*: move the bounds outward to where new positive
    instances are expected.

    Use it when few features are decisive, each through a range of values, and you want a readable model: the
    box has a lower and an upper bound per feature, and `bound_bags_` contains the bags that determine these
    bounds. One positive bag that is unlike the others, or wrongly labeled, widens the box. `fit` does not
    accept sample weights, because a bag is either used or not.

    Parameters
    ----------
    margin : float, default=1.0
        Distance outside a bound, in standard deviations of the feature, from which an instance counts as
        certainly excluded.
    tau : float, default=0.999
        Share of a Gaussian kernel in the middle of the box that is inside the box. Larger values expand the
        box less.
    epsilon : float, default=0.01
        Share of positive instances that is expected outside the expanded bounds of a feature.
    positive : label or None, default=None
        Label of the positive class. By default it is the larger number, or True. If the labels are text, each
        class is tried as the positive one, and the fit with the smaller error on the training bags is kept.

    Attributes
    ----------
    features_ : array of shape (n_selected,)
        Indices of the features that have bounds.
    lower_, upper_ : array of shape (n_selected,)
        The bounds, in the units of the features.
    bound_bags_ : array of shape (n_selected, 2)
        Indices of the training bags whose instances are at the lower and at the upper bound before expansion.
    chosen_ : array of shape (n_bags,)
        For every positive training bag, the index of the chosen instance within the bag; -1 for negative
        bags.
    n_rounds_ : int
        Number of times the box was grown.
    classes_ : array of shape (2,)
        Class labels.
    positive_label_ : label
        Label of the positive class.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    The score of an instance is its distance to the nearest bound, divided by half the side of the box: 1 in
    the middle, 0 on a bound and negative outside. The score of a bag is the largest score of its instances.
    If no feature excludes any negative instance, all features have bounds.

    Ties, for example between instances on a grid of values, are resolved by order: the first one is taken.
    With ties, the box therefore depends on the order of bags and instances.

    Growing costs at most O(p^2 * n_positive * n_features) for p positive bags with n_positive instances.
    Discrimination costs O(n_negative * n_features) per selected feature. The steps are those of the paper.
    The paper's margin is a length; here it is a multiple of each feature's standard deviation, so that
    features may have any units.

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
    >>> bags[y == 1, 0, 2:4] = rng.uniform(40, 50, size=(30, 2))  # makes the bags positive
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
        "positive": "no_validation",
    }

    def __init__(
        self,
        margin: float = 1.0,
        *,
        tau: float = 0.999,
        epsilon: float = 0.01,
        positive: PositiveLabel = None,
    ):
        self.margin = margin
        self.tau = tau
        self.epsilon = epsilon
        self.positive = positive

    @validated_fit
    def fit(self, X: BagsLike, y: ArrayLike) -> Self:
        """Fit the model to bags and their labels.

        Parameters
        ----------
        X : Bags, list of arrays of shape (size, n_features), 3-D array, or 2-D array (bags of one)
            The training bags.
        y : array of shape (n_bags,)
            Labels of two classes; see the parameter `positive`.

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
        # If no feature varies, the box has no sides and contains everything.
        features, self.n_rounds_ = np.flatnonzero(np.isfinite(scaler.scale_)), 0
        while True:
            raise_if_stopped()
            chosen = grow(inside[:, features], offsets)
            self.n_rounds_ += 1
            values = inside[chosen]
            taken = discriminate(outside, values.min(axis=0), values.max(axis=0), features, self.margin)
            # Every round has fewer features, so the loop terminates.
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
        return (np.minimum(X - self.lower_, self.upper_ - X) / half).min(axis=1, initial=1.0)


def first_choice(X: np.ndarray, offsets: np.ndarray) -> int:
    """Return the index of the instance nearest to the middle of the range that all bags share.

    In every feature, a box that touches every bag reaches from the smallest of the bags' maxima to the
    largest of their minima. The middle of this box is the starting point.
    """
    least = np.minimum.reduceat(X, offsets[:-1], axis=0).max(axis=0)
    most = np.maximum.reduceat(X, offsets[:-1], axis=0).min(axis=0)
    return int(np.argmin(np.square(X - 0.5 * (least + most)).sum(axis=1)))


def grow(X: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Choose an instance of every bag so that the box around them is small; return their indices, by bag.

    The search starts from the first choice. It repeatedly adds the instance that enlarges the box least, out
    of all bags that have none yet. After each addition, earlier choices are exchanged for other instances of
    their bags as long as this makes the box smaller (backfitting). At the end, no single exchange makes the
    box smaller.
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
    """Return by how much the box must grow to contain each instance."""
    return (np.maximum(lower - X, 0.0) + np.maximum(X - upper, 0.0)).sum(axis=1)


def _backfit(X: np.ndarray, offsets: np.ndarray, chosen: dict[int, int]) -> None:
    """Exchange chosen instances for others of their bags until no exchange makes the box smaller."""
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
            # The gain must exceed rounding errors, so that the loop terminates.
            if growth[best] < growth[chosen[i] - offsets[i]] * (1 - 1e-12):
                chosen[i] = int(offsets[i]) + best
                is_changing = True


def discriminate(
    X: np.ndarray, lower: np.ndarray, upper: np.ndarray, features: np.ndarray, margin: float
) -> np.ndarray:
    """Choose, one by one, features whose bounds exclude negative instances; return them in ascending order.

    A feature excludes an instance if the instance is outside its bounds by at least the margin. An instance
    that no feature excludes in this way is excluded by the feature in which it is farthest outside. The first
    feature is the one of `features` that excludes most instances, the second the one that excludes most of
    the remaining instances, and so on. Ties are resolved by the larger total distance. Instances that are
    inside in all features are ignored.
    """
    if not len(features):
        return features
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
    """Move the bounds of a box outward to where instances like the chosen ones are expected.

    The density of each feature is estimated by Gaussian kernels at the chosen values. Their standard
    deviation is such that a share `tau` of a kernel in the middle of the box is inside the box. If half the
    side of the box is smaller than `least`, `least` replaces it. Each bound is moved until at most a share
    epsilon / 2 of the density is beyond it.

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
        depth = sign * (bound - values) / deviation  # distance of each value from the bound, in deviations
        low, high = np.zeros(values.shape[1]), np.full(values.shape[1], -ndtri(0.5 * epsilon))
        is_enough = ndtr(-depth).mean(axis=0) <= 0.5 * epsilon
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            beyond = ndtr(-(depth + middle)).mean(axis=0) > 0.5 * epsilon
            low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
        moved.append(bound + sign * np.where(is_enough, 0.0, high) * deviation)
    return moved[0], moved[1]
