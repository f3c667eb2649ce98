"""The loss of bags and its gradient in the weights: the one place that needs torch."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from bagwise.data.blocks import Block, Sums
from bagwise.models.attention.network import Part, split


def require_torch() -> None:
    """Refuse to go on without torch."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "AttentionMILClassifier needs torch to be fitted: pip install 'bagwise[torch]'"
        ) from error


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Limit torch to one thread: blocks are shared out to ours, and sums then have the same bits anywhere.

    The setting is the whole process's, so only the main thread changes it.
    """
    import torch

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def loss_and_gradient(
    block: Block, learning: np.ndarray, held_out: np.ndarray, x: np.ndarray, parts: Sequence[Part]
) -> Sums:
    """Sum over the bags of a block: of the loss, of that of bags that are held out, and of the gradient.

    Parameters
    ----------
    block : Block
        Bags, an array or CSR matrix of float64, with labels 0 or 1.
    learning, held_out : array of shape (n_bags,)
        The weights of the bags that are learned from, and of those whose loss is only looked at.
    x : array
        The weights of the network, in the `layout` of `parts`.

    Returns
    -------
    Sums of (float, float, array)
        Sums of weight times -log P(label) with either weights, and the gradient of the first.
    """
    import torch

    # The first product is numpy's or scipy's, and so is its share of the gradient: X may be sparse.
    matrix = split(x[: parts[0].size], parts[:1])[0]
    first = torch.from_numpy(np.ascontiguousarray(block.X @ matrix)).requires_grad_()
    others = torch.from_numpy(x[parts[0].size :].copy()).requires_grad_()
    scores = _bag_scores(first, split(others, parts[1:]), block.offsets)
    signs = torch.from_numpy(np.where(block.y == 1, -1.0, 1.0))
    losses = torch.logaddexp(torch.zeros_like(scores), signs * scores)
    total = losses @ torch.from_numpy(learning.copy())
    total.backward()
    assert first.grad is not None and others.grad is not None  # both lead to the scores
    by_matrix = np.asarray(block.X.T @ first.grad.numpy()).ravel()
    looked_at = float(losses.detach().numpy() @ held_out)
    return Sums((float(total.detach()), looked_at, np.concatenate([by_matrix, others.grad.numpy()])))


def _bag_scores(first: Any, weights: list[Any], offsets: np.ndarray) -> Any:
    """Score every bag, from the first layer's products; `weights` are all but its matrix."""
    import torch

    bias, *pairs, attention, coef, intercept = weights
    *layers, (V, c), (U, g) = zip(pairs[::2], pairs[1::2], strict=True)
    h = torch.relu(first + bias)
    for matrix, bias in layers:
        h = torch.relu(h @ matrix + bias)
    energies = (torch.tanh(h @ V + c) * torch.sigmoid(h @ U + g)) @ attention
    n_bags = len(offsets) - 1
    bag = torch.from_numpy(np.repeat(np.arange(n_bags), np.diff(offsets)))
    zeros = torch.zeros(n_bags, dtype=energies.dtype)
    # A constant for every bag changes nothing but the range of the exponentials.
    largest = (zeros - torch.inf).scatter_reduce(0, bag, energies.detach(), "amax")
    share = torch.exp(energies - largest[bag])
    return zeros.index_add(0, bag, share * (h @ coef)) / zeros.index_add(0, bag, share) + intercept
