"""Instances as a linear model sees them: scaled, with the sums over bags that it needs."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.models.linear_model.engine.products import log_odds_of, sums_over_instances

# Larger matrices are never copied, not even in part.
COPY_BYTES = 64 * 2**20


class Scaling:
    """An affine scaling of features, x standing for ``x * factor + shift``, and log-odds of the scaled.

    Parameters are (coefficients of the scaled features, intercept). Instances are neither scaled nor made
    dense: the scaling moves into the parameters on the way in and out of products with them as they are.

    Parameters
    ----------
    n_features : int
    factor, shift : array of shape (n_features,) or float
        The scaling.
    is_scaled : bool
        Whether instances have been scaled so already; factor and shift then only lead back to the original
        features.
    fit_intercept : bool
        Whether log-odds have an intercept; without it the last parameter stays zero.
    """

    factor: np.ndarray
    shift: np.ndarray

    def __init__(
        self,
        n_features: int,
        *,
        factor: np.ndarray | float = 1.0,
        shift: np.ndarray | float = 0.0,
        is_scaled: bool = False,
        fit_intercept: bool = True,
    ):
        self._to_original = tuple(np.broadcast_to(np.asarray(v, float), n_features) for v in (factor, shift))
        self.factor, self.shift = self._to_original
        if is_scaled:
            self.factor, self.shift = np.ones(n_features), np.zeros(n_features)
        self.fit_intercept = fit_intercept

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.factor)

    def to_original(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        """Coefficients and intercept for the features as they came."""
        factor, shift = self._to_original
        return theta[:-1] * factor, float(theta[-1] + theta[:-1] @ shift)

    def from_original(self, coef: np.ndarray, intercept: float) -> np.ndarray:
        """Parameters of the scaled features that mean the same."""
        factor, shift = self._to_original
        coef = coef / factor
        return np.append(coef, intercept - coef @ shift)

    def dot(self, theta: np.ndarray, X: Any) -> np.ndarray:
        """Log-odds of every instance: one product with the matrix.

        `theta` may have one axis more, for several parameters at a time; so has the answer.
        """
        coef = theta[..., :-1]
        return log_odds_of(X, coef * self.factor, theta[..., -1] + coef @ self.shift)

    def pull_back(self, by_instance: np.ndarray, X: Any) -> np.ndarray:
        """Turn a derivative in those log-odds, or several, into one in the parameters: one product."""
        total = by_instance.sum(axis=-1, keepdims=True)
        by_coef = self.factor * sums_over_instances(by_instance, X) + self.shift * total
        return np.concatenate([by_coef, total if self.fit_intercept else 0.0 * total], axis=-1)

    def scale_moments(self, raw: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Apply the scaling to moments of (x, 1) in some columns, instead of to the data."""
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
    """Instances in memory, scaled.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_instances, n_features), float64
    offsets : array of shape (n_bags + 1,)
        Where bags start.
    how : dict
        As in `Scaling`.
    """

    is_sparse: Any

    def __init__(self, X: Any, offsets: np.ndarray, **how: Any):
        super().__init__(X.shape[1], **how)
        self.X = X
        self.offsets = offsets
        self.is_sparse = sp.issparse(X)
        self._by_column: Any = X.tocsc() if self.is_sparse else None

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

    def dot(self, theta: np.ndarray, X: Any = None) -> np.ndarray:
        """Log-odds of every instance, or of those in `X`."""
        return super().dot(theta, self.X if X is None else X)

    def pull_back(self, by_instance: np.ndarray, X: Any = None) -> np.ndarray:
        """Turn derivatives in log-odds of all instances, or of those in `X`, into some in the parameters."""
        return super().pull_back(by_instance, self.X if X is None else X)
