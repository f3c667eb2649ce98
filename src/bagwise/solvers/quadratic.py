"""A quadratic model of a smooth function that learns from steps, and its minimum with an L1 norm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

# The least curvature that is believed, relative to the largest: columns may be constant or collinear.
_FLATTEST = 1e-8
# A model learns from steps along which the curvature is within this factor of what it expects.
_MOST_UNLIKE = 1e4
# Where a diagonal larger by one of these parts makes the curvature convex, that is near enough: steps correct
# it, and it serves for many.
_LIFTS = (0.0, 0.003, 0.01, 0.03)


@dataclass(frozen=True)
class QuadraticModel:
    """Curvature of the smooth part, looked at in one point and learned from the steps since.

    `H` is the curvature in `entries`: those of `columns`, and the last, which is free. `inside` says of every
    column whether it is one of these.
    """

    point: Any
    columns: np.ndarray
    entries: np.ndarray
    inside: np.ndarray
    H: np.ndarray
    is_convex: bool

    @classmethod
    def at(cls, problem, point, columns: np.ndarray) -> QuadraticModel:
        """Look at the curvature in a point; where it is nearly convex, it is made so."""
        inside = np.zeros(len(point.theta) - 1, dtype=bool)
        inside[columns] = True
        entries = np.append(columns, len(inside))
        H = problem.curvature_at(point, columns, rough=True)
        for lift in _LIFTS:
            lifted = _lifted(H, lift)
            if _is_convex(lifted):
                # Once more, lest the flattest direction be a thousand times too long.
                return cls(point, columns, entries, inside, _lifted(lifted, lift), is_convex=True)
        return cls(point, columns, entries, inside, H, is_convex=False)

    def after(self, step: np.ndarray, change: np.ndarray) -> QuadraticModel:
        """Learn from a step and the change of the gradient along it (the update of BFGS): it stays convex."""
        from bagwise._numba.coordinate import learn_curvature

        s, y = step[self.entries], change[self.entries]
        expected = self.H @ s
        ratio = (s @ y) / (s @ expected)
        if not (self.is_convex and 1 / _MOST_UNLIKE < ratio < _MOST_UNLIKE):
            return self
        return replace(self, H=learn_curvature(self.H, y, s @ y, expected, s @ expected))

    def minimum(self, point, wanted: np.ndarray, alpha: float, tol: float) -> np.ndarray:
        """Minimise the model around a point plus alpha times the L1 norm, by coordinate descent.

        Where the model is convex, all its columns take part, else those wanted alone.
        """
        from bagwise._numba.coordinate import descend

        entries, H = self._convex_part(wanted)
        x = point.theta.copy()
        penalty = np.full(len(entries), alpha)
        penalty[-1] = 0.0
        b = x[entries]
        descend(H, point.gradient[entries], b, penalty, tol, 1000)
        x[entries] = b
        return x

    def _convex_part(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.is_convex:
            return self.entries, self.H
        chosen = np.append(np.searchsorted(self.columns, wanted), len(self.columns))
        return self.entries[chosen], _made_convex(self.H[np.ix_(chosen, chosen)])


def _flattest(H: np.ndarray) -> float:
    return _FLATTEST * max(np.abs(np.diagonal(H)).max(), np.finfo(float).tiny)


def _lifted(H: np.ndarray, part: float) -> np.ndarray:
    lifted = H.copy()
    lifted[np.diag_indices(len(H))] *= 1 + part
    return lifted


def _is_convex(H: np.ndarray) -> bool:
    """Whether H is safely positive definite."""
    shifted = H.copy()
    shifted[np.arange(len(H)), np.arange(len(H))] -= _flattest(H)
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True


def _made_convex(H: np.ndarray) -> np.ndarray:
    """Give H itself where it is positive definite, else with its eigenvalues made positive.

    Turning negative curvature around keeps the scale of the step and leaves a saddle, where a shift of
    all eigenvalues would creep along it.
    """
    if _is_convex(H):
        return H
    values, vectors = np.linalg.eigh(H)
    values = np.maximum(np.abs(values), _flattest(H))
    return (vectors * values) @ vectors.T
