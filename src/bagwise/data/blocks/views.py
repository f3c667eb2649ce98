"""Other blocks, seen with transformed instances, other weights, or more that they carry along."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bagwise.data.blocks.base import Block, Blocks, PerBag, PerBlock


class BlocksView(Blocks):
    """The blocks of another `Blocks`, each changed as it is read."""

    n_features: int
    n_blocks: int
    offsets: np.ndarray
    y: np.ndarray
    weight: np.ndarray

    def __init__(self, blocks: Blocks):
        self._blocks = blocks
        self.n_features, self.n_blocks = blocks.n_features, blocks.n_blocks
        self.offsets, self.y, self.weight = blocks.offsets, blocks.y, blocks.weight

    def as_seen(self, X: Any) -> Any:
        """Give instances of `untransformed` as they are seen here."""
        return self._blocks.as_seen(X)

    def alone(self, f: Callable[..., Any], *args: Any) -> Any:
        """Give ``f(*args)``, called while no other of several runs is at work."""
        return self._blocks.alone(f, *args)

    @property
    def on_block(self) -> Callable[[int], None] | None:
        """Called with the number of bags of each block that is done."""
        return self._blocks.on_block

    @on_block.setter
    def on_block(self, called: Callable[[int], None] | None) -> None:
        self._blocks.on_block = called

    @property
    def is_here(self) -> bool:  # type: ignore[override]
        """Whether passes are made in this process."""
        return self._blocks.is_here

    @property
    def n_workers(self) -> int:
        """How many workers of a cluster do the passes."""
        return self._blocks.n_workers

    @property
    def n_values(self) -> int:
        """How many numbers the instances have, as they lie."""
        return self._blocks.n_values

    @property
    def whole(self) -> Any:
        """All instances at once, if they lie in memory as they are; else None."""
        return self._blocks.whole

    @property
    def n_passes(self) -> int:  # type: ignore[override]
        """How often the instances have been read."""
        return self._blocks.n_passes


class TransformedBlocks(BlocksView):
    """Other blocks, with a transformer of instances applied to each block whenever it is read.

    Parameters
    ----------
    blocks : Blocks
        The instances as they lie.
    transform : callable
        From the instances of a block to as many new ones; no row depends on another.
    n_features : int
        How many features that gives.
    """

    def __init__(self, blocks: Blocks, transform: Callable[[Any], Any], n_features: int):
        super().__init__(blocks)
        self._transform = transform
        self.n_features = n_features

    @property
    def whole(self) -> Any:
        """None: the instances are transformed as they are read."""
        return None

    @property
    def untransformed(self) -> Blocks:
        """The blocks before any transformer."""
        return self._blocks.untransformed

    def as_seen(self, X: Any) -> Any:
        """Give instances of `untransformed` as they are seen here."""
        return self._transform(self._blocks.as_seen(X))

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Give ``f(block, *args)`` of every block, in order: one pass."""
        return self._blocks.each(_transformed, f, self._transform, *args)

    def total(self, f: Callable[..., Any], *args: Any) -> Any:
        """Sum ``f(block, *args)`` over all blocks: one pass."""
        return self._blocks.total(_transformed, f, self._transform, *args)


def _transformed(block: Block, f: Callable[..., Any], transform: Callable[[Any], Any], *args: Any) -> Any:
    return f(block._replace(X=transform(block.X)), *args)


class ReweightedBlocks(BlocksView):
    """Other blocks, with another weight for every bag; zero leaves a bag out of every sum.

    So the folds of a cross-validation can share passes over all bags.
    """

    def __init__(self, blocks: Blocks, weight: np.ndarray):
        super().__init__(blocks)
        self.weight = weight

    @property
    def untransformed(self) -> Blocks:
        """The blocks before any transformer, with these weights."""
        return ReweightedBlocks(self._blocks.untransformed, self.weight)

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Give ``f(block, *args)`` of every block, in order: one pass."""
        return self._blocks.each(_reweighted, PerBag(self.weight), f, *args)

    def total(self, f: Callable[..., Any], *args: Any) -> Any:
        """Sum ``f(block, *args)`` over all blocks: one pass."""
        return self._blocks.total(_reweighted, PerBag(self.weight), f, *args)


def _reweighted(block: Block, weight: np.ndarray, f: Callable[..., Any], *args: Any) -> Any:
    return f(block._replace(weight=weight), *args)


class ExtendedBlocks(BlocksView):
    """Other blocks, which carry more along: weights or labels of instances, features of bags.

    Parameters
    ----------
    blocks : Blocks
        Bags anywhere.
    instance_weight, instance_y : array of shape (n_instances,) or None
        A number for every instance.
    bag_features : array of shape (n_bags, n) or None
        A row for every bag.
    """

    def __init__(
        self,
        blocks: Blocks,
        *,
        instance_weight: np.ndarray | None = None,
        instance_y: np.ndarray | None = None,
        bag_features: np.ndarray | None = None,
    ):
        super().__init__(blocks)
        by_instance = {"instance_weight": instance_weight, "instance_y": instance_y}
        self._more = _More(
            {name: values for name, values in by_instance.items() if values is not None},
            {} if bag_features is None else {"bag_features": bag_features},
            blocks.offsets,
        )

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Give ``f(block, *args)`` of every block, in order: one pass."""
        return self._blocks.each(_extended, self._more, f, *args)

    def total(self, f: Callable[..., Any], *args: Any) -> Any:
        """Sum ``f(block, *args)`` over all blocks: one pass."""
        return self._blocks.total(_extended, self._more, f, *args)


class _More(PerBlock):
    """What blocks carry along, by the names that it has there."""

    def __init__(
        self, by_instance: dict[str, np.ndarray], by_bag: dict[str, np.ndarray], offsets: np.ndarray
    ):
        self._by_instance = by_instance
        self._by_bag = by_bag
        self._offsets = offsets

    def part(self, block: Block) -> dict[str, np.ndarray]:
        rows = block.rows(block.part_of(self._offsets[:-1]))
        more = {name: values[rows] for name, values in self._by_instance.items()}
        return more | {name: block.part_of(values) for name, values in self._by_bag.items()}


def _extended(block: Block, more: dict[str, Any], f: Callable[..., Any], *args: Any) -> Any:
    return f(block._replace(**more), *args)
