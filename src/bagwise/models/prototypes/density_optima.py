"""The optima of diverse density that are worth keeping beside the best one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bagwise.models.prototypes.density_problem import distance, halves
from bagwise.solvers.result import SolverResult

# Two optima are one if each calls the other's target positive with at least this probability.
_ONE = 0.95


def distinct_optima(results: Sequence[SolverResult]) -> tuple[np.ndarray, np.ndarray]:
    """Screen the ends of all starts: those in the better half of what was found, each once, best first.

    An end is left out if its objective is above the middle between the best and the worst, or if it and a
    better one call each other's targets positive with a probability of 0.95 or more.

    Returns
    -------
    optima : array of shape (n_optima, 2, n_features)
        Targets, and absolute scales.
    objectives : array of shape (n_optima,)
    """
    finite = [result for result in results if np.isfinite(result.value)] or list(results)
    ends = sorted(finite, key=lambda result: result.value)
    highest = 0.5 * (ends[0].value + ends[-1].value)
    kept: list[np.ndarray] = []
    objectives = []
    for end in ends:
        if end.value > highest and kept:
            break
        target, scales = halves(end.x)
        if not any(_are_one((target, scales), other) for other in kept):
            kept.append(np.stack([target, np.abs(scales)]))
            objectives.append(end.value)
    return np.stack(kept), np.asarray(objectives)


def _are_one(one: Any, other: Any) -> bool:
    """Whether two targets, with the scales about them, are the same but for where a search ended."""
    farthest = -np.log(_ONE)
    return all(distance(a[0][None], *b)[0] <= farthest for a, b in ((one, other), (other, one)))
