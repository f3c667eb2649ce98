"""Intact files of every format, created once per process; the tests copy and damage them."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise import MISVC, Bags, MILogisticRegression, SetKernelSVC, load_bags, save, save_bags
from bagwise.io.files import FORMATS

_ARFF = """@relation m
@attribute id {a,b,c}
@attribute bag relational
@attribute f1 numeric
@attribute f2 {red,green}
@attribute f3 numeric
@end bag
@attribute class {0,1}
@data
a,"1.5,red,3\\n2,green,4\\n0.25,red,7",1
b,"{0 7, 2 1}\\n3,red,1",0
c,"5,green,2.5",1
"""


_TABLE = "bag,x,z,y\na,1.5,,1\na,2,7,1\nb,-1,NA,0\nb,1e3,2,0\nc,0.25,3,1\nc,4,5,1\n"


def _write_workbook(path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for row in _TABLE.splitlines():
        book.active.append([float(cell) if cell[-1:].isdigit() else cell for cell in row.split(",")])
    book.save(path)


# Files in the style of other programs, by variant.
_OTHERS: dict[str, Callable[[Path], Any]] = {
    "arff": lambda path: path.write_text(_ARFF),
    "xlsx": _write_workbook,
    "csv of others": lambda path: path.write_text(_TABLE),
    "csv with semicolons": lambda path: path.write_text(_TABLE.replace(",", ";").replace(".", ",")),
}


@dataclass(frozen=True)
class Whole:
    """An intact file or folder.

    Attributes
    ----------
    kind : str
        Name of the format; "model" for a model file.
    variant : str
        Name of the variant of this format.
    path : Path
        Path of the file; its folder contains nothing else.
    bags, y
        The bags and labels in the file, unless it is a model file.
    """

    kind: str
    variant: str
    path: Path
    bags: Bags | None = None
    y: np.ndarray | None = None

    def copy(self, folder: Path) -> Path:
        """Copy the file and its metadata into an empty folder."""
        shutil.copytree(self.path.parent, folder, dirs_exist_ok=True)
        return folder / self.path.name

    @property
    def is_model(self) -> bool:
        """Whether the file contains a model instead of bags."""
        return self.kind == "model"


def kinds() -> list[str]:
    """Return the names of all readable formats, and "model"."""
    return [*FORMATS, "model"]


@functools.cache
def whole_files() -> dict[str, list[Whole]]:
    """Create all files; they and the indexes of scans are deleted when the process ends."""
    root = Path(tempfile.mkdtemp(prefix="fuzz"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    os.environ["BAGWISE_CACHE"] = str(root / "cache")
    files: dict[str, list[Whole]] = {}
    for kind, about in FORMATS.items():
        for variant, (bags, y) in _contents(kind).items():
            folder = root / kind / variant
            folder.mkdir(parents=True)
            path = folder / ("bags" + (about.suffix or (".parquet" if kind.startswith("parquet") else "")))
            if bags is not None:
                save_bags(path, bags, y, format=kind)
            else:
                _OTHERS[variant](path)
            bags, y = load_bags(path)
            files.setdefault(kind, []).append(Whole(kind, variant, path, bags, y))
    files["model"] = [_model(root / "model", model) for model in _models()]
    return files


def _contents(kind: str) -> dict[str, tuple[Bags | None, np.ndarray | None]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 4))
    rich = Bags(
        X,
        [0, 3, 5, 12],
        ids=["p", "q", "ä"],
        feature_names=list("abcd"),
        instance_columns={"where": np.arange(24).reshape(12, 2), "word": np.array(list("abcdefghijkl"))},
        bag_columns={"patient": [7, 8, 9], "day": np.array(["2020-01-01", "2021-05-06", "NaT"], "M8[D]")},
    )
    made: dict[str, tuple[Bags | None, np.ndarray | None]] = {
        name: (None, None) for name in _OTHERS if name.startswith(kind)
    }
    if not FORMATS[kind].can_write:
        assert made, f"add a file of the format {kind!r} to _OTHERS, because bagwise does not write it"
        return made
    made |= {
        "rich": (rich, np.array([0, 1, 1])),
        "plain": (Bags(X.astype(np.float32), [0, 3, 5, 12]), None),
        "text": (Bags(rng.integers(0, 9, size=(12, 2)), [0, 1, 12]), np.array(["no", "yes"])),
    }
    if kind == "npz":
        made["csr"] = (Bags(sp.csr_array(np.where(X > 0, X, 0.0)), [0, 3, 5, 12]), np.array([0, 1, 1]))
    return made


def training() -> tuple[Bags, np.ndarray]:
    """Return the training data of the models."""
    rng = np.random.default_rng(1)
    return Bags(rng.normal(size=(30, 3)), np.arange(11) * 3), np.arange(10) % 2


def _models():
    bags, y = training()
    yield MILogisticRegression(random_state=0, n_init=1).fit(bags, y)
    yield MISVC(random_state=0).fit(bags, y)
    yield SetKernelSVC().fit(bags, y)


def _model(folder: Path, model) -> Whole:
    name = type(model).__name__
    (folder / name).mkdir(parents=True)
    return Whole("model", name, save(model, folder / name / "model.bagwise"))
