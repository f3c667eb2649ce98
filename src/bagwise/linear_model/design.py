"""Instances as a linear model sees them: scaled, in blocks of bags, with the sums over bags that it needs."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from bagwise.blocks import block_rows, cut
from bagwise.linear_model.moments import Moments, diagonal_where_alone, negligible_weight

# Larger matrices are never copied, not even in part.
COPY_BYTES = 64 * 2**20
# Columns whose largest value is within these bounds have squares that single precision holds.
_SMALLEST, _LARGEST = 1e-12, 1e12


class Block(NamedTuple):
    """Some bags in a row: which bags, which instances, the latter's features as stored, and their offsets."""

    bags: slice
    rows: slice
    X: np.ndarray
    offsets: np.ndarray


class Design:
    """Instances with an affine scaling: x stands for ``x * factor + shift``.

    Parameters are (coefficients of the scaled features, intercept). The matrix is neither scaled nor made
    dense: the scaling moves into the parameters on the way in and out of products with the matrix as it is.

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
        n_features = X.shape[1]
        self._to_original = tuple(np.broadcast_to(np.asarray(v, float), n_features) for v in (factor, shift))
        self.factor, self.shift = self._to_original
        self.is_sparse = sp.issparse(X)
        if is_scaled:
            self.factor, self.shift = np.ones(n_features), np.zeros(n_features)
        self.X = X
        self.offsets = offsets
        self.fit_intercept = fit_intercept
        self._by_column: Any = X.tocsc() if self.is_sparse else None
        self.blocks = self._cut()
        self._moments = Moments()

    def _cut(self) -> list[Block]:
        """Cut the instances into blocks of whole bags; what is sparse, or by columns, stays in one piece."""
        if self.is_sparse or self.X.flags.f_contiguous:
            runs = [slice(0, len(self.offsets) - 1)]
        else:
            runs = cut(self.offsets, block_rows(self.X.shape[1]))
        blocks = []
        for bags in runs:
            rows = slice(self.offsets[bags.start], self.offsets[bags.stop])
            offsets = self.offsets[bags.start : bags.stop + 1] - rows.start
            blocks.append(Block(bags, rows, self.X[rows], offsets))
        return blocks

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.factor)

    def select(self, columns: np.ndarray) -> Design | None:
        """Some of the features alone, copied; None if they are too large for a copy."""
        X: Any
        if self.is_sparse:
            X = self._by_column[:, columns].tocsr()
        elif 8 * len(columns) * self.X.shape[0] > COPY_BYTES:
            return None
        else:
            X = np.asfortranarray(self.X[:, columns])
        factor, shift = self.factor[columns], self.shift[columns]
        return Design(X, self.offsets, factor=factor, shift=shift, fit_intercept=self.fit_intercept)

    def to_original(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        """Coefficients and intercept for the features as they came."""
        factor, shift = self._to_original
        return theta[:-1] * factor, float(theta[-1] + theta[:-1] @ shift)

    def from_original(self, coef: np.ndarray, intercept: float) -> np.ndarray:
        """Parameters of the scaled features that mean the same."""
        factor, shift = self._to_original
        coef = coef / factor
        return np.append(coef, intercept - coef @ shift)

    def dot(self, theta: np.ndarray, X=None) -> np.ndarray:
        """Log-odds of every instance, or of those in a block's `X`: one product with the matrix.

        `theta` may have one axis more, for several parameters at a time; so has the answer.
        """
        coef, X = theta[..., :-1], self.X if X is None else X
        weight = coef * self.factor
        constant = (theta[..., -1] + coef @ self.shift)[..., None]
        if not weight.any():  # as in the model without features
            return np.repeat(constant, X.shape[0], axis=-1)
        return weight @ X.T + constant

    def pull_back(self, by_instance: np.ndarray, X=None) -> np.ndarray:
        """Turn a derivative in those log-odds, or several, into one in the parameters: one product."""
        total = by_instance.sum(axis=-1, keepdims=True)
        by_column = by_instance @ (self.X if X is None else X)
        by_coef = self.factor * by_column + self.shift * total
        return np.concatenate([by_coef, total if self.fit_intercept else 0.0 * total], axis=-1)

    def curvature(self, diagonal, factor, columns: np.ndarray, *, rough: bool = False) -> np.ndarray:
        """Carry curvature in the log-odds over to some of the parameters.

        Parameters
        ----------
        diagonal, factor : array of shape (n_instances,)
            The curvature in the log-odds of a bag is diag(diagonal) + factor factor' (`Rule.curvature`).
        columns : array of int, shape (k,)
            The features wanted.
        rough : bool
            Whether two digits are enough, as they are for a step of Newton's method: then the products are in
            single precision, and instances whose weight is negligible are left out.

        Returns
        -------
        array of shape (k + 1, k + 1)
            The last row and column are the intercept's.

        Notes
        -----
        One read of the instances, and k^2 operations for each instance (diagonal) and for each bag (factor).
        """
        diagonal, factor = diagonal_where_alone(diagonal, factor, self.offsets)
        if self.is_sparse:
            return self._scaled(self._sparse_moments(diagonal, factor, columns), columns)
        negligible = negligible_weight(diagonal) if rough else 0.0
        dtype = np.float32 if rough and self._fits_single else np.float64
        moments = np.zeros((len(columns) + 1, len(columns) + 1))
        for _, rows, X, offsets in self.blocks:
            moments += self._moments.sum(
                X, columns, diagonal[rows], factor[rows], offsets, dtype=dtype, negligible=negligible
            )
        return self._scaled(moments, columns)

    @cached_property
    def _fits_single(self) -> bool:
        """Whether single precision holds all squares of columns as stored."""
        # Without a copy of absolute values.
        ends = [end for block in self.blocks for end in (block.X.max(axis=0), -block.X.min(axis=0))]
        return bool(are_moderate(np.max(ends, axis=0, initial=0.0)).all())

    def _scaled(self, raw: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Apply the scaling x * factor + shift to moments of (x, 1), instead of to the data."""
        factor, shift = self.factor[columns], self.shift[columns]
        if not shift.any():
            by = np.append(factor, 1.0)
            return raw if (by == 1).all() else raw * by * by[:, None]
        total, last = raw[-1, -1], raw[:-1, -1] * factor
        scaled = raw.copy()
        scaled[:-1, :-1] *= np.outer(factor, factor)
        scaled[:-1, :-1] += np.outer(last, shift) + np.outer(shift, last) + total * np.outer(shift, shift)
        scaled[:-1, -1] = scaled[-1, :-1] = last + shift * total
        return scaled

    def _sparse_moments(self, diagonal, factor, columns) -> np.ndarray:
        """The moments of (x, 1) under both parts of the curvature; only the result is dense."""
        ones = sp.csc_array(np.ones((self.X.shape[0], 1)))
        chosen = sp.hstack([self._by_column[:, columns], ones], format="csr")
        moments = (chosen.T @ chosen.multiply(diagonal[:, None]).tocsr()).toarray()
        # A matrix with a row per bag, whose entries are the weights of its instances.
        gather = sp.csr_array((factor, np.arange(len(factor)), self.offsets))
        sums = gather @ chosen
        return moments + (sums.T @ sums).toarray()


def are_moderate(largest: np.ndarray) -> np.ndarray:
    """Whether single precision holds the squares of columns with these largest absolute values."""
    return (largest == 0) | ((largest > _SMALLEST) & (largest < _LARGEST))
