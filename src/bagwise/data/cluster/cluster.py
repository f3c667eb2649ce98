"""The workers of a Dask cluster: block placement, and errors when workers or the scheduler fail."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from bagwise.data.cluster.group import Group, held_on_worker

# Workers keep the blocks of the last few bag selections: usually all bags and the current fold.
_SELECTIONS_KEPT = 2
# Number of tasks per thread and pass, large enough that a slow worker does not delay the others.
TASKS_PER_THREAD = 4


class Cluster:
    """A Dask cluster that stores and processes blocks of bags.

    Parameters
    ----------
    client : distributed.Client
        The connection to the cluster.
    """

    def __init__(self, client: Any):
        from distributed import Client

        if not isinstance(client, Client):
            raise TypeError(
                f"client has the type {type(client).__name__}; expected a distributed.Client, such as "
                "Client('tcp://host:8786'), or Client() for a local cluster."
            )
        if client.asynchronous:
            raise TypeError("client is asynchronous; expected a distributed.Client with asynchronous=False.")
        self.client = client
        self._opened: OrderedDict[Hashable, OpenGroups] = OrderedDict()

    def workers(self) -> dict[str, int]:
        """Return the number of threads of each worker, as a dict with worker addresses as keys."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        return {address: about["nthreads"] for address, about in sorted(workers.items())}

    def opened(self, key: Hashable, groups: Sequence[Group]) -> OpenGroups:
        """Return the groups stored on workers under this key; if there are none, store these groups."""
        if key not in self._opened:
            self._opened[key] = OpenGroups(self, groups)
            while len(self._opened) > _SELECTIONS_KEPT:
                self._opened.popitem(last=False)
        self._opened.move_to_end(key)
        return self._opened[key]

    def results(self, futures: Sequence[Any], locations: dict[str, str]) -> list[Any]:
        """Wait for results; raise errors with explanations if workers or the scheduler fail.

        Parameters
        ----------
        futures : sequence of Future
            The futures of the results.
        locations : dict of str to str
            Descriptions of the bags of each task, by the key of the task, for error messages.
        """
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError

        try:
            return self.client.gather(list(futures))
        except KilledWorker as error:
            location = locations.get(str(error.task), "some bags")
            raise RuntimeError(
                f"{error.allowed_failures + 1} workers were killed while they processed {location}, the last "
                f"one at {error.last_worker.address}. A bag may be too large for the memory of a worker; "
                "increase memory_limit, or split the bag."
            ) from error
        except (CommClosedError, FutureCancelledError, asyncio.CancelledError, TimeoutError) as error:
            raise ConnectionError(
                f"the connection to the Dask scheduler at {self._address} was lost ({type(error).__name__}). "
                "Restart the scheduler and repeat the call; a fit with checkpoint= continues from its "
                "checkpoint."
            ) from error

    @property
    def _address(self) -> str:
        scheduler = self.client.scheduler
        return getattr(scheduler, "address", None) or "an unknown address"


class OpenGroups:
    """Groups of blocks on the workers. A group is sent to its worker on first use.

    Parameters
    ----------
    cluster : Cluster
        The Dask cluster.
    groups : sequence of Group
        The groups, one per future.
    """

    def __init__(self, cluster: Cluster, groups: Sequence[Group]):
        self._cluster = cluster
        self._groups = groups
        self._workers: list[str] = [""] * len(groups)
        self._futures: list[Any] = [None] * len(groups)

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def n_workers(self) -> int:
        """The number of workers that have groups."""
        return len(set(self._workers) - {""})

    def futures(self) -> Iterator[tuple[Any, str]]:
        """Return the future and the worker of every group, after moving groups from lost or full workers."""
        threads = self._cluster.workers()
        if not threads:
            raise ConnectionError(
                "the cluster has no workers; start workers, for example with cluster.scale(2)."
            )
        for i, worker in enumerate(assigned(self._workers, threads)):
            if worker != self._workers[i]:
                self._workers[i] = worker
                self._futures[i] = self._cluster.client.submit(
                    held_on_worker, self._groups[i], workers=[worker], allow_other_workers=True, pure=False
                )
        return zip(self._futures, self._workers, strict=True)


def assigned(workers: Sequence[str], threads: dict[str, int]) -> list[str]:
    """Assign groups to workers in proportion to their threads, and move as few groups as possible.

    Parameters
    ----------
    workers : sequence of str
        The current worker of each group. Groups of workers that are not in `threads` are assigned again.
    threads : dict of str to int
        The number of threads of each available worker.

    Examples
    --------
    >>> from bagwise.data.cluster.cluster import assigned
    >>> assigned(["", "", "", ""], {"a": 1, "b": 1})
    ['a', 'a', 'b', 'b']
    >>> assigned(["a", "a", "b", "b"], {"a": 1, "c": 1})
    ['a', 'a', 'c', 'c']
    """
    total = sum(threads.values())
    # The share of a worker is proportional to its threads; the first workers receive the remaining groups.
    shares = {name: len(workers) * n // total for name, n in threads.items()}
    for name in list(shares)[: len(workers) - sum(shares.values())]:
        shares[name] += 1
    left, result = dict(shares), []
    for name in workers:
        keeps = left.get(name, 0) > 0
        left[name] = left.get(name, 0) - keeps
        result.append(name if keeps else "")
    free = [name for name in shares for _ in range(left[name])]
    return [name or free.pop(0) for name in result]
