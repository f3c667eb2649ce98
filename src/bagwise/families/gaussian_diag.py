"""Gaussian components with diagonal or spherical covariances."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from bagwise._core.compiled.arrays import readonly, refuse_other_widths
from bagwise.data.blocks import cut_rows
from bagwise.families.base import Family
from bagwise.families.moments import Moments, moments_of
from bagwise.families.parts import complete_rows, for_kernels, part_rows, picked
from bagwise.families.prior import GaussianPrior, variance_prior

_LOG_2PI = float(np.log(2 * np.pi))


class DiagonalParams(NamedTuple):
    """Mean and variance of every feature; for spherical components, the variance is a scalar."""

    mean: np.ndarray
    variance: np.ndarray


class GaussianDiag(Family):
    """Gaussian family with a separate variance for each feature.

    Let w be weights with sum n, m the prior mean, and
    B_j = sum w (x_j - m_j)^2 - (sum w (x_j - m_j))^2 / (n + kappa). The posterior mode under `FraleyRaftery`
    is ::

        mu_j = m_j + sum w (x_j - m_j) / (n + kappa),    sigma_j^2 = (l_j + B_j) / (n + nu + 2 + c)

    with c = 1, or c = 0 if kappa = 0. Missing values (NaN) are ignored, which is equivalent to integrating
    them out. For each feature, n is the weight of the instances without a missing value.

    Use it for many features or few instances. Sums are relative to m, so that large means do not cause
    cancellation. The cost of every method is O(n_instances * n_features).

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.families import GaussianDiag
    >>> family, X, weight = GaussianDiag(), np.array([[0.0], [2.0]]), np.ones(2)
    >>> prior = family.start(family.start_statistics(X, weight), 2, "default")
    >>> family.mstep(family.statistics(X, weight, None, prior), 2.0, prior).mean
    array([1.])
    """

    origin_: np.ndarray

    missing = "skip"
    in_any_precision = True

    def start_statistics(self, X: Any, weight: np.ndarray) -> Moments:
        """Compute the mean and the variance of every feature."""
        return moments_of(X, weight)

    def start(self, sums: Any, n_components: int, prior: Any) -> GaussianPrior:
        """Compute the prior from the moments of all instances."""
        return variance_prior(prior, sums, n_components)

    def log_density(self, X: Any, params: Any) -> np.ndarray:
        """Compute the log density of every instance, ignoring missing values."""
        from bagwise._core.compiled.mixture import diagonal_form

        mean, variance = np.broadcast_arrays(*params)
        refuse_other_widths(X, mean)
        terms = -0.5 * (_LOG_2PI + np.log(variance))
        out = diagonal_form(
            *for_kernels(X), *readonly(mean, 0.0 * mean, -0.5 / variance, dtype=np.float64), terms.sum()
        )
        missing = np.flatnonzero(np.isnan(out))
        for part in cut_rows(len(missing), part_rows(X)):
            rows = X[missing[part]]
            each = terms - 0.5 * np.square(rows - mean) / variance
            out[missing[part]] = np.where(np.isnan(rows), 0.0, each).sum(axis=1)
        return out

    def log_odds(self, X: Any, positive: Any, negative: Any) -> np.ndarray:
        """Compute the difference of two log densities, in one pass over instances without missing values."""
        from bagwise._core.compiled.mixture import diagonal_form

        mean, variance = np.broadcast_arrays(*negative)
        other_mean, other_variance = np.broadcast_arrays(*positive)
        # The difference is a quadratic function of u = x - mean, with (u - shift)^2 expanded.
        shift = other_mean - mean
        refuse_other_widths(X, mean, shift)
        slope = shift / other_variance
        curve = 0.5 * (1.0 / variance - 1.0 / other_variance)
        constant = -0.5 * np.sum(shift * slope + np.log(other_variance) - np.log(variance))
        return diagonal_form(*for_kernels(X), *readonly(mean, slope, curve, dtype=np.float64), constant)

    def statistics(self, X: Any, weight: np.ndarray, params: Any, prior: Any) -> np.ndarray:
        """Compute the sums of w, w u and w u^2 for every feature, with u = x - m: shape (3, n_features)."""
        from bagwise._core.compiled.mixture import diagonal_moments

        weight, mean = readonly(weight, prior.mean, dtype=np.float64)
        sums = diagonal_moments(*for_kernels(X), weight, mean)
        if not np.isnan(sums).any():  # there are no missing values
            return sums
        complete, missing = complete_rows(X)
        sums = diagonal_moments(*for_kernels(picked(X, complete)), *readonly(weight[complete]), mean)
        for part in cut_rows(len(missing), part_rows(X)):
            rows, each = X[missing[part]], weight[missing[part]]
            seen = ~np.isnan(rows)
            U = np.where(seen, rows - mean, 0.0)
            sums += np.stack([each @ seen, each @ U, each @ np.square(U)])
        return sums

    def log_density_of_sums(self, sums: np.ndarray, weight: float, params: Any, prior: Any) -> float:
        """Compute the weighted sum of log densities, which is linear in `sums`."""
        seen, first, second = sums
        shift = params.mean - prior.mean
        # Spread around the mean of the component. It can be negative only because of rounding.
        spread = second - shift * (2 * first - seen * shift)
        terms = seen * (_LOG_2PI + np.log(params.variance)) + spread / params.variance
        return float(-0.5 * np.sum(terms))

    def mstep(self, sums: np.ndarray, weight: float, prior: Any) -> DiagonalParams:
        """Return the mode of the posterior."""
        shift, spread, seen = _about_mode(sums, prior)
        count = seen + prior.nu + 2 + (prior.kappa > 0)
        return DiagonalParams(prior.mean + shift, (prior.scale + spread) / count)

    def log_prior(self, params: Any, prior: Any) -> float:
        """Compute the log prior: a sum over features, where v is the variance.

        The terms are -(nu + 2 + c)/2 log v - l/(2 v) - kappa (mu - m)^2 / (2 v).
        """
        count = prior.nu + 2 + (prior.kappa > 0)
        pull = prior.scale + prior.kappa * np.square(params.mean - prior.mean)
        return float(-0.5 * np.sum(count * np.log(params.variance) + pull / params.variance))

    def with_constants(self, params: Any, varies: np.ndarray, values: np.ndarray) -> DiagonalParams:
        """Return the parameters of all features; constant features have variance 0."""
        mean, variance = values.copy(), np.zeros(len(values))
        mean[varies], variance[varies] = params.mean, params.variance
        return DiagonalParams(mean, variance)

    def settled(self, sums: Moments) -> Self:
        """Return the family with the attribute `origin_`, the mean of all training instances."""
        family = clone(self)
        family.origin_ = sums.mean
        return family

    def sufficient(self, X: Any) -> np.ndarray:
        """Return the differences u from `origin_` and their squares; without `origin_`, u = x.

        Squares of large values would hide the differences between the values.
        """
        U = X - getattr(self, "origin_", 0.0)
        return np.hstack([U, np.square(U)])

    def sample(self, params: Any, n: int, rng: np.random.RandomState) -> np.ndarray:
        """Draw `n` instances."""
        return params.mean + np.sqrt(params.variance) * rng.standard_normal((n, len(params.mean)))

    def pack(self, params: Any) -> np.ndarray:
        """Concatenate the mean and the logarithm of the variance."""
        return np.concatenate([params.mean, np.log(np.atleast_1d(params.variance))])

    def unpack(self, vector: np.ndarray, params: Any) -> DiagonalParams:
        """Convert a vector with the mean and the log variance to parameters."""
        d = len(params.mean)
        return DiagonalParams(vector[:d], np.exp(vector[d:]).reshape(np.shape(params.variance)))


class GaussianSpherical(GaussianDiag):
    """Gaussian family with one variance for all features.

    It is like `GaussianDiag`, but with ::

        sigma^2 = (l + sum_j B_j) / (n d + nu + 2 + c d)

    Use it for similar features and few instances. The log-odds then depend only on the distances to two
    centers.

    Examples
    --------
    >>> from bagwise import MIMixture, make_mixture_bags
    >>> data = make_mixture_bags(50, random_state=0)
    >>> model = MIMixture("gaussian_spherical", random_state=0).fit(data.bags, data.y)
    >>> model.positive_components_[0].variance.shape
    ()
    """

    def start(self, sums: Any, n_components: int, prior: Any) -> GaussianPrior:
        """Compute the prior from the moments of all instances, with one scale for all features."""
        resolved = variance_prior(prior, sums, n_components)
        if np.ptp(resolved.scale) > 0:
            raise ValueError("prior='per_feature' requires family='gaussian_diag'; use prior='default'.")
        return resolved

    def log_density_of_sums(self, sums: np.ndarray, weight: float, params: Any, prior: Any) -> float:
        """Compute the weighted sum of log densities, which is linear in `sums`."""
        return super().log_density_of_sums(sums, weight, DiagonalParams(*np.broadcast_arrays(*params)), prior)

    def mstep(self, sums: np.ndarray, weight: float, prior: Any) -> DiagonalParams:
        """Return the mode of the posterior."""
        shift, spread, seen = _about_mode(sums, prior)
        count = seen.sum() + prior.nu + 2 + (prior.kappa > 0) * len(shift)
        return DiagonalParams(prior.mean + shift, np.asarray((prior.scale[0] + spread.sum()) / count))

    def log_prior(self, params: Any, prior: Any) -> float:
        """Compute the log prior -(nu + 2 + c d)/2 log v - l/(2 v) - kappa |mu - m|^2 / (2 v)."""
        count = prior.nu + 2 + (prior.kappa > 0) * len(params.mean)
        pull = prior.scale[0] + prior.kappa * np.sum(np.square(params.mean - prior.mean))
        return float(-0.5 * (count * np.log(params.variance) + pull / params.variance))

    def sufficient(self, X: Any) -> np.ndarray:
        """Return the differences u from `origin_`, and the sum of their squares."""
        U = X - getattr(self, "origin_", 0.0)
        return np.column_stack([U, np.square(U).sum(axis=1)])


def _about_mode(sums: np.ndarray, prior: GaussianPrior) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the shift of the mode from the prior mean, the scatter B around it, and weights per feature."""
    seen, first, second = sums
    pulled = seen + prior.kappa
    shift = np.divide(first, pulled, out=np.zeros_like(first), where=pulled > 0)
    # The scatter of nonnegative weights can be negative only because of rounding.
    return shift, np.maximum(second - first * shift, 0.0), seen
