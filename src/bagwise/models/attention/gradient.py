"""Bag loss and its gradient with respect to the weights; the only module that imports torch."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from bagwise.data.blocks import Block, Sums
from bagwise.models.attention.network import Part, split


def require_torch() -> None:
    """Raise an ImportError with install instructions if torch is missing."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "AttentionMILClassifier.fit requires torch: pip install 'bagwise[torch]'"
        ) from error


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Limit torch to one thread, because blocks already run in parallel threads.

    The results of sums then do not depend on the number of cores. The setting applies to the whole process,
    so only the main thread changes it.
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
    """Return the training loss and held-out loss of a block of bags, and the gradient of the training loss.

    Parameters
    ----------
    block : Block
        Bags with instances as an array or CSR matrix of float64, and labels 0 or 1.
    learning, held_out : array of shape (n_bags,)
        Weights of the training bags and of the held-out bags.
    x : array
        Weights of the network, in the `layout` of `parts`.

    Returns
    -------
    Sums of (float, float, array)
        The sum of weight times -log P(label) for the training weights, the same sum for the held-out weights,
        and the gradient of the first sum.
    """
    import torch

    # X can be sparse, so NumPy or SciPy computes the product of the first layer and its part of the gradient.
    matrix = split(x[: parts[0].size], parts[:1])[0]
    first = torch.from_numpy(np.ascontiguousarray(block.X @ matrix)).requires_grad_()
    others = torch.from_numpy(x[parts[0].size :].copy()).requires_grad_()
    scores = _bag_scores(first, split(others, parts[1:]), block.offsets)
    signs = torch.from_numpy(np.where(block.y == 1, -1.0, 1.0))
    losses = torch.logaddexp(torch.zeros_like(scores), signs * scores)
    total = losses @ torch.from_numpy(learning.copy())
    total.backward()
    assert first.grad is not None and others.grad is not None  # the scores depend on both
    by_matrix = np.asarray(block.X.T @ first.grad.numpy()).ravel()
    held_out_loss = float(losses.detach().numpy() @ held_out)
    return Sums((float(total.detach()), held_out_loss, np.concatenate([by_matrix, others.grad.numpy()])))


def _bag_scores(first: Any, weights: list[Any], offsets: np.ndarray) -> Any:
    """Return bag scores from the first layer's products; `weights` does not contain that layer's matrix."""
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
    # Subtracting the maximum per bag avoids overflow and does not change the softmax.
    largest = (zeros - torch.inf).scatter_reduce(0, bag, energies.detach(), "amax")
    share = torch.exp(energies - largest[bag])
    return zeros.index_add(0, bag, share * (h @ coef)) / zeros.index_add(0, bag, share) + intercept
