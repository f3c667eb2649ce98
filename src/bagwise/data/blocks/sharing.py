"""Work for several threads: compiled kernels and products of matrices release the interpreter's lock."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

# Kept between calls. New threads for every pass would each take memory from another of the allocator's
# arenas, which keep it: tens of megabytes where many runs share passes.
_pools: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_pools.clear)


def share_out(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Give the results of `work` for all items, in their order, whoever computed them.

    Threads are as many as numba was told to use. Work that already runs in a thread of its own, such as one
    of several starts or folds, is not divided again.
    """
    threads = min(n_threads(), len(items))
    if threads < 2:
        return [work(item) for item in items]
    results: list[Any] = [None] * len(items)
    numbers = iter(range(len(items)))

    def take() -> None:
        for number in numbers:
            results[number] = work(items[number])

    # This thread is one of them: it is at work while the others start.
    pool = _pools.get(threads) or _pools.setdefault(threads, ThreadPoolExecutor(threads - 1))
    others = [pool.submit(take) for _ in range(threads - 1)]
    try:
        take()
    finally:
        wait(others)
    for other in others:
        other.result()
    return results


def n_threads() -> int:
    """How many threads work may be shared out to; one in any thread but the main one."""
    if threading.current_thread() is not threading.main_thread():
        return 1
    from numba import config

    return int(config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
