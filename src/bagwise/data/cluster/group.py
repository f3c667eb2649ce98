"""Groups of blocks on a worker: reading, caching in memory, and computing."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bagwise._core.threads import one_blas_thread
from bagwise.data.blocks import Block, PerBlock, add_up
from bagwise.data.blocks.base import with_parts
from bagwise.data.blocks.layout import Layout

# A group that needs more than this fraction of a worker's memory is read again in every pass.
_LARGEST_SHARE = 0.25


class Group:
    """Consecutive blocks: the layout for reading and, on a worker, the instances that were read so far.

    The reported size includes the instances, so that Dask computes on the worker of the group instead of
    moving the group. Pickles contain only the layout, without the instances. If a worker has too little
    memory and spills the group to disk, the instances are dropped and read again later.

    Parameters
    ----------
    layout : Layout
        The bags of every block, and their location in the files.
    dtype : dtype
        Data type of the instances.
    check : callable or None
        Function that is called with instances, offsets and ids of every block that is read for the first
        time. It raises an error for invalid data.
    """

    def __init__(self, layout: Layout, dtype: np.dtype, check: Callable[..., None] | None):
        self._layout = layout
        self._dtype = dtype
        self._check = check
        self._kept: list[Block] | None = None

    @property
    def nbytes(self) -> int:
        """The size of the instances in bytes."""
        layout = self._layout
        n_instances = int((np.diff(layout.source.offsets)[layout.bags] * layout.times).sum())
        return n_instances * layout.source.n_features * self._dtype.itemsize

    def __sizeof__(self) -> int:
        return self.nbytes

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None}

    def describe_block(self, index: int) -> str:
        """Describe the location of a block, for error messages."""
        return self._layout.describe_block(self._layout.runs[index])

    def blocks(self) -> Iterator[Block]:
        """Yield every block without labels and weights, from memory or from the files."""
        self._layout.source.refuse_change()
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[Block] | None = [] if self.nbytes <= _LARGEST_SHARE * _memory_of_worker() else None
        for block in self._layout.read(self._layout.runs, self._dtype, check=self._check):
            if kept is not None:
                kept.append(block)
            yield block
        self._kept, self._check = kept, None


def held_on_worker(data: Any) -> Any:
    """Return the argument, an unread group or labels and weights, so that the task stores it on a worker."""
    return data


class Slot(PerBlock):
    """A placeholder for an argument with one part per block; the parts are sent separately."""

    def __init__(self, index: int):
        self.index = index


def results_of(group: Group, labels: list[Any], common: bytes, parts: list[list[Any]]) -> Iterator[Any]:
    """Yield the results of a function for every block of a group.

    Parameters
    ----------
    group : Group
        The blocks.
    labels : list of (array, array)
        Labels and weights of every block.
    common : bytes
        The pickled function and its arguments after the block, which can contain slots.
    parts : list of list
        The values of the slots, for every block.
    """
    f, args = pickle.loads(common)
    index = 0
    try:
        with one_blas_thread():
            for index, block in enumerate(group.blocks()):
                y, weight = labels[index]
                yield f(block._replace(y=y, weight=weight), *_filled(args, parts[index] if parts else []))
    except Exception as error:
        raise _located(error, group.describe_block(index)) from error


def _filled(args: tuple[Any, ...], mine: list[Any]) -> tuple[Any, ...]:
    def part(slot: Any) -> Any:
        return mine[slot.index]

    return with_parts(args, part)


def sum_of_group(group: Group, labels: list[Any], common: bytes, parts: list[list[Any]]) -> Any:
    """Sum the results of a function for every block of a group, in the order of the binary tree."""
    return add_up(results_of(group, labels, common, parts))


def list_of_group(group: Group, labels: list[Any], common: bytes, parts: list[list[Any]]) -> list[Any]:
    """Return the results of a function for every block of a group as a list."""
    return list(results_of(group, labels, common, parts))


def _located(error: Exception, location: str) -> Exception:
    """Add the location to an error. A ValueError keeps its type, because it reports invalid data."""
    kind = ValueError if isinstance(error, ValueError) else RuntimeError
    message = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    return kind(f"{message.rstrip('.')}. The error occurred in {location}.")


def _memory_of_worker() -> float:
    """Return the memory limit of this worker in bytes; infinite without a limit or outside a worker."""
    from distributed import get_worker

    try:
        manager = get_worker().memory_manager
    except ValueError:
        return np.inf
    return float(getattr(manager, "memory_limit", None) or np.inf)
