"""Every public kernel and distance of bags: finite or a clear error, symmetric, independent of other bags."""

from __future__ import annotations

import inspect
import tempfile
from pathlib import Path

import numpy as np
from tests.fuzz import data
from tests.fuzz.choosing import chosen, generator
from tests.fuzz.judging import Refused, asked, require, require_close, require_finite

import bagwise
from bagwise import Bags

# Values of keyword arguments; other arguments have their defaults.
_VALUES = {
    "kernel": ("linear", "poly", "rbf"),
    "gamma": ("scale", "auto", 0.5, 1e-6, 1e6),
    "degree": (1, 2, 3, 2.5),
    "coef0": (0.0, 1.0),
    "normalize": ("average", "feature", None),
    "statistic": ("minimax", "mean"),
}


def subjects() -> dict[str, object]:
    """Return all public functions that compute a matrix of kernels or distances, by name."""
    endings = ("_kernel", "_distance", "_distances")
    return {name: getattr(bagwise, name) for name in bagwise.__all__ if name.endswith(endings)}


def run(seed: int, only: str | None = None) -> str:
    """Compute a matrix for random bags, and check it."""
    name = only or chosen(seed, list(subjects()))
    function, rng = subjects()[name], generator("kernels", seed)
    if "kernels" in inspect.signature(function).parameters:  # a function that combines several kernels
        function = function([str(part) for part in rng.choice(["set", "graph", "minimax", "mean"], size=2)])
    drawn = data.draw_bags(rng)
    keywords = {}
    for key, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and key in _VALUES and rng.random() < 0.6:
            values = _VALUES[key]
            if not (isinstance(parameter.default, float) and key == "gamma"):
                keywords[key] = values[rng.integers(len(values))]
            else:
                keywords[key] = float(rng.choice([0.5, 1e-6, 1e6]))
    container = str(rng.choice(data.CONTAINERS))
    story = f"{name}({keywords}); {drawn.note}, {drawn.n_bags} bags, {drawn.X.shape}; container {container}"
    try:
        with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
            _look(function, drawn, keywords, container, Path(folder), rng)
    except (AssertionError, Refused) as end:
        end.add_note(story)
        raise
    return story


def _look(function, drawn: data.Drawn, keywords: dict, container: str, folder: Path, rng) -> None:
    bags = drawn.bags
    K = _matrix(asked(function, bags, **keywords))
    require_finite(K, "the matrix")
    require(np.array_equal(K, K.T), "the matrix is not symmetric")
    size = max(float(np.abs(K).max(initial=0.0)), 1e-300)
    X = None if container == "scan" else data.contain(drawn, container, folder)
    if X is not None:
        again = _matrix(asked(function, X, **keywords))
        tolerance = 1e-6 if "csr" in container else 0.0
        require_close(again, K, tolerance, f"from {container}", size=size)
    of_bags = len(K) == len(bags)
    order = np.lexsort((rng.random(bags.n_instances), bags.bag_index))
    shuffled = _matrix(function(bags.with_instances(bags.instances[order]), **keywords))
    expected = K if of_bags and len(bags) != bags.n_instances else (K if of_bags else K[np.ix_(order, order)])
    require_close(shuffled, expected, 1e-7, "another order of instances", size=size)
    # gamma="scale" depends on the bags of the columns, which are the same in both calls.
    i = int(rng.integers(len(bags)))
    alone = _matrix(asked(function, bags[i : i + 1], bags, **keywords))
    rows = slice(i, i + 1) if of_bags else slice(int(bags.offsets[i]), int(bags.offsets[i + 1]))
    require_close(alone, K[rows], 1e-7, "a bag alone and with other bags", size=size)


def _matrix(K) -> np.ndarray:
    return np.asarray(K.instances if isinstance(K, Bags) else K)
