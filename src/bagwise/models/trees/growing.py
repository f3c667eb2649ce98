"""Trees of scikit-learn, grown on the ranks of feature values instead of the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.models.trees.flat import Trees


class OrderedFeatures:
    """Instances with every value replaced by its rank among the distinct values of its feature.

    Trees only compare values, so ranks lose no information. scikit-learn's trees use single precision, which
    would merge neighboring times or coordinates and overflow at 1e39; ranks are small integers. For sparse
    instances, ranks are counted from the value zero, so that zeros remain zero. Constant features are left
    out, because scikit-learn breaks ties between splits by a random permutation of all features.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_instances, n_features)
        Instances on which trees are grown.

    Notes
    -----
    Sorts every feature once, and stores a copy of the instances in single precision.
    """

    def __init__(self, X: Any):
        self.levels: list[np.ndarray] = []
        self._zero: list[int] = []
        varies = np.ones(X.shape[1], dtype=bool)
        if sp.issparse(X):
            ranks = X.tocsc(copy=True).astype(np.float64)
            for k in range(X.shape[1]):
                column = slice(ranks.indptr[k], ranks.indptr[k + 1])
                levels = np.union1d(ranks.data[column], 0.0)
                self._keep(levels, int(np.searchsorted(levels, 0.0)))
                ranks.data[column] = np.searchsorted(levels, ranks.data[column]) - self._zero[-1]
                has_zero = column.stop - column.start < X.shape[0] or (ranks.data[column] == 0).any()
                varies[k] = len(levels) - (not has_zero) > 1
            self._features = np.flatnonzero(varies if varies.any() else ~varies)
            ranks = ranks[:, self._features].astype(np.float32)
            # Trees are grown on columns and applied to rows; scikit-learn requires 32-bit indices.
            for name in ("indices", "indptr"):
                setattr(ranks, name, getattr(ranks, name).astype(np.int32))
            self._to_grow, self._to_send = ranks, ranks.tocsr()
            return
        ranks = np.empty(X.shape, dtype=np.float32)
        for k in range(X.shape[1]):
            levels, ranks[:, k] = np.unique(X[:, k].astype(np.float64, copy=False), return_inverse=True)
            self._keep(levels, 0)
            varies[k] = len(levels) > 1
        self._features = np.flatnonzero(varies if varies.any() else ~varies)
        self._to_grow = self._to_send = ranks if varies.all() else ranks[:, self._features]

    def _keep(self, levels: np.ndarray, zero: int) -> None:
        self.levels.append(levels)
        self._zero.append(zero)

    def grow(self, tree: Any, target: np.ndarray, weight: np.ndarray) -> tuple[Trees, np.ndarray]:
        """Fit a scikit-learn tree; return it as arrays, and the leaf of every instance.

        The leaves have the value zero. Each threshold is the midpoint between two neighboring values of the
        feature: the values whose ranks are in the middle of the gap at the split.
        """
        tree.fit(self._to_grow, target, sample_weight=weight, check_input=False)
        leaf = tree.apply(self._to_send, check_input=False)
        grown = tree.tree_
        is_leaf = grown.children_left < 0
        feature = np.where(is_leaf, -1, self._features[np.where(is_leaf, 0, grown.feature)])
        threshold = np.zeros(len(feature))
        for node in np.flatnonzero(feature >= 0):
            k = feature[node]
            below = int(np.floor(grown.threshold[node])) + self._zero[k]
            threshold[node] = _between(*self.levels[k][below : below + 2])
        arrays = Trees(
            feature,
            threshold,
            grown.children_left.astype(np.int64),
            grown.children_right.astype(np.int64),
            np.zeros(len(feature)),
            np.zeros(1, dtype=np.int64),
        )
        return arrays, leaf


def split_shares(
    tree: Trees, leaf: np.ndarray, target: np.ndarray, weight: np.ndarray, n_features: int
) -> np.ndarray:
    """Return each feature's share of the reduction in squared error by the splits of a tree.

    The definition is that of scikit-learn's importances, but the sums only have positive terms. scikit-learn
    subtracts impurities, which loses all precision in leaves with a small share of the total weight.

    Parameters
    ----------
    tree, leaf : Trees, array of shape (n_instances,)
        One tree, and the leaf of every instance.
    target, weight : arrays of shape (n_instances,)
        Target and weights with which the tree was grown; every weight is positive.
    n_features : int
        Number of features.

    Returns
    -------
    array of shape (n_features,)
        The shares; zeros if no split reduced the error.
    """
    weights = np.bincount(leaf, weights=weight, minlength=tree.n_nodes)
    sums = np.bincount(leaf, weights=weight * target, minlength=tree.n_nodes)
    lowered = np.zeros(n_features)
    for node in np.flatnonzero(tree.feature >= 0)[::-1]:  # children before their parents
        both = np.array([tree.left[node], tree.right[node]])
        weights[node], sums[node] = weights[both].sum(), sums[both].sum()
        difference = np.diff(sums[both] / weights[both])[0]
        lowered[tree.feature[node]] += weights[both[0]] * (weights[both[1]] / weights[node]) * difference**2
    total = lowered.sum()
    return lowered / total if total > 0.0 else lowered


def _between(low: float, high: float) -> float:
    """Return the midpoint of two values, or the lower value if there is no floating-point number between."""
    middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low
