"""Kernels of sets at several widths in one pass: distances are computed once, and then raised to powers."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from bagwise.data.bags import AnyBags
from bagwise.data.blocks import Block, block_rows, cut_rows, fill_pairs, in_doubles
from bagwise.similarity.bag_kernels import blocks_of
from bagwise.similarity.instance_distances import scaled_distances

# Every width is so many times narrower than the one before: k ** 4 is the kernel at four times gamma.
STEP = 4


def set_kernels_of_widths(
    bags: AnyBags, other: AnyBags | None, gamma: float, n_widths: int
) -> list[np.ndarray]:
    """Mean of a Gaussian kernel over all pairs of instances of every two bags, at several widths.

    They are those of ``set_kernel(bags, other, gamma=...)`` at gamma, 4 gamma, 16 gamma, and so on, to
    rounding, at little more than the price of one: distances and exponentials are computed once.

    Parameters
    ----------
    bags, other : Bags or ScannedBags
        Rows and columns; None for the same bags.
    gamma : float
        Of the widest kernel, exp(-gamma |x - z|^2).
    n_widths : int
        How many.

    Returns
    -------
    list of n_widths arrays of shape (n_bags, n_other)

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import load_digit_bags, set_kernel
    >>> from bagwise.similarity.widths import set_kernels_of_widths
    >>> bags = load_digit_bags(20, random_state=0).bags
    >>> _, narrow = set_kernels_of_widths(bags, None, 0.01, 2)
    >>> bool(np.allclose(narrow, set_kernel(bags, gamma=0.04)))
    True
    """
    rows = blocks_of(bags)
    columns = None if other is None else blocks_of(other)
    n_columns = rows.n_bags if columns is None else columns.n_bags
    sums = np.empty((rows.n_bags, n_columns, n_widths))
    fill_pairs(sums, partial(_sums_of_powers, gamma, n_widths), rows, columns)
    right = rows if columns is None else columns
    pairs = np.outer(np.diff(rows.offsets), np.diff(right.offsets))
    return [np.ascontiguousarray(sums[..., k]) / pairs for k in range(n_widths)]


def own_kernels_of_widths(bags: AnyBags, gamma: float, n_widths: int) -> np.ndarray:
    """Give the kernels of every bag with itself at several widths: shape (n_widths, n_bags)."""
    return blocks_of(bags).joined(_own_means, gamma, n_widths).T


def _own_means(block: Block, gamma: float, n_widths: int) -> np.ndarray:
    X, means = in_doubles(block.X), []
    for begin, end in pairwise(block.offsets):
        bag, offsets = X[begin:end], np.array([0, end - begin])
        means.append(_sums_of_powers(gamma, n_widths, bag, offsets, bag, offsets)[0, 0] / (end - begin) ** 2)
    return np.array(means)


def _sums_of_powers(
    gamma: float, n_widths: int, X: Any, offsets: np.ndarray, Z: Any, other_offsets: np.ndarray
) -> np.ndarray:
    """Sum the kernel and its powers over all pairs of every two bags: shape (n_some, n_others, n_widths)."""
    if len(offsets) > 2:
        return _of_bags(gamma, n_widths, X, offsets, Z, other_offsets)
    # One bag, and perhaps a large one.
    total = np.zeros((1, len(other_offsets) - 1, n_widths))
    for some in cut_rows(X.shape[0], block_rows(Z.shape[0])):
        inside = np.array([0, some.stop - some.start])
        total += _of_bags(gamma, n_widths, X[some], inside, Z, other_offsets)
    return total


def _of_bags(
    gamma: float, n_widths: int, X: Any, offsets: np.ndarray, Z: Any, other_offsets: np.ndarray
) -> np.ndarray:
    K = scaled_distances(X, Z, gamma)
    np.exp(np.negative(K, out=K), out=K)
    found = []
    for number in range(n_widths):
        if number:
            np.square(np.square(K, out=K), out=K)
        by_column = np.add.reduceat(K, other_offsets[:-1], axis=1)
        found.append(np.add.reduceat(by_column, offsets[:-1], axis=0))
    return np.stack(found, axis=-1)
