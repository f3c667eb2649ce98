"""Blocks that remember what passes over them gave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bagwise._core.checkpoint import CheckpointLocation
from bagwise.data.blocks import Blocks
from bagwise.data.blocks.views import BlocksView
from bagwise.persist.checkpoints.place import Checkpoint


class RecordedBlocks(BlocksView):
    """Other blocks, whose sums are kept in a checkpoint, in the order in which they were asked for.

    A fit of many bags is a few dozen passes, shared by all that runs at the same time (`run_together`), and
    little beside them. One that is resumed does all again but for the passes, whose sums it is told; so it
    knows no model, and the end has the same bits. Sums that are no plain values, such as moments, are
    computed again.
    """

    def __init__(self, blocks: Blocks, checkpoint: Checkpoint):
        super().__init__(blocks)
        self._answers = checkpoint.answers()

    @property
    def untransformed(self) -> Blocks:
        """The blocks before any transformer; passes over these are not recorded."""
        return self._blocks.untransformed

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Give ``f(block, *args)`` of every block, in order: one pass."""
        return self._blocks.each(f, *args)

    def total(self, f: Callable[..., Any], *args: Any) -> Any:
        """Sum ``f(block, *args)`` over all blocks: one pass, or none if it was made before."""
        return self._answers.ask(self._blocks.total, f, *args)


def recorded(blocks: Blocks, checkpoint: CheckpointLocation, name: str) -> Blocks:
    """Record passes over blocks that are large; over others they cost next to nothing."""
    if not isinstance(checkpoint, Checkpoint) or not blocks.are_large:
        return blocks
    return RecordedBlocks(blocks, checkpoint.within(name))
