"""Memory checks for matrices of all pairs, before they are allocated."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np


def available_memory(root: Path = Path("/")) -> float:
    """Return the bytes of memory that this process can still allocate; inf if the system does not report it.

    This is the smallest of the available memory of the computer, the limits of the control groups of the
    process (as in containers), and the limit of its address space, each minus what is already used. On
    systems without ``/proc``, it is the physical memory.

    Parameters
    ----------
    root : path
        Folder that contains ``proc`` and ``sys``.
    """
    limits = [np.inf, *_group_limits(root)]
    with suppress(AttributeError, ValueError, OSError):
        limits.append(float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    with suppress(OSError, ValueError):
        _, name, after = (root / "proc/meminfo").read_text().partition("MemAvailable:")
        if name:
            limits.append(1024.0 * int(after.split(maxsplit=1)[0]))
    with suppress(ImportError, OSError, ValueError):
        import resource  # not on Windows

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            n_pages = int((root / "proc/self/statm").read_text().split()[0])
            limits.append(float(limit - n_pages * resource.getpagesize()))
    return max(0.0, min(limits))


def _group_limits(root: Path) -> Iterator[float]:
    """Yield the memory that is left in the control groups of this process and in their parents."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    mounted = root / "sys/fs/cgroup"
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top, limit, usage = mounted, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            top, limit, usage = mounted / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        group = top / path.lstrip("/")
        # In a container, the path can be that of the host and need not exist; then only the root group
        # applies.
        for folder in (group, *group.parents):
            with suppress(OSError, ValueError):  # no such file, or no limit ("max")
                left = int((folder / limit).read_text()) - int((folder / usage).read_text())
                # The kernel drops cached files before it refuses memory.
                stat = dict(map(str.split, (folder / "memory.stat").read_text().splitlines()))
                yield float(left + int(stat.get("total_inactive_file", stat.get("inactive_file", 0))))
            if folder == top:
                break


_REMEDIES = {
    "kernel": "approximate the kernel with features (OnInstances(Nystroem()) before MILogisticRegression), "
    "limit the cache of kernel rows (MissSVC(cache_size=...)), or compare bags instead of instances "
    "(SetKernelSVC, BagStatistics)",
    "distance": "compare with a subset of the bags (DissimilarityEmbedding(prototypes=...)), or represent "
    "bags by vectors (BagStatistics, ClusterEmbedding)",
}


def require_memory(
    n_rows: int, n_columns: int, unit: str, limit: float | None = None, *, kind: str = "kernel"
) -> float:
    """Return the bytes of a kernel or distance matrix; raise MemoryError if it exceeds the memory limit.

    Examples
    --------
    >>> from bagwise.similarity import require_memory
    >>> require_memory(1000, 1000, "bags") / 1e6
    8.0
    """
    needed = 8.0 * n_rows * n_columns
    limit = available_memory() if limit is None else limit
    if needed > limit:
        raise MemoryError(
            f"the {kind} matrix of {n_rows:,} x {n_columns:,} {unit} needs {needed / 1e9:,.1f} GB, but the "
            f"limit is {limit / 1e9:,.1f} GB; {_REMEDIES[kind]}."
        )
    return needed
