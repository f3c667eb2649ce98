"""Instance weights in set kernels: passed by the user, or computed so that close instances count once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.data.blocks import Block, Blocks, ExtendedBlocks, in_doubles
from bagwise.similarity.instance_kernels import InstanceKernel

# Relative margin below the mean distance, so that rounding errors do not create edges.
_EVEN = 1e-9


def graph_weights(block: Block, k: InstanceKernel) -> np.ndarray:
    """Compute graph weights: 1 divided by the number of close instances in the bag, including itself.

    The squared distance of two instances in the feature space of the kernel is
    k(x, x) + k(z, z) - 2 k(x, z). Two instances are close if this distance is below its mean over all pairs
    of the bag. A clique of instances then counts as one instance.
    """
    X = in_doubles(block.X)
    diagonal, weights = k.diagonal(X), []
    for begin, end in pairwise(block.offsets):
        self_kernels, n = diagonal[begin:end], end - begin
        D = self_kernels[:, None] + self_kernels - 2.0 * k(X[begin:end], X[begin:end])
        np.fill_diagonal(D, 0.0)
        mean = D.sum() / max(1, n * (n - 1))
        is_close = mean * (1.0 - _EVEN) > D
        np.fill_diagonal(is_close, True)
        weights.append(1.0 / is_close.sum(axis=1))
    return np.concatenate(weights)


class WeightedBlocks(ExtendedBlocks):
    """Blocks whose instances have a weight as their last feature.

    Parameters
    ----------
    blocks : Blocks
        Blocks of any backend.
    weights : array of shape (n_instances,)
        Weights of the instances.
    """

    n_features: int

    def __init__(self, blocks: Blocks, weights: np.ndarray):
        super().__init__(blocks, instance_weight=weights)
        self.n_features = blocks.n_features + 1

    @property
    def whole(self) -> Any:
        """Always None, because the weights are appended when instances are read."""
        return None

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Yield ``f(block, *args)`` for every block in order, in one pass."""
        return super().each(_appended, f, *args)

    def total(self, f: Callable[..., Any], *args: Any) -> Any:
        """Return the sum of ``f(block, *args)`` over all blocks, computed in one pass."""
        return super().total(_appended, f, *args)


def _appended(block: Block, f: Callable[..., Any], *args: Any) -> Any:
    assert block.instance_weight is not None
    X, column = in_doubles(block.X), block.instance_weight[:, None]
    X = sp.hstack([X, column], format="csr") if sp.issparse(X) else np.hstack([X, column])
    return f(block._replace(X=X), *args)


@dataclass(frozen=True)
class WeightedKernel:
    """Instance kernel w(x) w(z) k(x, z), for instances with a weight as their last feature."""

    kernel: InstanceKernel

    @property
    def name(self) -> str | Callable[..., Any]:
        """Name of the kernel."""
        return self.kernel.name

    def __call__(self, X: Any, Z: Any) -> np.ndarray:
        """Compute the values for all rows of `X` and `Z`."""
        (X, left), (Z, right) = _apart(X), _apart(Z)
        return left[:, None] * self.kernel(X, Z) * right


def weighted(X: Any) -> Any:
    """Multiply instances by their weight, which is their last feature, and remove it."""
    X, weight = _apart(X)
    return sp.diags_array(weight) @ X if sp.issparse(X) else X * weight[:, None]


def weight_sums(block: Block) -> np.ndarray:
    """Compute the sum of the weights in every bag."""
    return np.add.reduceat(_apart(block.X)[1], block.offsets[:-1])


def _apart(X: Any) -> tuple[Any, np.ndarray]:
    last = X[:, [-1]]
    return X[:, :-1], (last.toarray() if sp.issparse(last) else last)[:, 0]


def read_weights(weights: Any, n_instances: int, name: str) -> np.ndarray:
    """Validate weights: one per instance, finite and >= 0."""
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (n_instances,):
        raise ValueError(
            f"{name} has shape {values.shape}, but there are {n_instances} instances; pass one weight per "
            'instance, or "graph".'
        )
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"{name} must contain only finite values >= 0.")
    return values
