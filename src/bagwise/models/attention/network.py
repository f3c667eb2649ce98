"""The network in NumPy: the forward pass, and the layout of its weights in one vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

Layer = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Network:
    """Layers that compute a representation of an instance, and gated attention.

    The layers map an instance x to h = relu(... relu(x A_1 + b_1) ...). The energy of the instance is
    ``(tanh(h V + c) * sigma(h U + g)) @ w``, and attention is the softmax of the energies within a bag.

    Attributes
    ----------
    layers : list of (matrix, bias)
        Matrix A and bias b of every layer.
    tanh, gate : (matrix, bias)
        The pairs (V, c) and (U, g).
    attention : array of shape (attention_size,)
        The vector w.
    """

    layers: list[Layer]
    tanh: Layer
    gate: Layer
    attention: np.ndarray

    def describe(self, X: Any) -> np.ndarray:
        """Return the representation h of every instance, shape (n_instances, size of the last layer)."""
        h = X
        for matrix, bias in self.layers:
            h = np.maximum(h @ matrix + bias, 0.0)
        return h

    def attend(self, h: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return the attention of every instance, which sums to one in every bag."""
        (V, c), (U, g) = self.tanh, self.gate
        return softmax_in_bags((np.tanh(h @ V + c) * expit(h @ U + g)) @ self.attention, offsets)


def softmax_in_bags(energies: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the softmax of energies within every bag; no bag is empty."""
    first, sizes = offsets[:-1], np.diff(offsets)
    share = np.exp(energies - np.repeat(np.maximum.reduceat(energies, first), sizes))
    return share / np.repeat(np.add.reduceat(share, first), sizes)


class Part(NamedTuple):
    """A matrix, vector or scalar that is part of the weight vector; biases are not penalized."""

    shape: tuple[int, ...]
    is_bias: bool

    @property
    def size(self) -> int:
        """Return the number of values."""
        return prod(self.shape)


def layout(n_features: int, hidden_sizes: Sequence[int], attention_size: int) -> list[Part]:
    """Return the parts of the weight vector: layers, tanh, gate, w, and the coefficients and intercept."""
    pairs = [*pairwise([n_features, *hidden_sizes]), *2 * [(hidden_sizes[-1], attention_size)]]
    parts = [part for pair in pairs for part in (Part(pair, False), Part(pair[1:], True))]
    last = [Part((attention_size,), False), Part((hidden_sizes[-1],), False), Part((), True)]
    return [*parts, *last]


def split(x: Any, parts: Sequence[Part]) -> list[Any]:
    """Split a weight vector, an array or a tensor, into its parts."""
    ends = np.cumsum([part.size for part in parts]).tolist()
    return [x[end - part.size : end].reshape(part.shape) for part, end in zip(parts, ends, strict=True)]


def draw(parts: Sequence[Part], rng: np.random.RandomState, intercept: float) -> np.ndarray:
    """Draw initial weights by Glorot and Bengio's method: uniform, with variance 2 / (rows + columns).

    Biases are zero, except that the classifier's bias is `intercept`, the log-odds of the class frequencies.
    """
    drawn = []
    for shape, is_bias in parts:
        widest = 0.0 if is_bias else float(np.sqrt(6.0 / (sum(shape) + (len(shape) == 1))))
        drawn.append(rng.uniform(-widest, widest, size=prod(shape)))
    drawn[-1][:] = intercept
    return np.concatenate(drawn)


def read(x: np.ndarray, parts: Sequence[Part]) -> tuple[Network, np.ndarray, float]:
    """Convert a weight vector to the network, and the coefficients and intercept of the classifier."""
    arrays = [part.copy() for part in split(x, parts)]
    *pairs, attention, coef, intercept = arrays
    *layers, tanh, gate = zip(pairs[::2], pairs[1::2], strict=True)
    return Network(layers, tanh, gate, attention), coef, float(intercept)
