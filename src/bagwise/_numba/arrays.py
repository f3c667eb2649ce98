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


# What kernels that read some rows of a matrix take for all of them.
(ALL_ROWS,) = readonly(np.empty(0, dtype=np.int64))
