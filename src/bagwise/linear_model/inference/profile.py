"""Intervals and tests from the profile of the likelihood, where a quadratic does not describe it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import minimize
from scipy.special import ndtri

from bagwise.linear_model.inference.likelihood import FittedLikelihood

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
    """The largest log-likelihood that remains when one quantity is held at a value.

    Twice what it lacks to the maximum is the likelihood-ratio statistic; its signed root is about normal,
    whatever the scale of the quantity. An interval is where the root stays below the normal quantile. The
    other parameters are searched for by BFGS in coordinates in which the information is the identity, from
    where the last value of the quantity has left them.

    Parameters
    ----------
    likelihood : FittedLikelihood
        The likelihood, at its maximum.
    information : array
        The information there; need not be positive definite.
    """

    def __init__(self, likelihood: FittedLikelihood, information: np.ndarray):
        self.likelihood = likelihood
        self.best = likelihood.x[likelihood.free]
        self.least = likelihood.value_and_gradient(likelihood.x)[0]
        values, vectors = np.linalg.eigh(information)
        floored = np.maximum(values, _LEAST_SHARE * max(values[-1], np.finfo(float).tiny))
        self._spread = vectors / np.sqrt(floored)
        # By how much the fit has turned out not to be the maximum.
        self.gained = 0.0

    def interval(self, quantity: Quantity, level: float) -> tuple[float, float]:
        """Give both ends; infinite ones where the likelihood does not fall enough."""
        low, high = (self._end(quantity, sign, float(ndtri(0.5 + level / 2))) for sign in (-1.0, 1.0))
        return low, high

    def signed_root(self, quantity: Quantity, value: float) -> float:
        """The signed root of the likelihood ratio of the hypothesis that the quantity has a value."""
        estimate = quantity.value(self.best)
        return float(np.sign(estimate - value)) * _Walk(self, quantity).root(value)

    def _end(self, quantity: Quantity, sign: float, wanted: float) -> float:
        estimate = quantity.value(self.best)
        slope = quantity.gradient(self.best)
        error = float(np.linalg.norm(self._spread.T @ slope))
        if error == 0.0:
            return estimate
        farthest = _FARTHEST * float(np.linalg.norm(slope))
        walk = _Walk(self, quantity)
        inside, root_inside = estimate, 0.0
        step = min(wanted * error, farthest)
        while True:
            outside = estimate + sign * step
            root = walk.root(outside)
            if root >= wanted:
                return self._between(walk, (inside, root_inside), (outside, root), wanted)
            if step >= farthest:
                return sign * np.inf
            inside, root_inside = outside, root
            # Where the root rises as it did so far, this is a little beyond the end.
            growth = 1.2 * wanted / root if root > 0 else 2.0
            step = min(step * float(np.clip(growth, 1.1, 2.0)), farthest)

    @staticmethod
    def _between(
        walk: _Walk, inside: tuple[float, float], outside: tuple[float, float], wanted: float
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
            found = walk.root(middle)
            if found < wanted:
                inside = middle, found
            else:
                outside = middle, found
        return inside[0]


class _Walk:
    """Likelihood-ratio roots of one quantity at values that follow each other."""

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

    def root(self, value: float) -> float:
        """The root of twice what the log-likelihood lacks when the quantity has a value."""
        profile, estimate = self._profile, self._quantity.value(self._profile.best)
        distance = (value - estimate) / self._error

        def lacking(w: np.ndarray) -> tuple[float, np.ndarray]:
            x = profile.best + profile._spread @ (distance * self._direction + self._across @ w)
            if not self._hold(x, value):
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
        profile.gained = max(profile.gained, -least)
        return float(np.sqrt(2.0 * max(0.0, least)))

    def _starts(self, distance: float) -> list[np.ndarray]:
        """Where to look for the other parameters: where they were nearby, or farther that way."""
        near = min(self._known, key=lambda other: abs(other - distance))
        return [self._known[near]] + ([self._known[near] * (distance / near)] if near else [])

    def _hold(self, x: np.ndarray, value: float) -> bool:
        """Move one parameter so that the quantity has its value; say whether that can be."""
        for _ in range(_MOST_STEPS):
            lacks = value - self._quantity.value(x)
            if abs(lacks) <= 1e-10 * max(1.0, abs(value)):
                return True
            slope = self._quantity.gradient(x)[self._pivot]
            if slope == 0.0 or not np.isfinite(slope):
                return False
            x[self._pivot] += lacks / slope
        return False
