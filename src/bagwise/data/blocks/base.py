"""Sums over blocks of whole bags, independent of where the bags are stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

# Above this many values (64 MB in double precision), data are streamed, with few passes and no copies.
# Smaller data can be copied in memory, which makes fits faster.
LARGE = 2**23


def is_large(n_values: int) -> bool:
    """Return whether data with this many values should be processed block by block."""
    return n_values > LARGE


class Block(NamedTuple):
    """A block of whole bags, which are usually consecutive.

    Attributes
    ----------
    X : array, CSR matrix or Sequences
        The instances, in float32 if they are stored as float32, float16 or bfloat16, otherwise in float64.
        An array is C-ordered and aligned.
    offsets : int64 array of shape (n_bags + 1,)
        The start index of each bag in `X`, and the end of the last bag.
    y : array of shape (n_bags,)
        Encoded labels: int8 classes, float64 targets, or int64 intervals of shape (n_bags, 2).
    weight : float64 array of shape (n_bags,)
        A weight per bag.
    first : int or None
        The index of the first bag among all bags, or None if the bags are not consecutive. `indices` then
        contains their indices. Bags are not consecutive if they were selected from a file in a different
        order.
    instance_weight, instance_y, bag_features : array or None
        Instance weights, instance labels and bag features, if the data have them.
    indices : int64 array of shape (n_bags,) or None
        The indices of the bags among all bags, if the bags are not consecutive.
    """

    X: Any
    offsets: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    first: int | None = 0
    instance_weight: np.ndarray | None = None
    instance_y: np.ndarray | None = None
    bag_features: np.ndarray | None = None
    indices: np.ndarray | None = None

    @property
    def n_bags(self) -> int:
        """The number of bags."""
        return len(self.offsets) - 1

    @property
    def weight_of_each(self) -> np.ndarray:
        """The weight of each instance, which is the weight of its bag."""
        return np.repeat(self.weight, np.diff(self.offsets))

    @property
    def bags(self) -> slice | np.ndarray:
        """The indices of the block's bags among all bags; a slice if the bags are consecutive."""
        if self.first is not None:
            return slice(self.first, self.first + len(self.offsets) - 1)
        assert self.indices is not None  # set if the bags are not consecutive
        return self.indices

    def rows(self, begins: np.ndarray) -> slice | np.ndarray:
        """Return the indices of these instances among all instances, given the starts of their bags."""
        if self.first is not None:
            begin = int(begins[0]) if len(begins) else 0
            return slice(begin, begin + int(self.offsets[-1]))
        sizes = np.diff(self.offsets)
        return np.arange(self.offsets[-1]) + np.repeat(begins - self.offsets[:-1], sizes)

    def part_of(self, by_bag: np.ndarray) -> np.ndarray:
        """Select the rows of these bags from an array with one row per bag of the data."""
        return by_bag[self.bags]


class PerBlock:
    """Base class for pass arguments of which each block receives only its part.

    For example, `PerBag` wraps an array with a value per bag. If blocks are processed in a different process,
    only the part for these blocks is sent.
    """

    def part(self, block: Block) -> Any:
        """Return the part of a block; the block's instances (`X`) may be missing."""
        raise NotImplementedError


class PerBag(PerBlock):
    """An array with a row for every bag; a block receives the rows of its bags."""

    def __init__(self, values: np.ndarray):
        self.values = values

    def part(self, block: Block) -> np.ndarray:
        """Return the rows of the block's bags."""
        return self.values[block.bags]


class Request(NamedTuple):
    """A function of a block and its other arguments; one pass can compute several requests."""

    f: Callable[..., Any]
    args: tuple[Any, ...]


def with_parts(args: Any, part_of: Callable[[PerBlock], Any]) -> Any:
    """Replace each `PerBlock` in the arguments by ``part_of(argument)``, including those in requests."""
    if isinstance(args, PerBlock):
        return part_of(args)
    if isinstance(args, Request):
        return Request(args.f, with_parts(args.args, part_of))
    if type(args) in (tuple, list):
        return type(args)(with_parts(argument, part_of) for argument in args)
    return args


def parts_of_block(block: Block, args: tuple[Any, ...]) -> list[Any]:
    """Return the arguments with each `PerBlock` replaced by the block's part of it."""
    mine = list(args)
    for i, argument in enumerate(args):
        if isinstance(argument, PerBlock):
            mine[i] = argument.part(block)
        elif type(argument) in (tuple, list, Request):
            mine[i] = with_parts(argument, lambda inner: inner.part(block))
    return mine


def call(f: Callable[..., Any], block: Block, args: tuple[Any, ...]) -> Any:
    """Return ``f(block, *args)``, with each `PerBlock` argument replaced by the block's part of it."""
    return f(block, *parts_of_block(block, args))


class Sums(tuple[Any, ...]):
    """A tuple of sums; adding two tuples adds their entries."""

    def __add__(self, other: Any) -> Any:
        return Sums(mine + its for mine, its in zip(self, other, strict=True))


class Blocks(ABC):
    """Base class of bags in blocks, which every pass reads in the same order, from any storage.

    Models use data only through sums over blocks. Each term is a function of one block and a few parameters.
    Bag sizes, labels and weights are in memory and do not require a pass.

    Attributes
    ----------
    n_features, n_blocks : int
        The number of features and the number of blocks.
    offsets, y, weight : arrays
        Offsets, labels and weights of all bags.
    n_passes : int
        The number of times the instances have been read.
    on_block : callable or None
        Callback for progress bars, called with the number of bags of each finished block.
    is_local : bool
        Whether passes run in this process, so that a function may write into an array of the caller.
    """

    n_features: int
    n_blocks: int
    offsets: np.ndarray
    y: np.ndarray
    weight: np.ndarray

    n_passes: int = 0
    on_block: Callable[[int], None] | None = None
    is_local: bool = True

    @property
    def n_workers(self) -> int:
        """The number of cluster workers that compute the passes; 0 without a cluster."""
        return 0

    @property
    def whole(self) -> Any:
        """All instances if they are in memory in this form, otherwise None."""
        return None

    @property
    def untransformed(self) -> Blocks:
        """The blocks without the transformers of a view."""
        return self

    def as_seen(self, X: Any) -> Any:
        """Apply the transformers of this view to instances of `untransformed`."""
        return X

    @abstractmethod
    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Yield ``f(block, *args)`` for every block, in order: one pass.

        If an argument is a `PerBlock`, such as a value per bag (`PerBag`), `f` receives only the block's
        part.
        """

    def total(self, f: Callable[..., Any], *args: Any) -> Any:
        """Sum ``f(block, *args)`` over all blocks, in the order of a fixed binary tree: one pass.

        The results are added with ``+``. Because of the fixed order, rounding depends on the block
        boundaries, but not on where blocks are stored or which worker computes them. `f` must be stateless,
        and its result must not refer to the block's arrays.
        """
        return add_up(self.each(f, *args))

    def joined(self, f: Callable[..., Any], *args: Any) -> Any:
        """Concatenate the results of ``f(block, *args)`` in the order of the bags: one pass.

        `f` returns an array or a CSR matrix with one row per bag of the block, or one row per instance.
        """
        rows = JoinedRows(self.n_bags, self.n_instances)
        for indices, part in self.each(_with_indices, f, self.begins, *args):
            rows.add(indices, part)
        return rows.joined()

    def exclusive(self, f: Callable[..., Any], *args: Any) -> Any:
        """Return ``f(*args)``, computed while other concurrent runs are paused, for memory-hungry steps."""
        return f(*args)

    @property
    def begins(self) -> PerBag:
        """The start index of each bag among all instances."""
        return PerBag(self.offsets[:-1])

    @property
    def n_bags(self) -> int:
        """The number of bags."""
        return len(self.offsets) - 1

    @property
    def n_instances(self) -> int:
        """The number of instances."""
        return int(self.offsets[-1])

    @property
    def n_values(self) -> int:
        """The number of values of all instances."""
        return self.n_instances * self.n_features

    @property
    def are_large(self) -> bool:
        """Whether to avoid passes and copies; independent of the storage and the precision."""
        return is_large(self.n_values)

    def take(self, rows: np.ndarray, dtype: Any = None) -> Any:
        """Return the instances with these increasing indices, as `dtype` if they are an array: one pass."""
        taken, all_positions, parts = None, [], []
        for positions, part in self.each(_rows_of, _Wanted(rows, self.offsets)):
            if not isinstance(part, np.ndarray):
                all_positions.append(positions)
                parts.append(part)
                continue
            if taken is None:
                taken = np.empty((len(rows), part.shape[1]), dtype=dtype or part.dtype)
            taken[positions] = part
        if taken is not None:
            return taken
        positions, taken = np.concatenate(all_positions), stack(parts)
        return taken if (np.diff(positions) > 0).all() else taken[np.argsort(positions)]

    def sample(self, n: int, rng: np.random.RandomState) -> Any:
        """Draw `n` instances without replacement, and return them in order: one pass.

        All instances are returned if there are fewer than `n`. The sample does not depend on the block
        boundaries.
        """
        return self.take(np.sort(rng.permutation(self.n_instances)[:n]))


class JoinedRows:
    """Collects rows of bags or instances block by block and joins them in the order of the bags.

    Rows of numeric arrays are written directly into the result, so that they are in memory only once.
    """

    def __init__(self, n_bags: int, n_instances: int):
        self._totals = (n_bags, n_instances)
        self._level: int | None = None
        self._whole: np.ndarray | None = None
        self._waiting: list[tuple[tuple[Any, Any], Any]] = []

    def add(self, indices: tuple[Any, Any], part: Any) -> None:
        """Add the rows of a block; `indices` contains the indices of its bags and of its instances."""
        if self._level is None:
            lengths = [_length(selected) for selected in indices]
            if lengths[0] != lengths[1] or self._totals[0] == self._totals[1]:
                self._level = lengths.index(part.shape[0])
        self._waiting.append((indices, part))
        if self._level is None or not isinstance(part, np.ndarray) or part.dtype.kind not in "biuf":
            return
        if self._whole is None:
            self._whole = np.empty((self._totals[self._level], *part.shape[1:]), part.dtype)
        for block_indices, values in self._waiting:
            self._whole[block_indices[self._level]] = values
        self._waiting.clear()

    def joined(self) -> Any:
        """Return all rows."""
        if self._whole is not None:
            return self._whole
        joined = stack([part for _, part in self._waiting])
        level = 0 if joined.shape[0] == self._totals[0] else 1
        chosen = [indices[level] for indices, _ in self._waiting]
        if all(isinstance(selected, slice) for selected in chosen):
            return joined
        positions = np.arange(joined.shape[0])
        return joined[np.argsort(np.concatenate([positions[selected] for selected in chosen]))]


def _length(selected: slice | np.ndarray) -> int:
    return selected.stop - selected.start if isinstance(selected, slice) else len(selected)


def _with_indices(block: Block, f: Callable[..., Any], begins: np.ndarray, *args: Any) -> tuple[Any, Any]:
    """Return the bag and instance indices of a block, and the result of a function for it."""
    return (block.bags, block.rows(begins)), f(block, *args)


class _Wanted(PerBlock):
    """Requested instances (increasing indices); a part contains positions in the request and block rows."""

    def __init__(self, rows: np.ndarray, offsets: np.ndarray):
        self._rows = rows
        self._offsets = offsets

    def part(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        mine = block.rows(block.part_of(self._offsets[:-1]))
        if isinstance(mine, slice):
            low, high = np.searchsorted(self._rows, [mine.start, mine.stop])
            return np.arange(low, high), self._rows[low:high] - mine.start
        positions = np.searchsorted(self._rows, mine)
        wanted = positions < len(self._rows)
        wanted[wanted] = self._rows[positions[wanted]] == mine[wanted]
        return positions[wanted], np.flatnonzero(wanted)


def _rows_of(block: Block, wanted: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, Any]:
    """Return the positions in the request of the rows in a block, and their instances."""
    positions, rows = wanted
    return positions, block.X[rows]


def stack(parts: list[Any]) -> Any:
    """Concatenate the instances of blocks: arrays, CSR matrices or `Sequences`."""
    if hasattr(parts[0], "concat"):  # sequences
        return type(parts[0]).concat(parts)
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")
    return np.concatenate(parts)


def add_up(parts: Iterable[Any]) -> Any:
    """Add terms in the order of a binary tree whose shape depends only on the number of terms.

    As in a binary counter, adjacent terms are added as soon as both are available, so only a few partial sums
    are in memory.

    Examples
    --------
    >>> from bagwise.data.blocks import add_up
    >>> add_up(["(a", "b)", "(c", "d)", "e"])
    '(ab)(cd)e'
    """
    waiting: list[tuple[int, Any]] = []
    for part in parts:
        height = 0
        while waiting and waiting[-1][0] == height:
            part = waiting.pop()[1] + part
            height += 1
        waiting.append((height, part))
    if not waiting:
        raise ValueError("cannot sum over zero blocks.")
    total = waiting.pop()[1]
    while waiting:
        total = waiting.pop()[1] + total
    return total
