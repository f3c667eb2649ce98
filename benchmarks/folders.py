"""Folders of many small bags: saving and loading them against plain calls of numpy and h5py."""

import gc
import shutil
import tempfile
from pathlib import Path

import numpy as np

from bagwise import Bags, load_h5, load_npy, save_h5, save_npy
from benchmarks.harness import Stopwatch, pick, seconds

TITLE = "Folders of 100,000 small bags"
NOTE = (
    "100,000 bags of 2 to 7 instances with 10 features, one file per bag, in an in-memory file system if "
    "available. The peer only calls `np.save`, `np.load` or h5py for every file, without labels, checks or "
    "a joined matrix. Times are processor times; both sides run in sequence in the same process. Goal: a "
    "ratio of at most 1.5."
)
N = pick(100_000, 5_000)


def run(n: int = N) -> list[dict]:
    """Save and load both kinds of folders, first with plain calls and then with bagwise."""
    rng = np.random.default_rng(0)
    offsets = np.append(0, np.cumsum(rng.integers(2, 8, n)))
    bags, y = Bags(rng.normal(size=(offsets[-1], 10)), offsets), rng.integers(0, 2, n)
    memory = Path("/dev/shm")
    table = []
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as parent:
        bare, ours = Path(parent) / "bare", Path(parent) / "ours"
        for kind, peer, save, load in (
            ("npy", _Numpy(bare), save_npy, load_npy),
            ("h5", _H5py(bare), save_h5, load_h5),
        ):
            bare.mkdir()
            saved = _seconds(peer.save, bags), _seconds(save, ours, bags, y)
            loaded = _seconds(peer.load, n), _seconds(load, ours)
            table += [_row(f"save {kind}", *saved), _row(f"load {kind}", *loaded)]
            shutil.rmtree(bare)
            shutil.rmtree(ours)
    return table


class _Numpy:
    def __init__(self, folder: Path):
        self.folder = folder

    def save(self, bags: Bags) -> None:
        for i, (start, stop) in enumerate(zip(bags.offsets[:-1], bags.offsets[1:], strict=True)):
            np.save(self.folder / f"{i}.npy", bags.instances[start:stop])

    def load(self, n: int) -> list[np.ndarray]:
        return [np.load(self.folder / f"{i}.npy") for i in range(n)]


class _H5py:
    def __init__(self, folder: Path):
        self.folder = folder

    def save(self, bags: Bags) -> None:
        import h5py

        for i, (start, stop) in enumerate(zip(bags.offsets[:-1], bags.offsets[1:], strict=True)):
            with h5py.File(self.folder / f"{i}.h5", "w") as file:
                file["features"] = bags.instances[start:stop]

    def load(self, n: int) -> list[np.ndarray]:
        import h5py

        arrays = []
        for i in range(n):
            with h5py.File(self.folder / f"{i}.h5", "r") as file:
                arrays.append(file["features"][()])
        return arrays


def _seconds(run, *arguments) -> float:
    gc.collect()  # otherwise, a garbage collection can double the time of a call
    with Stopwatch(processor=True) as watch:
        run(*arguments)
    return watch.seconds


def _row(name: str, bare: float, ours: float) -> dict:
    return {
        "operation": name,
        "bagwise (s)": seconds(ours, 1),
        "bare calls (s)": f"{bare:.1f}",
        "ratio": f"{ours / bare:.2f}",
    }
