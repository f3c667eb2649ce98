"""Gaussian components with full covariances, separate or shared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg.lapack import dtrtri
from sklearn.base import clone

from bagwise._core.compiled.arrays import readonly, refuse_other_widths
from bagwise.data.blocks import cut_rows
from bagwise.families.base import Family
from bagwise.families.moments import Moments, moments_of
from bagwise.families.parts import for_kernels, part_rows
from bagwise.families.prior import GaussianPrior, matrix_prior

_LOG_2PI = float(np.log(2 * np.pi))

_SINGULAR = (
    "the covariance of a component is numerically singular, for example because a few bags have "
    "almost all of the weight; use a stronger prior, family='gaussian_diag', or more similar weights."
)


class GaussianParams(NamedTuple):
    """Mean and covariance of a component."""

    mean: np.ndarray
    covariance: np.ndarray


class Gaussian(Family):
    """Gaussian family with a full covariance.

    Let w be weights with sum n, d the number of features, m the prior mean, S = sum w (x - m), and
    B = sum w (x - m)(x - m)' - S S' / (n + kappa). The posterior mode under `FraleyRaftery` is ::

        mu = m + S / (n + kappa),    Sigma = (L + B) / (n + nu + d + 1 + c)

    with c = 1, or c = 0 if kappa = 0. Missing values (NaN) are integrated out. The density is that of the
    observed features, and the statistics use the conditional expectation of the missing features.

    Use it for up to a few dozen features. For more features, use `GaussianDiag` or principal components. The
    cost of every method is O(n_instances * n_features^2), with matrix products. Missing values add
    O(k^3) for every pattern of missing features, where k is the number of missing or of observed features,
    whichever is smaller.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.families import Gaussian
    >>> from bagwise.families.gaussian import GaussianParams
    >>> standard = GaussianParams(np.zeros(2), np.eye(2))
    >>> Gaussian().log_density(np.array([[0.0, 0.0], [0.0, np.nan]]), standard).round(3)
    array([-1.838, -0.919])
    """

    origin_: np.ndarray

    missing = "expect"
    in_any_precision = True

    def start_statistics(self, X: Any, weight: np.ndarray) -> Moments:
        """Compute the means and the covariances of all pairs of features."""
        return moments_of(X, weight, pairs=True)

    def start(self, sums: Any, n_components: int, prior: Any) -> GaussianPrior:
        """Compute the prior from the moments of all instances."""
        return matrix_prior(prior, sums, n_components)

    def log_density(self, X: Any, params: Any) -> np.ndarray:
        """Compute the log density of every instance, ignoring missing values."""
        whiten, half_log_det = _whitener(params.covariance)
        precision = whiten.T @ whiten
        out = np.empty(len(X))
        for rows in cut_rows(len(X), part_rows(X)):
            U = X[rows] - params.mean
            log_root, n_seen = np.full(len(U), half_log_det), np.full(len(U), U.shape[1])
            has_missing = np.isnan(U.sum(axis=1))
            if has_missing.any():
                n_seen -= np.isnan(U).sum(axis=1)
                weight = np.zeros(len(U))  # the conditional covariances are not needed
                U, log_root, _ = _expected(U, weight, params.covariance, precision, half_log_det)
            Z = U @ whiten.T
            out[rows] = -0.5 * (np.einsum("ij,ij->i", Z, Z) + n_seen * _LOG_2PI) - log_root
        return out

    def log_odds(self, X: Any, positive: Any, negative: Any) -> np.ndarray:
        """Compute the difference of two log densities, in one pass over instances without missing values."""
        from bagwise._core.compiled.mixture import whitened_odds

        (whiten, half_log_det), (other, other_half) = map(
            _whitener, (positive.covariance, negative.covariance)
        )
        shift = whiten @ (positive.mean - negative.mean)
        both = np.hstack([other.T, whiten.T])
        refuse_other_widths(X, negative.mean, shift)
        return whitened_odds(
            *for_kernels(X),
            *readonly(negative.mean, both, shift, dtype=np.float64),
            other_half - half_log_det,
        )

    def statistics(self, X: Any, weight: np.ndarray, params: Any, prior: Any) -> np.ndarray:
        """Compute the sums of w u (row 0) and of w u u', u = x - m: (n_features + 1, n_features)."""
        from bagwise._core.compiled.mixture import second_moments

        weight, mean, zero = readonly(weight, prior.mean, 0.0 * prior.mean, dtype=np.float64)
        sums = second_moments(*for_kernels(X), weight, mean)
        if not np.isnan(sums).any():  # there are no missing values
            return sums
        whiten, half_log_det = _whitener(params.covariance)
        precision = whiten.T @ whiten
        sums = np.zeros_like(sums)
        for rows in cut_rows(len(X), part_rows(X)):
            U = X[rows] - params.mean
            U, _, spread = _expected(U, weight[rows], params.covariance, precision, half_log_det)
            sums += second_moments(
                *for_kernels(U + (params.mean - prior.mean)), *readonly(weight[rows]), zero
            )
            sums[1:] += spread
        return sums

    def log_density_of_sums(self, sums: np.ndarray, weight: float, params: Any, prior: Any) -> float:
        """Compute the weighted sum of log densities, which is linear in `sums`."""
        shift = params.mean - prior.mean
        cross = np.outer(shift, sums[0])
        spread = sums[1:] - cross - cross.T + weight * np.outer(shift, shift)
        whiten, half_log_det = _whitener(params.covariance)
        distance = np.sum((whiten @ spread) * whiten)
        return float(-weight * (half_log_det + 0.5 * len(shift) * _LOG_2PI) - 0.5 * distance)

    def mstep(self, sums: np.ndarray, weight: float, prior: Any) -> GaussianParams:
        """Return the mode of the posterior."""
        shift, B = _about_mode(sums, weight, prior)
        count = weight + prior.nu + len(shift) + 1 + (prior.kappa > 0)
        return GaussianParams(prior.mean + shift, (prior.scale + B) / count)

    def log_prior(self, params: Any, prior: Any) -> float:
        """Compute the log prior of the mean and the covariance.

        It is -(nu + d + 1 + c)/2 log|Sigma| - tr(L Sigma^-1)/2 - kappa/2 (mu - m)' Sigma^-1 (mu - m).
        """
        count = prior.nu + len(params.mean) + 1 + (prior.kappa > 0)
        return _log_wishart(params.covariance, count, prior, [params.mean])

    def with_constants(self, params: Any, varies: np.ndarray, values: np.ndarray) -> GaussianParams:
        """Return the parameters of all features; constant features have variance 0."""
        mean, covariance = values.copy(), np.zeros((len(values), len(values)))
        mean[varies], covariance[np.ix_(varies, varies)] = params.mean, params.covariance
        return GaussianParams(mean, covariance)

    def settled(self, sums: Moments) -> Self:
        """Return the family with the attribute `origin_`, the mean of all training instances."""
        family = clone(self)
        family.origin_ = sums.mean
        return family

    def sufficient(self, X: Any) -> np.ndarray:
        """Return the differences u from `origin_` and their pairwise products; without `origin_`, u = x.

        Products of large values would hide the differences between the values.
        """
        row, column = np.tril_indices(X.shape[1])
        U = X - getattr(self, "origin_", 0.0)
        return np.hstack([U, U[:, row] * U[:, column]])

    def sample(self, params: Any, n: int, rng: np.random.RandomState) -> np.ndarray:
        """Draw `n` instances."""
        factor = np.linalg.cholesky(params.covariance)
        return params.mean + rng.standard_normal((n, len(factor))) @ factor.T

    def pack(self, params: Any) -> np.ndarray:
        """Concatenate the mean and the lower Cholesky factor, with the logarithms of its diagonal."""
        factor = np.linalg.cholesky(params.covariance)
        np.fill_diagonal(factor, np.log(np.diag(factor)))
        return np.concatenate([params.mean, factor[_lower(len(factor))]])

    def unpack(self, vector: np.ndarray, params: Any) -> GaussianParams:
        """Convert a vector from `pack` back to parameters."""
        d = len(params.mean)
        factor = np.zeros((d, d))
        factor[_lower(d)] = vector[d:]
        np.fill_diagonal(factor, np.exp(np.diag(factor)))
        return GaussianParams(vector[:d], factor @ factor.T)


class GaussianTied(Gaussian):
    """Gaussian family with one full covariance for all components.

    It is like `Gaussian`, but with B and n summed over all G components, and ::

        Sigma = (L + B) / (n + nu + d + 1 + c G)

    because there is one prior for the covariance and one for each mean. The log-odds of two components are
    linear in x. This is the generative counterpart of logistic regression.

    Examples
    --------
    >>> from bagwise import MIMixture, make_mixture_bags
    >>> data = make_mixture_bags(50, random_state=0)
    >>> model = MIMixture("gaussian_tied", random_state=0).fit(data.bags, data.y)
    >>> positive, negative = model.positive_components_[0], model.negative_components_[0]
    >>> bool((positive.covariance == negative.covariance).all())
    True
    """

    def log_odds(self, X: Any, positive: Any, negative: Any) -> np.ndarray:
        """Compute the difference of two log densities, which is linear in X."""
        from bagwise._core.compiled.mixture import diagonal_form

        direction = np.linalg.solve(positive.covariance, positive.mean - negative.mean)
        middle = 0.5 * (positive.mean + negative.mean)
        refuse_other_widths(X, middle, direction)
        return diagonal_form(
            *for_kernels(X), *readonly(middle, direction, 0.0 * direction, dtype=np.float64), 0.0
        )

    def mstep_all(self, sums: Iterable[np.ndarray], weights: np.ndarray, prior: Any) -> list[GaussianParams]:
        """Return the joint mode of the posterior of all components."""
        modes = [_about_mode(s, float(w), prior) for s, w in zip(sums, weights, strict=True)]
        d = len(prior.mean)
        count = sum(map(float, weights)) + prior.nu + d + 1 + (prior.kappa > 0) * len(modes)
        covariance = (prior.scale + sum(B for _, B in modes)) / count
        return [GaussianParams(prior.mean + shift, covariance) for shift, _ in modes]

    def log_prior_all(self, components: Sequence[Any], prior: Any) -> float:
        """Compute the log prior of the shared covariance and of all means."""
        count = prior.nu + len(prior.mean) + 1 + (prior.kappa > 0) * len(components)
        return _log_wishart(components[0].covariance, count, prior, [params.mean for params in components])

    def count_parameters(self, components: Sequence[Any]) -> int:
        """Return the number of parameters of all means and one covariance."""
        d = len(components[0].mean)
        return len(components) * d + d * (d + 1) // 2

    def sufficient(self, X: Any) -> np.ndarray:
        """Return the features, because the quadratic terms of two components cancel."""
        return np.asarray(X)


def _expected(
    U: np.ndarray, weight: np.ndarray, covariance: np.ndarray, precision: np.ndarray, half_log_det: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fill the missing values of x - mean with their conditional expectations (see `fill_missing`)."""
    from bagwise._core.compiled.content import content_keys
    from bagwise._core.compiled.mixture import fill_missing

    # Sort the rows by their pattern of missing values: rows with the same pattern share a factorization.
    bits = np.packbits(np.isnan(U), axis=1)
    packed = np.zeros((len(U), -(-bits.shape[1] // 8)), dtype=np.uint64)
    packed.view(np.uint8)[:, : bits.shape[1]] = bits
    keys = content_keys(*readonly(packed.ravel(), np.arange(0, packed.size + 1, packed.shape[1])))
    arrays = readonly(U, weight, covariance, precision, dtype=np.float64)
    filled, log_root, spread = fill_missing(*arrays, *readonly(np.argsort(keys, kind="stable")), half_log_det)
    if not np.isfinite(log_root).all():
        raise np.linalg.LinAlgError(_SINGULAR)
    return filled, log_root, spread


def _lower(d: int) -> np.ndarray:
    """Return the mask of the lower triangle, which is several times faster than `numpy.tril_indices`."""
    return np.tri(d, dtype=bool)


def _whitener(covariance: np.ndarray) -> tuple[np.ndarray, float]:
    """Return a matrix A such that A' A is the inverse covariance, and half the log determinant."""
    try:
        factor = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError as error:
        raise np.linalg.LinAlgError(_SINGULAR) from error
    # For many rows, multiplying by the small inverse is faster than triangular solves.
    inverse, _ = dtrtri(factor.T)  # the transpose has the memory order of LAPACK
    return inverse.T, float(np.log(np.diag(factor)).sum())


def _about_mode(sums: np.ndarray, weight: float, prior: GaussianPrior) -> tuple[np.ndarray, np.ndarray]:
    """Return the shift of the mode from the prior mean, and the scatter matrix B around the mode."""
    pulled = weight + prior.kappa
    shift = sums[0] / pulled if pulled > 0 else np.zeros(len(sums[0]))
    return shift, sums[1:] - np.outer(sums[0], shift)


def _log_wishart(
    covariance: np.ndarray, count: float, prior: GaussianPrior, means: Sequence[np.ndarray]
) -> float:
    whiten, half_log_det = _whitener(covariance)
    pull = prior.scale + prior.kappa * sum(np.outer(mu - prior.mean, mu - prior.mean) for mu in means)
    return float(-count * half_log_det - 0.5 * np.sum((whiten @ pull) * whiten))
