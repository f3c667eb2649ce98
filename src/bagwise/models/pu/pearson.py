"""The class-prior estimate of PU-SKC in closed form, as printed and with the samples swapped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bagwise.data.bags import as_bags
from bagwise.data.types import BagsLike
from bagwise.models.pu.losses import check_pu_labels
from bagwise.similarity import minimax_kernel


def pearson_class_prior(
    X: BagsLike,
    y: ArrayLike,
    *,
    kernel: Callable[..., Any] = minimax_kernel,
    ridge: float = 1e5,
    as_printed: bool = False,
) -> float:
    """Estimate the class prior in the closed form of PU-SKC, without scaling, constant and bounds.

    The basis functions phi are the kernel values with all bags. With the means over positive bags (P) and
    over unlabeled bags (U), the estimate is ::

        H = mean_U(phi phi'),    h = mean_P(phi),    G = H + ridge I
        1 / (2 h'G^-1 h - h'G^-1 H G^-1 h)

    The paper prints H as a mean over positive and h as a mean over unlabeled bags, which contradicts its
    derivation (A.2). The authors' program computes this printed form, with ``ridge=1e5``.

    Use it to compare with results of the paper. The estimate depends on the scale of the features and on the
    ridge, for which no selection rule exists, and it can exceed 1. `ClassPriorEstimator` is reliable in more
    cases.

    Parameters
    ----------
    X : Bags, list of arrays, 3-D or 2-D array
        Positive and unlabeled bags.
    y : array of shape (n_bags,)
        Labels: 1 or True for positive bags; 0, -1 or False for unlabeled ones.
    kernel : callable, default=minimax_kernel
        Function of two `Bags` that returns their kernel matrix. The default is equation 5 with degree 1.
    ridge : float, default=1e5
        The regularization parameter eta. The default is that of the authors' program.
    as_printed : bool, default=False
        Whether to swap the two samples, as printed in the paper.

    Returns
    -------
    float

    References
    ----------
    Bao, Sakai, Sato and Sugiyama (2018), Convex formulation of multiple instance learning from positive and
    unlabeled bags, Neural Networks 105, section 3.3.

    See docs/explanation/papers.md for the equations of the paper.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import pearson_class_prior
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 1))
    >>> X[:200] += 8.0  # 100 positive bags, and 100 of the 400 unlabeled bags
    >>> y = np.repeat([1, 0], [100, 400])
    >>> round(pearson_class_prior(X, y, ridge=1.0), 2)
    0.26
    >>> round(pearson_class_prior(X, y, ridge=1.0, as_printed=True), 2)
    0.02
    """
    if not ridge > 0:
        raise ValueError(f"ridge must be > 0; got {ridge!r}.")
    check_pu_labels(y, "pearson_class_prior")
    bags, labels = as_bags(X), np.asarray(y)
    if labels.shape != (len(bags),):
        raise ValueError(
            f"y has the shape {labels.shape}, but there are {len(bags)} bags; pass a label for each bag."
        )
    is_positive = labels == 1
    if is_positive.all() or not is_positive.any():
        raise ValueError("y must contain positive (1) and unlabeled (0) bags; it contains only one of them.")
    basis = np.asarray(kernel(bags, bags), dtype=np.float64)
    averaged, other = (is_positive, ~is_positive) if as_printed else (~is_positive, is_positive)
    H = basis[averaged].T @ basis[averaged] / averaged.sum()
    h = basis[other].mean(axis=0)
    coef = np.linalg.solve(H + ridge * np.eye(len(H)), h)
    return float(1.0 / (2.0 * coef @ h - coef @ H @ coef))
