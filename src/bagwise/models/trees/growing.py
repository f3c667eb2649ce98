"""Trees of scikit-learn, grown on the order of values rather than on the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.models.trees.flat import Trees


class OrderedFeatures:
    """Instances with every value replaced by its place among the different values of its feature.

    A tree asks only which of two values is larger, so it loses nothing; but scikit-learn's trees work in
    single precision, which would merge neighbouring times or coordinates and overflow at 1e39. Places are
    small whole numbers. Those of sparse instances are counted from zero, which stays zero.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_instances, n_features)
        Instances to grow trees on.

    Notes
    -----
    One sort of every feature, and a copy of the instances in single precision.
    """

    def __init__(self, X: Any):
        self.levels: list[np.ndarray] = []
        self._zero: list[int] = []
        if sp.issparse(X):
            places = X.tocsc(copy=True).astype(np.float64)
            for k in range(X.shape[1]):
                column = slice(places.indptr[k], places.indptr[k + 1])
                levels = np.union1d(places.data[column], 0.0)
                self._keep(levels, int(np.searchsorted(levels, 0.0)))
                places.data[column] = np.searchsorted(levels, places.data[column]) - self._zero[-1]
            places = places.astype(np.float32)
            # Trees are grown on columns, and instances are sent through them by rows; with short indices.
            for name in ("indices", "indptr"):
                setattr(places, name, getattr(places, name).astype(np.int32))
            self._to_grow, self._to_send = places, places.tocsr()
            return
        places = np.empty(X.shape, dtype=np.float32)
        for k in range(X.shape[1]):
            levels, places[:, k] = np.unique(X[:, k].astype(np.float64, copy=False), return_inverse=True)
            self._keep(levels, 0)
        self._to_grow = self._to_send = places

    def _keep(self, levels: np.ndarray, zero: int) -> None:
        self.levels.append(levels)
        self._zero.append(zero)

    def grow(self, tree: Any, target: np.ndarray, weight: np.ndarray) -> tuple[Trees, np.ndarray]:
        """Fit a tree of scikit-learn, which stays fitted; give it as arrays, and the leaf of every instance.

        The leaves have the value zero. A threshold is half way between two neighbouring values of its
        feature: in the middle, by their order, of the gap that the tree found.
        """
        tree.fit(self._to_grow, target, sample_weight=weight, check_input=False)
        leaf = tree.apply(self._to_send, check_input=False)
        grown = tree.tree_
        feature = np.where(grown.children_left < 0, -1, grown.feature).astype(np.int64)
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
    """How much the splits by every feature lowered the squared error of a target, as shares of 1.

    As scikit-learn's importances, but from sums of positive terms: these are differences of impurities, which
    have no digits left in a leaf whose weight is small beside that of all instances.

    Parameters
    ----------
    tree, leaf : Trees, array of shape (n_instances,)
        One tree, and where it sends every instance.
    target, weight : arrays of shape (n_instances,)
        What it was grown on; every weight is positive.
    n_features : int
        The number of features.

    Returns
    -------
    array of shape (n_features,)
        Zeros if nothing was lowered.
    """
    weights = np.bincount(leaf, weights=weight, minlength=tree.n_nodes)
    sums = np.bincount(leaf, weights=weight * target, minlength=tree.n_nodes)
    lowered = np.zeros(n_features)
    for node in np.flatnonzero(tree.feature >= 0)[::-1]:  # children before their parents
        both = np.array([tree.left[node], tree.right[node]])
        weights[node], sums[node] = weights[both].sum(), sums[both].sum()
        apart = np.diff(sums[both] / weights[both])[0]
        lowered[tree.feature[node]] += weights[both[0]] * (weights[both[1]] / weights[node]) * apart**2
    total = lowered.sum()
    return lowered / total if total > 0.0 else lowered


def _between(low: float, high: float) -> float:
    """The middle of two numbers, or the lower one where there is none between them."""
    middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low
