"""Fits with two workers of a local Dask cluster against one worker."""

import logging
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.harness import COMPARING, Figure, Stopwatch, pick, race

TITLE = "Dask cluster: two workers against one"
NOTE = (
    "2,000,000 x 200 float32 instances in bags of ten, in Parquet. Each worker is a process with one "
    "thread. The fits start with the data in files, running workers and compiled code; the better of two "
    "runs is reported. Goal: a ratio of at most 0.7. The last row is an empty pass over all blocks, "
    "compared with the same number of plain Dask tasks whose results are gathered and summed. Goal: a ratio "
    "of at most 1.3."
)
N, D, SIZE = pick(2_000_000, 100_000), 200, 10


def write_data(path: Path, n: int = N) -> Path:
    """Write bags whose instance labels follow a logistic model, part by part."""
    from bagwise import Bags, save_parquet

    rng = np.random.default_rng(0)
    beta = (0.3 * rng.normal(size=D)).astype(np.float32)

    def parts():
        for begin in range(0, n, 100_000):
            X = rng.standard_normal((min(100_000, n - begin), D), dtype=np.float32)
            z = rng.random(len(X)) < 1.0 / (1.0 + np.exp(5.0 - X @ beta))
            offsets = np.arange(0, len(X) + 1, SIZE)
            ids = begin // SIZE + np.arange(len(offsets) - 1)
            yield Bags(X, offsets, ids=ids), np.logical_or.reduceat(z, offsets[:-1]).astype(int)

    return save_parquet(path, parts())


def fits() -> dict:
    """Return functions that create the models: a ridge model, and a mixture with twenty EM iterations."""
    from bagwise import MILogisticRegression, MIMixture

    return {
        "ridge": lambda: MILogisticRegression(n_init=1, random_state=0),
        "EM, diagonal, 20 iterations": lambda: MIMixture(
            "gaussian_diag", n_init=1, max_iter=20, tol=0.0, random_state=0
        ),
    }


def seconds_of_fits(scan, n_workers: int) -> dict[str, float]:
    """Return the seconds for every fit with `n_workers` workers (the better of two runs)."""
    import warnings

    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    seconds = {}
    with (
        LocalCluster(n_workers=n_workers, silence_logs=logging.ERROR, **options) as cluster,
        Client(cluster) as client,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        for name, make in fits().items():
            rounds = []
            for _ in range(pick(3, 2)):  # the first round compiles and starts the workers
                on = scan.on(client)
                with Stopwatch() as watch:
                    make().fit(on, scan.y)
                rounds.append(watch.seconds)
                del on
            seconds[name] = min(rounds[1:])
        if n_workers == 2:
            seconds.update(seconds_of_passes(scan.on(client), client))
    return seconds


def seconds_of_passes(scan, client) -> dict[str, float]:
    """Return the seconds that a pass without computations takes, and those of as many plain Dask tasks."""
    blocks = scan.blocks()
    theta = np.zeros(D + 1)
    blocks.total(_nothing, theta)  # loads the data on the workers

    def bare():
        futures = [client.submit(_zeros, index, theta, pure=False) for index in range(len(blocks._groups))]
        return sum(client.gather(futures))

    return race(31, total=lambda: blocks.total(_nothing, theta), peers={"bare": bare})


def _nothing(block, theta: np.ndarray) -> np.ndarray:
    return np.zeros_like(theta)


def _zeros(index: int, theta: np.ndarray) -> np.ndarray:
    return np.zeros_like(theta)


def run() -> list[dict]:
    """Time fits with one and two workers, and the overhead of a pass."""
    from bagwise import scan_bags

    with tempfile.TemporaryDirectory() as folder:
        scan = scan_bags(write_data(Path(folder) / "bags.parquet"))
        pair = seconds_of_fits(scan, 2)
        single = dict.fromkeys(pair, np.nan) if COMPARING else seconds_of_fits(scan, 1)
    rows = [
        {
            "problem": name,
            "two workers": Figure(f"{pair[name]:.2f} s", "time", pair[name]),
            "peer": f"{single[name]:.2f} s, one worker",
            "ratio": f"{pair[name] / single[name]:.2f}",
        }
        for name in fits()
    ]
    rows.append(
        {
            "problem": "empty pass",
            "two workers": Figure(f"{1e3 * pair['total']:.1f} ms", "time", pair["total"]),
            "peer": f"{1e3 * pair['bare']:.1f} ms, plain tasks",
            "ratio": f"{pair['total'] / pair['bare']:.2f}",
        }
    )
    return rows
