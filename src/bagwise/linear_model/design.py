"""Instances as a linear model sees them: scaled, in blocks of bags, with the sums over bags that it needs."""

from __future__ import annotations

from copy import copy
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from bagwise.linear_model.single import SingleCopy, are_moderate

# Every pass over the instances reads blocks of rows, each of which stays in the cache. Nothing is copied but
# matrices up to a size, once, in single precision, scaled and by columns: for steps and curvature.
_BLOCK_BYTES = 8 * 2**20
_COPY_BYTES = 64 * 2**20
# Instances with less than this part of the mean weight do not count in a rough curvature.
_NEGLIGIBLE = 0.1
# So many positive and negative terms of a curvature are added at a time: what is gathered stays in the cache.
_PAIRS = 1024


class Block(NamedTuple):
    """Some bags in a row: which bags, which instances, the latter's features as stored, and their offsets."""

    bags: slice
    rows: slice
    X: np.ndarray
    offsets: np.ndarray


class WorkSpace:
    """Memory that is kept: fresh memory costs as much as what is done in it. What is never used is free."""

    def __init__(self, most: int):
        self._most = most
        self._kept = np.empty(0)

    def get(self, dtype, *shape: int) -> np.ndarray:
        """An array with no particular contents."""
        size = int(np.prod(shape))
        if self._kept.dtype != dtype or len(self._kept) < size:
            self._kept = np.empty(max(size, self._most), dtype=dtype)
        return self._kept[:size].reshape(shape)


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
        self._stored: np.ndarray | None = None  # where the features are among the columns of X; None: all are
        self.offsets = offsets
        self.fit_intercept = fit_intercept
        self._by_column: Any = X.tocsc() if self.is_sparse else None
        self.blocks = self._cut()
        self._work_space = WorkSpace(2 * _PAIRS * (n_features + 1))

    def _cut(self) -> list[Block]:
        """Cut the instances into blocks of whole bags; what is sparse, or by columns, stays in one piece."""
        n_bags = len(self.offsets) - 1
        if self.is_sparse or self.X.flags.f_contiguous:
            bounds = np.array([0, n_bags])
        else:
            height = max(1, _BLOCK_BYTES // (8 * max(1, self.X.shape[1])))
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
        return len(self.factor)

    def narrowed(self, columns) -> Design:
        """Some of the features alone; itself, if they are most, or too large for a copy."""
        size = 8 * len(columns) * self.X.shape[0]
        if (not self.is_sparse and size > _COPY_BYTES) or 2 * len(columns) > self.n_features:
            return self
        single = None if self.single is None else self.single.narrowed(columns)
        chosen = self._among_stored(columns)
        if single is not None and single.is_worth_steps:
            # Products in double precision are rare then, and not worth a copy in that.
            narrow = copy(self)
            narrow._stored = chosen
            narrow.factor, narrow.shift = self.factor[columns], self.shift[columns]
        else:
            X = self._by_column[:, chosen].tocsr() if self.is_sparse else np.asfortranarray(self.X[:, chosen])
            scaling = {"factor": self.factor[columns], "shift": self.shift[columns]}
            narrow = Design(X, self.offsets, **scaling, fit_intercept=self.fit_intercept)
            narrow._work_space = self._work_space
            if single is None and not self.is_sparse:
                narrow.fits_single = self.fits_single
        narrow.single = single
        return narrow

    def in_double(self) -> Design:
        """The same without a copy in single precision."""
        double = copy(self)
        double.single = None
        return double

    def _among_stored(self, columns) -> np.ndarray:
        return np.asarray(columns, dtype=np.int64) if self._stored is None else self._stored[columns]

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
        if self._stored is not None:
            weight, scaled = np.zeros((*theta.shape[:-1], X.shape[1])), weight
            weight[..., self._stored] = scaled
        return weight @ X.T + constant

    def pull_back(self, by_instance: np.ndarray, X=None) -> np.ndarray:
        """Turn a derivative in those log-odds, or several, into one in the parameters: one product."""
        total = by_instance.sum(axis=-1, keepdims=True)
        by_column = by_instance @ (self.X if X is None else X)
        if self._stored is not None:
            by_column = by_column[..., self._stored]
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
        # The outer product of a bag of one instance is diagonal, and one matrix product is saved.
        is_alone = np.diff(self.offsets) == 1
        if is_alone.any():
            alone = np.repeat(is_alone, np.diff(self.offsets))
            diagonal = np.where(alone, diagonal + np.square(factor), diagonal)
            factor = np.where(alone, 0.0, factor)
        if self.is_sparse:
            return self._scaled(self._sparse_moments(diagonal, factor, columns), columns)
        cut = _NEGLIGIBLE * np.abs(diagonal).sum() / len(diagonal) if rough else 0.0
        moments = np.zeros((len(columns) + 1, len(columns) + 1))
        if rough and self.single is not None:
            space = partial(self._work_space.get, np.float32)
            X, chosen = self.single.matrix.T, self.single.columns[columns]
            _add_diagonal(moments, X, chosen, diagonal, cut, space)
            _add_outer(moments, X, chosen, factor, self.offsets, space)
            return moments
        space = partial(self._work_space.get, np.float32 if rough and self.fits_single else np.float64)
        for _, rows, X, offsets in self.blocks:
            _add_diagonal(moments, X, self._among_stored(columns), diagonal[rows], cut, space)
            _add_outer(moments, X, self._among_stored(columns), factor[rows], offsets, space)
        return self._scaled(moments, columns)

    @cached_property
    def fits_single(self) -> bool:
        """Whether single precision holds all squares of columns as stored."""
        # Without a copy of absolute values.
        ends = [end for block in self.blocks for end in (block.X.max(axis=0), -block.X.min(axis=0))]
        return bool(are_moderate(np.max(ends, axis=0, initial=0.0)).all())

    @cached_property
    def single(self) -> SingleCopy | None:
        """The scaled features in single precision, if they are neither sparse nor large."""
        is_small = not self.is_sparse and self.X.nbytes <= _COPY_BYTES
        return SingleCopy.of(self.X, self.factor, self.shift) if is_small else None

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


def _add_diagonal(moments, X, columns, weight, cut: float, space) -> None:
    """Add sum_j weight_j x_j x_j', x_j the chosen columns of instance j and 1.

    With roots u of the positive terms and v of the negative ones this is u u' - v v', the symmetric part of
    (u + v) (u - v)': one product of matrices instead of two.
    """
    from bagwise._numba.coordinate import gather_pairs

    above, below = np.flatnonzero(weight > cut), np.flatnonzero(weight < -cut)
    total = np.zeros_like(moments)
    for begin in range(0, max(len(above), len(below)), _PAIRS):
        u, v = above[begin : begin + _PAIRS], below[begin : begin + _PAIRS]
        # Without negative terms both factors are one array, whose product takes half the time.
        both = space(2 if len(v) else 1, len(columns) + 1, max(len(u), len(v)))
        sums, differences = both[0], both[-1]
        roots = [np.sqrt(np.abs(weight[rows])).astype(sums.dtype) for rows in (u, v)]
        gather_pairs(X, columns, u, v, *roots, sums, differences)
        total += sums @ differences.T
    moments += 0.5 * (total + total.T)


def _add_outer(moments, X, columns, weight, offsets, space) -> None:
    """Add sum_i v_i v_i' over bags, where v_i = sum_j weight_j x_j over the bag's instances."""
    from bagwise._numba.coordinate import sum_over_bags

    bags = np.flatnonzero(np.logical_or.reduceat(weight != 0, offsets[:-1]))
    if len(bags):
        sums = space(len(columns) + 1, len(bags))
        sum_over_bags(X, columns, weight.astype(sums.dtype), offsets, bags, sums)
        moments += sums @ sums.T
