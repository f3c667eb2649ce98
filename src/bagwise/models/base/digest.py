"""A digest of what a fit learned from: whether two models go back to the same bags."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.data.bags import Bags
from bagwise.data.blocks import is_large
from bagwise.data.scanned import ScannedBags
from bagwise.data.sequences import Sequences

# So many numbers at either end are looked at: a quarter of a megabyte, which takes a fraction of a
# millisecond.
_END = 2**15


def training_digest(bags: Bags | ScannedBags, y: np.ndarray, weight: np.ndarray) -> str:
    """Digest all sizes, labels and weights of bags, and the instances at both ends: 32 hexadecimal digits.

    The ends are the first and the last bags with up to 2^15 numbers each, so that small data are covered
    whole; of large ones (more than 2^23 numbers) they are the first and the last bag, because bags
    that were selected from a file in any order may lie anywhere. So this costs next to nothing, and is the
    same in memory and in files; what it does not see is a change of instances in the middle of much data.

    Parameters
    ----------
    bags : Bags or ScannedBags
        As `read_bags` gives them.
    y : array
        Labels as the model reads them, with their classes or without.
    weight : array of shape (n_bags,)
        Weights of the bags, without those of classes.
    """
    state = sha256()
    sizes = np.asarray(bags.sizes, dtype=np.int64)
    for array in (np.array([len(sizes), bags.n_features]), sizes, y, weight):
        _add(state, array)
    offsets = np.append(0, np.cumsum(sizes))
    n_rows = 0 if is_large(int(offsets[-1]) * bags.n_features) else _END // max(1, bags.n_features)
    stop = max(1, int(np.searchsorted(offsets, n_rows, side="right")) - 1)
    start = min(len(sizes) - 1, int(np.searchsorted(offsets, offsets[-1] - n_rows)))
    ends = [slice(0, stop), slice(start, len(sizes))] if stop < start else [slice(0, len(sizes))]
    for end in ends:
        _add(state, _instances(bags, end))
    return state.hexdigest()[:32]


def _instances(bags: Bags | ScannedBags, end: slice) -> Any:
    if isinstance(bags, ScannedBags):
        # In the precision in which its blocks are read, which is that of bags in memory.
        return bags[end].load().instances.astype(bags.dtype, copy=False)
    return bags[end].instances


def _add(state: Any, values: Any) -> None:
    """Add arrays with their kind and shape, so that one cannot be taken for two."""
    if isinstance(values, Sequences):
        parts = [values.symbols, values.offsets]
    elif sp.issparse(values):
        parts = [values.data, values.indices.astype(np.int64), values.indptr.astype(np.int64)]
    else:
        parts = [np.asarray(values)]
    for part in parts:
        state.update(f"{part.dtype.str}{part.shape}".encode())
        state.update(np.ascontiguousarray(part).data if part.size else b"")
