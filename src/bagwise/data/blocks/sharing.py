"""Parallel work in threads: compiled kernels and matrix products release the global interpreter lock."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

# Thread pools are kept between calls. With new threads for every pass, the allocator would use a new arena
# per thread and not release it: tens of megabytes when many runs share passes.
_pools: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_pools.clear)


def share_out(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Return the results of `work` for all items, in order, computed by several threads.

    The number of threads is numba's ``NUMBA_NUM_THREADS``. Work outside the main thread, such as one of
    several starts or folds, is not parallelized again.
    """
    threads = min(n_threads(), len(items))
    if threads < 2:
        return [work(item) for item in items]
    results: list[Any] = [None] * len(items)
    indices = iter(range(len(items)))

    def take() -> None:
        for index in indices:
            results[index] = work(items[index])

    # The calling thread works as well, while the others start.
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
    """Return the number of threads for parallel work; 1 outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return 1
    from numba import config

    return int(config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
