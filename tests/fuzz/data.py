"""Random generators of unusual bags, labels, weights and containers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from bagwise import Bags, save_parquet, scan_bags

SIZES = ("mixed", "mixed", "mixed", "equal", "ones", "giant", "few")
MATRICES = (
    "normal",
    "normal",
    "normal",
    "binary",
    "integers",
    "duplicate rows",
    "duplicate columns",
    "constant column",
    "constant",
    "zeros",
    "sparse",
    "wide",
    "one column",
)
SCALES = ("tame",) * 8 + ("huge", "tiny", "denormal", "far", "mixed columns", "outlier", "small", "large")
DTYPES = ("float64",) * 6 + ("float32", "float32", "float16", "int8", "int64", "uint8", "bool", "object")
LABELS = ("0/1", "0/1", "-1/1", "bool", "text", "float", "1/2", "object")
WEIGHTS = (*("none",) * 6, "ones", "counts", "counts", "ints", "ints", "tiny", "huge", "mixed", "absurd")
CONTAINERS = ("bags", "list", "objects", "cube", "matrix", "csr", "list of csr", "scan", "frame", "fortran")


@dataclass(frozen=True)
class Drawn:
    """Bags as plain arrays, and a description of how they were drawn."""

    X: np.ndarray
    offsets: np.ndarray
    note: dict = field(default_factory=dict)

    @property
    def n_bags(self) -> int:
        """Number of bags."""
        return len(self.offsets) - 1

    @property
    def tame(self) -> bool:
        """Whether values have an ordinary size, so that rounding errors have their usual size."""
        return self.note["scale"] == "tame"

    @cached_property
    def bags(self) -> Bags:
        """The bags as `Bags`."""
        return Bags(self.X, self.offsets)


def draw_bags(rng: np.random.Generator, *, n_features: int | None = None, hostile: bool = True) -> Drawn:
    """Draw a few small bags; `hostile` allows extreme values, `n_features` sets the number of features."""
    note = {
        "sizes": str(rng.choice(SIZES)),
        "matrix": str(rng.choice(MATRICES)),
        "scale": str(rng.choice(SCALES)) if hostile else "tame",
        "dtype": str(rng.choice(DTYPES)),
    }
    n = 4 if note["sizes"] == "few" else int(rng.integers(5, 14))
    sizes = {
        "mixed": lambda: rng.integers(1, 6, size=n),
        "few": lambda: rng.integers(1, 4, size=n),
        "equal": lambda: np.full(n, rng.integers(2, 5)),
        "ones": lambda: np.ones(n, dtype=int),
        "giant": lambda: np.append(40, np.ones(n - 1, dtype=int)),
    }[note["sizes"]]()
    width = {"wide": 40, "one column": 1}.get(note["matrix"], int(rng.integers(2, 6)))
    X = _matrix(rng, note["matrix"], int(sizes.sum()), n_features or width)
    X = _as_dtype(_scaled(rng, X, note["scale"]), note)
    return Drawn(X, np.append(0, np.cumsum(sizes)), note)


def _matrix(rng, kind: str, n: int, p: int) -> np.ndarray:
    X = rng.normal(size=(n, p))
    if kind == "binary":
        return (X > 0.3).astype(float)
    if kind == "integers":
        return np.round(2 * X)
    if kind == "duplicate rows":
        return X[rng.integers(0, max(1, n // 3), size=n)]
    if kind == "duplicate columns":
        return X[:, rng.integers(0, max(1, p // 2), size=p)]
    if kind == "constant column":
        X[:, 0] = 3.7
    if kind == "constant":
        X[:] = -1.3
    if kind == "zeros":
        X[:] = 0.0
    if kind == "sparse":
        X[rng.random(X.shape) < 0.8] = 0.0
    return X


def _scaled(rng, X: np.ndarray, kind: str) -> np.ndarray:
    if kind == "huge":
        X = X * rng.choice([1e100, 1e150, 1e200, 1e300])
    elif kind == "tiny":
        X = X * rng.choice([1e-100, 1e-150, 1e-200, 1e-300])
    elif kind == "denormal":
        X = X * 5e-321
    elif kind == "small":
        X = X * rng.choice([1e-8, 1e-20])
    elif kind == "large":
        X = X * rng.choice([1e8, 1e20])
    elif kind == "far":
        X = X + rng.choice([1e6, 1.7e9, -1e12])
    elif kind == "mixed columns":
        X = X * rng.choice([1e-300, 1e-10, 1.0, 1e10, 1e150], size=X.shape[1])
    elif kind == "outlier":
        X = X.copy()
        X.flat[rng.integers(X.size)] = rng.choice([-1e12, 1e12, 1e150, -1e300])
    return X


def _as_dtype(X: np.ndarray, note: dict) -> np.ndarray:
    dtype = np.dtype(note["dtype"])
    if dtype.kind in "iu":
        low, high = (-100, 100) if dtype.kind == "i" else (0, 200)
        return np.clip(np.round(10 * X), low, high).astype(dtype)
    if dtype.kind == "b":
        return X > 0
    if dtype.kind == "f" and dtype.itemsize < 8:
        most = float(np.finfo(dtype).max)
        return np.clip(X, -most, most).astype(dtype)
    return X.astype(dtype)


def draw_classes(rng, n: int, n_classes: int = 2, *, alone: bool = True) -> np.ndarray:
    """Draw the class index of each of n bags, each class at least once.

    Some draws have a class with a single bag. They are rare if `alone` is false, because every training fold
    needs all classes.
    """
    method = rng.integers(4) if alone or rng.random() < 0.2 else 2
    if method == 0:
        codes = np.zeros(n, dtype=int)
    elif method == 1:
        codes = np.full(n, n_classes - 1)
    else:
        codes = rng.integers(0, n_classes, size=n)
    codes[rng.permutation(n)[:n_classes]] = np.arange(n_classes)
    return codes


def as_labels(rng, codes: np.ndarray) -> tuple[np.ndarray, str]:
    """Convert class indices to labels of a random type, in the same order."""
    kind = str(rng.choice(LABELS))
    texts = np.array(["absent", "maybe", "there", "zoo"])
    if codes.max() > 1 and kind in ("bool", "-1/1"):
        kind = "text"
    y = {
        "0/1": lambda: codes,
        "-1/1": lambda: 2 * codes - 1,
        "bool": lambda: codes.astype(bool),
        "text": lambda: texts[codes],
        "float": lambda: codes.astype(float),
        "1/2": lambda: codes + 1,
        "object": lambda: texts[codes].astype(object),
    }[kind]()
    return y, kind


def draw_weights(rng, codes: np.ndarray) -> tuple[np.ndarray | None, str]:
    """Draw bag weights; at least one bag of every class has a positive weight."""
    n, kind = len(codes), str(rng.choice(WEIGHTS))
    if kind == "none":
        return None, kind
    weight = {
        "ones": lambda: np.ones(n),
        "counts": lambda: rng.integers(0, 3, size=n).astype(float),
        "ints": lambda: rng.integers(1, 4, size=n),
        "tiny": lambda: np.full(n, 10.0 ** rng.uniform(-49, -9)),
        "huge": lambda: rng.uniform(1, 2, size=n) * 10.0 ** rng.uniform(9, 49),
        "absurd": lambda: np.full(n, rng.choice([1e-150, 1e150])),
        "mixed": lambda: 10.0 ** rng.integers(-12, 12, size=n),
    }[kind]()
    _, first = np.unique(codes, return_index=True)
    weight[first] = np.maximum(weight[first], weight.max())
    return weight, kind


def contain(drawn: Drawn, container: str, folder: Path):
    """Convert bags to a container, or return None if the container does not support them."""
    X, offsets, sizes = drawn.X, drawn.offsets, np.diff(drawn.offsets)
    parts = [X[i:j] for i, j in pairwise(offsets)]
    if container == "bags":
        return drawn.bags
    if container == "list":
        return parts
    if container == "objects":
        out = np.empty(len(parts), dtype=object)
        out[:] = parts
        return out
    if container == "cube":
        return np.stack(parts) if len(set(sizes)) == 1 else None
    if container == "matrix":
        return X if (sizes == 1).all() else None
    if container == "fortran":
        return Bags(np.asfortranarray(X), offsets)
    if X.dtype == object:
        return None
    if container == "csr":
        return Bags(sp.csr_array(X), offsets) if X.dtype.name != "float16" else None
    if container == "list of csr":
        return [sp.csr_matrix(part) for part in parts] if X.dtype.name != "float16" else None
    if container == "scan":
        if X.dtype.kind == "b" or X.dtype.name == "float16":
            return None
        return scan_bags(save_parquet(folder / "bags.parquet", drawn.bags))
    if container == "frame":
        import pandas as pd

        names = [f"f{i}" for i in range(X.shape[1])]
        frame = pd.DataFrame(X, columns=names).assign(bag=np.repeat(np.arange(len(parts)), sizes))
        return Bags.from_frame(frame, bag="bag", features=names)
    raise ValueError(f"unknown container {container!r}.")
