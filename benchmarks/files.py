"""Two million instances in a Parquet file: time of passes and fits, and memory of fits."""

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
    "2,000,000 x 100 float32 instances in bags of ten, 0.8 GB, written by `save_bags`. In the plain read, "
    "pyarrow reads all row groups in sequence with its own threads. *Reads*: seconds as a multiple of the "
    "plain read. Passes and fits use `scan_bags`. The file is in the file system cache. Every row runs in a "
    "separate process. Memory is the peak minus the memory of the interpreter at startup; it includes "
    "imports and compilation (see the fit on a hundred bags). With two processor cores, one core reads "
    "blocks ahead."
)
# Use more than 2**23 values, so that they are streamed.
N, D, SIZE = pick(2_000_000, 100_000), 100, 10
PASSES = {"one EM pass, diagonal": "em-diagonal", "one EM pass, full covariance": "em-full"}
FITS = {
    "fit on a hundred bags": "few",
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
    """Time plain reads, EM passes and fits."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bags.parquet"
        _process("write", path)
        rows, read = [], math.nan
        if not COMPARING:  # comparisons of versions use the fits below
            read = min(_process("read", path)["seconds"] for _ in range(3))
            rows.append(_row("plain read with pyarrow", read, read) | {"seconds": f"{read:.2f}"})
            for name, kind in PASSES.items():
                rows.append(_row(name, min(_process(kind, path)["seconds"] for _ in range(2)), read))
        for name, kind in FITS.items():
            result = _process(kind, path)
            row = _row(name, result["seconds"], read)
            rows.append(
                row | {"passes": str(result["passes"] or "-"), "memory (MB)": megabytes(result["memory"])}
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
    """Return the memory of a new interpreter in MB; the current process has already loaded numpy."""
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
            case _:  # one EM start; its number of passes is n_passes_
                model = MIMixture(family, n_init=1, max_iter=8, random_state=0).fit(scan, scan.y)
    passes = getattr(model, "n_passes_", None)
    if kind.startswith("em-"):
        return watch.seconds / passes, None
    return watch.seconds, passes


if __name__ == "__main__":
    _main(*sys.argv[1:])
