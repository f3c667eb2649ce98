"""Work for several threads: compiled kernels and products of matrices release the interpreter's lock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any


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
    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(take) for _ in range(threads - 1)]
        take()
        for other in others:
            other.result()
    return results


def n_threads() -> int:
    """How many threads work may be shared out to; one in any thread but the main one."""
    if threading.current_thread() is not threading.main_thread():
        return 1
    from numba import config

    return int(config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
