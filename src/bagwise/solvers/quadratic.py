"""A quadratic model of a smooth function that learns from steps, and its minimum with an elastic net."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bagwise.solvers.working_set import ElasticNet, Point

# The least curvature that is believed, relative to the largest: columns may be constant or collinear.
_FLATTEST = 1e-8
# A model learns from steps along which the curvature is within this factor of what it expects.
_LARGEST_RATIO = 1e4
# Where a diagonal larger by one of these parts makes the curvature convex, it is made so: steps correct it,
# and it serves for many.
_LIFTS = (0.0, 0.003, 0.01, 0.03)
_MAX_SWEEPS = 1000


@dataclass(frozen=True)
class QuadraticModel:
    """Curvature of a smooth function, computed at one point and learned from the steps since.

    `H` is the curvature in some `columns` and the last, free entry; `inside` says of every column whether it
    is one of these, and `is_convex` whether H is positive definite.
    """

    columns: np.ndarray
    inside: np.ndarray
    H: np.ndarray
    is_convex: bool

    @classmethod
    def of(cls, curvature: np.ndarray, columns: np.ndarray, n_columns: int) -> QuadraticModel:
        """Make a model of the curvature in some of all columns; where it is nearly convex, it is made so."""
        inside = np.zeros(n_columns, dtype=bool)
        inside[columns] = True
        diagonal = np.diag(np.diagonal(curvature))
        for lift in _LIFTS:
            if _is_convex(curvature + lift * diagonal):
                # Twice as much, lest the flattest direction be a thousand times too long.
                return cls(columns, inside, curvature + 2 * lift * diagonal, is_convex=True)
        return cls(columns, inside, curvature, is_convex=False)

    @property
    def entries(self) -> np.ndarray:
        """The entries of x that the model knows: its columns and the last."""
        return np.append(self.columns, len(self.inside))

    def after(self, old: Point, new: Point) -> QuadraticModel:
        """Learn from the change of the gradient along a step (the update of BFGS); it stays convex."""
        from bagwise._core.compiled.coordinate import learn_curvature

        entries = self.entries
        step, change = (new.x - old.x)[entries], (new.gradient - old.gradient)[entries]
        expected = self.H @ step
        ratio = (step @ change) / (step @ expected)
        if not (self.is_convex and 1 / _LARGEST_RATIO < ratio < _LARGEST_RATIO):
            return self
        return replace(self, H=learn_curvature(self.H, change, step @ change, expected, step @ expected))

    def minimum(self, point: Point, wanted: np.ndarray, penalty: ElasticNet, tol: float) -> np.ndarray:
        """Minimise the model around a point plus the penalty; by coordinate descent, if it has an L1 norm.

        Where the model is convex, all its columns take part, else those wanted alone.
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
    """Whether H is safely positive definite."""
    try:
        np.linalg.cholesky(H - _flattest(H) * np.eye(len(H)))
    except np.linalg.LinAlgError:
        return False
    return True


def _made_convex(H: np.ndarray) -> np.ndarray:
    """Give H itself where it is positive definite, else with its eigenvalues made positive.

    Turning negative curvature around keeps the scale of the step and leaves a saddle; a shift of all
    eigenvalues would give tiny steps along it.
    """
    if _is_convex(H):
        return H
    values, vectors = np.linalg.eigh(H)
    values = np.maximum(np.abs(values), _flattest(H))
    return (vectors * values) @ vectors.T
