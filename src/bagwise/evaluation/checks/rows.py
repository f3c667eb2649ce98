"""Search for equal rows of a dense or CSR matrix by hashing, without comparing all pairs or sorting rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.evaluation.checks.data import row_blocks


def row_codes(X: Any) -> np.ndarray:
    """Return an integer code for each row; equal codes mean equal rows (in dense rows, NaN equals NaN).

    Rows are sorted by a 64-bit hash, and neighbors with equal hashes are then compared.
    """
    hashes = _hash_rows(X)
    order = np.argsort(hashes, kind="stable")
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = hashes[order[1:]] != hashes[order[:-1]]
    candidates = np.flatnonzero(~is_new)
    step = max(1, 2**20 // max(1, X.shape[1]))
    for start in range(0, len(candidates), step):
        batch = candidates[start : start + step]
        is_new[batch] = ~_rows_equal(X[order[batch]], X[order[batch - 1]])
    codes = np.empty(len(order), dtype=np.int64)
    codes[order] = np.cumsum(is_new) - 1
    return codes


def mix(bits: np.ndarray) -> np.ndarray:
    """Hash 64-bit integers in place with the finalizer of MurmurHash3; 0 stays 0."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        bits ^= bits >> np.uint64(33)
        bits *= np.uint64(factor)
    bits ^= bits >> np.uint64(33)
    return bits


def _hash_rows(X: Any) -> np.ndarray:
    """Hash every row: the sum over columns of an odd factor times the hashed value, mod 2**64.

    Values are hashed first because floats with integer values differ only in a few high bits. A zero
    contributes 0, so only the stored values of CSR rows are needed.
    """
    factors = mix(np.arange(1, X.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    out = np.empty(X.shape[0], dtype=np.uint64)
    if sp.issparse(X):
        terms = mix(_bits(X.data)) * factors[X.indices]
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
        return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    for start, block in row_blocks(X):
        terms = mix(_bits(block))
        terms *= factors
        out[start : start + len(block)] = terms.sum(axis=1, dtype=np.uint64)
    return out


def _bits(values: np.ndarray) -> np.ndarray:
    """Return the bits of the values as float64; adding 0.0 turns -0.0 into 0.0."""
    return (values.astype(np.float64) + 0.0).view(np.uint64)


def _rows_equal(A: Any, B: Any) -> np.ndarray:
    if sp.issparse(A):
        return np.diff((A != B).tocsr().indptr) == 0
    return ((A == B) | ((A != A) & (B != B))).all(axis=1)
