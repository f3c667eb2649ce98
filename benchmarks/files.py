"""Two million instances in a Parquet file: what a pass costs, and what a fit holds in memory."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.large import make_data, peak

TITLE = "Two million instances in a Parquet file"
NOTE = (
    "2,000,000 x 100 float32 in bags of ten, 0.8 GB, as `save_bags` writes it. A read is all row groups by "
    "pyarrow, one after the other, with its threads; passes and fits go through `scan_bags`. The file is in "
    "the system's cache. Each in a process of its own; memory is the peak above the interpreter's at its "
    "start, imports and compilation included (a fit on a hundred bags alone holds the first figure). "
    "Two processor cores, as the file is read ahead of the computing."
)
N, D, SIZE = 2_000_000, 100, 10
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


def run(n: int = N) -> list[dict]:
    """Read, pass and fit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bags.parquet"
        _process("write", path, n)
        read = min(_process("read", path)["seconds"] for _ in range(3))
        rows = [_row("a plain read by pyarrow", read, read)]
        for name, kind in (
            ("a pass of value and gradient, or rule", "gradient"),
            ("a pass of EM, diagonal", "em-diagonal"),
            ("a pass of EM, full covariance", "em-full"),
        ):
            rows.append(_row(name, min(_process(kind, path)["seconds"] for _ in range(2)), read))
        for name, kind in FITS.items():
            found = _process(kind, path)
            row = _row(name, found["seconds"], read)
            rows.append(
                row | {"passes": str(found["passes"] or "-"), "memory (MB)": f"{found['memory']:.0f}"}
            )
    return rows


def _row(name: str, seconds: float, read: float) -> dict:
    return {
        "what": name,
        "seconds": f"{seconds:.2f}",
        "reads": f"{seconds / read:.2f}",
        "passes": "-",
        "memory (MB)": "-",
    }


def _process(kind: str, path: Path, n: int = 0) -> dict:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.files", kind, str(path), str(n)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _main(kind: str, path: str, n: str) -> None:
    seconds, passes = 0.0, None
    at_start = _at_start()
    if kind == "write":
        write(Path(path), int(n))
    elif kind == "read":
        seconds = _plain_read(path)
    elif kind == "gradient":
        seconds = _gradient_pass(path)
    else:
        seconds, passes = _fit(kind, path)
    print(json.dumps({"seconds": seconds, "passes": passes, "memory": peak() - at_start}))


def _at_start() -> float:
    """What a bare interpreter holds, in MB; numpy is here already."""
    code = "print(next(int(l.split()[1]) / 1024 for l in open('/proc/self/status') if l.startswith('VmRSS')))"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)


def _plain_read(path: str) -> float:
    import pyarrow.parquet as pq

    start = time.perf_counter()
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            file.read_row_group(group)
    return time.perf_counter() - start


def _gradient_pass(path: str) -> float:
    from bagwise import scan_bags
    from bagwise.models.linear_model.engine.design import Scaling
    from bagwise.models.linear_model.engine.problem import evaluate
    from bagwise.rules import Or

    scan = scan_bags(path)
    blocks, x = scan.blocks(scan.y.astype(np.int8)), np.full(D + 1, 0.01)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        blocks.total(evaluate, x, Scaling(D), Or())
        times.append(time.perf_counter() - start)
    return min(times)


def _fit(kind: str, path: str) -> tuple[float, int | None]:
    from bagwise import MILogisticRegression, MIMixture, make_noisy_or_bags, milr_path, scan_bags

    if kind == "few":
        few = make_noisy_or_bags(100, random_state=0)
        MILogisticRegression(random_state=0).fit(few.bags, few.y)
        return 0.0, None
    scan = scan_bags(path)
    family = "gaussian_diag" if "diag" in kind else "gaussian"
    start = time.perf_counter()
    match kind:
        case "ridge":
            model = MILogisticRegression(l1_ratio=0.0, random_state=0).fit(scan, scan.y)
        case "lasso":
            model = MILogisticRegression(random_state=0).fit(scan, scan.y)
        case "path":
            model = milr_path(scan, scan.y)
        case "diagonal" | "full":
            model = MIMixture(family, n_init=2, max_iter=10, random_state=0).fit(scan, scan.y)
        case _:  # one start of EM, of which a pass is asked for
            model = MIMixture(family, n_init=1, max_iter=8, random_state=0).fit(scan, scan.y)
            return (time.perf_counter() - start) / model.n_passes_, None
    return time.perf_counter() - start, getattr(model, "n_passes_", None)


if __name__ == "__main__":
    _main(*sys.argv[1:])
