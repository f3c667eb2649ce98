"""Tests and intervals that follow the likelihood, where a quadratic at its maximum does not describe it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import minimize
from scipy.special import ndtri

from bagwise.models.linear_model.inference.likelihood import FittedLikelihood

# Directions with less information than this share of the most are searched as if they had so much.
_LEAST_SHARE = 1e-4
# Gradient, in standard errors, at which the search for the other parameters ends.
_TOL = 1e-2
# A parameter that may be so far away, in log-odds of a typical instance, has no bound.
_FARTHEST = 500.0
# The ends of intervals are found to this part of a standard error.
_ACCURACY = 3e-3
# The most steps towards an end, and of Newton's method to keep a quantity at its value.
_MOST_STEPS = 50
# Directions with less than this share of the most expected information tell nothing of a quantity.
_NOTHING = 1e-12


class Quantity:
    """A smooth function of the parameters that vary, which an interval is wanted for.

    Parameters
    ----------
    value, gradient : callable
        Of the parameters that vary.
    """

    def __init__(self, value: Callable[[np.ndarray], float], gradient: Callable[[np.ndarray], np.ndarray]):
        self.value, self.gradient = value, gradient

    @classmethod
    def linear(cls, weights: np.ndarray) -> Quantity:
        """A weighted sum of the parameters."""
        return cls(lambda x: float(weights @ x), lambda x: weights)


class Profile:
    """Tests of the hypothesis that a quantity has a value, and intervals of the values not rejected.

    The other parameters are fitted anew for every value, by BFGS in coordinates in which the information is
    the identity, from where the last value of the quantity has left them. Then there are two statistics, both
    about normal where the value is the true one:

    - "ratio": the signed root of twice what the log-likelihood lacks to its maximum;
    - "score": the slope of the log-likelihood along the quantity, in units of its standard deviation under
      the model with that value. The slope is that of the labels' likelihood alone, freed of what the other
      parameters explain of it. So it does not matter that a prior or a ridge had its part in fitting these
      (Neyman's C(alpha)), nor that they may lie on a border. All k parameters are fitted to the labels of n
      bags, which then look less variable than they are, by a share k / n of their variance.

    Parameters
    ----------
    likelihood : FittedLikelihood
        The likelihood, at its maximum.
    information : array
        The information there; need not be positive definite.
    statistic : {"score", "ratio"}
        Which of the two.
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
        # By how much the fit has turned out not to be the maximum.
        self.gained = 0.0

    def interval(self, quantity: Quantity, level: float, tested: float | None = None) -> tuple[float, float]:
        """Give both ends; infinite ones where no value is rejected.

        The estimate belongs to the interval. Whether the `tested` value does is what its test says.
        """
        low, high = (self._end(quantity, sign, float(ndtri(0.5 + level / 2)), tested) for sign in (-1.0, 1.0))
        return low, high

    def signed_root(self, quantity: Quantity, value: float) -> float:
        """The statistic of the hypothesis that the quantity has a value; positive if that seems too small."""
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
            there = tested, root_at(tested)
            if there[1] >= wanted:
                return self._between(root_at, inside, there, wanted)
            inside, step = there, max(step, abs(tested - estimate))
        while True:
            outside = estimate + sign * step
            root = root_at(outside)
            if root >= wanted:
                return self._between(root_at, inside, (outside, root), wanted)
            if step >= farthest:
                return sign * np.inf
            inside = outside, root
            # Where the root rises as it did so far, this is a little beyond the end.
            growth = 1.2 * wanted / root if root > 0 else 2.0
            step = min(step * float(np.clip(growth, 1.1, 2.0)), farthest)

    @staticmethod
    def _between(
        root_at: Callable[[float], float],
        inside: tuple[float, float],
        outside: tuple[float, float],
        wanted: float,
    ) -> float:
        """Find where the root has the wanted value, given a place on either side, each with its root."""
        for _ in range(_MOST_STEPS):
            (low, root_low), (high, root_high) = inside, outside
            if root_high - wanted <= _ACCURACY or abs(high - low) <= 1e-9 * max(1.0, abs(high)):
                return high
            if wanted - root_low <= _ACCURACY:
                return low
            # The root is nearly linear; it may be infinite, where a quantity cannot have the value.
            share = (wanted - root_low) / (root_high - root_low) if np.isfinite(root_high) else 0.5
            middle = low + float(np.clip(share, 0.05, 0.95)) * (high - low)
            found = root_at(middle)
            if found < wanted:
                inside = middle, found
            else:
                outside = middle, found
        return inside[0]


class _Walk:
    """Tests of one quantity at values that follow each other."""

    def __init__(self, profile: Profile, quantity: Quantity):
        self._profile, self._quantity = profile, quantity
        self._slope = quantity.gradient(profile.best)
        along = profile._spread.T @ self._slope
        self._error = float(np.linalg.norm(along))
        self._direction = along / self._error
        self._across = null_space(self._direction[None, :])
        self._pivot = int(np.argmax(np.abs(self._slope)))
        # Where the other parameters were, by the distance of the quantity from its estimate.
        self._known: dict[float, np.ndarray] = {0.0: np.zeros(self._across.shape[1])}

    def signed_root(self, value: float) -> float:
        """The statistic at a value of the quantity."""
        profile = self._profile
        distance = (value - self._quantity.value(profile.best)) / self._error
        least = self._fit_others(value, distance) if distance else 0.0
        profile.gained = max(profile.gained, -least)
        if profile.statistic == "score" and np.isfinite(least):
            return self._slope_in_errors(self._place(value, distance, self._known[distance]))
        return -float(np.sign(distance)) * float(np.sqrt(2.0 * max(0.0, least)))

    def _fit_others(self, value: float, distance: float) -> float:
        """Fit the other parameters, and say what the log-likelihood then lacks."""
        profile = self._profile

        def lacking(w: np.ndarray) -> tuple[float, np.ndarray]:
            x = self._place(value, distance, w)
            if x is None:
                return np.inf, np.zeros(len(w))
            found, gradient = profile.likelihood.value_and_gradient(profile.likelihood.at(x))
            slope = self._quantity.gradient(x)
            # What moves the pivot along, so that the quantity keeps its value.
            gradient = gradient - slope * (gradient[self._pivot] / slope[self._pivot])
            return found - profile.least, self._across.T @ (profile._spread.T @ gradient)

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
        """The score along the quantity at a place where the other parameters are fitted."""
        assert x is not None  # the likelihood is finite there
        likelihood, wanted = self._profile.likelihood, self._quantity.gradient(x)
        score, information = likelihood.score_and_expected_information(likelihood.at(x))
        scale = np.sqrt(np.maximum(np.diagonal(information), np.finfo(float).tiny))
        values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
        tells = values > _NOTHING * values[-1]
        parts, score_parts = vectors.T @ (wanted / scale), vectors.T @ (score / scale)
        if not tells.all() and np.abs(parts[~tells]).max() > 1e-6 * np.abs(parts).max():
            return 0.0  # nothing is known of the quantity here
        along = parts[tells] / values[tells]
        variance = along @ parts[tells] / max(1e-12, 1.0 - len(score) / likelihood.problem.total)
        return float(along @ score_parts[tells] / np.sqrt(variance))

    def _starts(self, distance: float) -> list[np.ndarray]:
        """Where to look for the other parameters: where they were nearby, or farther that way."""
        near = min(self._known, key=lambda other: abs(other - distance))
        return [self._known[near]] + ([self._known[near] * (distance / near)] if near else [])

    def _place(self, value: float, distance: float, w: np.ndarray) -> np.ndarray | None:
        """The parameters where the quantity has a value, or None if it cannot have that."""
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
