"""Type aliases for parameters that occur in several packages, for type checkers and readable signatures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np


class Transformer(Protocol):
    """Any object with scikit-learn's transformer interface."""

    def fit(self, X: Any, /) -> Any:
        """Fit the transformer to a matrix."""

    def transform(self, X: Any, /) -> Any:
        """Transform a matrix."""


class Splitter(Protocol):
    """Any object with scikit-learn's splitter interface, such as ``GroupKFold(5)``."""

    def split(self, X: Any, y: Any, groups: Any, /) -> Iterable[Any]:
        """Yield the indices of the training bags and of the test bags of every fold."""


# `random_state`: a seed, a generator, or None for a different draw every time.
Seed: TypeAlias = int | np.random.RandomState | None

# Paths of files and folders.
FilePath: TypeAlias = str | os.PathLike[str]

# Labels that are read together with bags, or None if the file has no labels. Typed as Any so that callers
# whose file has labels need no check for None.
Labels: TypeAlias = np.ndarray | Any

# `class_weight`: a factor for every label; "balanced" makes the total weights of all classes equal.
ClassWeight: TypeAlias = Mapping[Any, float] | Literal["balanced"] | None

# `scale`: how instances are scaled before the fit.
Scale: TypeAlias = Literal["standard", "minmax", "rank"] | Transformer | None

# `cv`: the number of folds, a splitter, or the folds as pairs of index arrays.
Folds: TypeAlias = int | Splitter | Iterable[Any]

# A kernel: its name, or a function of two matrices.
Kernel: TypeAlias = str | Callable[..., Any]

# `positive`: the label of the positive class, or None for the default.
PositiveLabel: TypeAlias = str | bool | float | np.generic | None
