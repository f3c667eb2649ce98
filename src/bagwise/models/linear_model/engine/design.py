"""Instances of a linear model: implicit scaling without a copy, and products with parameters.

`make_design` prepares instances in memory, and `scaled_blocks` prepares blocks of instances in any location.
The scaling is implicit: `Scaling` applies it to the parameters instead of the data. Products read the
instances in their stored format: dense in single or double precision, or sparse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._core.compiled.arrays import readonly, refuse_other_widths
from bagwise._core.precision import to_compute
from bagwise.data.blocks import Blocks, SelectColumns, TransformedBlocks
from bagwise.models.base import affine_map, varying_features

# Larger matrices are never copied, not even partially.
COPY_BYTES = 64 * 2**20
# If the mean of a feature is more than this many standard deviations from zero, the instances are scaled
# explicitly.
_LARGEST_SHIFT = 1e4


class Scaling:
    """Affine scaling of features, ``x * factor + shift``, and log-odds of the scaled features.

    Parameters are (coefficients of the scaled features, intercept). Instances are neither scaled nor made
    dense: the scaling is applied to the parameters before a product, and to the result of a product.

    Parameters
    ----------
    n_features : int
        Number of features with a coefficient.
    factor, shift : array of shape (n_features,) or float
        The scaling.
    varies : array of bool or None
        Mask of these features among the original ones; None if all original features have a coefficient. The
        other features are constant, and their coefficients are zero.
    is_scaled : bool
        Whether the instances have already been scaled. `factor` and `shift` are then only used to convert
        parameters to the original features.
    fit_intercept : bool
        Whether log-odds have an intercept. Without an intercept, the last parameter remains zero.
    """

    def __init__(
        self,
        n_features: int,
        *,
        factor: np.ndarray | float = 1.0,
        shift: np.ndarray | float = 0.0,
        varies: np.ndarray | None = None,
        is_scaled: bool = False,
        fit_intercept: bool = True,
    ):
        self.n_features = n_features
        self.factor = np.broadcast_to(np.asarray(factor, float), n_features)
        self.shift = np.broadcast_to(np.asarray(shift, float), n_features)
        self._to_original = self.factor, self.shift
        self._varies = varies
        if is_scaled:
            self.factor, self.shift = np.ones(n_features), np.zeros(n_features)
        self.fit_intercept = fit_intercept

    def to_original(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        """Return coefficients and intercept for the original features."""
        factor, shift = self._to_original
        coef = theta[:-1] * factor
        if self._varies is not None:
            coef, varying = np.zeros(len(self._varies)), coef
            coef[self._varies] = varying
        return coef, float(theta[-1] + theta[:-1] @ shift)

    def from_original(self, coef: np.ndarray, intercept: float) -> np.ndarray:
        """Return the equivalent parameters for the scaled features."""
        factor, shift = self._to_original
        if self._varies is not None:
            coef = coef[self._varies]
        coef = np.divide(coef, factor, out=np.zeros(self.n_features), where=factor != 0)
        return np.append(coef, intercept - coef @ shift)

    def for_stored(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients and constants for the instances as they are stored, without the scaling."""
        coef = theta[..., :-1]
        return coef * self.factor, theta[..., -1] + coef @ self.shift

    def dot(self, theta: np.ndarray, X: Any) -> np.ndarray:
        """Compute the log-odds of every instance with one matrix product.

        `theta` may contain several parameter vectors as rows; the result then has one row for each of them.
        """
        return log_odds_of(X, *self.for_stored(theta))

    def pull_back(self, by_instance: np.ndarray, X: Any) -> np.ndarray:
        """Convert derivatives in the log-odds to derivatives in the parameters, with one product."""
        return self.gradient_of(sums_over_instances(by_instance, X), by_instance.sum(axis=-1))

    def gradient_of(self, by_column: np.ndarray, total: np.ndarray | float) -> np.ndarray:
        """Convert derivatives in the stored features' coefficients and a constant to the parameters."""
        total = np.asarray(total)[..., None]
        by_coef = self.factor * by_column + self.shift * total
        return np.concatenate([by_coef, total if self.fit_intercept else 0.0 * total], axis=-1)

    def scale_moments(self, raw: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Apply the scaling to the moments of (x, 1) in these columns, instead of to the data."""
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


class Design(Scaling):
    """Scaled instances in memory.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_instances, n_features)
        The instances; a sparse matrix is in double precision.
    offsets : array of shape (n_bags + 1,)
        Index of the first instance of every bag.
    **scaling
        Parameters of `Scaling`.
    """

    is_sparse: Any

    def __init__(self, X: Any, offsets: np.ndarray, **scaling: Any):
        super().__init__(X.shape[1], **scaling)
        self.X = X
        self.offsets = offsets
        self.is_sparse = sp.issparse(X)
        self._by_column: Any = X.tocsc() if self.is_sparse else None

    def select(self, columns: np.ndarray) -> Design | None:
        """Return a copy with only these features, or None if the copy would be too large."""
        X: Any
        if self.is_sparse:
            X = self._by_column[:, columns].tocsr()
        elif 8 * len(columns) * self.X.shape[0] > COPY_BYTES:
            return None
        else:
            X = np.asfortranarray(self.X[:, columns], dtype=np.float64)
        factor, shift = self.factor[columns], self.shift[columns]
        return Design(X, self.offsets, factor=factor, shift=shift, fit_intercept=self.fit_intercept)


# ---------------------------------------------------------------------- from a fitted scaler


def make_design(X: Any, offsets: np.ndarray, scaler: Any, *, fit_intercept: bool = True) -> Design:
    """Prepare instances in memory for a linear model, in single or double precision."""
    transform, scaling = _ways_to_scale(scaler, fit_intercept=fit_intercept)
    X = X if transform is None else transform(X)
    if sp.issparse(X):
        return Design(X.astype(np.float64, copy=False), offsets, **scaling)
    if X.dtype not in (np.float32, np.float64):
        X = to_compute(X)
    return Design(np.ascontiguousarray(X), offsets, **scaling)


def scaled_blocks(blocks: Blocks, scaler: Any, *, fit_intercept: bool = True) -> tuple[Blocks, Scaling]:
    """Prepare blocks for a linear model, without changing their precision."""
    transform, scaling = _ways_to_scale(scaler, fit_intercept=fit_intercept)
    if transform is not None:
        n_features = transform(np.zeros((1, blocks.n_features))).shape[1]
        blocks = TransformedBlocks(blocks, transform, n_features)
    return blocks, Scaling(blocks.n_features, **scaling)


def _ways_to_scale(scaler: Any, *, fit_intercept: bool) -> tuple[Callable[[Any], Any] | None, dict[str, Any]]:
    """Return the transformer for instances that need explicit scaling, or None, and the implicit scaling."""
    affine = affine_map(scaler)
    if affine is not None and not fit_intercept:
        affine = affine[0], 0.0  # a shift of the features would be an intercept
    # If the mean is much larger than the spread, x * factor + shift loses digits by cancellation.
    is_scaled = affine is None or np.abs(affine[1]).max(initial=0.0) > _LARGEST_SHIFT
    transform = scaler.transform if is_scaled else None
    factor, shift = affine or (1.0, 0.0)
    varies = varying_features(scaler) if affine is None or not np.all(factor) else None
    if varies is not None:
        factor, shift = (
            np.broadcast_to(factor, len(varies))[varies],
            np.broadcast_to(shift, len(varies))[varies],
        )
        transform = SelectColumns(np.flatnonzero(varies), transform)
    scaling = {"factor": factor, "shift": shift, "varies": varies, "is_scaled": is_scaled}
    return transform, {**scaling, "fit_intercept": fit_intercept}


# ---------------------------------------------------------------------- products with instances


def log_odds_of(X: Any, coef: np.ndarray, constant: np.ndarray) -> np.ndarray:
    """Return ``coef @ X.T + constant``: shape (n_instances,), or (n, n_instances) for n rows of coefficients.

    Instances in single precision are not copied to double precision, but sums are computed in double
    precision.
    """
    if not coef.any():  # as in the model without features
        return np.repeat(constant[..., None], X.shape[0], axis=-1)
    if not _is_single(X):
        return coef @ X.T + constant[..., None]
    if coef.ndim > 1:
        return np.array([log_odds_of(X, *row) for row in zip(coef, constant, strict=True)])
    from bagwise._core.compiled.rows import row_products

    refuse_other_widths(X, coef)
    log_odds = np.empty(X.shape[0])
    row_products(*readonly(X, coef), float(constant), log_odds)
    return log_odds


def sums_over_instances(by_instance: np.ndarray, X: Any) -> np.ndarray:
    """Return ``by_instance @ X``: shape (n_features,), or (n, n_features) for n rows."""
    if not _is_single(X):
        return by_instance @ X
    if by_instance.ndim > 1:
        return np.array([sums_over_instances(row, X) for row in by_instance])
    from bagwise._core.compiled.rows import column_products

    sums = np.empty(X.shape[1])
    column_products(*readonly(X, by_instance), sums)
    return sums


def _is_single(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.dtype == np.float32 and X.flags.c_contiguous
