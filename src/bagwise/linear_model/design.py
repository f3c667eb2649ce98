"""Instances as a linear model sees them: scaled, in blocks of bags, with the sums over bags that it needs."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

# Up to this size a matrix is copied once, scaled and by columns: products with it are two to three times
# faster. Beyond, nothing is copied and every pass reads blocks of rows, each of which stays in the cache.
_COPY_BYTES = 64 * 2**20
_BLOCK_BYTES = 4 * 2**20
# Columns within these norms have products that single precision holds.
_SMALLEST, _LARGEST = 1e-12, 1e12
# Instances with less than this part of the largest weight do not count in a rough curvature.
_NEGLIGIBLE = 1e-6


class Block(NamedTuple):
    """Some bags in a row: which bags, which instances, the latter's features as stored, and their offsets."""

    bags: slice
    rows: slice
    X: np.ndarray
    offsets: np.ndarray


class Design:
    """Instances with an affine scaling: x stands for ``x * factor + shift``.

    Parameters are (coefficients of the scaled features, intercept). Large and sparse matrices are neither
    copied nor made dense: the scaling moves into the parameters on the way in and out of products with the
    matrix as it is. A small dense one is scaled in a copy ordered by columns.

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
        if not self.is_sparse and X.nbytes <= _COPY_BYTES:
            X = np.asarray(X, order="F")
            if (self.factor != 1).any() or self.shift.any():
                X = X * self.factor
                X += self.shift
            self.factor, self.shift = np.ones(n_features), np.zeros(n_features)
        self.X = X
        self.offsets = offsets
        self.fit_intercept = fit_intercept
        self._by_column: Any = X.tocsc() if self.is_sparse else None
        self.blocks = self._cut()

    def _cut(self) -> list[Block]:
        """Cut the instances into blocks of whole bags; what was copied, or is sparse, stays in one piece."""
        n_bags = len(self.offsets) - 1
        if self.is_sparse or self.X.flags.f_contiguous:
            bounds = np.array([0, n_bags])
        else:
            height = max(1, _BLOCK_BYTES // (8 * max(1, self.n_features)))
            targets = np.arange(0, self.offsets[-1], height)
            bounds = np.unique(np.append(np.searchsorted(self.offsets, targets), n_bags))
        blocks = []
        for first, last in pairwise(bounds):
            begin, end = self.offsets[first], self.offsets[last]
            rows = slice(begin, end)
            blocks.append(
                Block(slice(first, last), rows, self.X[rows], self.offsets[first : last + 1] - begin)
            )
        return blocks

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.X.shape[1]

    def narrowed(self, columns) -> Design:
        """Some of the features alone, copied; itself, if they are most, or too large for a copy."""
        is_large = not self.is_sparse and 8 * len(columns) * self.X.shape[0] > _COPY_BYTES
        if is_large or 2 * len(columns) > self.n_features:
            return self
        X = self._by_column[:, columns].tocsr() if self.is_sparse else self.X[:, columns]
        scaling = {"factor": self.factor[columns], "shift": self.shift[columns]}
        narrow = Design(X, self.offsets, **scaling, fit_intercept=self.fit_intercept)
        if not self.is_sparse:
            narrow.fits_single = self.fits_single
        return narrow

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
        """Log-odds of every instance, or of those in a block's `X`: one product with the matrix."""
        coef = theta[:-1]
        return (self.X if X is None else X) @ (coef * self.factor) + (theta[-1] + coef @ self.shift)

    def pull_back(self, by_instance: np.ndarray, X=None) -> np.ndarray:
        """Turn a derivative in those log-odds into one in the parameters: one product."""
        total = by_instance.sum()
        by_coef = self.factor * ((self.X if X is None else X).T @ by_instance) + self.shift * total
        return np.append(by_coef, total if self.fit_intercept else 0.0)

    def curvature(self, diagonal, factor, columns: np.ndarray, *, rough: bool = False) -> np.ndarray:
        """Carry curvature in the log-odds over to some of the parameters.

        Parameters
        ----------
        diagonal, factor : array of shape (n_instances,)
            The curvature in the log-odds of a bag is diag(diagonal) + factor factor' (`Rule.curvature`).
        columns : array of int, shape (k,)
            The features wanted.
        rough : bool
            Whether six digits are enough, as they are for a step of Newton's method: then the products are in
            single precision, and instances whose weight is negligible are left out.

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
        if self.is_sparse:
            moments = self._sparse_moments(diagonal, factor, columns)
        else:
            dtype = np.float32 if rough and self.fits_single else np.float64
            cut = _NEGLIGIBLE * np.abs(diagonal).max(initial=0.0) if rough else 0.0
            moments = np.zeros((len(columns) + 1, len(columns) + 1))
            for _, rows, X, offsets in self.blocks:
                _add_diagonal(moments, X, columns, diagonal[rows], cut, dtype)
                _add_outer(moments, X, columns, factor[rows], offsets, dtype)
        return self._scaled(moments, columns)

    @cached_property
    def fits_single(self) -> bool:
        """Whether single precision holds all squares of columns."""
        largest = np.max([np.abs(block.X).max(axis=0) for block in self.blocks], axis=0, initial=0.0)
        return bool(((largest == 0) | ((largest > _SMALLEST) & (largest < _LARGEST))).all())

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


def _add_diagonal(moments, X, columns, weight, cut: float, dtype) -> None:
    """Add sum_j weight_j x_j x_j', x_j the chosen columns of instance j and 1; either sign as one square."""
    from bagwise._numba.coordinate import gather_weighted

    for sign in (1.0, -1.0):
        rows = np.flatnonzero(sign * weight > cut)
        if len(rows):
            roots = np.empty((len(columns) + 1, len(rows)), dtype=dtype)
            gather_weighted(X, columns, rows, np.sqrt(np.abs(weight[rows])), roots)
            moments += sign * (roots @ roots.T)


def _add_outer(moments, X, columns, weight, offsets, dtype) -> None:
    """Add sum_i v_i v_i' over bags, where v_i = sum_j weight_j x_j over the bag's instances."""
    from bagwise._numba.coordinate import sum_over_bags

    bags = np.flatnonzero(np.logical_or.reduceat(weight != 0, offsets[:-1]))
    if len(bags):
        sums = np.empty((len(columns) + 1, len(bags)), dtype=dtype)
        sum_over_bags(X, columns, weight, offsets, bags, sums)
        moments += sums @ sums.T
