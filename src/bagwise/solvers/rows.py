"""Two representations of a kernel matrix for the dual solver: a full matrix, or rows on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bagwise._core.compiled.arrays import readonly

_ANY = np.iinfo(np.int64).max


class DenseRows:
    """Symmetric matrix in memory.

    Parameters
    ----------
    matrix : array of shape (n_points, n_points)
        Not copied if it is float64 and C-ordered. The diagonal is copied, so `diagonal` must be updated if
        the diagonal of the matrix changes.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.solvers.rows import DenseRows
    >>> DenseRows(np.eye(3)).capacity
    3
    """

    matrix: np.ndarray
    diagonal: np.ndarray
    capacity: int

    def __init__(self, matrix: np.ndarray):
        matrix = np.ascontiguousarray(matrix, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"kernel must be a square matrix; got shape {matrix.shape}.")
        (self.matrix,) = readonly(matrix)
        self.diagonal = matrix.diagonal().copy()
        self.capacity = len(matrix)

    def parts(self, points: np.ndarray) -> Iterator[tuple[Any, ...]]:
        """Yield the rows for the points of a working set, in one or more forms that are used in sequence.

        Each form consists of the rows, the index of each variable in them, their diagonal, and the number of
        steps to take with this form.
        """
        distinct, local = np.unique(points, return_inverse=True)
        view = readonly(self.matrix, points, self.diagonal)
        if 2 * len(distinct) > len(self.matrix):  # a copy would be nearly as large
            yield *view, _ANY
            return
        # A copy costs about as much as this many steps without a copy.
        yield *view, len(distinct) // 4
        yield *readonly(self.square(distinct), local, self.diagonal[distinct]), _ANY

    def square(self, points: np.ndarray) -> np.ndarray:
        """Return a copy of ``K[points][:, points]``."""
        from bagwise._core.compiled.dual import gather_square

        square = np.empty((len(points), len(points)))
        gather_square(self.matrix, *readonly(points), square)
        return square

    def add(self, points: np.ndarray, change: np.ndarray, product: np.ndarray) -> None:
        """Add ``K[:, points] @ change`` to `product`."""
        from bagwise._core.compiled.dual import add_rows

        add_rows(self.matrix, *readonly(points, change), product)


class RowCache:
    """Cache of the most recently used rows of a symmetric matrix, which are computed on demand.

    Parameters
    ----------
    compute : callable
        ``points -> array of shape (len(points), n_points)``, which computes the rows of these points.
    diagonal : array of shape (n_points,)
        Diagonal of the matrix.
    max_bytes : float
        Maximum memory of the cache. The cache always has room for at least two rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.solvers.rows import RowCache
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> cache = RowCache(lambda points: X[points] @ X.T, (X**2).sum(axis=1), max_bytes=1e6)
    >>> cache.rows(np.array([2, 0]))
    array([[ 5., 23., 41.],
           [ 1.,  3.,  5.]])
    """

    diagonal: np.ndarray
    kept: np.ndarray
    capacity: int

    def __init__(
        self, compute: Callable[[np.ndarray], np.ndarray], diagonal: np.ndarray, *, max_bytes: float
    ):
        self.compute = compute
        self.diagonal = np.array(diagonal, dtype=np.float64)
        n_points = len(self.diagonal)
        self.capacity = int(min(n_points, max(2, max_bytes // (8 * n_points))))
        self.kept = np.zeros((self.capacity, n_points))
        self._point_in = np.full(self.capacity, -1)
        self._used = np.zeros(self.capacity, dtype=np.int64)
        self._slot_of = np.full(n_points, -1)
        self._clock = 0

    def rows(self, points: np.ndarray) -> np.ndarray:
        """Return the rows of at most `capacity` different points."""
        self._clock += 1
        slots = self._slot_of[points]
        self._used[slots[slots >= 0]] = self._clock
        missing = np.unique(points[slots < 0])
        if len(missing):
            free = np.argsort(self._used, kind="stable")[: len(missing)]
            left = self._point_in[free]
            self._slot_of[left[left >= 0]] = -1
            self.kept[free] = self.compute(missing)
            self._point_in[free], self._slot_of[missing] = missing, free
            self._used[free] = self._clock
        return self.kept[self._slot_of[points]]

    def forget(self, points: np.ndarray) -> None:
        """Remove the cached rows of points whose values have changed."""
        slots = self._slot_of[points]
        slots = slots[slots >= 0]
        self._point_in[slots], self._used[slots] = -1, 0
        self._slot_of[points] = -1

    def parts(self, points: np.ndarray) -> Iterator[tuple[Any, ...]]:
        """Yield the rows like `DenseRows.parts`, in a single form."""
        distinct, local = np.unique(points, return_inverse=True)
        yield *readonly(self.square(distinct), local, self.diagonal[distinct]), _ANY

    def square(self, points: np.ndarray) -> np.ndarray:
        """Return a copy of ``K[points][:, points]``, like `DenseRows.square`."""
        return np.ascontiguousarray(self.rows(points)[:, points])

    def add(self, points: np.ndarray, change: np.ndarray, product: np.ndarray) -> None:
        """Add ``K[:, points] @ change`` to `product`, using at most `capacity` rows at a time."""
        distinct, local = np.unique(points, return_inverse=True)
        by_point = np.bincount(local, weights=change)
        for begin in range(0, len(distinct), self.capacity):
            part = slice(begin, begin + self.capacity)
            product += by_point[part] @ self.rows(distinct[part])


# Kernel matrices that the dual solver accepts.
Rows = DenseRows | RowCache
