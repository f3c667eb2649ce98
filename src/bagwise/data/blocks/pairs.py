"""Every two bags: passes over pairs of blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bagwise.data.blocks.base import Block, Blocks
from bagwise.data.blocks.cutting import block_rows, cut

# From the instances and offsets of some bags, and of others, to a number, or several, for every two of them.
PairFunction = Callable[[Any, np.ndarray, Any, np.ndarray], np.ndarray]


def fill_pairs(out: np.ndarray, f: PairFunction, rows: Blocks, columns: Blocks | None = None) -> None:
    """Write a number, or several, for every bag of the rows with every bag of the columns into a matrix.

    Rows are read once, columns once for every block of the rows. Without columns both are the same bags, and
    the matrix is exactly symmetric: every two bags are looked at once.

    Parameters
    ----------
    out : array of shape (n_bags, n_other_bags) or (n_bags, n_other_bags, n_numbers)
        What is filled: it and a few blocks are all that is in memory.
    f : callable
        ``f(X, offsets, Z, other_offsets)`` gives the numbers of some bags, whose instances are `X`, with
        others: shape (n_some, n_others), or with as many numbers more as `out`. Instances are double, arrays
        or CSR, and there are no more pairs of them than numbers in a block, unless one bag has more.
    rows, columns : Blocks
        Bags anywhere.
    """
    done: set[int] = set()
    for block in rows.each(_itself):
        if not block.n_bags:
            continue
        some = block._replace(X=in_doubles(block.X))
        del block
        before = done if columns is None else None
        others = rows if columns is None else columns
        if others.is_local:
            for _ in others.each(_write, some, f, before, out):
                pass
        else:
            for found in others.each(_collect, some, f, before):
                for place, values in found:
                    _put(out, place, values)
        done.add(_first_bag(some))


def in_doubles(X: Any) -> Any:
    """Give instances of a block in double precision: products of small integers wrap without a warning."""
    return X.astype(np.float64, copy=False)


def _itself(block: Block) -> Block:
    return block


def _first_bag(block: Block) -> int:
    """A number by which a block is known."""
    bags = block.bags
    return bags.start if isinstance(bags, slice) else int(bags[0])


def _write(columns: Block, rows: Block, f: PairFunction, done: set[int] | None, out: np.ndarray) -> None:
    """Write the numbers of two blocks where they belong: so they are in memory once."""
    for place, values in _numbers(columns, rows, f, done):
        _put(out, place, values)


def _collect(columns: Block, rows: Block, f: PairFunction, done: set[int] | None) -> list[Any]:
    """Give the numbers of two blocks, for whoever has the matrix."""
    return list(_numbers(columns, rows, f, done))


def _numbers(
    columns: Block, rows: Block, f: PairFunction, done: set[int] | None
) -> Iterator[tuple[tuple[Any, Any], np.ndarray]]:
    """Give places and numbers of two blocks; of a symmetric matrix, `done` says which were rows before."""
    is_symmetric = done is not None
    if not columns.n_bags or (done is not None and _first_bag(columns) in done):
        return
    is_same = is_symmetric and _first_bag(columns) == _first_bag(rows)
    Z = in_doubles(columns.X)
    for run in cut(rows.offsets, block_rows(Z.shape[0])):
        begin = run.start if is_same else 0
        X = rows.X[rows.offsets[run.start] : rows.offsets[run.stop]]
        first = columns.offsets[begin]
        values = f(
            X,
            rows.offsets[run.start : run.stop + 1] - rows.offsets[run.start],
            Z[first:] if first else Z,
            columns.offsets[begin:] - first,
        )
        mine, theirs = _some(rows.bags, run), _some(columns.bags, slice(begin, columns.n_bags))
        if is_same:
            square = values[:, : run.stop - run.start]
            below = np.tril_indices(len(square), -1)
            square[below] = square.swapaxes(0, 1)[below]
        yield (mine, theirs), values
        if is_symmetric:
            yield (theirs, mine), values.swapaxes(0, 1)


def _some(bags: slice | np.ndarray, run: slice) -> slice | np.ndarray:
    return slice(bags.start + run.start, bags.start + run.stop) if isinstance(bags, slice) else bags[run]


def _put(out: np.ndarray, place: tuple[Any, Any], values: np.ndarray) -> None:
    rows, columns = place
    if not (isinstance(rows, slice) or isinstance(columns, slice)):
        rows = rows[:, None]
    out[rows, columns] = values
