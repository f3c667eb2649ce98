"""The mean of several kernels of bags, each at the width that the data suggest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bagwise.data.bags import AnyBags
from bagwise.data.types import BagsLike
from bagwise.similarity.bag_kernels import (
    bag_statistics,
    blocks_of,
    rows_and_columns,
    set_kernel,
    statistic_kernel,
)
from bagwise.similarity.instance_kernels import resolve_gamma

_NAMES = ("set", "graph", "minimax", "mean")


@dataclass(frozen=True)
class MeanKernel:
    """What `mean_kernel` gives: a kernel of bags, ``kernel(bags, other)``.

    Attributes
    ----------
    kernels : tuple of str or callable
        Those whose mean it is.
    gammas : tuple of float, or None
        Their widths, as `fitted` sets them, 1 for a callable; None are found anew in every call.
    """

    kernels: tuple[str | Callable[..., Any], ...]
    gammas: tuple[float, ...] | None = None

    def fitted(self, bags: AnyBags, weight: np.ndarray | None = None) -> MeanKernel:
        """Give the kernel with the widths that training bags suggest."""
        return replace(self, gammas=tuple(_median_gamma(name, bags, weight) for name in self.kernels))

    def __call__(self, bags: BagsLike, other: BagsLike | None = None) -> np.ndarray:
        """Matrix of bags with others, or with themselves: shape (n_bags, n_other)."""
        rows, columns = rows_and_columns(bags, other)
        known = self if self.gammas is not None else self.fitted(columns)
        total = np.zeros((len(rows), len(columns)))
        for name, gamma in zip(known.kernels, known.gammas or (), strict=True):
            if callable(name):
                total += np.asarray(name(rows, columns if other is not None else rows), dtype=np.float64)
            elif name in ("set", "graph"):
                weights = "graph" if name == "graph" else None
                total += set_kernel(rows, other, gamma=gamma, normalize="feature", weights=weights)
            else:
                total += statistic_kernel(rows, other, statistic=name, kernel="rbf", gamma=gamma)
        return total / len(known.kernels)


def _median_gamma(name: str | Callable[..., Any], bags: AnyBags, weight: np.ndarray | None) -> float:
    if callable(name):
        return 1.0
    if name in ("set", "graph"):
        each = np.ones(len(bags)) if weight is None else weight
        return resolve_gamma("median", blocks_of(bags, each))
    return resolve_gamma("median", bag_statistics(bags, name), weight)


def mean_kernel(kernels: Sequence[str | Callable[..., Any]]) -> MeanKernel:
    """Make a kernel of bags that is the mean of several.

    Each is Gaussian at its median width (gamma is one by the median squared distance of instances, or of the
    vectors of bags), with ones on its diagonal, so that none outweighs the others. No weights are learned:
    one machine on the mean is hard to beat by one that learns them, and has no more to choose.

    Parameters
    ----------
    kernels : sequence of {"set", "graph", "minimax", "mean"} or callables
        `set_kernel`, plain or with ``weights="graph"``; `statistic_kernel` of minima and maxima, or of means;
        or a function ``kernel(bags, other)``, whose matrix is taken as it is.

    Returns
    -------
    MeanKernel
        For ``SetKernelSVC(bag_kernel=...)``, which fixes the widths on its training bags; or to be called:
        ``kernel = mean_kernel([...]).fitted(train)``, and ``kernel(train)``, ``kernel(test, train)``.

    Examples
    --------
    >>> from bagwise import SetKernelSVC, load_digit_bags, mean_kernel
    >>> data = load_digit_bags(60, random_state=0)
    >>> model = SetKernelSVC(bag_kernel=mean_kernel(["set", "minimax"])).fit(data.bags, data.y)
    >>> model.decision_function(data.bags).shape
    (60,)
    """
    if isinstance(kernels, str) or not len(kernels):
        raise ValueError(f"kernels must be a list of kernels of bags, at least one; got {kernels!r}.")
    unknown = [name for name in kernels if not callable(name) and name not in _NAMES]
    if unknown:
        names = ", ".join(map(repr, _NAMES))
        raise ValueError(f"kernels has {unknown[0]!r}; expected {names}, or functions of two bags.")
    return MeanKernel(tuple(kernels))
