"""Tools shared by the benchmarks: timing, memory, processes, and a description of the environment.

``python -m benchmarks`` measures wall-clock time, so that parallel work counts. ``--compare`` measures two
versions of the package by processor time, which depends less on other programs. In this case, `COMPARING` is
true in every process of a benchmark, peers are not run, and large problems are smaller.
"""

import gc
import json
import math
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from benchmarks.libraries import adapters

COMPARE_VARIABLE = "BAGWISE_BENCHMARKS_COMPARE"
COMPARING = COMPARE_VARIABLE in os.environ
_BATCH = 0.05  # seconds: faster functions are called several times per measurement
_ENOUGH = 0.5  # seconds for each function in one process, if versions are compared


class Figure(str):
    """A bagwise time or memory value in a table: the text to print, and the value for ``--compare``."""

    kind: str
    value: float

    def __new__(cls, text: str, kind: str, value: float) -> Self:
        """Return the text with its exact value; `kind` is "time" (in seconds) or "memory" (in MB)."""
        figure = super().__new__(cls, text)
        figure.kind, figure.value = kind, float(value)
        return figure


def seconds(value: float, digits: int = 2) -> Figure:
    """Return a bagwise time, printed in seconds."""
    return Figure(f"{value:.{digits}f}", "time", value)


def milliseconds(value: float, digits: int = 1) -> Figure:
    """Return a bagwise time (in seconds), printed in milliseconds."""
    return Figure(f"{1e3 * value:.{digits}f}", "time", value)


def megabytes(value: float) -> Figure:
    """Return a bagwise memory value, in MB."""
    return Figure(f"{value:.0f}", "memory", value)


def pick(full: Any, small: Any) -> Any:
    """Return the size of a problem that takes minutes: `full`, or `small` if versions are compared."""
    return small if COMPARING else full


class Stopwatch:
    """Measure the seconds of a ``with`` block: wall-clock time, or processor time with child processes."""

    def __init__(self, processor: bool = COMPARING):
        self._processor = processor

    def __enter__(self) -> Self:
        if self._processor:
            self._children = _seconds_of_children()
        self._start = self._now()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = self._now() - self._start
        if self._processor:
            self.seconds += _seconds_of_children() - self._children

    def _now(self) -> float:
        return time.process_time() if self._processor else time.perf_counter()


def _seconds_of_children() -> float:
    """Return the processor time of child processes, running (if psutil is installed) or ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = ended.ru_utime + ended.ru_stime
    with suppress(ImportError):
        import psutil

        for child in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                total += sum(child.cpu_times()[:4])  # includes its ended child processes
    return total


def race(
    repeats: int = 7,
    *,
    peers: dict[str, Callable[[], object]] | None = None,
    processor: bool = COMPARING,
    **ours: Callable[[], object],
) -> dict[str, float]:
    """Time several functions, each once per round, and return the seconds of each by name.

    The functions alternate, so that changes in system load affect all of them. A function that takes less
    than 50 ms is called several times per measurement.

    Parameters
    ----------
    repeats : int, default=7
        Number of rounds, after a first round that compiles and fills caches. If versions are compared, each
        function is measured for about half a second.
    peers : dict of functions
        Functions from other libraries. If versions are compared, they are not run, and their time is NaN.
    processor : bool
        Whether to return the smallest processor time instead of the median wall-clock time. By default, true
        if versions are compared.
    **ours : functions
        Functions from bagwise.
    """
    peers = peers or {}
    contestants = list((ours if COMPARING else ours | peers).items())
    times: dict[str, list[float]] = {name: [] for name, _ in contestants}
    calls: dict[str, int] = {}
    for i in range(repeats + 1):
        for name, run in contestants if i % 2 else reversed(contestants):
            if i == 0:
                run()
                continue
            if COMPARING and sum(times[name]) * calls.get(name, 1) > _ENOUGH:
                continue
            gc.collect()
            if name not in calls:
                with Stopwatch(processor) as watch:
                    run()
                calls[name] = max(1, min(10_000, math.ceil(_BATCH / max(watch.seconds, 1e-9))))
                if calls[name] == 1:
                    times[name].append(watch.seconds)
                    continue
            with Stopwatch(processor) as watch:
                for _ in range(calls[name]):
                    run()
            times[name].append(watch.seconds / calls[name])
    summary = min if processor else statistics.median
    return dict.fromkeys(peers, math.nan) | {name: summary(values) for name, values in times.items()}


def in_process(module: str, *arguments: object, **environment: str) -> Any:
    """Run ``python -m module arguments`` in a new process, and return its JSON output."""
    command = [sys.executable, "-W", "ignore", "-m", module, *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(command[4:])} failed:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def begin_peak() -> float:
    """Reset the peak memory of this process (Linux only), and return its current memory in MB."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:
        return peak()


def peak() -> float:
    """Return the peak memory of this process since `begin_peak`, in MB."""
    # On Linux, a process inherits ru_maxrss from its parent process, so ru_maxrss is not usable.
    try:
        return _status("VmHWM")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # bytes on macOS


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def traced_peak(run: Callable[[], object]) -> float:
    """Return the peak memory of Python objects and arrays during a call, in MB."""
    tracemalloc.start()
    run()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / 1e6


def private(name: str) -> Any:
    """Return a private function or class from bagwise by name; its module may differ between versions."""
    import bagwise

    folder = Path(bagwise.__path__[0])
    for file in sorted(folder.rglob("*.py")):
        if re.search(rf"^(def|class) {name}\b", file.read_text(encoding="utf-8"), re.MULTILINE):
            module = ".".join(file.relative_to(folder.parent).with_suffix("").parts)
            return getattr(import_module(module.removesuffix(".__init__")), name)
    raise AttributeError(f"bagwise defines no {name!r}")


def environment(threads: str) -> str:
    """Return a sentence with the versions, cores and threads."""
    packages = ["bagwise", *(adapter.PACKAGE for adapter in adapters().values()), "numpy", "numba"]
    versions = ", ".join(f"{name} {version(name)}" for name in dict.fromkeys(packages))
    return (
        f"Python {platform.python_version()}, {versions}; {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} cores, {threads} thread per process."
    )
