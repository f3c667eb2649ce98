"""Trees as plain arrays: what a model keeps of them, and what they say of instances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._numba.arrays import readonly
from bagwise.blocks import block_rows, cut, cut_rows


@dataclass(frozen=True)
class Trees:
    """Binary trees, one after the other in flat arrays.

    scikit-learn's own trees hold places in memory that compiled code follows without looking, so that a
    forged file of a model could crash the process. These are looked through before every walk.

    Attributes
    ----------
    feature : int64 array of shape (n_nodes,)
        What a node asks for; -1 for a leaf.
    threshold : float64 array of shape (n_nodes,)
        Instances with a value up to it go left.
    left, right : int64 array of shape (n_nodes,)
        The children, which come after their parents.
    value : float64 array of shape (n_nodes,)
        What a leaf says.
    roots : int64 array of shape (n_trees,)
        Where the trees begin.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    roots: np.ndarray

    @classmethod
    def join(cls, trees: Sequence[Trees]) -> Trees:
        """Put trees one after the other; there may be none."""
        if not trees:
            numbers, places = np.empty(0), np.empty(0, dtype=np.int64)
            return cls(places, numbers, places, places, numbers, places)
        starts = np.append(0, np.cumsum([len(tree.feature) for tree in trees]))[:-1]
        moved = [
            replace(tree, left=tree.left + start, right=tree.right + start, roots=tree.roots + start)
            for tree, start in zip(trees, starts, strict=True)
        ]
        names = ("feature", "threshold", "left", "right", "value", "roots")
        return cls(*(np.concatenate([getattr(tree, name) for tree in moved]) for name in names))

    @property
    def n_nodes(self) -> int:
        """The number of nodes of all trees."""
        return len(self.feature)

    def sums(self, X: Any) -> np.ndarray:
        """Sum over the trees of what each says of an instance: shape (n_instances,)."""
        from bagwise._numba.trees import tree_sums

        if not len(self.roots):
            return np.zeros(X.shape[0])
        rows = cut_rows(X.shape[0], block_rows(X.shape[1]))
        return np.concatenate(
            [tree_sums(Z, *self._arrays(n), *readonly(self.value, self.roots)) for Z, n in _dense(X, rows)]
        )

    def visits(self, X: Any, offsets: np.ndarray) -> np.ndarray:
        """Count for every bag the instances that pass each node: shape (n_bags, n_nodes)."""
        from bagwise._numba.trees import tree_visits

        runs = cut(offsets, block_rows(X.shape[1]))
        rows = [slice(int(offsets[run.start]), int(offsets[run.stop])) for run in runs]
        counts = []
        for run, (Z, n) in zip(runs, _dense(X, rows), strict=True):
            (starts,) = readonly(offsets[run.start : run.stop + 1] - offsets[run.start])
            counts.append(tree_visits(Z, starts, *self._arrays(n), *readonly(self.roots)))
        return np.concatenate(counts)

    def _arrays(self, n_features: int) -> tuple[np.ndarray, ...]:
        """Give the arrays that say where to go, if every walk through them ends."""
        arrays = self.feature, self.left, self.right, self.threshold, self.value
        n, number = self.n_nodes, np.arange(self.n_nodes)
        inner = self.feature >= 0
        ends = [child[inner] for child in (self.left, self.right)]
        if (
            any(array.shape != (n,) for array in arrays)
            or any(array.dtype != np.int64 for array in (self.feature, self.left, self.right, self.roots))
            or (self.feature >= n_features).any()
            or any((end <= number[inner]).any() or (end >= n).any() for end in ends)
            or (self.roots < 0).any()
            or (self.roots >= n).any()
        ):
            raise ValueError("the trees of the model lead nowhere; it is damaged.")
        return readonly(self.feature, self.threshold, self.left, self.right)


def _dense(X: Any, rows: Sequence[slice]) -> Iterator[tuple[np.ndarray, int]]:
    """Give runs of rows as dense arrays, and how many features they have."""
    for some in rows:
        part = X[some]
        yield readonly(part.toarray() if sp.issparse(part) else part)[0], X.shape[1]
