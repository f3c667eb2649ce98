"""The one form that kernels are compiled for. Does not import numba."""

from __future__ import annotations

from typing import Any

import numpy as np


def readonly(*arrays: Any, dtype: Any = None) -> tuple[np.ndarray, ...]:
    """Give contiguous views that cannot be written to, as numba sees one type in them.

    numba compiles a function anew for every dtype, memory order and writability, and checks no bounds: so
    whatever goes into a kernel passes through here. Nothing is copied that has the right form already, and
    the arrays themselves stay as writable as they were.

    Parameters
    ----------
    *arrays : array-like
    dtype : dtype, default=None
        The dtype of all of them; None leaves each its own.

    Returns
    -------
    tuple of ndarray
    """
    # Solvers come here thousands of times: a list and `setflags` take two thirds of the time of other ways.
    views = [np.asarray(array, dtype, order="C").view() for array in arrays]
    for view in views:
        view.setflags(write=False)
    return tuple(views)


def refuse_other_widths(X: Any, *vectors: np.ndarray) -> None:
    """Refuse vectors over features that are not as long as the rows of `X`: kernels would read beyond them.

    No fit makes any; a model that was restored from a forged file may have them.
    """
    for vector in vectors:
        if vector.shape != (X.shape[1],):
            raise ValueError(
                f"instances have {X.shape[1]} features, but the model has an array of the shape "
                f"{vector.shape} for them; it is damaged."
            )


# What kernels that read some rows of a matrix take for all of them.
(ALL_ROWS,) = readonly(np.empty(0, dtype=np.int64))
