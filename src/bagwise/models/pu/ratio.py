"""Class priors from a least-squares estimate of a density ratio."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from bagwise._core.interrupt import raise_if_stopped
from bagwise.models.pu.estimates import PriorEstimate
from bagwise.models.pu.features import PUFeatures, split_features

# Ridges to compare, relative to the spread of the features.
_RIDGES = np.logspace(-9, 1, 21)
# Directions whose eigenvalue is smaller than this share of the largest one are rounding errors.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class PriorPath:
    """Class priors along a grid of ridges.

    Attributes
    ----------
    ridges : array of shape (n_ridges,)
        The ridges, in ascending order.
    class_priors : array of shape (n_ridges,)
        The estimate at each ridge, in (0, 1].
    criterion : array of shape (n_ridges,)
        Leave-one-out ``mean_P[1 / (1 + r)^2] + mean_U[(r / (1 + r))^2]``; lower is better. Negative ratios
        are replaced by 0.
    log_errors : array of shape (n_ridges,)
        Standard error of the logarithm of each estimate.
    best : int
        Index of the chosen ridge: the largest ridge whose criterion exceeds the lowest criterion by no more
        than the standard error of the difference.
    """

    ridges: np.ndarray
    class_priors: np.ndarray
    criterion: np.ndarray
    log_errors: np.ndarray
    best: int

    def estimate(self, overlap: bool) -> PriorEstimate:
        """Return the estimate at the chosen ridge."""
        return PriorEstimate(
            "ratio", float(self.class_priors[self.best]), float(self.log_errors[self.best]), overlap
        )


class DensityRatio:
    """Least-squares fits of ``r = p_+ / p``, the density of positive bags divided by that of unlabeled bags.

    The model is ``r(X) = 1 + coef'(phi(X) - mean_U phi)``; its constant is not penalized. A fit maximizes ::

        2 mean_P(r) - mean_U(r^2) - ridge |coef|^2

    The solution satisfies (C + ridge I) coef = mean_P phi - mean_U phi, with the covariance C over unlabeled
    bags. Without a ridge, the maximum would be E_P[r] = E_U[r^2] >= 1. It is 1 / prior if no negative bag
    looks like a positive one. The estimate of the prior is therefore the reciprocal of the first two terms at
    the optimum. In these terms, r is clipped to the range of the true density ratio, 0 to 1 / prior. The
    terms are equal to 1 for r = 1, and larger ratios only count if many bags have them. The estimate is
    therefore in (0, 1] for any ridge.
    """

    def __init__(self, features: PUFeatures):
        self.features = features

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Return eigenvalues and eigenvectors of C, computed from C or from the smaller Gram matrix."""
        U, share = self.features.unlabeled, self.features.unlabeled_share
        if U.shape[1] <= U.shape[0]:
            values, axes = eigh(self.features.covariance, overwrite_a=False, check_finite=False)
            return np.maximum(values, 0.0), axes
        half = np.sqrt(share)[:, None] * U
        values, left = eigh(half @ half.T, check_finite=False)
        kept = values > _ROUNDING * max(values[-1], np.finfo(float).tiny)
        return values[kept], half.T @ (left[:, kept] / np.sqrt(values[kept]))

    @cached_property
    def spread(self) -> float:
        """Return the scale of the features, relative to which ridges are defined."""
        return float(self._spectrum[0].sum() + self.features.shift @ self.features.shift)

    def path(self, ridge: float | None = None) -> PriorPath:
        """Estimate the prior for a grid of ridges, with a leave-one-out criterion for each ridge.

        Leaving out a bag changes C by a term of rank one and shifts the means. Both changes follow from the
        fit on all bags, so a ridge costs O(n_bags * n_centers). A bag is left out with its full weight, so
        that the copies of a bag in a bootstrap sample are left out together.

        The criterion is the squared error of r / (1 + r). This is the probability that a bag is positive
        rather than unlabeled, if both are equally frequent. The minimum is at the true ratio, and the loss of
        a single bag is at most 1. The more usual criterion ``2 mean_P(r) - mean_U(r^2)`` has no such
        bound. A few positive bags beyond all unlabeled ones can dominate it; it then chooses a ridge close to
        zero, and the estimate is close to 0.
        """
        f = self.features
        values, axes = self._spectrum
        P, U, shift = f.positive @ axes, f.unlabeled @ axes, f.shift @ axes
        # Components of the shift and of positive bags that are orthogonal to all unlabeled bags.
        lost = 0.0 if axes.shape[0] == axes.shape[1] else 1.0
        P_squares = lost * (np.einsum("ij,ij->i", f.positive, f.positive) - np.einsum("ij,ij->i", P, P))
        P_shift = lost * (f.positive @ f.shift - P @ shift)
        ridges = _RIDGES * (self.spread or 1.0) if ridge is None else np.array([ridge])
        share_P, share_U = f.positive_share[:, None], f.unlabeled_share[:, None]
        inverse = 1.0 / (values[:, None] + ridges)
        coef = shift[:, None] * inverse
        along_P, along_U = P @ coef + P_shift[:, None] / ridges, U @ coef
        priors = bounded_priors(1.0 + along_P, 1.0 + along_U, f.positive_share, f.unlabeled_share)
        lever = (P * P) @ inverse + P_squares[:, None] / ridges
        left_P = np.maximum(1.0 + (along_P - share_P * lever) / (1.0 - share_P), 0.0)
        left_U = np.maximum(_left_out_unlabeled(along_U, (U * U) @ inverse, share_U), 0.0)
        losses_P, losses_U = 1.0 / (1.0 + left_P) ** 2, (1.0 - 1.0 / (1.0 + left_U)) ** 2
        criterion = f.positive_share @ losses_P + f.unlabeled_share @ losses_U
        # First-order terms of the optimum: 2 r at positive bags, and -r^2 at unlabeled bags.
        bounded_P, bounded_U = np.minimum(left_P, 1.0 / priors), np.minimum(left_U, 1.0 / priors)
        errors = np.sqrt(self._variance_of_means(2.0 * bounded_P, bounded_U**2)) * priors
        # Compare each ridge with the best one, relative to the standard error of the difference.
        least = int(np.argmin(criterion))
        differences = losses_P - losses_P[:, [least]], losses_U - losses_U[:, [least]]
        as_good = criterion - criterion[least] <= np.sqrt(self._variance_of_means(*differences))
        return PriorPath(ridges, priors, criterion, errors, int(np.flatnonzero(as_good)[-1]))

    def _variance_of_means(self, of_positive: np.ndarray, of_unlabeled: np.ndarray) -> np.ndarray:
        """Return the variance of the sum of two means, over positive and unlabeled bags, per column."""
        f, variance = self.features, 0.0
        for values, share, n in (
            (of_positive, f.positive_share, f.n_positive),
            (of_unlabeled, f.unlabeled_share, f.n_unlabeled),
        ):
            variance = variance + share @ (values - share @ values) ** 2 / n
        return np.asarray(variance)


def bounded_priors(
    ratio_P: np.ndarray, ratio_U: np.ndarray, share_P: np.ndarray, share_U: np.ndarray
) -> np.ndarray:
    """Return the prior for which ``1 / prior = 2 mean_P(r) - mean_U(r^2)``, with r in [0, 1 / prior].

    The ratios r are clipped to this interval; otherwise a few positive bags with huge ratios would dominate
    the result. Every column of ratios has a separate solution; if there are several, the largest is returned.
    """
    ratio = np.maximum(np.concatenate([ratio_P, ratio_U]), 0.0)
    order = np.argsort(ratio, axis=0)
    ratio = np.take_along_axis(ratio, order, axis=0)
    mass_P = np.concatenate([share_P, np.zeros(len(ratio_U))])[order]
    mass_U = np.concatenate([np.zeros(len(ratio_P)), share_U])[order]
    # With ratios up to J = 1 / prior, the right side minus the left side is a parabola between neighboring
    # ratios: constant + slope J - curve J^2. It is concave, so it is positive between two positive values.
    constant = 2.0 * np.cumsum(mass_P * ratio, axis=0) - np.cumsum(mass_U * ratio**2, axis=0)
    slope = 1.0 - 2.0 * np.cumsum(mass_P, axis=0)
    curve = np.maximum(1.0 - np.cumsum(mass_U, axis=0), 0.0)
    below_one = np.count_nonzero(ratio <= 1.0, axis=0)
    fallen = (constant + slope * ratio - curve * ratio**2 <= 0.0) & (ratio > 1.0)
    # The last ratio before the difference becomes negative, or the last ratio.
    last = np.where(fallen.any(axis=0), fallen.argmax(axis=0), len(ratio)) - 1
    first, last = np.maximum(below_one - 1, 0)[None], np.maximum(last, 0)[None]
    a, b, c = (np.take_along_axis(part, last, axis=0)[0] for part in (curve, slope, constant))
    root = np.sqrt(np.maximum(b * b + 4.0 * a * c, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        prior = np.where(b < 0, (root - b) / (2.0 * c), 2.0 * a / (root + b))
    at_one = sum(np.take_along_axis(part, first, axis=0)[0] for part in (constant, slope, -curve))
    # Without evidence of negative bags, the prior is 1: the difference is not positive at J = 1, or no ratio
    # is below one.
    return np.where((below_one == 0) | (at_one <= _ROUNDING), 1.0, np.minimum(prior, 1.0))


def _left_out_unlabeled(along: np.ndarray, lever: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the ratio at every unlabeled bag, from a fit without this bag.

    Let d be the bag minus the mean, and G = C + ridge I. Then `along` is d'G^-1 shift, and `lever` is
    d'G^-1 d. Let s be the share of the bag, and t = s / (1 - s). Without the bag, the mean moves by -t d, and
    G becomes (G - t d d') / (1 - s).
    """
    move = share / (1.0 - share)
    # Without a significant ridge, a fit can depend on a single bag. G is then singular without this bag, and
    # the ratio is huge.
    return 1.0 + (along + move * lever) / np.maximum(1.0 - move * lever, 1e-12)


def rotated(matrix: np.ndarray) -> np.ndarray:
    """Return features with the same distances but the fewest columns, which are faster to fit repeatedly."""
    centered = matrix - matrix.mean(axis=0)
    values, axes = eigh(centered @ centered.T, check_finite=False)
    kept = values > _ROUNDING * max(values[-1], np.finfo(float).tiny)
    return axes[:, kept] * np.sqrt(values[kept])


def choose_ratio(
    matrices: Mapping[float, np.ndarray], y: np.ndarray, weight: np.ndarray, ridge: float | None = None
) -> tuple[float, PriorPath]:
    """Fit ratios with several feature matrices, by degree or width, and return the best by the criterion.

    Ties are resolved in favor of the first matrix.
    """
    paths = {}
    for setting, matrix in matrices.items():
        raise_if_stopped()
        paths[setting] = DensityRatio(split_features(matrix, y, weight)).path(ridge)
    best = min(paths, key=lambda setting: paths[setting].criterion.min())
    return best, paths[best]
