"""An order of bags and instances that follows from their values, for fits in which ties go by order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from bagwise.data.bags import Bags


class Ordered(NamedTuple):
    """Bags in an order of their own, whatever order they came in.

    Attributes
    ----------
    bags : Bags
        The bags; their instances rise, feature by feature, and so do the bags, instance by instance.
    numbers : array of shape (n_bags,)
        Which of the given bags each is.
    rows : array of shape (n_instances,)
        Which of the given instances each is.
    """

    bags: Bags
    numbers: np.ndarray
    rows: np.ndarray


def in_canonical_order(bags: Bags) -> Ordered:
    """Sort the instances of every bag, and the bags, by their values; only bags of equal ones stay as given.

    What is then computed is the same to the last bit for every order of bags and instances. The cost is that
    of `row_ranks`.
    """
    rank = row_ranks(bags.instances)
    rows = np.lexsort((rank, bags.bag_index))
    by_bag = [tuple(rank[rows[begin:end]]) for begin, end in pairwise(bags.offsets.tolist())]
    numbers = np.array(sorted(range(len(bags)), key=by_bag.__getitem__), dtype=np.int64)
    rows = np.concatenate([rows[bags.offsets[i] : bags.offsets[i + 1]] for i in numbers])
    offsets = np.append(0, np.cumsum(bags.sizes[numbers]))
    return Ordered(Bags(bags.instances[rows], offsets), numbers, rows)


def row_ranks(X: Any) -> np.ndarray:
    """How many rows come before each, compared feature by feature; equal rows share a rank.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, n_features)
        The rows.

    Returns
    -------
    int64 array of shape (n,)
        O(n log n) for every feature, or stored entry, up to the one that tells all rows apart.

    Examples
    --------
    >>> from bagwise.models.base.canonical import row_ranks
    >>> import numpy as np
    >>> row_ranks(np.array([[1.0, 5.0], [0.0, 7.0], [1.0, -2.0], [0.0, 7.0]]))
    array([3, 0, 2, 0])
    """
    rank, tied = np.zeros(X.shape[0], dtype=np.int64), np.arange(X.shape[0])
    for values_of in _entries(X) if sp.issparse(X) else _columns(X):
        if not len(tied):
            break
        value, old = values_of(tied), rank[tied]
        order = np.lexsort((value, old))
        value, old, tied = value[order], old[order], tied[order]
        place = np.arange(len(tied))
        is_group = np.append(True, old[1:] != old[:-1])
        is_part = is_group | np.append(True, value[1:] != value[:-1])
        group, part = (np.maximum.accumulate(np.where(begins, place, 0)) for begins in (is_group, is_part))
        rank[tied] = old + part - group
        is_alone = is_part & np.append(is_part[1:], True)
        tied = tied[~is_alone]
    return rank


def _columns(X: np.ndarray) -> Iterator[Callable[[np.ndarray], np.ndarray]]:
    for column in X.T:
        yield column.__getitem__


def _entries(X: Any) -> Iterator[Callable[[np.ndarray], np.ndarray]]:
    """Where the next stored entry of rows is, then what it is, in the order that dense rows have.

    A negative entry comes before the zeros of other rows, the sooner the farther left it stands; a positive
    one after them.
    """
    X = sp.csr_array(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    first, count = X.indptr[:-1], np.diff(X.indptr)
    for step in range(int(count.max(initial=0))):

        def entry(rows: np.ndarray, step: int = step) -> tuple[np.ndarray, np.ndarray]:
            is_there = count[rows] > step
            at = np.where(is_there, first[rows] + step, 0)
            return np.where(is_there, X.indices[at], 0), np.where(is_there, X.data[at], 0)

        def place(rows: np.ndarray, entry: Callable[..., Any] = entry) -> np.ndarray:
            column, number = entry(rows)
            return np.sign(number).astype(np.int64) * (X.shape[1] - column.astype(np.int64))

        def value(rows: np.ndarray, entry: Callable[..., Any] = entry) -> np.ndarray:
            return entry(rows)[1]

        yield place
        yield value
