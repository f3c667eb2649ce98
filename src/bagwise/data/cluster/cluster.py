"""The workers of a cluster: who has which blocks, and what is said when one of them fails."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from bagwise.data.cluster.group import Group, held_here

# Blocks of the last few selections of bags stay on the workers: of all, and of the fold at hand.
_SELECTIONS_KEPT = 2
# So many tasks a thread and pass: enough that a slow worker does not hold up the others.
TASKS_PER_THREAD = 4


class Cluster:
    """A Dask cluster as a place where bags lie.

    Parameters
    ----------
    client : distributed.Client
        The connection to it.
    """

    def __init__(self, client: Any):
        from distributed import Client

        if not isinstance(client, Client):
            raise TypeError(
                f"client is of type {type(client).__name__}; .on() takes a distributed.Client, for instance "
                "Client('tcp://host:8786'), or Client() for this machine."
            )
        if client.asynchronous:
            raise TypeError(
                "client is asynchronous; .on() takes a distributed.Client that waits for results."
            )
        self.client = client
        self._opened: OrderedDict[Hashable, OpenGroups] = OrderedDict()

    def workers(self) -> dict[str, int]:
        """Give the addresses of the workers, and how many threads each has."""
        found = self.client.scheduler_info(n_workers=-1)["workers"]
        return {address: about["nthreads"] for address, about in sorted(found.items())}

    def opened(self, key: Hashable, groups: Sequence[Group]) -> OpenGroups:
        """Give groups of blocks on workers: those that are there by this key, or new ones."""
        if key not in self._opened:
            self._opened[key] = OpenGroups(self, groups)
            while len(self._opened) > _SELECTIONS_KEPT:
                self._opened.popitem(last=False)
        self._opened.move_to_end(key)
        return self._opened[key]

    def results(self, futures: Sequence[Any], places: dict[str, str]) -> list[Any]:
        """Wait for results; what goes wrong on the cluster becomes a sentence.

        Parameters
        ----------
        futures : sequence of Future
            What is waited for.
        places : dict of str to str
            Where the bags of a task lie, by its key.
        """
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError

        try:
            return self.client.gather(list(futures))
        except KilledWorker as error:
            place = places.get(str(error.task), "some bags")
            raise RuntimeError(
                f"work on {place} ended {error.allowed_failures + 1} workers, the last one at "
                f"{error.last_worker.address}: is a bag too big for the memory of a worker? Give workers "
                "more memory (memory_limit), or split the bag."
            ) from error
        except (CommClosedError, FutureCancelledError, asyncio.CancelledError, TimeoutError) as error:
            raise ConnectionError(
                f"the Dask scheduler at {self._address} no longer answers ({type(error).__name__}). Start it "
                "and fit again; a fit that was given checkpoint= goes on where it was."
            ) from error

    @property
    def _address(self) -> str:
        scheduler = self.client.scheduler
        return getattr(scheduler, "address", None) or "an unknown address"


class OpenGroups:
    """Groups of blocks that workers have, or will have as soon as they are used.

    Parameters
    ----------
    cluster : Cluster
        The workers.
    groups : sequence of Group
        What each future opens.
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
        """How many workers have groups."""
        return len(set(self._workers) - {""})

    def futures(self) -> Iterator[tuple[Any, str]]:
        """Give every group and its worker; those of a worker that is gone, or has too many, get another."""
        threads = self._cluster.workers()
        if not threads:
            raise ConnectionError("the cluster has no workers; start some, or scale it: cluster.scale(2).")
        for number, worker in enumerate(assigned(self._workers, threads)):
            if worker != self._workers[number]:
                self._workers[number] = worker
                self._futures[number] = self._cluster.client.submit(
                    held_here, self._groups[number], workers=[worker], allow_other_workers=True, pure=False
                )
        return zip(self._futures, self._workers, strict=True)


def assigned(workers: Sequence[str], threads: dict[str, int]) -> list[str]:
    """Give every one of some groups a worker, by the numbers of their threads, and move few of them.

    Parameters
    ----------
    workers : sequence of str
        Who has which group now; unknown names have none.
    threads : dict of str to int
        The workers that there are.

    Examples
    --------
    >>> from bagwise.data.cluster.cluster import assigned
    >>> assigned(["", "", "", ""], {"a": 1, "b": 1})
    ['a', 'a', 'b', 'b']
    >>> assigned(["a", "a", "b", "b"], {"a": 1, "c": 1})
    ['a', 'a', 'c', 'c']
    """
    total = sum(threads.values())
    # As many as its threads are of all, the remainder one each from the first on.
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
