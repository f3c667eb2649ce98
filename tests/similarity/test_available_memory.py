"""Memory that a process can allocate, from files like those of Linux."""

import math
import sys

import pytest

from bagwise.similarity import available_memory

MB = 1e6


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


MEMINFO = {"proc/meminfo": "MemTotal: 900000 kB\nMemFree: 100 kB\nMemAvailable:    50000 kB\n"}
SECOND = {
    "proc/self/cgroup": "0::/job/task\n",
    "sys/fs/cgroup/job/task/memory.max": "max\n",
    "sys/fs/cgroup/job/task/memory.current": "1000000\n",
    "sys/fs/cgroup/job/task/memory.stat": "anon 5\n",
    "sys/fs/cgroup/job/memory.max": "20000000\n",
    "sys/fs/cgroup/job/memory.current": "9000000\n",
    "sys/fs/cgroup/job/memory.stat": "anon 5\ninactive_file 2000000\n",
}
FIRST = {
    "proc/self/cgroup": "5:cpu,cpuacct:/\n4:memory:/docker/b:c\n0::/\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "30000000\n",
    "sys/fs/cgroup/memory/memory.usage_in_bytes": "6000000\n",
    "sys/fs/cgroup/memory/memory.stat": "inactive_file 1\ntotal_inactive_file 1000000\n",
}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (MEMINFO, 51.2 * MB),
        ({**MEMINFO, **SECOND}, 13 * MB),
        ({**MEMINFO, **FIRST}, 25 * MB),
        ({**MEMINFO, **FIRST, "sys/fs/cgroup/memory/memory.limit_in_bytes": str(2**63 - 4096)}, 51.2 * MB),
        ({**MEMINFO, **SECOND, "sys/fs/cgroup/job/memory.current": "40000000"}, 0.0),
    ],
    ids=["computer", "version 2", "version 1 in a container", "version 1 without limit", "exceeded"],
)
def test_the_smallest_limit_counts(tmp_path, files, expected):
    write(tmp_path, files)
    assert available_memory(tmp_path) == pytest.approx(expected)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_the_limit_of_the_address_space_counts(tmp_path, monkeypatch):
    import resource

    write(tmp_path, {**MEMINFO, "proc/self/statm": "1000 500 20 1 0 30 0\n"})
    limit = 10_000 * resource.getpagesize()
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limit, limit))
    assert available_memory(tmp_path) == pytest.approx(9000 * resource.getpagesize())


def test_a_system_without_proc_reports_its_physical_memory(tmp_path):
    assert available_memory(tmp_path) >= available_memory() > 0
    write(tmp_path, {"proc/meminfo": "garbage", "proc/self/cgroup": "0::/missing\n"})
    assert not math.isnan(available_memory(tmp_path)) and available_memory(tmp_path) > 100 * MB
