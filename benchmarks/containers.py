"""Selecting, joining and pickling bags against plain numpy copies of the same data."""

import pickle

import numpy as np

from bagwise import Bags
from benchmarks.harness import milliseconds, race

TITLE = "Bags against plain numpy copies"
NOTE = (
    "100,000 bags, 1,000,000 instances, 20 features (160 MB). The peer does the same operation on plain "
    "numpy arrays, with precomputed row indices. Goal: a ratio of at most 2."
)


def run() -> list[dict]:
    """Time the operations of a cross-validation and of a process pool."""
    rng = np.random.default_rng(0)
    n_bags, n_instances = 100_000, 1_000_000
    borders = np.sort(rng.choice(np.arange(1, n_instances), n_bags - 1, replace=False))
    offsets = np.concatenate([[0], borders, [n_instances]])
    X = rng.normal(size=(n_instances, 20))
    bags = Bags(X, offsets)

    index = rng.permutation(n_bags)[: n_bags // 2]
    rows = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in index])
    mask = rng.random(n_bags) < 0.9
    masked_rows = np.flatnonzero(np.repeat(mask, np.diff(offsets)))
    half = offsets[n_bags // 2]
    parts = [bags[: n_bags // 2], bags[n_bags // 2 :]]
    dumped, bare = pickle.dumps(bags, protocol=5), pickle.dumps((X, offsets), protocol=5)

    problems = {
        "select a random half of the bags": (lambda: bags[index], lambda: X[rows]),
        "select nine tenths by a mask": (lambda: bags[mask], lambda: X[masked_rows]),
        "join two halves": (
            lambda: Bags.concat(parts),
            lambda: np.concatenate([X[:half], X[half:]]),
        ),
        "pickle": (
            lambda: pickle.dumps(bags, protocol=5),
            lambda: pickle.dumps((X, offsets), protocol=5),
        ),
        "unpickle": (lambda: pickle.loads(dumped), lambda: pickle.loads(bare)),
        "slice (a view)": (lambda: bags[10_000:90_000], lambda: X[offsets[10_000] : offsets[90_000]].copy()),
    }
    table = []
    for name, (ours, numpy_copy) in problems.items():
        seconds = race(bagwise=ours, peers={"numpy": numpy_copy})
        table.append(
            {
                "operation": name,
                "bagwise (ms)": milliseconds(seconds["bagwise"]),
                "numpy (ms)": f"{1e3 * seconds['numpy']:.1f}",
                "ratio": f"{seconds['bagwise'] / seconds['numpy']:.2f}",
            }
        )
    return table
