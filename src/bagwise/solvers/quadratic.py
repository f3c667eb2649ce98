"""Quadratic model of a smooth function with BFGS updates, and its minimum with an elastic net."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bagwise.solvers.working_set import ElasticNet, Point

# Smallest trusted curvature, relative to the largest. The curvature of constant and collinear columns is
# smaller.
_FLATTEST = 1e-8
# A step updates the model only if the observed curvature is within this factor of the predicted curvature.
_LARGEST_RATIO = 1e4
# Relative increases of the diagonal that are tried to make the curvature convex. A convex model can be used
# for many steps, and updates correct the error.
_LIFTS = (0.0, 0.003, 0.01, 0.03)
_MAX_SWEEPS = 1000


@dataclass(frozen=True)
class QuadraticModel:
    """Curvature of a smooth function, computed at one point and updated after every step.

    `H` is the curvature in `columns` and in the last, unpenalized entry. `inside` is a mask of these columns
    among all columns. `is_convex` is True if H is positive definite.
    """

    columns: np.ndarray
    inside: np.ndarray
    H: np.ndarray
    is_convex: bool

    @classmethod
    def of(cls, curvature: np.ndarray, columns: np.ndarray, n_columns: int) -> QuadraticModel:
        """Make a model from the curvature in a subset of columns; make it convex if it nearly is."""
        inside = np.zeros(n_columns, dtype=bool)
        inside[columns] = True
        diagonal = np.diag(np.diagonal(curvature))
        for lift in _LIFTS:
            if _is_convex(curvature + lift * diagonal):
                # Without the factor 2, steps in the flattest direction could be 1000 times too long.
                return cls(columns, inside, curvature + 2 * lift * diagonal, is_convex=True)
        return cls(columns, inside, curvature, is_convex=False)

    @property
    def entries(self) -> np.ndarray:
        """Indices of the entries of x in the model: its columns and the last entry."""
        return np.append(self.columns, len(self.inside))

    def after(self, old: Point, new: Point) -> QuadraticModel:
        """Return the model after a BFGS update with the change in the gradient; it stays convex."""
        from bagwise._core.compiled.coordinate import learn_curvature

        entries = self.entries
        step, change = (new.x - old.x)[entries], (new.gradient - old.gradient)[entries]
        expected = self.H @ step
        ratio = (step @ change) / (step @ expected)
        if not (self.is_convex and 1 / _LARGEST_RATIO < ratio < _LARGEST_RATIO):
            return self
        return replace(self, H=learn_curvature(self.H, change, step @ change, expected, step @ expected))

    def minimum(self, point: Point, wanted: np.ndarray, penalty: ElasticNet, tol: float) -> np.ndarray:
        """Minimize the model around a point plus the penalty, by coordinate descent if there is an L1 norm.

        If the model is convex, use all its columns; otherwise, use only the wanted columns.
        """
        from bagwise._core.compiled.coordinate import descend

        entries, H = self._convex_part(wanted)
        is_penalised = np.arange(len(entries)) < len(entries) - 1
        if penalty.l2:
            H = H + np.diag(penalty.l2 * is_penalised)
        x = point.x.copy()
        chosen, gradient = x[entries], penalty.gradient(point)[entries]
        if penalty.l1:
            descend(H, gradient, chosen, penalty.l1 * is_penalised, tol, _MAX_SWEEPS)
        x[entries] = chosen if penalty.l1 else chosen - np.linalg.solve(H, gradient)
        return x

    def _convex_part(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.is_convex:
            return self.entries, self.H
        chosen = np.append(np.searchsorted(self.columns, wanted), len(self.columns))
        return self.entries[chosen], _made_convex(self.H[np.ix_(chosen, chosen)])


def _flattest(H: np.ndarray) -> float:
    return _FLATTEST * max(np.abs(np.diagonal(H)).max(), np.finfo(float).tiny)


def _is_convex(H: np.ndarray) -> bool:
    """Return whether H is positive definite by a safe margin."""
    try:
        np.linalg.cholesky(H - _flattest(H) * np.eye(len(H)))
    except np.linalg.LinAlgError:
        return False
    return True


def _made_convex(H: np.ndarray) -> np.ndarray:
    """Return H if it is positive definite, otherwise H with the absolute values of its eigenvalues.

    Reversing the sign of negative curvature keeps the scale of the step, and the step leaves a saddle point.
    A shift of all eigenvalues would lead to tiny steps in this direction.
    """
    if _is_convex(H):
        return H
    values, vectors = np.linalg.eigh(H)
    values = np.maximum(np.abs(values), _flattest(H))
    return (vectors * values) @ vectors.T
