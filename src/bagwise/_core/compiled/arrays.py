"""Conversion of arrays to the single form that kernels are compiled for. Does not import numba."""

from __future__ import annotations

from typing import Any

import numpy as np


def readonly(*arrays: Any, dtype: Any = None) -> tuple[np.ndarray, ...]:
    """Return read-only contiguous views of arrays, so that numba compiles a kernel for one type only.

    numba compiles a function again for every dtype, memory order and writability, and it does not check
    bounds. All arguments of kernels are therefore converted by this function. Arrays that already have the
    right form are not copied, and the arrays themselves stay writable.

    Parameters
    ----------
    *arrays : array-like
    dtype : dtype, default=None
        The dtype to convert all arrays to; None keeps the dtype of each array.

    Returns
    -------
    tuple of ndarray
    """
    # Solvers call this thousands of times; a list and `setflags` are a third faster than the alternatives.
    views = [np.asarray(array, dtype, order="C").view() for array in arrays]
    for view in views:
        view.setflags(write=False)
    return tuple(views)


def refuse_other_widths(X: Any, *vectors: np.ndarray) -> None:
    """Raise a ValueError unless all vectors have one entry per feature of `X`.

    Kernels would read beyond the end of a shorter vector. No fit creates such a vector, but a model that is
    loaded from a forged file may contain one.
    """
    for vector in vectors:
        if vector.shape != (X.shape[1],):
            raise ValueError(
                f"the model is damaged: instances have {X.shape[1]} features, but an array of the model with "
                f"one value per feature has shape {vector.shape}."
            )


# Row indices that represent all rows, for kernels that read selected rows of a matrix.
(ALL_ROWS,) = readonly(np.empty(0, dtype=np.int64))
