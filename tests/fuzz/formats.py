"""Unusual bags, written and read in every format: they are unchanged, or refused with a clear error."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from tests.fuzz import data
from tests.fuzz.choosing import chosen, generator
from tests.fuzz.judging import Refused, asked, require
from tests.same_bags import assert_same

from bagwise import Bags, load_bags, save_bags, scan_bags
from bagwise.io.files import FORMATS

_NAMES = (
    "y",
    "bag_id",
    "bag",
    "instances",
    "features",
    "x0",
    "x/1",
    "ä",
    "labels",
    ".",
    "..",
    "a b",
    "-",
    "NA",
    "0",
    "",
)
_TEXTS = (
    "",
    "a",
    "007",
    "7",
    "NA",
    "nan",
    "1e5",
    "-",
    "ä",
    "a,b",
    'q"',
    "new\nline",
    "\r",
    " ",
    "x" * 300,
    "../up",
    "None",
)
_SCANNED = ("parquet", "parquet-long", "npy", "h5")


def run(seed: int, only: str | None = None) -> str:
    """Write bags in one format, and read them back."""
    rng = generator("formats", seed)
    name = only or chosen(seed, [key for key, about in FORMATS.items() if about.can_write])
    bags = y = None
    try:
        bags, y = asked(_draw, rng)
        with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
            path = Path(folder) / (
                "bags" + (FORMATS[name].suffix or (".parquet" if "parquet" in name else ""))
            )
            written = asked(save_bags, path, bags, y, format=name)
            reader = "parquet" if name == "parquet-long" else name
            again, z = load_bags(written, format=reader)
            assert_same(bags, y, again, z, format_name=name)
            if name in _SCANNED and rng.random() < 0.5 and bags.instances.dtype.kind == "f":
                scan = scan_bags(written)
                require(
                    np.array_equal(scan.load().instances, bags.instances, equal_nan=True), "a scan differs"
                )
    except (AssertionError, Refused) as end:
        end.add_note(_story(name, bags, y))
        raise
    except Exception as error:
        error.add_note(_story(name, bags, y))
        raise
    return _story(name, bags, y)


def _story(name: str, bags, y) -> str:
    if bags is None:
        return name
    return (
        f"{name}: {bags}, {bags.instances.dtype}, ids {bags._ids!r}, names {bags.feature_names!r}, "
        f"instance columns {dict(bags.instance_columns)!r}, bag columns {dict(bags.bag_columns)!r}, y {y!r}"
    )[:1500]


def _draw(rng) -> tuple[Bags, np.ndarray | None]:
    drawn = data.draw_bags(rng)
    X = drawn.X.astype(float) if drawn.X.dtype == object else drawn.X
    if X.dtype.kind == "f" and rng.random() < 0.3:
        X = X.copy()
        X.flat[rng.integers(X.size, size=3)] = rng.choice([np.nan, np.inf, -np.inf, -0.0], size=3)
    n = drawn.n_bags
    ids = None
    if rng.random() < 0.6:
        texts = [f"{rng.choice(_TEXTS)}{i if rng.random() < 0.7 else ''}" for i in range(n)]
        ids = texts if len(set(texts)) == n else [f"b{i}" for i in range(n)]
        if rng.random() < 0.3:
            ids = rng.integers(-5, 2**50) + np.arange(n)
    names = None
    if rng.random() < 0.5:
        names = _draw_names(rng, X.shape[1])
    bags = Bags(
        X,
        drawn.offsets,
        ids=ids,
        feature_names=names,
        instance_columns=_columns(rng, len(X)),
        bag_columns=_columns(rng, n),
    )
    return bags, _column(rng, n, flat=True) if rng.random() < 0.7 else None


def _draw_names(rng, n: int) -> list[str]:
    return [str(name) for name in rng.permutation([*_NAMES, *(f"f{i}" for i in range(n))])[:n]]


def _columns(rng, n: int) -> dict[str, np.ndarray]:
    return {name: _column(rng, n) for name in _draw_names(rng, int(rng.integers(0, 3)))}


def _column(rng, n: int, *, flat: bool = False) -> np.ndarray:
    shape = (n,) if flat or rng.random() < 0.7 else (n, 2)
    kind = rng.integers(6)
    if kind == 0:
        return rng.choice(np.array(_TEXTS), size=shape)
    if kind == 1:
        return rng.integers(0, 2, size=shape).astype(bool)
    if kind == 2:
        return rng.integers(-(2**62), 2**62, size=shape)
    if kind == 3:
        return (rng.normal(size=shape) * 10.0 ** rng.integers(-300, 300)).astype(rng.choice(["f4", "f8"]))
    if kind == 4:
        return rng.integers(0, 20_000, size=shape).astype("M8[D]")
    return rng.integers(0, 200, size=shape).astype(rng.choice(["u1", "i2", "u8"]))
