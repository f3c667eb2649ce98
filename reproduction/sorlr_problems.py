"""The two problems in SORLR's Figure 2: positive instances, and thresholds for positive bags."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from bagwise import datasets
from bagwise.data.bags import Bags


class Problem(NamedTuple):
    """A data set, the number of its positive classes, and the thresholds t in the figure.

    `middle` contains the thresholds at which the or-rule is wrong and more than one bag in twenty is
    positive.
    """

    data: str
    n_positive: int
    thresholds: tuple[int, ...]
    middle: tuple[int, ...]
    quick: tuple[int, ...]


PROBLEMS = {
    "hja": Problem("hja_birdsong", 5, tuple(range(1, 20, 2)), (5, 7, 9, 11, 13), (5,)),
    "mscv2": Problem("mscv2", 6, tuple(range(1, 11)), (2, 3, 4), (2,)),
}


@cache
def load_problem(name: str) -> tuple[Bags, np.ndarray]:
    """Return bags of labeled instances, and the instance labels (1 for positive)."""
    problem = PROBLEMS[name]
    data = getattr(datasets, f"fetch_{problem.data}")()
    kept = data.instance_y >= 0
    sizes = np.add.reduceat(kept, data.bags.offsets[:-1], dtype=int)
    instances = np.asarray(data.bags.instances[kept], dtype=np.float64)
    return Bags(instances, np.cumsum([0, *sizes])), (data.instance_y[kept] < problem.n_positive).astype(int)
