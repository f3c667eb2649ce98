"""Conjugate prior that prevents Gaussian components from collapsing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from bagwise.families.moments import Moments


class FraleyRaftery(BaseEstimator):
    """Weak conjugate prior on the mean and the covariance of Gaussian components.

    With G components, d features, and the mean m and the covariance V of all training instances::

        mu | Sigma ~ N(m, Sigma / kappa),    Sigma ~ inverse Wishart(nu, L)

    where nu = d + 2 and L = V / G^(2/d) for full covariances. For diagonal and spherical covariances, every
    variance has an inverse gamma prior with nu and l = (tr V / d) / G^(2/d). The prior is equivalent to a few
    additional instances with the spread of the data. It prevents singular covariances.

    Parameters
    ----------
    kappa : float, default=0.01
        Strength of the prior mean, as a number of instances; with 0, there is no prior on the means.
    per_feature : bool, default=False
        For diagonal covariances: whether each variance has a separate prior based only on the variance of
        that feature, with nu = 3 and l_j = V_jj / G^2. Use it for features on different scales, or for many
        features: the shared prior of d features has the weight of d + 5 instances.

    Notes
    -----
    If V must be inverted but is singular because of constant or redundant features, 1e-6 of the mean variance
    is added to its diagonal. If all features are constant, a variance of 1 is used.

    References
    ----------
    C. Fraley and A. E. Raftery (2007), Bayesian regularization for normal mixture estimation and
    model-based clustering, Journal of Classification 24, doi:10.1007/s00357-007-0004-5.

    Examples
    --------
    >>> from bagwise import MIMixture
    >>> from bagwise.families import FraleyRaftery
    >>> model = MIMixture("gaussian_diag", prior=FraleyRaftery(kappa=0.0, per_feature=True))
    """

    def __init__(self, kappa: float = 0.01, *, per_feature: bool = False):
        self.kappa = kappa
        self.per_feature = per_feature


class GaussianPrior(NamedTuple):
    """Resolved prior: mean m (also the origin of all sums), strength kappa, nu, and scale L or l."""

    mean: np.ndarray
    kappa: float
    nu: float
    scale: np.ndarray


def read_prior(prior: object) -> FraleyRaftery:
    """Convert the `prior` of a mixture with Gaussian components to a `FraleyRaftery` object."""
    if isinstance(prior, FraleyRaftery):
        if not prior.kappa >= 0:
            raise ValueError(f"kappa of FraleyRaftery must be >= 0; got {prior.kappa!r}.")
        return prior
    if isinstance(prior, str) and prior in ("default", "per_feature"):
        return FraleyRaftery(per_feature=prior == "per_feature")
    raise ValueError(
        "prior of a Gaussian family must be 'default', 'per_feature' or a FraleyRaftery object; "
        f"got {prior!r}."
    )


def matrix_prior(prior: object, moments: Moments, n_components: int) -> GaussianPrior:
    """Compute the prior for full covariances from the moments of pairs of features."""
    chosen = read_prior(prior)
    if chosen.per_feature:
        raise ValueError("prior='per_feature' requires family='gaussian_diag'; use prior='default'.")
    d = len(moments.origin)
    V = np.diag(moments.variance) if moments.total <= d else moments.covariance
    return GaussianPrior(moments.mean, chosen.kappa, d + 2.0, _regular(V) / n_components ** (2 / d))


def _regular(V: np.ndarray) -> np.ndarray:
    """Make a covariance invertible if it is not."""
    level = np.trace(V) / len(V)
    if level == 0.0:
        return np.eye(len(V))
    # The test uses correlations, so that it does not depend on the scales of the features.
    root = np.sqrt(np.diag(V))
    if (root == 0.0).any() or np.linalg.eigvalsh(V / np.outer(root, root))[0] < 1e-10:
        return V + 1e-6 * level * np.eye(len(V))
    return V


def variance_prior(prior: object, moments: Moments, n_components: int) -> GaussianPrior:
    """Compute the prior for diagonal and spherical covariances; the scale has one value per feature."""
    chosen = read_prior(prior)
    mean, variance, d = moments.mean, moments.variance, len(moments.origin)
    level = variance.mean() if variance.any() else 1.0
    if chosen.per_feature:
        # The data contain no information on the variance of a constant feature, so use the other features.
        variance = np.where(variance > 0, variance, 1e-6 * level)
        return GaussianPrior(mean, chosen.kappa, 3.0, variance / n_components**2)
    return GaussianPrior(mean, chosen.kappa, d + 2.0, np.full(d, level / n_components ** (2 / d)))
