"""The second waist: sums over blocks of whole bags, wherever the bags lie."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

# Beyond so many numbers (64 MB in double precision) the instances are neither copied nor read oftener than
# necessary, wherever they lie; below, a fit may hold whatever makes it fast.
LARGE = 2**23


def is_large(n_values: int) -> bool:
    """Whether instances with so many numbers are better looked at block by block."""
    return n_values > LARGE


class Block(NamedTuple):
    """Some whole bags, mostly neighbours among all.

    Attributes
    ----------
    X : array, CSR matrix or Sequences
        Their instances, in the precision in which they lie; an array is C-ordered and aligned.
    offsets : int64 array of shape (n_bags + 1,)
        Where bags begin in `X`, from 0 on.
    y : array of shape (n_bags,)
        Labels as the rule reads them: int8 classes, float64 numbers, or int64 intervals of shape (n_bags, 2).
    weight : float64 array of shape (n_bags,)
        A weight per bag.
    first : int or None
        The number of the first bag among all bags; None where these are not neighbours. Then `numbers` says
        which they are: bags that were selected from a file in any order are read in the order of the file.
    instance_weight, instance_y, bag_features : array or None
        Carried along where the data have them.
    numbers : int64 array of shape (n_bags,) or None
        The numbers of the bags among all bags, where they are not neighbours.
    """

    X: Any
    offsets: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    first: int | None = 0
    instance_weight: np.ndarray | None = None
    instance_y: np.ndarray | None = None
    bag_features: np.ndarray | None = None
    numbers: np.ndarray | None = None

    @property
    def n_bags(self) -> int:
        """The number of bags."""
        return len(self.offsets) - 1

    @property
    def weight_of_each(self) -> np.ndarray:
        """Every instance's weight, which is that of its bag."""
        return np.repeat(self.weight, np.diff(self.offsets))

    @property
    def bags(self) -> slice | np.ndarray:
        """Which of all bags these are: what selects them from an array with a row for every bag."""
        if self.first is not None:
            return slice(self.first, self.first + len(self.offsets) - 1)
        assert self.numbers is not None  # one of the two says which bags these are
        return self.numbers

    def rows(self, begins: np.ndarray) -> slice | np.ndarray:
        """Which of all instances these are, given where each of these bags begins among all instances."""
        if self.first is not None:
            begin = int(begins[0]) if len(begins) else 0
            return slice(begin, begin + int(self.offsets[-1]))
        sizes = np.diff(self.offsets)
        return np.arange(self.offsets[-1]) + np.repeat(begins - self.offsets[:-1], sizes)

    def part_of(self, by_bag: np.ndarray) -> np.ndarray:
        """What belongs to these bags in an array with a row for every bag there is."""
        return by_bag[self.bags]


class PerBlock:
    """An argument of a pass of which every block gets its own part.

    What has a value for every bag is wrapped up so (`PerBag`): where blocks are worked on elsewhere, only
    their part of it goes there.
    """

    def part(self, block: Block) -> Any:
        """Give what belongs to a block, whose instances (`X`) need not be there."""
        raise NotImplementedError


class PerBag(PerBlock):
    """An array with a row for every bag; a block gets those of its bags."""

    def __init__(self, values: np.ndarray):
        self.values = values

    def part(self, block: Block) -> np.ndarray:
        """Give the rows of the block's bags."""
        return self.values[block.bags]


class Request(NamedTuple):
    """A function of a block that is wanted, with its other arguments, when several are in one pass."""

    f: Callable[..., Any]
    args: tuple[Any, ...]


def with_parts(args: Any, part_of: Callable[[PerBlock], Any]) -> Any:
    """Put ``part_of(argument)`` in the place of every `PerBlock` among arguments, also inside requests."""
    if isinstance(args, PerBlock):
        return part_of(args)
    if isinstance(args, Request):
        return Request(args.f, with_parts(args.args, part_of))
    if type(args) in (tuple, list):
        return type(args)(with_parts(one, part_of) for one in args)
    return args


def own_parts(block: Block, args: tuple[Any, ...]) -> list[Any]:
    """Give the arguments, with the block's own part in the place of every `PerBlock` among them."""
    mine = list(args)
    for place, argument in enumerate(args):
        if isinstance(argument, PerBlock):
            mine[place] = argument.part(block)
        elif type(argument) in (tuple, list, Request):
            mine[place] = with_parts(argument, lambda one: one.part(block))
    return mine


def call(f: Callable[..., Any], block: Block, args: tuple[Any, ...]) -> Any:
    """Give ``f(block, *args)``, with the block's own part of every `PerBlock` among the arguments."""
    return f(block, *own_parts(block, args))


class Sums(tuple[Any, ...]):
    """Several sums in one: adds entry by entry."""

    def __add__(self, other: Any) -> Any:
        return Sums(mine + its for mine, its in zip(self, other, strict=True))


class Blocks(ABC):
    """Bags that may lie anywhere, in blocks that are read anew for every pass, always in the same order.

    Whatever a model needs of the data is a sum over blocks of a function of a block and a few parameters.
    What is small is known without a pass: sizes, labels and weights of bags.

    Attributes
    ----------
    n_features, n_blocks : int
        The number of features, and of blocks.
    offsets, y, weight : arrays
        Sizes (as offsets), labels and weights of all bags.
    n_passes : int
        How often the instances have been read.
    on_block : callable or None
        Called with the number of bags of each block that is done, for a display of progress.
    is_local : bool
        Whether passes are made in this process, so that a function may write into an array of the caller's.
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
        """How many workers of a cluster do the passes; 0 where there is none."""
        return 0

    @property
    def whole(self) -> Any:
        """All instances at once, if they lie in memory as they are; else None."""
        return None

    @property
    def untransformed(self) -> Blocks:
        """The blocks before any transformer that a view applies."""
        return self

    def as_seen(self, X: Any) -> Any:
        """Give instances of `untransformed` as they are seen here."""
        return X

    @abstractmethod
    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Give ``f(block, *args)`` of every block, in order: one pass.

        Of an argument that is a `PerBlock`, such as a value for every bag (`PerBag`), `f` gets the block's
        part.
        """

    def total(self, f: Callable[..., Any], *args: Any) -> Any:
        """Sum ``f(block, *args)`` over all blocks, by one fixed binary tree over their numbers: one pass.

        The results add by ``+``. So the last digits depend on where blocks begin and end, but not on where
        they lie or who computes them. `f` is a function without a memory, and what it gives does not refer to
        the block.
        """
        return add_up(self.each(f, *args))

    def joined(self, f: Callable[..., Any], *args: Any) -> Any:
        """Join what ``f(block, *args)`` gives for every block in the order of the bags: one pass.

        That is a row for every bag of the block, or for every instance; an array or a CSR matrix.
        """
        rows = JoinedRows(self.n_bags, self.n_instances)
        for place, part in self.each(_with_place, f, self.begins, *args):
            rows.add(place, part)
        return rows.joined()

    def exclusive(self, f: Callable[..., Any], *args: Any) -> Any:
        """Give ``f(*args)``, called while no other of several runs is at work: what needs much memory."""
        return f(*args)

    @property
    def begins(self) -> PerBag:
        """Where each bag begins among all instances."""
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
        """How many numbers the instances have."""
        return self.n_instances * self.n_features

    @property
    def are_large(self) -> bool:
        """Whether passes are to be few and copies avoided: the same for any place and precision."""
        return is_large(self.n_values)

    def take(self, rows: np.ndarray, dtype: Any = None) -> Any:
        """Give some instances by their numbers, which rise: one pass. A matrix may get another precision."""
        taken, places, parts = None, [], []
        for place, part in self.each(_rows_of, _Wanted(rows, self.offsets)):
            if not isinstance(part, np.ndarray):
                places.append(place)
                parts.append(part)
                continue
            if taken is None:
                taken = np.empty((len(rows), part.shape[1]), dtype=dtype or part.dtype)
            taken[place] = part
        if taken is not None:
            return taken
        place, taken = np.concatenate(places), stack(parts)
        return taken if (np.diff(place) > 0).all() else taken[np.argsort(place)]

    def sample(self, n: int, rng: np.random.RandomState) -> Any:
        """Draw `n` different instances, or give all if there are no more, in their order: one pass.

        Which ones does not depend on how the bags are cut into blocks.
        """
        return self.take(np.sort(rng.permutation(self.n_instances)[:n]))


class JoinedRows:
    """Rows of bags or of instances that come block by block, and stand in the order of the bags at the end.

    Numbers are written where they belong as they come, so that memory holds them once.
    """

    def __init__(self, n_bags: int, n_instances: int):
        self._totals = (n_bags, n_instances)
        self._level: int | None = None
        self._whole: np.ndarray | None = None
        self._waiting: list[tuple[tuple[Any, Any], Any]] = []

    def add(self, place: tuple[Any, Any], part: Any) -> None:
        """Take what belongs to some bags, or to some instances: `place` says which both are."""
        if self._level is None:
            lengths = [_length(which) for which in place]
            if lengths[0] != lengths[1] or self._totals[0] == self._totals[1]:
                self._level = lengths.index(part.shape[0])
        self._waiting.append((place, part))
        if self._level is None or not isinstance(part, np.ndarray) or part.dtype.kind not in "biuf":
            return
        if self._whole is None:
            self._whole = np.empty((self._totals[self._level], *part.shape[1:]), part.dtype)
        for where, values in self._waiting:
            self._whole[where[self._level]] = values
        self._waiting.clear()

    def joined(self) -> Any:
        """Give all rows."""
        if self._whole is not None:
            return self._whole
        joined = stack([part for _, part in self._waiting])
        level = 0 if joined.shape[0] == self._totals[0] else 1
        chosen = [place[level] for place, _ in self._waiting]
        if all(isinstance(which, slice) for which in chosen):
            return joined
        numbers = np.arange(joined.shape[0])
        return joined[np.argsort(np.concatenate([numbers[which] for which in chosen]))]


def _length(which: slice | np.ndarray) -> int:
    return which.stop - which.start if isinstance(which, slice) else len(which)


def _with_place(block: Block, f: Callable[..., Any], begins: np.ndarray, *args: Any) -> tuple[Any, Any]:
    """Give which bags and instances a block has, and what a function gives for it."""
    return (block.bags, block.rows(begins)), f(block, *args)


class _Wanted(PerBlock):
    """Some of all instances, by their numbers, which rise: their places among them, and in the block."""

    def __init__(self, rows: np.ndarray, offsets: np.ndarray):
        self._rows = rows
        self._offsets = offsets

    def part(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        mine = block.rows(block.part_of(self._offsets[:-1]))
        if isinstance(mine, slice):
            low, high = np.searchsorted(self._rows, [mine.start, mine.stop])
            return np.arange(low, high), self._rows[low:high] - mine.start
        place = np.searchsorted(self._rows, mine)
        wanted = place < len(self._rows)
        wanted[wanted] = self._rows[place[wanted]] == mine[wanted]
        return place[wanted], np.flatnonzero(wanted)


def _rows_of(block: Block, wanted: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, Any]:
    """Give which of some rows are in a block, and their instances."""
    places, rows = wanted
    return places, block.X[rows]


def stack(parts: list[Any]) -> Any:
    """Join the instances of blocks, of whatever kind."""
    if hasattr(parts[0], "concat"):  # sequences
        return type(parts[0]).concat(parts)
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")
    return np.concatenate(parts)


def add_up(parts: Iterable[Any]) -> Any:
    """Add terms by a binary tree whose shape depends on their number alone, holding few of them at a time.

    Neighbours are added as soon as both are there, as a binary counter carries.

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
        raise ValueError("there is nothing to add up: no block has been given.")
    total = waiting.pop()[1]
    while waiting:
        total = waiting.pop()[1] + total
    return total
