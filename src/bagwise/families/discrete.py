"""Shared code of discrete families: the pseudo-count prior and log-ratios of probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Largest:
    """Largest value of every feature; the sum of two objects is their maximum."""

    value: np.ndarray

    def __add__(self, other: Largest) -> Largest:
        return Largest(np.maximum(self.value, other.value))


def read_pseudo_count(prior: object) -> float:
    """Convert the `prior` of a mixture with discrete components to a pseudo-count a > 0."""
    if isinstance(prior, str) and prior == "default":
        return 1.0
    if isinstance(prior, (int, float, np.number)) and not isinstance(prior, bool) and 0 < prior < np.inf:
        return float(prior)
    raise ValueError(
        f"prior of a discrete family must be 'default' or a pseudo-count > 0 (otherwise, values that do "
        f"not occur in the data would be impossible); got {prior!r}."
    )


def log_simplex(vector: np.ndarray, axis: int = -1) -> np.ndarray:
    """Convert probabilities along an axis to unconstrained log-ratios to the first one, which is removed."""
    logs = np.log(vector)
    first = np.take(logs, [0], axis=axis)
    return np.delete(logs - first, 0, axis=axis)


def from_log_simplex(ratios: np.ndarray, axis: int = -1) -> np.ndarray:
    """Convert log-ratios to the first probability back to probabilities."""
    first = np.zeros_like(np.take(ratios, [0], axis=axis))
    logs = np.concatenate([first, ratios], axis=axis)
    logs = logs - np.logaddexp.reduce(logs, axis=axis, keepdims=True)
    return np.exp(logs)
