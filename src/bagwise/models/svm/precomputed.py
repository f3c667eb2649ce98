"""Kernels that are computed beforehand: checked, numbered, and looked up."""

from __future__ import annotations

import numpy as np

from bagwise.data.bags import Bags
from bagwise.data.blocks import block_rows, cut_rows

_NUMBER = "number of the training instance"


def number_columns(bags: Bags) -> Bags:
    """Refuse kernels that are not those of all instances with each other; else number the instances.

    The numbers stay with the instances through every selection, and say which column is theirs.
    """
    K, n = bags.instances, bags.n_instances
    if K.shape != (n, n):
        raise ValueError(
            f"X has {n} instances with {K.shape[1]} values each, but kernel='precomputed' learns from the "
            f"kernels of all training instances with each other, {n} a row; for cross-validation by bags "
            "pass KernelBags, which cut both ways."
        )
    largest = 0.0
    for rows in cut_rows(n, block_rows(n)):
        largest = max(largest, float(np.abs(K[rows] - K[:, rows].T).max()))
    if largest > 1e-6 * float(np.abs(K).max()):
        raise ValueError(
            f"X is no kernel matrix: kernel='precomputed' needs a symmetric one, and two values that should "
            f"be equal differ by {largest:.2g}; give k(x, z) of all training instances with each other."
        )
    return Bags(
        K.astype(np.float64, copy=False),
        bags.offsets,
        ids=bags.ids,
        instance_columns={_NUMBER: np.arange(n)},
    )


def column_numbers(bags: Bags) -> np.ndarray:
    """Column of each instance of bags that `number_columns` numbered, perhaps without some since."""
    return bags.instance_columns[_NUMBER]


class KernelLookup:
    """A kernel of instance *numbers*, each in a column of its own, from the rows of a matrix.

    Parameters
    ----------
    matrix : array of shape (n_instances, n_columns)
        The rows of some instances.
    numbers : array of shape (n_instances,)
        Which instances these are.
    """

    place: np.ndarray

    def __init__(self, matrix: np.ndarray, numbers: np.ndarray):
        self.matrix = matrix
        self.place = np.full(matrix.shape[1], -1)
        self.place[numbers] = np.arange(len(numbers))

    def __call__(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Kernel matrix of two columns of instance numbers."""
        rows, columns = rows[:, 0].astype(np.int64), columns[:, 0].astype(np.int64)
        return self.matrix[np.ix_(self.place[rows], columns)]
