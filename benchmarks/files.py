"""Two million instances in a Parquet file: what a pass costs, and what a fit holds in memory."""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.harness import COMPARING, Stopwatch, in_process, megabytes, peak, pick, seconds
from benchmarks.large import make_data

TITLE = "Two million instances in a Parquet file"
NOTE = (
    "2,000,000 x 100 float32 in bags of ten, 0.8 GB, as `save_bags` writes it. A read is all row groups by "
    "pyarrow, one after the other, with its threads; passes and fits go through `scan_bags`. The file is in "
    "the system's cache. Each in a process of its own; memory is the peak above the interpreter's at its "
    "start, imports and compilation included; a fit on a hundred bags shows how much that is. "
    "Two processor cores, as the file is read ahead of the computing."
)
# Above 2**23 values, so that they are streamed.
N, D, SIZE = pick(2_000_000, 100_000), 100, 10
PASSES = {"a pass of EM, diagonal": "em-diagonal", "a pass of EM, full covariance": "em-full"}
FITS = {
    "a fit on a hundred bags": "few",
    "MILogisticRegression, ridge": "ridge",
    "MILogisticRegression, LASSO": "lasso",
    "milr_path, 20 penalties both ways": "path",
    "MIMixture, diagonal, two starts": "diagonal",
    "MIMixture, full covariance, two starts": "full",
}


def write(path: Path, n: int) -> None:
    """Write the bags."""
    from bagwise import Bags, save_bags

    X, _, y = make_data(n, D, SIZE)
    save_bags(path, Bags(X, np.arange(0, n + 1, SIZE)), y=y)


def run() -> list[dict]:
    """Read, pass and fit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bags.parquet"
        _process("write", path)
        rows, read = [], math.nan
        if not COMPARING:  # fits of both models are in the table, too
            read = min(_process("read", path)["seconds"] for _ in range(3))
            rows.append(_row("a plain read by pyarrow", read, read) | {"seconds": f"{read:.2f}"})
            for name, kind in PASSES.items():
                rows.append(_row(name, min(_process(kind, path)["seconds"] for _ in range(2)), read))
        for name, kind in FITS.items():
            found = _process(kind, path)
            row = _row(name, found["seconds"], read)
            rows.append(
                row | {"passes": str(found["passes"] or "-"), "memory (MB)": megabytes(found["memory"])}
            )
    return rows


def _row(name: str, time: float, read: float) -> dict:
    return {
        "what": name,
        "seconds": seconds(time),
        "reads": f"{time / read:.2f}",
        "passes": "-",
        "memory (MB)": "-",
    }


def _process(kind: str, path: Path) -> dict:
    return in_process("benchmarks.files", kind, path)


def _main(kind: str, path: str) -> None:
    time, passes = 0.0, None
    at_start = _at_start()
    if kind == "write":
        write(Path(path), N)
    elif kind == "read":
        time = _plain_read(path)
    else:
        time, passes = _fit(kind, path)
    print(json.dumps({"seconds": time, "passes": passes, "memory": peak() - at_start}))


def _at_start() -> float:
    """What a bare interpreter holds, in MB; numpy is here already."""
    code = "print(next(int(l.split()[1]) / 1024 for l in open('/proc/self/status') if l.startswith('VmRSS')))"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)


def _plain_read(path: str) -> float:
    import pyarrow.parquet as pq

    with Stopwatch() as watch, pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            file.read_row_group(group)
    return watch.seconds


def _fit(kind: str, path: str) -> tuple[float, int | None]:
    from bagwise import MILogisticRegression, MIMixture, make_noisy_or_bags, milr_path, scan_bags

    few = make_noisy_or_bags(100, random_state=0)
    scan = scan_bags(path)
    family = "gaussian_diag" if "diag" in kind else "gaussian"
    with Stopwatch() as watch:
        match kind:
            case "few":
                model = MILogisticRegression(random_state=0).fit(few.bags, few.y)
            case "ridge":
                model = MILogisticRegression(l1_ratio=0.0, random_state=0).fit(scan, scan.y)
            case "lasso":
                model = MILogisticRegression(random_state=0).fit(scan, scan.y)
            case "path":
                model = milr_path(scan, scan.y)
            case "diagonal" | "full":
                model = MIMixture(family, n_init=2, max_iter=10, random_state=0).fit(scan, scan.y)
            case _:  # one start of EM, whose passes are counted
                model = MIMixture(family, n_init=1, max_iter=8, random_state=0).fit(scan, scan.y)
    passes = getattr(model, "n_passes_", None)
    if kind.startswith("em-"):
        return watch.seconds / passes, None
    return watch.seconds, passes


if __name__ == "__main__":
    _main(*sys.argv[1:])
