"""Timing, and the facts about a machine that belong beside a figure."""

import gc
import os
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version

from benchmarks.libraries import adapters


def race(repeats: int = 7, **contestants: Callable[[], object]) -> dict[str, float]:
    """Time several functions in turn, round after round, and give the median seconds of each.

    Turns are taken so that a change in the machine's mood meets everybody.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for round_number in range(repeats + 1):
        for name, run in contestants.items():
            gc.collect()
            start = time.perf_counter()
            result = run()
            elapsed = time.perf_counter() - start
            del result
            if round_number > 0:  # the first round warms caches and compiles
                seconds[name].append(elapsed)
    return {name: statistics.median(times) for name, times in seconds.items()}


def environment(threads: str) -> str:
    """Describe versions, cores and threads in a sentence."""
    packages = ["bagwise", *(adapter.PACKAGE for adapter in adapters().values()), "numpy", "numba"]
    versions = ", ".join(f"{name} {version(name)}" for name in dict.fromkeys(packages))
    return (
        f"Python {platform.python_version()}, {versions}; {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} cores, {threads} thread per process. Seconds are medians over rounds; where "
        "contestants share a process, they take turns."
    )
