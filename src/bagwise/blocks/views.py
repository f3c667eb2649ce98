"""Other blocks, seen with transformed instances, other weights, or more that they carry along."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bagwise.blocks.base import Block, Blocks


class BlocksView(Blocks):
    """The blocks of another `Blocks`, each changed as it is read."""

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
        return self._blocks.each(_transformed, self._transform, f, *args)

    def total(self, f: Callable[..., Any], *args: Any) -> Any:
        """Sum ``f(block, *args)`` over all blocks: one pass."""
        return self._blocks.total(_transformed, self._transform, f, *args)


def _transformed(block: Block, transform: Callable[[Any], Any], f: Callable[..., Any], *args: Any) -> Any:
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
        return self._blocks.each(_reweighted, self.weight, f, *args)

    def total(self, f: Callable[..., Any], *args: Any) -> Any:
        """Sum ``f(block, *args)`` over all blocks: one pass."""
        return self._blocks.total(_reweighted, self.weight, f, *args)


def _reweighted(block: Block, weight: np.ndarray, f: Callable[..., Any], *args: Any) -> Any:
    return f(block._replace(weight=block.part_of(weight)), *args)


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
        self._by_instance = {"instance_weight": instance_weight, "instance_y": instance_y}
        self._by_bag = {"bag_features": bag_features}

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Give ``f(block, *args)`` of every block, in order: one pass."""
        return self._blocks.each(self._extended, f, *args)

    def total(self, f: Callable[..., Any], *args: Any) -> Any:
        """Sum ``f(block, *args)`` over all blocks: one pass."""
        return self._blocks.total(self._extended, f, *args)

    def _extended(self, block: Block, f: Callable[..., Any], *args: Any) -> Any:
        rows = block.rows(self.offsets)
        more: dict[str, Any] = {
            name: values[rows] for name, values in self._by_instance.items() if values is not None
        }
        more |= {name: block.part_of(values) for name, values in self._by_bag.items() if values is not None}
        return f(block._replace(**more), *args)
