"""Score tests, likelihood-ratio tests and their intervals, which do not assume a quadratic likelihood."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import minimize
from scipy.special import ndtri

from bagwise.models.linear_model.inference.likelihood import FittedLikelihood

# Lower bound for eigenvalues of the information when the search is scaled, relative to the largest
# eigenvalue.
_LEAST_SHARE = 1e-4
# Gradient tolerance, in standard errors, of the search for the other parameters.
_TOL = 1e-2
# Interval limits beyond this distance are infinite. The distance is in log-odds of a typical instance.
_FARTHEST = 500.0
# Accuracy of the statistic at the limits of intervals.
_ACCURACY = 3e-3
# Maximum number of steps to find a limit, and of Newton steps that keep a quantity at its value.
_MOST_STEPS = 50
# Directions with less expected information, relative to the maximum, contain no information.
_NOTHING = 1e-12


class Quantity:
    """A smooth function of the free parameters, for which tests and intervals are computed.

    Parameters
    ----------
    value, gradient : callable
        Value and gradient of the quantity, as functions of the free parameters.
    """

    def __init__(self, value: Callable[[np.ndarray], float], gradient: Callable[[np.ndarray], np.ndarray]):
        self.value, self.gradient = value, gradient

    @classmethod
    def linear(cls, weights: np.ndarray) -> Quantity:
        """Return the quantity for a weighted sum of the free parameters."""
        return cls(lambda x: float(weights @ x), lambda x: weights)


class Profile:
    """Tests of the hypothesis that a quantity has a certain value, and intervals of the accepted values.

    For each value, the other parameters are refitted by BFGS, in coordinates in which the information is the
    identity. Each search starts at the parameters of the nearest earlier value. There are two statistics, and
    both are approximately standard normal at the true value:

    - "ratio": the signed root of the likelihood ratio, which is twice the difference from the maximum
      log-likelihood.
    - "score": the derivative of the log-likelihood along the quantity, divided by its standard deviation
      under the model with that value. The log-likelihood excludes prior and ridge. The derivative is
      projected orthogonally to the scores of the other parameters (Neyman's C(alpha) test). The test
      therefore remains valid if a prior or a ridge has influenced the other parameters, or if they are at a
      boundary. Fitting k parameters to the labels of n bags reduces the apparent variance of the labels by
      the fraction k / n; the statistic corrects for this.

    Parameters
    ----------
    likelihood : FittedLikelihood
        The likelihood at its maximum.
    information : array
        The information at the maximum; it may be indefinite.
    statistic : {"score", "ratio"}
        The statistic.
    """

    best: np.ndarray
    least: float
    gained: float

    def __init__(
        self, likelihood: FittedLikelihood, information: np.ndarray, statistic: Literal["score", "ratio"]
    ):
        self.likelihood = likelihood
        self.statistic = statistic
        self.best = likelihood.x[likelihood.free]
        self.least = likelihood.value_and_gradient(likelihood.x)[0]
        values, vectors = np.linalg.eigh(information)
        floored = np.maximum(values, _LEAST_SHARE * max(values[-1], np.finfo(float).tiny))
        self._spread = vectors / np.sqrt(floored)
        # Largest increase in the log-likelihood over the fit; positive if the fit is not the best optimum.
        self.gained = 0.0

    def interval(self, quantity: Quantity, level: float, tested: float | None = None) -> tuple[float, float]:
        """Return the limits of the interval; a limit is infinite if no value is rejected on that side.

        The interval contains the estimate. It contains the value `tested` if the test does not reject it.
        """
        low, high = (self._end(quantity, sign, float(ndtri(0.5 + level / 2)), tested) for sign in (-1.0, 1.0))
        return low, high

    def signed_root(self, quantity: Quantity, value: float) -> float:
        """Return the statistic for a hypothetical value; positive if the value appears too small."""
        return _Walk(self, quantity).signed_root(value)

    def _end(self, quantity: Quantity, sign: float, wanted: float, tested: float | None) -> float:
        estimate = quantity.value(self.best)
        slope = quantity.gradient(self.best)
        error = float(np.linalg.norm(self._spread.T @ slope))
        if error == 0.0:
            return estimate
        farthest = _FARTHEST * float(np.linalg.norm(slope))
        walk = _Walk(self, quantity)

        def root_at(value: float) -> float:
            return -sign * walk.signed_root(value)

        inside, step = (estimate, root_at(estimate)), min(wanted * error, farthest)
        if inside[1] >= wanted:
            return estimate
        if tested is not None and sign * (tested - estimate) > 0:
            at_tested = tested, root_at(tested)
            if at_tested[1] >= wanted:
                return self._between(root_at, inside, at_tested, wanted)
            inside, step = at_tested, max(step, abs(tested - estimate))
        while True:
            outside = estimate + sign * step
            root = root_at(outside)
            if root >= wanted:
                return self._between(root_at, inside, (outside, root), wanted)
            if step >= farthest:
                return sign * np.inf
            inside = outside, root
            # With a linear root, this step reaches slightly beyond the limit.
            growth = 1.2 * wanted / root if root > 0 else 2.0
            step = min(step * float(np.clip(growth, 1.1, 2.0)), farthest)

    @staticmethod
    def _between(
        root_at: Callable[[float], float],
        inside: tuple[float, float],
        outside: tuple[float, float],
        wanted: float,
    ) -> float:
        """Return the point at which the root has the target value, given a bracket of (point, root) pairs."""
        for _ in range(_MOST_STEPS):
            (low, root_low), (high, root_high) = inside, outside
            if root_high - wanted <= _ACCURACY or abs(high - low) <= 1e-9 * max(1.0, abs(high)):
                return high
            if wanted - root_low <= _ACCURACY:
                return low
            # The root is nearly linear. It is infinite if the quantity cannot take this value.
            share = (wanted - root_low) / (root_high - root_low) if np.isfinite(root_high) else 0.5
            middle = low + float(np.clip(share, 0.05, 0.95)) * (high - low)
            root = root_at(middle)
            if root < wanted:
                inside = middle, root
            else:
                outside = middle, root
        return inside[0]


class _Walk:
    """Tests of one quantity at successive values, with warm starts."""

    def __init__(self, profile: Profile, quantity: Quantity):
        self._profile, self._quantity = profile, quantity
        self._slope = quantity.gradient(profile.best)
        along = profile._spread.T @ self._slope
        self._error = float(np.linalg.norm(along))
        self._direction = along / self._error
        self._across = null_space(self._direction[None, :])
        self._pivot = int(np.argmax(np.abs(self._slope)))
        # Fitted values of the other parameters, by the distance of the quantity from its estimate.
        self._known: dict[float, np.ndarray] = {0.0: np.zeros(self._across.shape[1])}

    def signed_root(self, value: float) -> float:
        """Return the statistic at a value of the quantity."""
        profile = self._profile
        distance = (value - self._quantity.value(profile.best)) / self._error
        least = self._fit_others(value, distance) if distance else 0.0
        profile.gained = max(profile.gained, -least)
        if profile.statistic == "score" and np.isfinite(least):
            return self._slope_in_errors(self._solve_for_value(value, distance, self._known[distance]))
        return -float(np.sign(distance)) * float(np.sqrt(2.0 * max(0.0, least)))

    def _fit_others(self, value: float, distance: float) -> float:
        """Fit the other parameters, and return the difference from the maximum log-likelihood."""
        profile = self._profile

        def lacking(w: np.ndarray) -> tuple[float, np.ndarray]:
            x = self._solve_for_value(value, distance, w)
            if x is None:
                return np.inf, np.zeros(len(w))
            objective, gradient = profile.likelihood.value_and_gradient(profile.likelihood.at(x))
            slope = self._quantity.gradient(x)
            # Chain rule: the pivot parameter changes too, so that the value of the quantity is unchanged.
            gradient = gradient - slope * (gradient[self._pivot] / slope[self._pivot])
            return objective - profile.least, self._across.T @ (profile._spread.T @ gradient)

        starts = self._starts(distance)
        values = [lacking(start)[0] for start in starts]
        least, w = min(values), starts[int(np.argmin(values))]
        if len(w) and np.isfinite(least):
            end = minimize(lacking, w, jac=True, method="BFGS", options={"gtol": _TOL, "maxiter": 200})
            if end.fun < least:
                least, w = float(end.fun), end.x
        self._known[distance] = w
        return least

    def _slope_in_errors(self, x: np.ndarray | None) -> float:
        """Return the score statistic at a point where the other parameters are fitted."""
        assert x is not None  # the likelihood is finite there
        likelihood, wanted = self._profile.likelihood, self._quantity.gradient(x)
        score, information = likelihood.score_and_expected_information(likelihood.at(x))
        scale = np.sqrt(np.maximum(np.diagonal(information), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
        tells = values > _NOTHING * values[-1]
        parts, score_parts = vectors.T @ (wanted / scale), vectors.T @ (score / scale)
        if not tells.all() and np.abs(parts[~tells]).max() > 1e-6 * np.abs(parts).max():
            return 0.0  # the labels contain no information about the quantity at x
        along = parts[tells] / values[tells]
        variance = along @ parts[tells] / max(1e-12, 1.0 - len(score) / likelihood.problem.total)
        return float(along @ score_parts[tells] / np.sqrt(variance))

    def _starts(self, distance: float) -> list[np.ndarray]:
        """Return start values of the other parameters: the nearest fitted ones, and an extrapolation."""
        near = min(self._known, key=lambda other: abs(other - distance))
        return [self._known[near]] + ([self._known[near] * (distance / near)] if near else [])

    def _solve_for_value(self, value: float, distance: float, w: np.ndarray) -> np.ndarray | None:
        """Return parameters at which the quantity has the value, or None if there are none."""
        profile = self._profile
        x = profile.best + profile._spread @ (distance * self._direction + self._across @ w)
        for _ in range(_MOST_STEPS):
            lacks = value - self._quantity.value(x)
            if abs(lacks) <= 1e-10 * max(1.0, abs(value)):
                return x
            slope = self._quantity.gradient(x)[self._pivot]
            if slope == 0.0 or not np.isfinite(slope):
                return None
            x[self._pivot] += lacks / slope
        return None
