"""Blocks whose instances pass through a transformer as they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bagwise.blocks.base import Block, Blocks


class TransformedBlocks(Blocks):
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
        self._blocks = blocks
        self._transform = transform
        self.n_features, self.n_blocks = n_features, blocks.n_blocks
        self.offsets, self.y, self.weight = blocks.offsets, blocks.y, blocks.weight

    @property
    def n_passes(self) -> int:  # type: ignore[override]
        """How often the instances have been read."""
        return self._blocks.n_passes

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Give ``f(block, *args)`` of every block, in order: one pass."""
        return self._blocks.each(_transformed, self._transform, f, *args)


def _transformed(block: Block, transform: Callable[[Any], Any], f: Callable[..., Any], *args: Any) -> Any:
    return f(block._replace(X=transform(block.X)), *args)
