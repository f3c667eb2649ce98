"""Values for pairs of bags, such as kernels and distances, computed by passes over pairs of blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bagwise.data.blocks.base import Block, Blocks
from bagwise.data.blocks.cutting import block_rows, cut

# A function of the instances and offsets of two groups of bags; it returns one or more values per pair.
PairFunction = Callable[[Any, np.ndarray, Any, np.ndarray], np.ndarray]


def fill_pairs(out: np.ndarray, f: PairFunction, rows: Blocks, columns: Blocks | None = None) -> None:
    """Fill a matrix with the values of `f` for every row bag and every column bag.

    The rows are read once, and the columns once per block of the rows. Without `columns`, rows and columns
    are the same bags. Then every pair is computed once, and the matrix is exactly symmetric.

    Parameters
    ----------
    out : array of shape (n_bags, n_other_bags) or (n_bags, n_other_bags, n_numbers)
        The matrix to fill. Only this matrix and a few blocks are in memory.
    f : callable
        ``f(X, offsets, Z, other_offsets)`` returns the values for all pairs of two groups of bags with the
        instances `X` and `Z`. Its result has the shape (n_bags_of_X, n_bags_of_Z), with a third axis if `out`
        has one. Instances are arrays or CSR matrices in double precision. The number of instance pairs is at
        most the number of values in a block, unless a single bag has more.
    rows, columns : Blocks
        Blocks of bags in any storage.
    """
    done: set[int] = set()
    for block in rows.each(_itself):
        if not block.n_bags:
            continue
        part = block._replace(X=in_doubles(block.X))
        del block
        before = done if columns is None else None
        others = rows if columns is None else columns
        if others.is_local:
            for _ in others.each(_write, part, f, before, out):
                pass
        else:
            for results in others.each(_collect, part, f, before):
                for position, values in results:
                    _put(out, position, values)
        done.add(_first_bag(part))


def in_doubles(X: Any) -> Any:
    """Convert the instances of a block to double precision, because products of small integers overflow."""
    return X.astype(np.float64, copy=False)


def _itself(block: Block) -> Block:
    return block


def _first_bag(block: Block) -> int:
    """Return the index of the block's first bag, which identifies the block."""
    bags = block.bags
    return bags.start if isinstance(bags, slice) else int(bags[0])


def _write(columns: Block, rows: Block, f: PairFunction, done: set[int] | None, out: np.ndarray) -> None:
    """Write the values for two blocks directly into the matrix, without a second copy in memory."""
    for position, values in _pair_values(columns, rows, f, done):
        _put(out, position, values)


def _collect(columns: Block, rows: Block, f: PairFunction, done: set[int] | None) -> list[Any]:
    """Return the values for two blocks, for passes that run in a different process."""
    return list(_pair_values(columns, rows, f, done))


def _pair_values(
    columns: Block, rows: Block, f: PairFunction, done: set[int] | None
) -> Iterator[tuple[tuple[Any, Any], np.ndarray]]:
    """Yield positions and values for two blocks.

    For a symmetric matrix, `done` contains the blocks that are finished as rows. Otherwise `done` = None.
    """
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
        mine, theirs = _select_run(rows.bags, run), _select_run(columns.bags, slice(begin, columns.n_bags))
        if is_same:
            square = values[:, : run.stop - run.start]
            below = np.tril_indices(len(square), -1)
            square[below] = square.swapaxes(0, 1)[below]
        yield (mine, theirs), values
        if is_symmetric:
            yield (theirs, mine), values.swapaxes(0, 1)


def _select_run(bags: slice | np.ndarray, run: slice) -> slice | np.ndarray:
    return slice(bags.start + run.start, bags.start + run.stop) if isinstance(bags, slice) else bags[run]


def _put(out: np.ndarray, position: tuple[Any, Any], values: np.ndarray) -> None:
    rows, columns = position
    if not (isinstance(rows, slice) or isinstance(columns, slice)):
        rows = rows[:, None]
    out[rows, columns] = values
