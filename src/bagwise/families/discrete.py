"""Discrete families share one prior: every value was seen a few times before the data came."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Largest:
    """The largest value of every feature: two add up to the larger."""

    value: np.ndarray

    def __add__(self, other: Largest) -> Largest:
        return Largest(np.maximum(self.value, other.value))


def read_pseudo_count(prior: object) -> float:
    """Turn the `prior` of a mixture with discrete components into a pseudo-count a > 0."""
    if isinstance(prior, str) and prior == "default":
        return 1.0
    if isinstance(prior, (int, float, np.number)) and not isinstance(prior, bool) and 0 < prior < np.inf:
        return float(prior)
    raise ValueError(
        f"prior of a discrete family must be 'default' or a pseudo-count above 0 (without one, a value "
        f"that was never seen would be impossible); got {prior!r}."
    )


def log_simplex(vector: np.ndarray, axis: int = -1) -> np.ndarray:
    """Log-ratios to the first value along an axis, without it: probabilities as free numbers."""
    logs = np.log(vector)
    first = np.take(logs, [0], axis=axis)
    return np.delete(logs - first, 0, axis=axis)


def from_log_simplex(ratios: np.ndarray, axis: int = -1) -> np.ndarray:
    """Probabilities from their log-ratios to the first."""
    first = np.zeros_like(np.take(ratios, [0], axis=axis))
    logs = np.concatenate([first, ratios], axis=axis)
    logs = logs - np.logaddexp.reduce(logs, axis=axis, keepdims=True)
    return np.exp(logs)
