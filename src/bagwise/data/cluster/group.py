"""Some blocks on a worker: how they are read there, kept while memory lasts, and worked on."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bagwise._core.threads import one_blas_thread
from bagwise.data.blocks import Block, PerBlock, add_up
from bagwise.data.blocks.base import with_parts
from bagwise.data.blocks.layout import Layout

# A group that would take more than this share of a worker's memory is read anew for every pass.
_LARGEST_SHARE = 0.25


class Group:
    """Some neighbouring blocks: what to read, and on a worker the instances that have been read.

    It says that it has the size of its instances, so that Dask computes where it lies instead of moving it;
    but what is pickled are the directions alone. So a worker that runs out of memory, and would write it to
    disk, forgets the instances; and whoever gets it reads them again.

    Parameters
    ----------
    layout : Layout
        The bags of every block, and where they lie.
    dtype : dtype
        Of the instances.
    check : callable or None
        Called with instances, offsets and ids of every block that is read for the first time.
    """

    def __init__(self, layout: Layout, dtype: np.dtype, check: Callable[..., None] | None):
        self._layout = layout
        self._dtype = dtype
        self._check = check
        self._kept: list[Block] | None = None

    @property
    def nbytes(self) -> int:
        """How much memory the instances take."""
        layout = self._layout
        n_instances = int((np.diff(layout.source.offsets)[layout.bags] * layout.times).sum())
        return n_instances * layout.source.n_features * self._dtype.itemsize

    def __sizeof__(self) -> int:
        return self.nbytes

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None}

    def place(self, number: int) -> str:
        """Say for a reader where a block lies."""
        return self._layout.place(self._layout.runs[number])

    def blocks(self) -> Iterator[Block]:
        """Give every block, without labels and weights; read where it was not kept."""
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


def held_here(what: Any) -> Any:
    """Keep something on a worker: a group, of which nothing is read yet, or labels and weights."""
    return what


class Slot(PerBlock):
    """Stands where an argument has a part for every block, which comes beside the others."""

    def __init__(self, number: int):
        self.number = number


def results_of(group: Group, labels: list[Any], common: bytes, parts: list[list[Any]]) -> Iterator[Any]:
    """Give what a function says of every block of a group.

    Parameters
    ----------
    group : Group
        The blocks.
    labels : list of (array, array)
        Labels and weights of every block.
    common : bytes
        The pickled function, and its arguments after the block; slots among them are to be filled.
    parts : list of list
        What is to fill them, for every block.
    """
    f, args = pickle.loads(common)
    number = 0
    try:
        with one_blas_thread():
            for number, block in enumerate(group.blocks()):
                y, weight = labels[number]
                yield f(block._replace(y=y, weight=weight), *_filled(args, parts[number] if parts else []))
    except Exception as error:
        raise _located(error, group.place(number)) from error


def _filled(args: tuple[Any, ...], mine: list[Any]) -> tuple[Any, ...]:
    def part(slot: Any) -> Any:
        return mine[slot.number]

    return with_parts(args, part)


def sum_of_group(group: Group, labels: list[Any], common: bytes, parts: list[list[Any]]) -> Any:
    """Add up what a function says of every block of a group, by the one tree."""
    return add_up(results_of(group, labels, common, parts))


def list_of_group(group: Group, labels: list[Any], common: bytes, parts: list[list[Any]]) -> list[Any]:
    """List what a function says of every block of a group."""
    return list(results_of(group, labels, common, parts))


def _located(error: Exception, place: str) -> Exception:
    """Say where an error happened; input that is refused stays a ValueError."""
    kind = ValueError if isinstance(error, ValueError) else RuntimeError
    what = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    return kind(f"{what.rstrip('.')}. This happened in {place}.")


def _memory_of_worker() -> float:
    """How many bytes this worker may have; infinite if it has no limit, or this is no worker."""
    from distributed import get_worker

    try:
        manager = get_worker().memory_manager
    except ValueError:
        return np.inf
    return float(getattr(manager, "memory_limit", None) or np.inf)
