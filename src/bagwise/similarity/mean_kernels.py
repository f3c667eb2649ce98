"""Mean of several bag kernels, each with a width computed from the data."""

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
    """Bag kernel ``kernel(bags, other)`` that is the mean of several kernels, returned by `mean_kernel`.

    Attributes
    ----------
    kernels : tuple of str or callable
        The averaged kernels.
    gammas : tuple of float, or None
        Values of gamma, set by `fitted`; 1 for a callable. With None, they are computed again in every call.
    """

    kernels: tuple[str | Callable[..., Any], ...]
    gammas: tuple[float, ...] | None = None

    def fitted(self, bags: AnyBags, weight: np.ndarray | None = None) -> MeanKernel:
        """Return the kernel with widths computed from training bags."""
        return replace(self, gammas=tuple(_median_gamma(name, bags, weight) for name in self.kernels))

    def __call__(self, bags: BagsLike, other: BagsLike | None = None) -> np.ndarray:
        """Compute the kernel matrix of bags with other bags or themselves: shape (n_bags, n_other)."""
        rows, columns = rows_and_columns(bags, other)
        fitted = self if self.gammas is not None else self.fitted(columns)
        total = np.zeros((len(rows), len(columns)))
        for name, gamma in zip(fitted.kernels, fitted.gammas or (), strict=True):
            if callable(name):
                total += np.asarray(name(rows, columns if other is not None else rows), dtype=np.float64)
            elif name in ("set", "graph"):
                weights = "graph" if name == "graph" else None
                total += set_kernel(rows, other, gamma=gamma, normalize="feature", weights=weights)
            else:
                total += statistic_kernel(rows, other, statistic=name, kernel="rbf", gamma=gamma)
        return total / len(fitted.kernels)


def _median_gamma(name: str | Callable[..., Any], bags: AnyBags, weight: np.ndarray | None) -> float:
    if callable(name):
        return 1.0
    if name in ("set", "graph"):
        each = np.ones(len(bags)) if weight is None else weight
        return resolve_gamma("median", blocks_of(bags, each))
    return resolve_gamma("median", bag_statistics(bags, name), weight)


def mean_kernel(kernels: Sequence[str | Callable[..., Any]]) -> MeanKernel:
    """Make a bag kernel that is the mean of several kernels.

    Each kernel is Gaussian with a median width: gamma is 1 divided by the median squared distance between
    instances, or between the vectors of bags. The diagonal of each kernel is 1, so that the kernels have
    similar influence. The weights are not learned. An SVM with the mean kernel usually performs as well as
    an SVM with learned weights, and it has no additional parameters.

    Parameters
    ----------
    kernels : sequence of {"set", "graph", "minimax", "mean"} or callables
        "set" and "graph" are `set_kernel`, without weights and with ``weights="graph"``. "minimax" and
        "mean" are `statistic_kernel` with minima and maxima, or with means. The matrix of a function
        ``kernel(bags, other)`` is used unchanged.

    Returns
    -------
    MeanKernel
        Pass it to ``SetKernelSVC(bag_kernel=...)``, which computes the widths from its training bags. To call
        it directly, use ``kernel = mean_kernel([...]).fitted(train)``, then ``kernel(train)`` and
        ``kernel(test, train)``.

    Examples
    --------
    >>> from bagwise import SetKernelSVC, load_digit_bags, mean_kernel
    >>> data = load_digit_bags(60, random_state=0)
    >>> model = SetKernelSVC(bag_kernel=mean_kernel(["set", "minimax"])).fit(data.bags, data.y)
    >>> model.decision_function(data.bags).shape
    (60,)
    """
    if isinstance(kernels, str) or not len(kernels):
        raise ValueError(f"kernels must be a list of at least one bag kernel; got {kernels!r}.")
    unknown = [name for name in kernels if not callable(name) and name not in _NAMES]
    if unknown:
        names = ", ".join(map(repr, _NAMES))
        raise ValueError(
            f"kernels contains {unknown[0]!r}; expected {names}, or functions kernel(bags, other)."
        )
    return MeanKernel(tuple(kernels))
