"""Instances as a linear model sees them: scaled without a copy, with the sums over bags that it needs."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

# Rows of bag sums held at a time, so that curvature needs no second copy of the instances.
_BLOCK_BYTES = 16 * 2**20


class Design:
    """Instances with an affine scaling that stays implicit: x stands for ``x * factor + shift``.

    Parameters are (coefficients of the scaled features, intercept). Nothing is copied or made dense: the
    scaling moves into the parameters on the way in and out of products with the matrix as it is.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_instances, n_features), float64
    offsets : array of shape (n_bags + 1,)
        Where bags start.
    factor, shift : array of shape (n_features,) or float
        The scaling.
    is_scaled : bool
        Whether `X` has been scaled so already; factor and shift then only lead back to the original features.
    fit_intercept : bool
        Whether log-odds have an intercept; without it the last parameter stays zero.
    """

    def __init__(
        self, X, offsets, *, factor=1.0, shift=0.0, is_scaled: bool = False, fit_intercept: bool = True
    ):
        self.X = X
        self.offsets = offsets
        n_features = X.shape[1]
        self._to_original = tuple(np.broadcast_to(np.asarray(v, float), n_features) for v in (factor, shift))
        self.factor, self.shift = self._to_original
        if is_scaled:
            self.factor, self.shift = np.ones(n_features), np.zeros(n_features)
        self.fit_intercept = fit_intercept
        self._by_column = X.tocsc() if sp.issparse(X) else None

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.X.shape[1]

    def to_original(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        """Coefficients and intercept for the features as they came."""
        factor, shift = self._to_original
        return theta[:-1] * factor, float(theta[-1] + theta[:-1] @ shift)

    def from_original(self, coef: np.ndarray, intercept: float) -> np.ndarray:
        """Parameters of the scaled features that mean the same."""
        factor, shift = self._to_original
        coef = coef / factor
        return np.append(coef, intercept - coef @ shift)

    def dot(self, theta: np.ndarray) -> np.ndarray:
        """Log-odds of every instance: one product with the matrix."""
        coef = theta[:-1]
        return self.X @ (coef * self.factor) + (theta[-1] + coef @ self.shift)

    def pull_back(self, by_instance: np.ndarray) -> np.ndarray:
        """Turn a derivative in the log-odds into one in the parameters: one product."""
        total = by_instance.sum()
        by_coef = self.factor * (self.X.T @ by_instance) + self.shift * total
        return np.append(by_coef, total if self.fit_intercept else 0.0)

    def curvature(self, diagonal: np.ndarray, factor: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Carry curvature in the log-odds over to some of the parameters.

        Parameters
        ----------
        diagonal, factor : array of shape (n_instances,)
            The curvature in the log-odds of a bag is diag(diagonal) + factor factor' (`Rule.curvature`).
        columns : array of int, shape (k,)
            The features wanted.

        Returns
        -------
        array of shape (k + 1, k + 1)
            The last row and column are the intercept's.

        Notes
        -----
        One read of the instances, and k^2 operations for each instance (diagonal) and for each bag (factor).
        """
        # The outer product of a bag of one instance is diagonal, and one matrix product is saved.
        single = np.repeat(np.diff(self.offsets) == 1, np.diff(self.offsets))
        diagonal = np.where(single, diagonal + np.square(factor), diagonal)
        factor = np.where(single, 0.0, factor)
        k = len(columns)
        moments = np.zeros((k + 1, k + 1))
        if diagonal.any():
            self._add_diagonal(moments, diagonal, columns)
        if factor.any():
            self._add_outer(moments, factor, columns)
        return self._scaled(moments, columns)

    def _scaled(self, raw: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Apply the scaling x * factor + shift to moments of (x, 1), instead of to the data."""
        factor, shift = self.factor[columns], self.shift[columns]
        total, last = raw[-1, -1], raw[:-1, -1] * factor
        scaled = raw.copy()
        scaled[:-1, :-1] *= np.outer(factor, factor)
        scaled[:-1, :-1] += np.outer(last, shift) + np.outer(shift, last) + total * np.outer(shift, shift)
        scaled[:-1, -1] = scaled[-1, :-1] = last + shift * total
        return scaled

    def _add_diagonal(self, moments, weight, columns) -> None:
        """Add sum_j weight_j (x_j, 1)(x_j, 1)' over all instances."""
        if self._by_column is not None:
            chosen = self._by_column[:, columns]
            moments[:-1, :-1] += (chosen.T @ chosen.multiply(weight[:, None]).tocsr()).toarray()
            moments[:-1, -1] += chosen.T @ weight
        else:
            rows = max(1, _BLOCK_BYTES // (8 * (len(columns) + 1)))
            for first in range(0, len(weight), rows):
                block = slice(first, first + rows)
                chosen = self.X[block] if len(columns) == self.n_features else self.X[block, columns]
                weighted = chosen * weight[block, None]
                moments[:-1, :-1] += weighted.T @ chosen
                moments[:-1, -1] += weighted.sum(axis=0)
        moments[-1, :-1] = moments[:-1, -1]
        moments[-1, -1] += weight.sum()

    def _add_outer(self, moments, weight, columns) -> None:
        """Add sum_i v_i v_i' over all bags, where v_i = sum_j weight_j (x_j, 1) over the bag's instances."""
        n_bags = len(self.offsets) - 1
        rows = max(1, min(n_bags, _BLOCK_BYTES // (8 * (len(columns) + 1))))
        for first in range(0, n_bags, rows):
            sums = self._bag_sums(weight, columns, first, min(first + rows, n_bags))
            moments += sums.T @ sums

    def _bag_sums(self, weight, columns, first: int, last: int) -> np.ndarray:
        if self._by_column is None:
            from bagwise._numba.coordinate import sum_weighted_rows

            sums = np.empty((last - first, len(columns) + 1))
            sum_weighted_rows(self.X, columns, weight, self.offsets, first, sums)
            return sums
        begin, end = self.offsets[first], self.offsets[last]
        # A matrix with a row per bag, whose entries are the weights of its instances.
        gather = sp.csr_array(
            (weight[begin:end], np.arange(begin, end), self.offsets[first : last + 1] - begin),
            shape=(last - first, self.X.shape[0]),
        )
        sums = (gather @ self._by_column[:, columns]).toarray()
        return np.column_stack([sums, gather.sum(axis=1)])
