"""Types of parameters that many packages share, for type checkers and for readers of signatures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np


class Transformer(Protocol):
    """What scikit-learn calls a transformer, whoever wrote it."""

    def fit(self, X: Any, /) -> Any:
        """Learn from a matrix."""

    def transform(self, X: Any, /) -> Any:
        """Change a matrix."""


class Splitter(Protocol):
    """What scikit-learn calls a splitter, such as ``GroupKFold(5)``."""

    def split(self, X: Any, y: Any, groups: Any, /) -> Iterable[Any]:
        """Give the numbers of training and test bags of every fold."""


# `random_state`: a seed, a generator, or None for another draw every time.
Seed: TypeAlias = int | np.random.RandomState | None

# Files and folders.
FilePath: TypeAlias = str | os.PathLike[str]

# Labels that came with bags: None where there were none, for which nobody need ask who knows that there are.
Labels: TypeAlias = np.ndarray | Any

# `class_weight`: a factor for every label, or those that make classes weigh the same.
ClassWeight: TypeAlias = Mapping[Any, float] | Literal["balanced"] | None

# `scale`: what is done to instances before they are learned from.
Scale: TypeAlias = Literal["standard", "minmax", "rank"] | Transformer | None

# `cv`: a number of folds, a splitter, or the folds themselves as pairs of numbers of bags.
Folds: TypeAlias = int | Splitter | Iterable[Any]

# A kernel by its name, or as a function of two matrices.
Kernel: TypeAlias = str | Callable[..., Any]
