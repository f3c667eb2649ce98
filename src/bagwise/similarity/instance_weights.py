"""Weights of instances in kernels of sets: given ones, or such that instances close together count once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise.data.blocks import Block, Blocks, ExtendedBlocks, in_doubles
from bagwise.similarity.instance_kernels import InstanceKernel

# Distances within this share of the mean one are not below it: rounding makes no edges.
_EVEN = 1e-9


def graph_weights(block: Block, k: InstanceKernel) -> np.ndarray:
    """Weights of the instances of every bag, one by the number of instances close to it, itself included.

    Two instances of a bag are close if their distance in the kernel's space, k(x, x) + k(z, z) - 2 k(x, z),
    is below the mean distance of all pairs of the bag. So a clique of instances counts as one.
    """
    X = in_doubles(block.X)
    diagonal, weights = k.diagonal(X), []
    for begin, end in pairwise(block.offsets):
        own, n = diagonal[begin:end], end - begin
        D = own[:, None] + own - 2.0 * k(X[begin:end], X[begin:end])
        np.fill_diagonal(D, 0.0)
        mean = D.sum() / max(1, n * (n - 1))
        is_close = mean * (1.0 - _EVEN) > D
        np.fill_diagonal(is_close, True)
        weights.append(1.0 / is_close.sum(axis=1))
    return np.concatenate(weights)


class WeightedBlocks(ExtendedBlocks):
    """Other blocks whose instances carry a weight along, as their last feature.

    Parameters
    ----------
    blocks : Blocks
        Bags anywhere.
    weights : array of shape (n_instances,)
        A weight for every instance.
    """

    n_features: int

    def __init__(self, blocks: Blocks, weights: np.ndarray):
        super().__init__(blocks, instance_weight=weights)
        self.n_features = blocks.n_features + 1

    @property
    def whole(self) -> Any:
        """None: the weights are put in as instances are read."""
        return None

    def each(self, f: Callable[..., Any], *args: Any) -> Iterator[Any]:
        """Give ``f(block, *args)`` of every block, in order: one pass."""
        return super().each(_appended, f, *args)

    def total(self, f: Callable[..., Any], *args: Any) -> Any:
        """Sum ``f(block, *args)`` over all blocks: one pass."""
        return super().total(_appended, f, *args)


def _appended(block: Block, f: Callable[..., Any], *args: Any) -> Any:
    assert block.instance_weight is not None
    X, column = in_doubles(block.X), block.instance_weight[:, None]
    X = sp.hstack([X, column], format="csr") if sp.issparse(X) else np.hstack([X, column])
    return f(block._replace(X=X), *args)


@dataclass(frozen=True)
class WeightedKernel:
    """A kernel of instances that carry a weight as their last feature: w(x) w(z) k(x, z)."""

    kernel: InstanceKernel

    @property
    def name(self) -> str | Callable[..., Any]:
        """The name of the kernel."""
        return self.kernel.name

    def __call__(self, X: Any, Z: Any) -> np.ndarray:
        """Values of the rows of `X` and of `Z`."""
        (X, left), (Z, right) = _apart(X), _apart(Z)
        return left[:, None] * self.kernel(X, Z) * right


def weighted(X: Any) -> Any:
    """Give instances that carry a weight along multiplied by it, without it."""
    X, weight = _apart(X)
    return sp.diags_array(weight) @ X if sp.issparse(X) else X * weight[:, None]


def weight_sums(block: Block) -> np.ndarray:
    """Sum of the weights of every bag."""
    return np.add.reduceat(_apart(block.X)[1], block.offsets[:-1])


def _apart(X: Any) -> tuple[Any, np.ndarray]:
    last = X[:, [-1]]
    return X[:, :-1], (last.toarray() if sp.issparse(last) else last)[:, 0]


def read_weights(weights: Any, n_instances: int, name: str) -> np.ndarray:
    """Check weights that were given: one for each instance, not negative."""
    found = np.asarray(weights, dtype=np.float64)
    if found.shape != (n_instances,):
        raise ValueError(
            f"{name} has the shape {found.shape}, but there are {n_instances} instances; give a weight for "
            'each, or "graph".'
        )
    if not np.isfinite(found).all() or (found < 0).any():
        raise ValueError(f"{name} must be finite and not negative.")
    return found
