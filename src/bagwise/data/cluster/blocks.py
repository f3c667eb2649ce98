"""Blocks of bags in files, which cluster workers read and process."""

from __future__ import annotations

import hashlib
import pickle
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bagwise.data.blocks import FileBlocks, add_up
from bagwise.data.blocks.base import Blocks, PerBlock, Request, with_parts
from bagwise.data.cluster.cluster import TASKS_PER_THREAD, Cluster
from bagwise.data.cluster.group import Group, Slot, held_on_worker, list_of_group, sum_of_group

# Number of adjacent sums that one task adds. It must be a power of two, so that the binary tree of the sum is
# the same as without a cluster.
_FAN_IN = 8
# Above this size in bytes, a function and its arguments are sent once instead of with every task.
_LARGE_ARGUMENTS = 2**20


class ClusterBlocks(Blocks):
    """Blocks of bags in files, processed by the workers of a Dask cluster.

    The blocks are the same as in `FileBlocks`, and a task processes several consecutive blocks. Workers read
    the blocks from the files and keep them in memory if there is enough. Parameters are sent by value, and
    sums are added in the order of a fixed binary tree. Therefore results are bit-identical to those of
    `FileBlocks`, for any distribution of the tasks and after worker failures.

    Parameters
    ----------
    blocks : FileBlocks
        The bags, their labels and weights.
    cluster : Cluster
        The Dask cluster.
    """

    is_local = False

    def __init__(self, blocks: FileBlocks, cluster: Cluster):
        self._cluster = cluster
        self.n_features, self.n_blocks = blocks.n_features, blocks.n_blocks
        self.offsets, self.y, self.weight = blocks.offsets, blocks.y, blocks.weight
        self._headers = list(blocks.layout.headers())
        self._runs = _groups_of(self.n_blocks, sum(cluster.workers().values()))
        groups = [Group(blocks.layout.part(*run), blocks.dtype, blocks.check) for run in self._runs]
        self._locations = [f"{group.describe_block(0)} and the following blocks" for group in groups]
        layout = blocks.layout
        key = _digest(layout.indices, layout.bags, blocks.dtype, blocks.check, self._runs)
        self._groups = cluster.opened(key, groups)
        self._labels: list[Any] = [None] * len(groups)
        self._labels_at: list[str] = [""] * len(groups)

    @property
    def n_workers(self) -> int:
        """The number of workers that processed blocks in the last pass."""
        return self._groups.n_workers

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Yield ``f(block, *args)`` for every block, in order: one pass."""
        self.n_passes += 1
        futures, locations = self._submit(list_of_group, f, args)
        with cancelled_unless_done(self._cluster.client, futures):
            for group, future in enumerate(futures):
                (results,) = self._cluster.results([future], locations)
                futures[group] = None  # so that the worker can release the results
                self._report(group)
                yield from results

    def total(self, f: Callable[..., Any], *args: Any) -> Any:
        """Sum ``f(block, *args)`` over all blocks, in the order of a fixed binary tree: one pass."""
        self.n_passes += 1
        futures, locations = self._submit(sum_of_group, f, args)
        with cancelled_unless_done(self._cluster.client, futures):
            level = futures
            while len(level) > _FAN_IN:
                level = [
                    self._cluster.client.submit(add_up, level[i : i + _FAN_IN], pure=False)
                    for i in range(0, len(level), _FAN_IN)
                ]
            self._report_as_done(futures)
            return add_up(self._cluster.results(level, locations))

    def _submit(
        self, work: Callable[..., Any], f: Callable[..., Any], args: tuple[Any, ...]
    ) -> tuple[list[Any], dict[str, str]]:
        """Submit a function of blocks to the workers, one task per group."""
        import cloudpickle

        client = self._cluster.client
        arguments: list[PerBlock] = []

        def slot(argument: PerBlock) -> Slot:
            arguments.append(argument)
            return Slot(len(arguments) - 1)

        common: Any = cloudpickle.dumps((f, with_parts(args, slot)), protocol=pickle.HIGHEST_PROTOCOL)
        if len(common) > _LARGE_ARGUMENTS:
            common = client.submit(bytes, common, pure=False)
        name, i_pass = f"{_shown_name(f, args)}-{uuid.uuid4().hex}", self.n_passes
        futures, locations = [], {}
        for i_group, (group, worker) in enumerate(self._groups.futures()):
            run = range(*self._runs[i_group])
            parts = (
                [[per_block.part(self._headers[i]) for per_block in arguments] for i in run]
                if arguments
                else []
            )
            future = client.submit(
                work,
                group,
                self._labels_of(i_group, worker),
                common,
                parts,
                key=f"{name}-{i_pass}-{i_group}",
                workers=[worker],
                allow_other_workers=True,
            )
            futures.append(future)
            locations[str(future.key)] = locations[str(group.key)] = self._locations[i_group]
        return futures, locations

    def _labels_of(self, group: int, worker: str) -> Any:
        """Return the future of a group's labels and weights, on the worker of the group."""
        if self._labels_at[group] != worker:
            headers = [self._headers[i] for i in range(*self._runs[group])]
            labels = [(header.part_of(self.y), header.part_of(self.weight)) for header in headers]
            self._labels[group] = self._cluster.client.submit(
                held_on_worker, labels, workers=[worker], allow_other_workers=True, pure=False
            )
            self._labels_at[group] = worker
        return self._labels[group]

    def _report(self, group: int) -> None:
        if self.on_block is not None:
            for i in range(*self._runs[group]):
                self.on_block(self._headers[i].n_bags)

    def _report_as_done(self, futures: list[Any]) -> None:
        if self.on_block is None:
            return
        from distributed import as_completed

        groups = {future.key: group for group, future in enumerate(futures)}
        for future in as_completed(futures):
            self._report(groups[future.key])


def _groups_of(n_blocks: int, n_threads: int) -> list[tuple[int, int]]:
    """Split blocks into groups whose size is a power of two, so that every group is a subtree of the sum.

    Examples
    --------
    >>> from bagwise.data.cluster.blocks import _groups_of
    >>> _groups_of(11, 1)
    [(0, 2), (2, 4), (4, 6), (6, 8), (8, 10), (10, 11)]
    """
    size = 1
    while 2 * size * TASKS_PER_THREAD * max(1, n_threads) <= n_blocks:
        size *= 2
    return [(begin, min(begin + size, n_blocks)) for begin in range(0, n_blocks, size)]


def _digest(*values: Any) -> str:
    return hashlib.sha256(pickle.dumps(values)).hexdigest()


def _shown_name(f: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """Return the task name for the Dask dashboard: the function of the model, without the block views."""
    if getattr(f, "__module__", "").startswith("bagwise.data.blocks"):
        for i, argument in enumerate(args):
            if isinstance(argument, list) and argument and isinstance(argument[0], Request):
                return _shown_name(*argument[0])
            if callable(argument):
                return _shown_name(argument, args[i + 1 :])
    return _name(f)


def _name(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", type(f).__name__).strip("_").replace("_", " ")


@contextmanager
def cancelled_unless_done(client: Any, futures: list[Any]) -> Iterator[None]:
    """Cancel the tasks if the caller stops waiting for their results, for example because of an error."""
    try:
        yield
    except BaseException:
        if client.status == "running":
            client.cancel([future for future in futures if future is not None])
        raise
