"""Trees as plain arrays: storage in models, prediction, and validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bagwise._core.compiled.arrays import readonly
from bagwise.similarity.statistics import dense_runs


@dataclass(frozen=True)
class Trees:
    """Binary trees, concatenated in flat arrays.

    scikit-learn's own trees contain node indices that compiled code follows without validation, so a forged
    model file could crash the process. These arrays are validated before every prediction.

    Attributes
    ----------
    feature : int64 array of shape (n_nodes,)
        Index of the feature that a node splits on; -1 for a leaf.
    threshold : float64 array of shape (n_nodes,)
        Instances with a feature value <= threshold go to the left child.
    left, right : int64 array of shape (n_nodes,)
        Indices of the children, which are larger than those of their parents.
    value : float64 array of shape (n_nodes,)
        Values of the leaves.
    roots : int64 array of shape (n_trees,)
        Indices of the root nodes.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    roots: np.ndarray

    @classmethod
    def join(cls, trees: Sequence[Trees]) -> Trees:
        """Concatenate trees; the sequence may be empty."""
        if not trees:
            no_values, no_indices = np.empty(0), np.empty(0, dtype=np.int64)
            return cls(no_indices, no_values, no_indices, no_indices, no_values, no_indices)
        starts = np.append(0, np.cumsum([len(tree.feature) for tree in trees]))[:-1]
        moved = [
            replace(tree, left=tree.left + start, right=tree.right + start, roots=tree.roots + start)
            for tree, start in zip(trees, starts, strict=True)
        ]
        names = ("feature", "threshold", "left", "right", "value", "roots")
        return cls(*(np.concatenate([getattr(tree, name) for tree in moved]) for name in names))

    @property
    def n_nodes(self) -> int:
        """Return the total number of nodes."""
        return len(self.feature)

    def sums(self, X: Any) -> np.ndarray:
        """Return the sum of the leaf values of all trees for every instance, shape (n_instances,)."""
        from bagwise._core.compiled.trees import tree_sums

        if not len(self.roots):
            return np.zeros(X.shape[0])
        arrays = (*self._arrays(X.shape[1]), *readonly(self.value, self.roots))
        # Rows are independent, so only a few rows of a sparse matrix are dense at a time.
        parts = dense_runs(X, np.arange(X.shape[0] + 1))
        return np.concatenate([tree_sums(*readonly(Z), *arrays) for Z, _ in parts])

    def visits(self, X: Any, offsets: np.ndarray) -> np.ndarray:
        """Count the instances of every bag that pass each node, shape (n_bags, n_nodes)."""
        from bagwise._core.compiled.trees import tree_visits

        arrays = (*self._arrays(X.shape[1]), *readonly(self.roots))
        parts = dense_runs(X, offsets)
        return np.concatenate([tree_visits(*readonly(Z, inside), *arrays) for Z, inside in parts])

    def _arrays(self, n_features: int) -> tuple[np.ndarray, ...]:
        """Validate the arrays and return those that define the paths through the trees."""
        arrays = self.feature, self.left, self.right, self.threshold, self.value
        n, index = self.n_nodes, np.arange(self.n_nodes)
        inner = self.feature >= 0
        ends = [child[inner] for child in (self.left, self.right)]
        if (
            any(array.shape != (n,) for array in arrays)
            or any(array.dtype != np.int64 for array in (self.feature, self.left, self.right, self.roots))
            or (self.feature >= n_features).any()
            or any((end <= index[inner]).any() or (end >= n).any() for end in ends)
            or (self.roots < 0).any()
            or (self.roots >= n).any()
        ):
            raise ValueError("the trees of the model have invalid node indices; the model file is damaged.")
        return readonly(self.feature, self.threshold, self.left, self.right)
