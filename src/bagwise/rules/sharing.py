"""Blocks of bags for several threads: kernels release the interpreter's lock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

# Work of a block, in cells of about a nanosecond: long beside the start of a thread, and short beside a fit.
BLOCK_CELLS = 2_000_000


def cut_blocks(cells: np.ndarray) -> list[slice]:
    """Cut bags into consecutive blocks of about `BLOCK_CELLS` cells; `cells` is the work of every bag."""
    number = (np.cumsum(cells) - cells) // BLOCK_CELLS
    borders = np.flatnonzero(np.diff(number, prepend=-1, append=np.inf))
    return [slice(int(a), int(b)) for a, b in pairwise(borders)]


def share_out(work: Callable, items: Sequence) -> list:
    """Give the results of `work` for all items, in their order, whoever computed them.

    Threads are as many as numba was told to use. Work that already runs in a thread of its own, such as one
    of several starts or folds, is not divided again.
    """
    from numba import config

    threads = min(config.NUMBA_NUM_THREADS, len(items))  # type: ignore[attr-defined]
    if threads < 2 or threading.current_thread() is not threading.main_thread():
        return [work(item) for item in items]
    results: list = [None] * len(items)
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
