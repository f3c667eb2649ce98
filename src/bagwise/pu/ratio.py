"""The share of positive bags, from the least-squares ratio of two densities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from bagwise.pu.features import PUFeatures

# Ridges tried, as shares of the spread of the features.
_RIDGES = np.logspace(-9, 1, 21)


@dataclass(frozen=True)
class PriorPath:
    """Class priors along a grid of ridges.

    Attributes
    ----------
    ridges : array of shape (n_ridges,)
        The ridges, rising.
    class_priors : array of shape (n_ridges,)
        The estimate at each, in (0, 1].
    criterion : array of shape (n_ridges,)
        Leave-one-out estimate of ``2 E_P[r] - E_U[r^2]``, to be maximised.
    """

    ridges: np.ndarray
    class_priors: np.ndarray
    criterion: np.ndarray

    @property
    def best(self) -> int:
        """Number of the ridge that is chosen: the strongest of the best."""
        return len(self.ridges) - 1 - int(np.argmax(self.criterion[::-1]))


class DensityRatio:
    """Least-squares fits of ``r = p_+ / p``, the density of positive bags over that of unlabeled ones.

    With ``r(X) = 1 + coef'(phi(X) - mean_U phi)``, whose constant is not penalised, a fit maximises ::

        2 mean_P(r) - mean_U(r^2) - ridge |coef|^2

    which is solved by (C + ridge I) coef = mean_P phi - mean_U phi, with C the covariance over unlabeled
    bags. Were there no ridge, the maximum would be E_P[r] = E_U[r^2] >= 1, and where no negative bag looks
    like a positive one it is 1 / prior: the estimate of the prior is 1 over the first two terms at the fit.
    They are at least 1, their value for r = 1, so the estimate lies in (0, 1] for any ridge.
    """

    def __init__(self, features: PUFeatures):
        self.features = features

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues and axes of C, from the smaller of two matrices that have them."""
        U, share = self.features.unlabeled, self.features.unlabeled_share
        if U.shape[1] <= U.shape[0]:
            values, axes = eigh(self.features.covariance, overwrite_a=False, check_finite=False)
            return np.maximum(values, 0.0), axes
        half = np.sqrt(share)[:, None] * U
        values, left = eigh(half @ half.T, check_finite=False)
        kept = values > 1e-14 * max(values[-1], np.finfo(float).tiny)
        return values[kept], half.T @ (left[:, kept] / np.sqrt(values[kept]))

    @cached_property
    def spread(self) -> float:
        """The size of features, against which ridges are measured."""
        return float(self._spectrum[0].sum() + self.features.shift @ self.features.shift)

    def path(self) -> PriorPath:
        """Estimate the prior for a grid of ridges, each judged by leaving out one bag after another.

        Leaving out a bag changes C by a term of rank one and the means by a vector: all is known from the fit
        on all bags, and a ridge costs O(n_bags * n_centers).
        """
        f = self.features
        values, axes = self._spectrum
        P, U, shift = f.positive @ axes, f.unlabeled @ axes, f.shift @ axes
        # What of the shift and of positive bags lies in no direction in which unlabeled bags vary.
        lost = 0.0 if axes.shape[0] == axes.shape[1] else 1.0
        outside = lost * max(0.0, float(f.shift @ f.shift - shift @ shift))
        P_squares = lost * (np.einsum("ij,ij->i", f.positive, f.positive) - np.einsum("ij,ij->i", P, P))
        P_shift = lost * (f.positive @ f.shift - P @ shift)
        ridges = _RIDGES * (self.spread or 1.0)
        priors, criterion = [], []
        for ridge in ridges:
            inverse = 1.0 / (values + ridge)
            coef = shift * inverse
            gain = float(2 * coef @ shift - (coef * coef) @ values) + 2 * outside / ridge
            priors.append(1.0 / (1.0 + gain))
            ratio_U = _left_out_unlabeled(U @ coef, (U * U) @ inverse, f.n_unlabeled)
            own = P @ coef + P_shift / ridge
            lever = (P * P) @ inverse + P_squares / ridge
            ratio_P = 1.0 + (f.n_positive * own - lever) / (f.n_positive - 1.0)
            criterion.append(2 * f.positive_share @ ratio_P - f.unlabeled_share @ ratio_U**2)
        return PriorPath(ridges, np.array(priors), np.array(criterion))


def _left_out_unlabeled(along: np.ndarray, lever: np.ndarray, n: float) -> np.ndarray:
    """Ratio at every unlabeled bag, fitted without it.

    With d the bag less the mean and G = C + ridge I: `along` is d'G^-1 shift, `lever` d'G^-1 d. Without the
    bag the mean moves by -d / (n - 1), and G becomes n / (n - 1) (G - d d' / (n - 1)).
    """
    left = 1.0 - lever / (n - 1.0)
    # Without a ridge to speak of a fit may hang on a single bag: then nothing is left of G, and the ratio is
    # huge.
    return 1.0 + (along + lever / (n - 1.0)) / np.maximum(left, 1e-12)


def prior_at(features: PUFeatures, ridge: float) -> float:
    """The estimate at one ridge."""
    C = features.covariance
    matrix = C.copy()
    matrix.flat[:: len(matrix) + 1] += ridge
    coef = cho_solve(cho_factor(matrix, overwrite_a=True, check_finite=False), features.shift)
    return 1.0 / (1.0 + float(2 * coef @ features.shift - coef @ C @ coef))
