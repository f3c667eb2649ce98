"""A kernel matrix of instances with room for virtual examples: means of several instances."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.similarity import InstanceKernel, require_memory
from bagwise.solvers.rows import DenseRows, RowCache


class Gram:
    """The kernel matrix of n instances, and after them of `n_means` virtual examples.

    A virtual example is the mean of some instances in the kernel's space, so its row is the mean of their
    rows: nothing is evaluated again when it changes, and nothing is computed for those not in use.

    Parameters
    ----------
    kernel : InstanceKernel
        The kernel.
    X : array or CSR matrix of shape (n, n_features), float64
        The instances.
    n_means : int
        The most virtual examples.
    max_bytes : float
        A matrix of no more bytes is computed at once; of a larger one, rows are computed on demand and as
        many are kept as fit.

    Attributes
    ----------
    rows : DenseRows or RowCache
        The matrix of n + n_means points, as `solve_dual` takes it.
    """

    n: Any
    size: Any

    def __init__(self, kernel: InstanceKernel, X: Any, n_means: int, *, max_bytes: float):
        self.kernel = kernel
        self.X = X
        self.n = X.shape[0]
        self.size = self.n + n_means
        self.means: dict[int, np.ndarray] = {}
        self.rows: DenseRows | RowCache
        if 8.0 * self.size**2 <= max_bytes:
            require_memory(self.size, self.size, "instances")
            self._matrix = np.zeros((self.size, self.size))
            kernel.fill(X, self._matrix)
            self.rows = DenseRows(self._matrix)
        else:
            diagonal = np.concatenate([kernel.diagonal(X), np.zeros(n_means)])
            self.rows = RowCache(self._compute, diagonal, max_bytes=max_bytes)

    def set_means(self, means: dict[int, np.ndarray]) -> None:
        """Say which instances the virtual examples are the means of; those not named are not in use."""
        changed = {
            i: rows for i, rows in means.items() if not np.array_equal(rows, self.means.get(i, rows[:0]))
        }
        self.means = means
        if isinstance(self.rows, RowCache):
            self.rows.forget(self.n + np.array(list(changed), dtype=np.int64))
            self._append_means(self.rows.kept)
            for i, rows in changed.items():
                self.rows.diagonal[self.n + i] = self.kernel(self.X[rows], self.X[rows]).mean()
            return
        if not changed:
            return
        K, n, places = self._matrix, self.n, self.n + np.array(list(changed))
        K[places, :n] = (self._averages(changed, self.size) @ K)[:, :n]
        K[:n, places] = K[places, :n].T
        others = self.n + np.array(list(means))
        between = K[places, :n] @ self._averages(means, n).T
        K[np.ix_(places, others)], K[np.ix_(others, places)] = between, between.T
        self.rows.diagonal[places] = K[places, places]

    def _averages(self, means: dict[int, np.ndarray], width: int) -> sp.csr_matrix:
        """The matrix that makes virtual examples of instances: shape (len(means), width)."""
        sizes = np.array([len(rows) for rows in means.values()])
        columns = np.concatenate(list(means.values()))
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return sp.csr_matrix((np.repeat(1.0 / sizes, sizes), columns, starts), shape=(len(sizes), width))

    def extend(self, by_instance: np.ndarray) -> np.ndarray:
        """Append the means of the virtual examples to a product of the matrix."""
        values = np.zeros((1, self.size))
        values[0, : self.n] = by_instance
        self._append_means(values)
        return values[0]

    def _append_means(self, values: np.ndarray) -> None:
        if self.means:
            places = self.n + np.array(list(self.means))
            values[:, places] = values[:, : self.n] @ self._averages(self.means, self.n).T

    def _compute(self, points: np.ndarray) -> np.ndarray:
        values = np.zeros((len(points), self.size))
        real = points < self.n
        values[real, : self.n] = self.kernel(self.X[points[real]], self.X)
        for place in np.flatnonzero(~real):
            rows = self.means[int(points[place]) - self.n]
            values[place, : self.n] = self.kernel(self.X[rows], self.X).mean(axis=0)
        self._append_means(values)
        return values
